//! A report as a table in the terminal.

use std::fmt::Write as _;

use super::{Report, Row, Verdict};

/// The report as text: the verdict, the table of outcomes, and what was run.
pub fn table(report: &Report) -> String {
    let mut lines = vec![headings(report)];
    lines.extend(report.rows().iter().map(|row| cells(report, row)));
    let columns = lines[0].len();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    let verdict = report.verdict();
    let _ = writeln!(out, "{}  {}", report.name, heading(&verdict));
    if !report.description.is_empty() {
        let _ = writeln!(out, "  {}", report.description);
    }
    for line in &lines {
        let mut text = String::new();
        for (column, cell) in line.iter().enumerate() {
            match column == 1 || column == 2 {
                true => write!(text, "  {cell:>0$}", widths[column]),
                false => write!(text, "  {cell:<0$}", widths[column]),
            }
            .expect("strings take any text");
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
    if let Some(seen) = &report.seen {
        let rate = seen.executions as f64 / seen.elapsed.as_secs_f64().max(1e-9) / 1e6;
        let places: Vec<String> = seen.placements.iter().map(|(place, n)| format!("{place} {n}")).collect();
        let instrumented = if seen.instrumented { ", instrumented code" } else { "" };
        let (executions, places) = (seen.executions, places.join(", "));
        let _ =
            writeln!(out, "  {executions} executions, {rate:.1} million a second ({places}{instrumented})");
    }
    for model in &report.models {
        let all = if model.complete { "all" } else { "not all" };
        let _ = writeln!(out, "  {}: {} executions, {all} of them", model.model, model.executions);
    }
    for reason in verdict.reasons() {
        let _ = writeln!(out, "  {reason}");
    }
    out
}

fn heading(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed(_) => "FAILED",
        Verdict::TimedOut(_) => "TIMEOUT",
    }
}

fn headings(report: &Report) -> Vec<String> {
    let models = report.models.iter().map(|model| model.model.clone());
    let first = ["RESULT", "SAMPLES", "FREQ"].map(str::to_owned);
    first.into_iter().chain(models).chain(["EXPECT", "DESCRIPTION"].map(str::to_owned)).collect()
}

fn cells(report: &Report, row: &Row) -> Vec<String> {
    let all = report.seen.as_ref().map_or(0, |seen| seen.executions);
    let samples = row.samples.map_or_else(|| "-".to_owned(), |samples| samples.to_string());
    let frequency = row.samples.map_or_else(|| "-".to_owned(), |samples| frequency(samples, all));
    let models = row.allowed.iter().map(|allowed| allowed_word(*allowed).to_owned());
    let last = [row.expect.to_string(), row.description.clone()];
    [row.result.clone(), samples, frequency].into_iter().chain(models).chain(last).collect()
}

/// Whether a model allows an outcome.
pub(super) fn allowed_word(allowed: Option<bool>) -> &'static str {
    match allowed {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
}

/// The share of executions. What was seen is never 0 %.
pub(super) fn frequency(samples: u64, all: u64) -> String {
    let share = 100.0 * samples as f64 / all.max(1) as f64;
    match samples {
        0 => "0%".to_owned(),
        _ if share < 0.01 => "<0.01%".to_owned(),
        _ => format!("{share:.2}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::store_buffering;
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_outcome() {
        let expected = "\
store_buffering  passed
  RESULT  SAMPLES    FREQ  SC   RC11  EXPECT       DESCRIPTION
  0, 1     500000  50.00%  yes  yes   acceptable   an interleaving
  1, 0     499979  50.00%  yes  yes   acceptable   an interleaving
  0, 0         20  <0.01%  no   yes   interesting  both stores were still in their buffers
  1, 1          1  <0.01%  yes  yes   acceptable   an interleaving
  2, 2          0      0%  no   no    forbidden    never <written> & \"said\"
  1000000 executions, 4.0 million a second (other core 1000000)
  SC: 3 executions, all of them
  RC11: 4 executions, all of them
";
        assert_eq!(table(&store_buffering()), expected);
    }

    #[test]
    fn a_failure_says_why() {
        let mut report = store_buffering();
        report.models[1].outcomes.remove("0, 0");
        let text = table(&report);
        assert!(text.starts_with("store_buffering  FAILED\n"), "{text}");
        assert!(text.ends_with("  `0, 0` was seen 20 times and is not allowed by RC11\n"), "{text}");
    }
}
