//! Messages of the Debug Adapter Protocol: JSON objects, each after a header with its length.

use std::io::{self, BufRead, Write};

use serde_json::Value;

/// A message that claims to be longer than this is no message.
const LONGEST: usize = 256 << 20;

/// Reads the next message. None at the end of the stream.
pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Value>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok().filter(|&length| length <= LONGEST);
        }
    }
    let length: usize = length.ok_or_else(|| invalid("a message without a length"))?;
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|error| invalid(&format!("a message that is no JSON: {error}")))
}

/// Writes a message.
pub(crate) fn write(to: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(to, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    to.flush()
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let messages = [json!({"seq": 1}), json!({"text": "ä\r\n\r\n"})];
        let mut bytes = Vec::new();
        for message in &messages {
            write(&mut bytes, message).unwrap();
        }
        let mut from = &bytes[..];
        for message in messages {
            assert_eq!(read(&mut from).unwrap(), Some(message));
        }
        assert_eq!(read(&mut from).unwrap(), None);
    }

    #[test]
    fn other_headers_are_skipped_and_nonsense_is_refused() {
        let mut from = &b"Content-Type: x\r\ncontent-length: 2\r\n\r\n{}"[..];
        assert_eq!(read(&mut from).unwrap(), Some(json!({})));
        for nonsense in [
            "\r\n{}",
            "Content-Length: 3\r\n\r\n{}",
            "Content-Length: 99999999999\r\n\r\n",
            "Content-Length: 1\r\n\r\n{",
        ] {
            assert!(read(&mut nonsense.as_bytes()).is_err(), "{nonsense:?}");
        }
    }
}
