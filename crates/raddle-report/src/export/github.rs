//! GitHub Actions: annotations, which the service shows at the line of a failure, and the summary of a step.

use std::path::Path;

use super::scene::{kind, scene};
use super::text::without_colours;
use crate::failure::Failure;

/// The workflow command that annotates the line of a failure. `root` is the directory of the workspace within the repository.
pub fn annotation(failure: &Failure, root: &Path) -> String {
    let mut properties = Vec::new();
    if let Some(frame) = scene(failure)
        && let Some(file) = &frame.file
    {
        properties.push(("file", root.join(file).display().to_string()));
        properties.extend(frame.line.map(|line| ("line", line.to_string())));
    }
    properties.push(("title", title(failure)));
    let properties: Vec<String> =
        properties.into_iter().map(|(name, value)| format!("{name}={}", property(&value))).collect();
    format!("::error {}::{}\n", properties.join(","), data(&failure.message))
}

/// A failure in the summary of a step, in Markdown. `report` is the printed report.
pub fn summary(failure: &Failure, report: &str) -> String {
    let report = without_colours(report);
    // The fence is longer than every row of backquotes inside.
    let longest = report.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("### {}\n\n{fence}text\n{}\n{fence}\n\n", markdown(&title(failure)), report.trim_end())
}

fn title(failure: &Failure) -> String {
    format!("{} in {}", kind(failure), failure.test)
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

fn markdown(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
