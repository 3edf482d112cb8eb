//! Verdicts as tables, in the manner of Violat.

use crate::verdict::Verdict;

/// The table of a verdict: all outcomes that were seen with their marks and frequencies, and those that are expected but were not seen.
pub fn outcomes(verdict: &Verdict) -> String {
    let mut rows: Vec<[String; 3]> = Vec::new();
    for row in &verdict.rows {
        let mark = if row.expected { "√" } else { "X" };
        rows.push([row.outcome.join(", "), mark.to_owned(), thousands(row.count)]);
    }
    for outcome in verdict.expected.iter().flatten() {
        if !verdict.rows.iter().any(|row| row.outcome == *outcome) {
            rows.push([outcome.join(", "), "√".to_owned(), "not seen".to_owned()]);
        }
    }
    // Where every execution was made, how often an outcome came is no frequency.
    let last = if verdict.complete { "executions" } else { "frequency" };
    let mut text = columns(["outcome", "OK", last], &rows);
    let how = match verdict.complete {
        true => format!("all {} executions", thousands(verdict.executions)),
        false => format!("{} executions, not all", thousands(verdict.executions)),
    };
    text.push_str(&format!("{how}\n"));
    text
}

/// Rows in columns, with a line under the head.
pub fn columns<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = head.map(|title| title.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; N]| {
        let cells: Vec<String> =
            cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join(" | ").trim_end())
    };
    let mut text = line(head);
    let rule = widths.map(|width| "-".repeat(width));
    text.push_str(&format!("{}\n", rule.join("-|-")));
    for row in rows {
        text.push_str(&line(row.each_ref().map(String::as_str)));
    }
    text
}

/// A number with commas between its thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Row;

    #[test]
    fn a_table_has_marks_and_frequencies() {
        let row = |outcome: &str, count, expected| Row {
            outcome: outcome.split(' ').map(str::to_owned).collect(),
            count,
            expected,
        };
        let verdict = Verdict {
            rows: vec![row("0 true null", 13_287, true), row("1 false null", 2, false)],
            expected: Some(vec![row("0 true null", 0, true).outcome, row("null true null", 0, true).outcome]),
            executions: 3_677_810,
            ..Verdict::default()
        };
        insta::assert_snapshot!(outcomes(&verdict), @r"
        outcome          | OK | frequency
        -----------------|----|----------
        0, true, null    | √  | 13,287
        1, false, null   | X  | 2
        null, true, null | √  | not seen
        3,677,810 executions, not all
        ");
    }
}
