//! Input by bytes and lines, with the line number kept and a bound on how long a line may be.

use std::io::{BufRead, Read};

use super::Error;

/// The longest line or form that is read. A file that has a longer one is no history; without a bound, a file without
/// line ends would be read into memory whole.
pub(super) const LONGEST: usize = 1 << 20;

pub(super) struct Input<R> {
    reader: R,
    /// The line the next byte is on.
    pub(super) line: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Input<R> {
    pub(super) fn new(reader: R) -> Input<R> {
        Input { reader, line: 1, buffer: Vec::new() }
    }

    /// The next line that is not blank, without its end, and its number.
    pub(super) fn next_line(&mut self) -> Option<Result<(u64, &str), Error>> {
        loop {
            self.buffer.clear();
            let line = self.line;
            match (&mut self.reader).take(LONGEST as u64 + 1).read_until(b'\n', &mut self.buffer) {
                Err(error) => return Some(Err(unreadable(line, &error))),
                Ok(0) => return None,
                Ok(_) => self.line += 1,
            }
            if self.buffer.len() > LONGEST {
                return Some(Err(Error::new(line, format!("the line is longer than {LONGEST} bytes"))));
            }
            if self.buffer.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let text = std::str::from_utf8(self.buffer.trim_ascii());
            return Some(
                text.map(|text| (line, text)).map_err(|_| Error::new(line, "the line is not UTF-8")),
            );
        }
    }

    /// The next byte.
    pub(super) fn next_byte(&mut self) -> Option<Result<u8, Error>> {
        let byte = loop {
            match self.reader.fill_buf() {
                Ok([]) => return None,
                Ok([byte, ..]) => break *byte,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Some(Err(unreadable(self.line, &error))),
            }
        };
        self.reader.consume(1);
        self.line += u64::from(byte == b'\n');
        Some(Ok(byte))
    }
}

fn unreadable(line: u64, error: &std::io::Error) -> Error {
    Error::new(line, format!("cannot read on: {error}"))
}
