//! Reports as one page that needs nothing else: a summary, and a table of outcomes for each test.

use std::fmt::Write as _;

use super::table::{allowed_word, frequency};
use super::{Report, Row};

/// The page of reports.
pub fn html(title: &str, reports: &[Report]) -> String {
    let title = escape(title);
    let passed = reports.iter().filter(|report| report.verdict().passes()).count();
    let (all, style) = (reports.len(), include_str!("page.css"));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <p>{passed} of {all} tests passed.</p>\n"
    );
    index(&mut out, reports);
    for (number, report) in reports.iter().enumerate() {
        section(&mut out, number, report);
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// A line for each test, failures first.
fn index(out: &mut String, reports: &[Report]) {
    let mut order: Vec<usize> = (0..reports.len()).collect();
    order.sort_by_key(|&number| reports[number].verdict().passes());
    out.push_str("<table class=\"index\">\n<tr><th>Test</th><th>Verdict</th><th>Executions</th><th>Interesting</th></tr>\n");
    for number in order {
        let report = &reports[number];
        let (name, word) = (escape(&report.name), report.verdict().word());
        let executions =
            report.seen.as_ref().map_or_else(|| "–".to_owned(), |seen| seen.executions.to_string());
        let is_interesting = |row: &&Row| row.expect == crate::Expect::Interesting && row.samples > Some(0);
        let interesting: Vec<String> =
            report.rows().iter().filter(is_interesting).map(|row| escape(&row.result)).collect();
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#test{number}\">{name}</a></td><td class=\"{word}\">{word}</td><td class=\"number\">{executions}</td>\
             <td>{}</td></tr>",
            interesting.join(" · ")
        );
    }
    out.push_str("</table>\n");
}

fn section(out: &mut String, number: usize, report: &Report) {
    let (name, word) = (escape(&report.name), report.verdict().word());
    let _ =
        writeln!(out, "<section id=\"test{number}\">\n<h2>{name} <span class=\"{word}\">{word}</span></h2>");
    if !report.description.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", escape(&report.description));
    }
    for reason in report.verdict().reasons() {
        let _ = writeln!(out, "<p class=\"failed\">{}</p>", escape(&reason));
    }
    out.push_str("<table>\n<tr><th>Result</th><th>Samples</th><th>Frequency</th>");
    for model in &report.models {
        let _ = write!(out, "<th>{}</th>", escape(&model.model));
    }
    out.push_str("<th>Expect</th><th>Description</th></tr>\n");
    for row in report.rows() {
        let problem = if row.problem.is_some() { " problem" } else { "" };
        let unseen = if row.occurs() { "" } else { " unseen" };
        let all = report.seen.as_ref().map_or(0, |seen| seen.executions);
        let samples = row.samples.map_or_else(|| "–".to_owned(), |samples| samples.to_string());
        let share = row.samples.map_or_else(|| "–".to_owned(), |samples| escape(&frequency(samples, all)));
        let _ = write!(
            out,
            "<tr class=\"{}{problem}{unseen}\"><td><code>{}</code></td><td class=\"number\">{samples}</td><td class=\"number\">{share}</td>",
            row.expect,
            escape(&row.result),
        );
        for allowed in &row.allowed {
            let _ = write!(out, "<td>{}</td>", allowed_word(*allowed));
        }
        let _ = writeln!(out, "<td>{}</td><td>{}</td></tr>", row.expect, escape(&row.description));
    }
    out.push_str("</table>\n");
    if let Some(seen) = &report.seen {
        let places: Vec<String> = seen.placements.iter().map(|(place, n)| format!("{place}: {n}")).collect();
        let code = if seen.instrumented { "; instrumented code" } else { "" };
        let (executions, seconds) = (seen.executions, seen.elapsed.as_secs_f64());
        let places = escape(&places.join(", "));
        let _ = writeln!(
            out,
            "<p class=\"note\">{executions} executions in {seconds:.1} s ({places}{code}), seed {}</p>",
            seen.seed
        );
    }
    for model in &report.models {
        let all = if model.complete { "all" } else { "not all" };
        let _ = writeln!(
            out,
            "<p class=\"note\">{}: {} executions, {all} of them</p>",
            escape(&model.model),
            model.executions
        );
    }
    out.push_str("</section>\n");
}

/// Text that means itself in HTML and XML.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            // XML has no way to write these.
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::samples::store_buffering;
    use super::*;

    #[test]
    fn the_page_has_every_outcome_and_no_text_becomes_markup() {
        let mut failed = store_buffering();
        failed.name = "<script>alert(1)</script>".to_owned();
        failed.models[1].outcomes.remove("0, 0");
        let page = html("litmus", &[store_buffering(), failed]);
        for part in
            ["1 of 2 tests passed", "<code>0, 0</code>", "is not allowed by RC11", "<th>SC</th>", "&lt;0.01%"]
        {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("<script"));
        assert!(!page.contains("http://") && !page.contains("https://"));
        let (failed, passed) = (page.find("#test1").unwrap(), page.find("#test0").unwrap());
        assert!(failed < passed, "failures come first");
    }
}
