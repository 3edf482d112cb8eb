//! Reports as JSON, version 1. The parts from which a report can be made again come first, then what follows from them.
//!
//! ```json
//! {"raddle_litmus": 1, "tests": [{
//!   "name": "sb", "description": "", "rules": [{"pattern": "*", "expect": "acceptable", "description": ""}],
//!   "seen": {"outcomes": {"1, 0": 7}, "executions": 7, "seconds": 0.1, "seed": 0, "placements": {"other core": 7},
//!            "stuck": [], "instrumented": false},
//!   "models": [{"model": "SC", "outcomes": {"1, 0": 1}, "executions": 1, "complete": true}],
//!   "verdict": "passed", "reasons": [],
//!   "rows": [{"result": "1, 0", "samples": 7, "allowed": {"SC": true}, "expect": "acceptable", "description": "", "problem": null}]
//! }]}
//! ```
//!
//! `seen` is null where nothing was run on real threads, and a model's verdict is null where its search was not complete.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Allowed, Report, Row, Seen};

/// The version of the format.
pub const VERSION: u32 = 1;

/// The JSON of reports.
pub fn json(reports: &[Report]) -> String {
    let tests = list(reports.iter().map(test));
    format!("{{\"raddle_litmus\": {VERSION}, \"tests\": {tests}}}\n")
}

fn test(report: &Report) -> String {
    let rules = report.grading.rules.iter().map(|rule| {
        let expect = string(&rule.expect.to_string());
        object([
            ("pattern", string(&rule.pattern)),
            ("expect", expect),
            ("description", string(&rule.description)),
        ])
    });
    let verdict = report.verdict();
    object([
        ("name", string(&report.name)),
        ("description", string(&report.description)),
        ("rules", list(rules)),
        ("seen", report.seen.as_ref().map_or_else(|| "null".to_owned(), seen)),
        ("models", list(report.models.iter().map(model))),
        ("verdict", string(verdict.word())),
        ("reasons", list(verdict.reasons().iter().map(|reason| string(reason)))),
        ("rows", list(report.rows().iter().map(|row| self::row(report, row)))),
    ])
}

fn seen(seen: &Seen) -> String {
    let placements =
        seen.placements.iter().map(|(place, executions)| (place.as_str(), executions.to_string()));
    object([
        ("outcomes", counts(&seen.outcomes)),
        ("executions", seen.executions.to_string()),
        ("seconds", format!("{:.6}", seen.elapsed.as_secs_f64())),
        ("seed", seen.seed.to_string()),
        ("placements", object(placements)),
        ("stuck", list(seen.stuck.iter().map(usize::to_string))),
        ("instrumented", seen.instrumented.to_string()),
    ])
}

fn model(model: &Allowed) -> String {
    object([
        ("model", string(&model.model)),
        ("outcomes", counts(&model.outcomes)),
        ("executions", model.executions.to_string()),
        ("complete", model.complete.to_string()),
    ])
}

fn row(report: &Report, row: &Row) -> String {
    let null = || "null".to_owned();
    let allowed = report.models.iter().zip(&row.allowed);
    let allowed =
        allowed.map(|(model, allowed)| (&*model.model, allowed.map_or_else(null, |yes| yes.to_string())));
    object([
        ("result", string(&row.result)),
        ("samples", row.samples.map_or_else(null, |samples| samples.to_string())),
        ("allowed", object(allowed)),
        ("expect", string(&row.expect.to_string())),
        ("description", string(&row.description)),
        ("problem", row.problem.as_ref().map_or_else(null, |problem| string(problem))),
    ])
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    object(counts.iter().map(|(outcome, count)| (outcome.as_str(), count.to_string())))
}

fn object<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("{}: {value}", string(name))).collect();
    format!("{{{}}}", fields.join(", "))
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::super::samples::store_buffering;
    use super::*;

    #[test]
    fn the_json_has_all_parts() {
        let mut report = store_buffering();
        report.models.truncate(1);
        report.models[0].complete = false;
        report.seen.as_mut().unwrap().outcomes.retain(|key, _| key == "0, 1");
        report.models[0].outcomes.retain(|key, _| key == "0, 1");
        report.grading.rules.remove(0);
        let expected = concat!(
            r#"{"raddle_litmus": 1, "tests": [{"name": "store_buffering", "description": "", "rules": ["#,
            r#"{"pattern": "2, 2", "expect": "forbidden", "description": "never <written> & \"said\""}, "#,
            r#"{"pattern": "*", "expect": "acceptable", "description": "an interleaving"}], "#,
            r#""seen": {"outcomes": {"0, 1": 500000}, "executions": 1000000, "seconds": 0.250000, "seed": 0, "#,
            r#""placements": {"other core": 1000000}, "stuck": [], "instrumented": false}, "#,
            r#""models": [{"model": "SC", "outcomes": {"0, 1": 1}, "executions": 3, "complete": false}], "#,
            r#""verdict": "passed", "reasons": [], "rows": [{"result": "0, 1", "samples": 500000, "#,
            r#""allowed": {"SC": true}, "expect": "acceptable", "description": "an interleaving", "problem": null}, "#,
            r#"{"result": "2, 2", "samples": 0, "allowed": {"SC": null}, "expect": "forbidden", "#,
            r#""description": "never <written> & \"said\"", "problem": null}]}]}"#,
            "\n"
        );
        assert_eq!(json(&[report]), expected);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(string("a\"b\\c\nd\u{1}é"), "\"a\\\"b\\\\c\\nd\\u0001é\"");
    }
}
