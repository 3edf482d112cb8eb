//! Failure files: reading them and printing what they say.

use std::fs;
use std::path::Path;

use raddle_report::failure::{FORMAT, Failure};
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::terminal::Terminal;

/// Reads a failure file.
pub(crate) fn read(path: &Path) -> Result<Failure> {
    let wrong = |what: String| Error::usage(format_args!("`{}` {what}", path.display()));
    let text = match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| wrong(NOT_OURS.to_owned()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(wrong(
                "does not exist; failed tests print the path of their failure file".to_owned(),
            ));
        }
        Err(error) => return Err(Error::file("read", path)(error)),
    };
    // The version is looked at first: everything else may have another shape in another version.
    let header: Header = serde_json::from_str(&text).map_err(|error| {
        let cut_off = error.is_eof() && !text.trim().is_empty();
        wrong(if cut_off { format!("is damaged: {error}; {RUN_AGAIN}") } else { NOT_OURS.to_owned() })
    })?;
    if header.format != FORMAT {
        let version = header.format;
        return Err(wrong(format!(
            "has format {version}, but this cargo-raddle reads format {FORMAT}; use the version that wrote it"
        )));
    }
    serde_json::from_str(&text).map_err(|error| wrong(format!("is damaged: {error}; {RUN_AGAIN}")))
}

/// The report of a failure.
pub(crate) fn render(failure: &Failure, _terminal: &Terminal) -> String {
    let mut text = format!("{:?}: {}\n", failure.kind, failure.message);
    let found = &failure.found_by;
    text.push_str(&format!("test:      {}\n", failure.test));
    text.push_str(&format!(
        "found by:  {}, seed {}, execution {}\n",
        found.strategy, found.seed, found.execution
    ));
    text.push_str(&format!("schedule:  {}\n", String::from(failure.schedule.clone())));
    text
}

const NOT_OURS: &str = "is not a failure file of Raddle";
const RUN_AGAIN: &str = "run the test again to get a new one";

#[derive(Deserialize)]
struct Header {
    format: u32,
    #[serde(rename = "test")]
    _test: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], expected: &str) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("failure.json");
        fs::write(&path, text).unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn what_is_wrong_with_a_file_is_one_sentence() {
        check(b"", "is not a failure file");
        check(b"\xff\xfe", "is not a failure file");
        check(b"[1, 2]", "is not a failure file");
        check(b"{\"name\": \"x\"}", "is not a failure file");
        check(b"{\"format\": 1, \"test\": \"a\", \"kin", "is damaged");
        check(b"{\"format\": 1, \"test\": \"a\", \"kind\": \"panic\"}", "is damaged");
        check(b"{\"format\": 99, \"test\": \"a\"}", "has format 99");
        let missing = read(Path::new("/nonexistent/file.json")).unwrap_err().to_string();
        assert!(missing.contains("does not exist"), "{missing}");
    }
}
