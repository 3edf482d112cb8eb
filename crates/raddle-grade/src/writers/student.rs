//! What a student gets: a page with the result of each test, the failing execution, and a hint.

use std::fmt::Write as _;
use std::io;

use super::html::{document, text};
use super::{Folder, Writer, points};
use crate::course::Feedback;
use crate::gradebook::{Found, Grade, Gradebook, Status, TestGrade, Verdict};
use crate::store::file_name;

/// `students/NAME/feedback.md`.
pub(super) struct Markdown;

/// `students/NAME/feedback.html`, and a page and a file for each failure that may be shown.
pub(super) struct Html;

impl Writer for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn write(&self, book: &Gradebook, out: &Folder) -> io::Result<()> {
        for grade in &book.grades {
            out.inside("students")
                .inside(file_name(&grade.name))
                .put("feedback.md", &markdown(book, grade))?;
        }
        Ok(())
    }
}

impl Writer for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn write(&self, book: &Gradebook, out: &Folder) -> io::Result<()> {
        for grade in &book.grades {
            let folder = out.inside("students").inside(file_name(&grade.name));
            let mut kept = vec!["feedback.html".to_owned()];
            for test in &grade.tests {
                if let (Verdict::Failed(found), Feedback::Trace) = (&test.verdict, test.feedback) {
                    let name = page_name(test);
                    folder.put(&format!("{name}.html"), &found.page)?;
                    folder.put(&format!("{name}.json"), &found.file)?;
                    kept.extend([format!("{name}.html"), format!("{name}.json")]);
                }
            }
            folder.put("feedback.html", &html(book, grade))?;
            folder.keep_only(&kept, ".html")?;
            folder.keep_only(&kept, ".json")?;
        }
        Ok(())
    }
}

/// What a student sees of a verdict, as the course wants it.
pub(super) fn verdict(test: &TestGrade) -> String {
    match (&test.verdict, test.feedback) {
        (Verdict::Passed, _) | (Verdict::NotRun(_), _) | (_, Feedback::Trace) => test.sentence(),
        (_, Feedback::Kind) => test.kind().unwrap_or_default().replace('-', " "),
        (_, Feedback::Verdict) => "failed".to_owned(),
    }
}

/// The failure, if the student may see the kind of it.
pub(super) fn found(test: &TestGrade) -> Option<&Found> {
    match &test.verdict {
        Verdict::Failed(found) if test.feedback != Feedback::Verdict => Some(found),
        _ => None,
    }
}

/// The failing execution, or what the test printed, if the student may see it.
pub(super) fn report(test: &TestGrade) -> Option<&str> {
    match &test.verdict {
        _ if test.feedback != Feedback::Trace => None,
        Verdict::Failed(found) => Some(found.report.trim_end()),
        Verdict::Panicked { output } => Some(output.trim()),
        _ => None,
    }
}

fn markdown(book: &Gradebook, grade: &Grade) -> String {
    let mut out = format!("# {}: {}\n\n", escape(&book.title), escape(&grade.name));
    let _ = writeln!(out, "**{} of {} points**\n", points(grade.points()), points(grade.max_points()));
    if let Some(remark) = grade.remark() {
        let _ = writeln!(out, "{remark}\n");
    }
    if let Status::DoesNotCompile(messages) = &grade.status {
        let _ = writeln!(out, "{}\n", fenced(messages));
    }
    out.push_str("| test | points | result |\n|---|---|---|\n");
    for test in &grade.tests {
        let (title, verdict) = (escape(&test.title), escape(&verdict(test)));
        let kind = if test.hidden { " (hidden)" } else { "" };
        let _ = writeln!(
            out,
            "| {title}{kind} | {} of {} | {verdict} |",
            points(test.points()),
            points(test.max_points)
        );
    }
    for test in grade.tests.iter().filter(|test| found(test).is_some() || report(test).is_some()) {
        let _ = write!(out, "\n## {}\n\n", escape(&test.title));
        if let Some(found) = found(test) {
            let _ = writeln!(out, "*Hint:* {}\n", found.hint);
        }
        if let Some(report) = report(test) {
            let _ = writeln!(out, "{}", fenced(report));
        }
    }
    let _ = writeln!(out, "\nThe seed of all searches was {}: the same for everyone.", book.seed);
    out
}

fn html(book: &Gradebook, grade: &Grade) -> String {
    let mut body = format!("<h1>{}: {}</h1>\n", text(&book.title), text(&grade.name));
    let _ = writeln!(
        body,
        "<p class=points>{} of {} points</p>",
        points(grade.points()),
        points(grade.max_points())
    );
    if let Some(remark) = grade.remark() {
        let _ = writeln!(body, "<p>{}</p>", text(&remark));
    }
    if let Status::DoesNotCompile(messages) = &grade.status {
        let _ = writeln!(body, "<pre>{}</pre>", text(messages));
    }
    body.push_str("<table><tr><th>test<th>points<th>result</tr>\n");
    for test in &grade.tests {
        let class = if test.verdict == Verdict::Passed { "pass" } else { "fail" };
        let kind = if test.hidden { " <small>(hidden)</small>" } else { "" };
        let _ = writeln!(
            body,
            "<tr class={class}><td>{}{kind}<td>{} of {}<td>{}</tr>",
            text(&test.title),
            points(test.points()),
            points(test.max_points),
            text(&verdict(test))
        );
    }
    body.push_str("</table>\n");
    for test in grade.tests.iter().filter(|test| found(test).is_some() || report(test).is_some()) {
        let _ = writeln!(body, "<h2>{}</h2>", text(&test.title));
        if let Some(found) = found(test) {
            let _ = writeln!(body, "<p><b>Hint:</b> {}</p>", text(&found.hint));
            if test.feedback == Feedback::Trace {
                let page = page_name(test);
                let _ = writeln!(body, "<p><a href=\"{page}.html\">Step through the execution</a></p>");
            }
        }
        if let Some(report) = report(test) {
            let _ = writeln!(body, "<pre>{}</pre>", text(report));
        }
    }
    let _ = writeln!(body, "<p>The seed of all searches was {}: the same for everyone.</p>", book.seed);
    document(&format!("{}: {}", book.title, grade.name), &body)
}

/// The name of a failure's page: of characters that need no care in links.
fn page_name(test: &TestGrade) -> String {
    let name = format!("{}-{}", test.target, test.name);
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).collect()
}

/// Text for Markdown, on one line, with nothing in it that is markup.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '\n' | '\r' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '!' => out.extend(['\\', character]),
            character => out.push(character),
        }
    }
    out
}

/// Text as a block of code, whose fence is longer than any in the text.
pub(super) fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_submission_is_no_markup() {
        assert_eq!(escape("a|b\n<script>"), r"a\|b \<script\>");
        let text = fenced("a\n```\n# b");
        assert!(text.starts_with("````text\n") && text.ends_with("\n````"));
    }
}
