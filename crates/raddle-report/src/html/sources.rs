//! The lines of source code that a trace mentions, with some lines around each.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::failure::{Failure, Trace};

/// The number of lines before and after a mentioned line.
const CONTEXT: u32 = 14;
/// The largest number of characters of a line.
const MAX_LINE: usize = 300;
/// The largest number of bytes of all lines.
const MAX_BYTES: usize = 600 << 10;

/// Source code, for the page of a failure. Empty by default: the page names lines and does not show them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sources {
    /// The files, in the order of their names.
    pub files: Vec<SourceFile>,
}

/// Some lines of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceFile {
    /// The file as frames name it.
    pub name: String,
    /// Numbers from 1 and texts of lines, in ascending order.
    pub lines: Vec<(u32, String)>,
}

impl Sources {
    /// The lines around those that the frames of a failure mention. `read` gives the text of a file, named as in frames. Only
    /// Rust code outside of the standard library is asked for.
    pub fn of(failure: &Failure, mut read: impl FnMut(&str) -> Option<String>) -> Sources {
        let mut mentioned: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        let traces = [Some(&failure.trace), failure.nearest_pass.as_ref().map(|pass| &pass.trace)];
        for frame in traces.into_iter().flatten().flat_map(|trace: &Trace| &trace.frames) {
            if let (false, Some(file), Some(line)) = (frame.internal, &frame.file, frame.line)
                && file.ends_with(".rs")
            {
                mentioned.entry(file).or_default().insert(line);
            }
        }
        let mut left = MAX_BYTES;
        let mut files = Vec::new();
        for (name, mentioned) in mentioned {
            let Some(text) = read(name) else { continue };
            let near = |line: u32| {
                mentioned.range(line.saturating_sub(CONTEXT)..=line.saturating_add(CONTEXT)).next().is_some()
            };
            let mut lines = Vec::new();
            for (number, line) in (1..).zip(text.lines()).filter(|(number, _)| near(*number)) {
                let line: String = line.chars().take(MAX_LINE).collect();
                let Some(rest) = left.checked_sub(line.len() + 1) else { break };
                left = rest;
                lines.push((number, line));
            }
            if !lines.is_empty() {
                files.push(SourceFile { name: name.to_owned(), lines });
            }
        }
        Sources { files }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(frames: serde_json::Value) -> Failure {
        let mut failure: Failure = serde_json::from_str(include_str!("../../tests/example.json")).unwrap();
        failure.trace.frames = serde_json::from_value(frames).unwrap();
        failure
    }

    #[test]
    fn lines_around_mentioned_ones_are_kept() {
        let failure = failure(serde_json::json!([
            {"function": "a", "file": "src/a.rs", "line": 40},
            {"function": "a", "file": "src/a.rs", "line": 3},
            {"function": "s", "file": "std/src/x.rs", "line": 3, "internal": true},
            {"function": "p", "file": "/etc/passwd", "line": 1},
            {"function": "m", "file": "src/missing.rs", "line": 1},
        ]));
        let mut asked = Vec::new();
        let sources = Sources::of(&failure, |file| {
            asked.push(file.to_owned());
            let text: String = (1..=100).map(|line| format!("line {line}\n")).collect();
            (file == "src/a.rs").then_some(text)
        });
        assert_eq!(asked, ["src/a.rs", "src/missing.rs"]);
        let numbers: Vec<u32> = sources.files[0].lines.iter().map(|(number, _)| *number).collect();
        let expected: Vec<u32> = (1..=3 + CONTEXT).chain(40 - CONTEXT..=40 + CONTEXT).collect();
        assert_eq!(numbers, expected);
        assert_eq!(sources.files[0].lines[2], (3, "line 3".to_owned()));
    }

    #[test]
    fn the_size_is_bounded() {
        let frames: Vec<_> = (1..5000)
            .map(|line| serde_json::json!({"function": "a", "file": "a.rs", "line": line}))
            .collect();
        let text = format!("{}\n", "x".repeat(10_000)).repeat(5000);
        let sources = Sources::of(&failure(frames.into()), |_| Some(text.clone()));
        let bytes: usize = sources.files[0].lines.iter().map(|(_, line)| line.len()).sum();
        assert!(bytes <= MAX_BYTES && bytes > MAX_BYTES / 2, "{bytes}");
        assert!(sources.files[0].lines.iter().all(|(_, line)| line.len() == MAX_LINE));
    }
}
