//! `index.html`: which tests fail most, failures grouped by cause, and how the points are distributed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use super::html::{document, text};
use super::{Folder, Writer, points};
use crate::gradebook::{Gradebook, Verdict};
use crate::store::file_name;

/// The page for the teacher.
pub(super) struct Summary;

/// Bars of the distribution.
const BARS: usize = 10;
/// Names that are listed with a cause.
const NAMES: usize = 12;

impl Writer for Summary {
    fn name(&self) -> &'static str {
        "summary"
    }

    fn write(&self, book: &Gradebook, out: &Folder) -> io::Result<()> {
        out.put("index.html", &page(book))
    }
}

fn page(book: &Gradebook) -> String {
    let mut body = format!("<h1>{}</h1>\n", text(&book.title));
    let count = book.grades.len();
    let all: f64 = book.grades.iter().map(|grade| grade.points()).sum();
    let mean = if count == 0 { 0.0 } else { all / count as f64 };
    let _ =
        writeln!(body, "<p>{count} submissions, {} points on average, seed {}.</p>", points(mean), book.seed);
    for sentence in &book.not_isolated {
        let _ = writeln!(body, "<p><b>Not isolated:</b> {}</p>", text(sentence));
    }
    distribution(&mut body, book);
    tests(&mut body, book);
    causes(&mut body, book);
    submissions(&mut body, book);
    document(&book.title, &body)
}

fn distribution(body: &mut String, book: &Gradebook) {
    let max = book.grades.iter().map(|grade| grade.max_points()).fold(0.0, f64::max);
    if max == 0.0 {
        return;
    }
    let mut bars = [0_usize; BARS];
    for grade in &book.grades {
        let share = grade.points() / max;
        bars[((share * BARS as f64) as usize).min(BARS - 1)] += 1;
    }
    let most = bars.iter().max().copied().unwrap_or(0).max(1);
    body.push_str("<h2>Points</h2>\n<table>\n");
    for (number, bar) in bars.iter().enumerate() {
        let bound = |number: usize| points(max * number as f64 / BARS as f64);
        let width = bar * 100 / most;
        let _ = writeln!(
            body,
            "<tr><td>{} to {}<td>{bar}<td width=70%><div class=bar style=\"width:{width}%\"></div></tr>",
            bound(number),
            bound(number + 1)
        );
    }
    body.push_str("</table>\n");
}

/// How often a test failed, and how often with each kind of failure.
type Failed = (usize, BTreeMap<String, usize>);

fn tests(body: &mut String, book: &Gradebook) {
    let mut failed: BTreeMap<(usize, &str), Failed> = BTreeMap::new();
    for grade in &book.grades {
        for (number, test) in grade.tests.iter().enumerate() {
            let entry = failed.entry((number, &test.title)).or_default();
            if let Some(kind) = test.kind().filter(|_| !matches!(test.verdict, Verdict::NotRun(_))) {
                entry.0 += 1;
                *entry.1.entry(kind).or_default() += 1;
            }
        }
    }
    let mut failed: Vec<_> = failed.into_iter().collect();
    failed.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    body.push_str("<h2>Tests that fail most</h2>\n<table><tr><th>test<th>failed<th>kinds</tr>\n");
    for ((_, title), (count, kinds)) in failed {
        let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let _ = writeln!(body, "<tr><td>{}<td>{count}<td>{}</tr>", text(title), text(&kinds.join(", ")));
    }
    body.push_str("</table>\n");
}

fn causes(body: &mut String, book: &Gradebook) {
    body.push_str("<h2>Failures by cause</h2>\n<table><tr><th>cause<th>submissions<th></tr>\n");
    for (cause, names) in book.causes() {
        let mut list: Vec<&str> = names.iter().take(NAMES).copied().collect();
        if names.len() > NAMES {
            list.push("...");
        }
        let _ =
            writeln!(body, "<tr><td>{}<td>{}<td>{}</tr>", text(&cause), names.len(), text(&list.join(", ")));
    }
    body.push_str("</table>\n");
}

fn submissions(body: &mut String, book: &Gradebook) {
    body.push_str("<h2>Submissions</h2>\n<table><tr><th>submission<th>points<th>seconds<th>remark</tr>\n");
    for grade in &book.grades {
        let folder: String = file_name(&grade.name).bytes().map(in_link).collect();
        let _ = writeln!(
            body,
            "<tr><td><a href=\"students/{folder}/feedback.html\">{}</a><td>{} of {}<td>{:.1}<td>{}</tr>",
            text(&grade.name),
            points(grade.points()),
            points(grade.max_points()),
            grade.time.as_secs_f64(),
            text(grade.status.word().unwrap_or(""))
        );
    }
    body.push_str("</table>\n");
}

/// A byte of a name in a link.
fn in_link(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}
