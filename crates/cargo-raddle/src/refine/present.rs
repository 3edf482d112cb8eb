//! What came of specifications, as text, JSON, JUnit XML and tables.

use std::fmt::Write;

use raddle_refine::blame::MethodLevel;
use raddle_refine::spec::Spec;
use raddle_refine::table::{self, columns};
use raddle_refine::{Level, Verdict};

use super::{Batch, Violation, suspects};
use crate::commands::ValidateArgs;
use crate::error::{Error, Result};
use crate::report;
use crate::terminal::{Style, Terminal};

/// The report for people.
pub(crate) fn text(batch: &Batch, args: &ValidateArgs, terminal: &Terminal) -> String {
    let mut text = String::new();
    // With several specifications, it must be clear which one it is about.
    if args.specs.len() > 1 {
        let _ = writeln!(text, "{}:", batch.path.display());
    }
    for note in &batch.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let error = terminal.paint(Style::Bad, "error");
    for mistake in batch.mistake.iter().flat_map(|mistakes| mistakes.lines()) {
        let _ = writeln!(text, "{error}: {mistake}");
    }
    for (method, why) in &batch.left_out {
        let _ = writeln!(text, "{error}: `{method}` is left out, because it does not compile: {why}");
    }
    for (problem, schemas) in problems(batch) {
        let others =
            if schemas.len() > 1 { format!(" (and {} more)", schemas.len() - 1) } else { String::new() };
        let _ = writeln!(text, "{error}: {problem}: {}{others}", schemas[0]);
    }
    for violation in &batch.violations {
        text.push_str(&one_violation(violation, args, terminal));
    }
    // One schema that was asked for: its table, too.
    if batch.violations.is_empty() && !args.schema.is_empty() {
        for verdict in batch.verdicts.iter().filter(|verdict| verdict.problem.is_none()) {
            let _ = writeln!(text, "---\n{}\n---\n{}---", verdict.schema, table::outcomes(verdict));
        }
    }
    if args.maximality {
        text.push_str(&maximality(batch));
    }
    if batch.mistake.is_none() {
        text.push_str(&summary(batch, args));
    }
    text
}

fn one_violation(violation: &Violation, args: &ValidateArgs, terminal: &Terminal) -> String {
    let Violation { verdict, count, is_minimised, file } = violation;
    let mut text =
        format!("{}\n---\n{}\n---\n", terminal.paint(Style::Bad, "violation discovered"), verdict.schema);
    match &verdict.failure {
        Some(failure) => {
            let _ = writeln!(text, "{}", failure.what);
        }
        None => text.push_str(&table::outcomes(verdict)),
    }
    text.push_str("---\n");
    if let Some(method) = &verdict.blamed {
        let level = match verdict.levels.get(method) {
            Some(Some(level)) => format!(": as seen here, it is at most {level}"),
            Some(None) => ": not even weak consistency explains this".to_owned(),
            None => String::new(),
        };
        let _ = writeln!(text, "to blame: {method}{level}");
    } else if verdict.failure.is_none() {
        text.push_str("no method alone is to blame: several of them promise too much\n");
    }
    if *count > 1 {
        let made_smaller = if *is_minimised { ", made smaller" } else { "" };
        let _ = writeln!(text, "{count} schemas show this, of which this is the smallest{made_smaller}");
    }
    if let Some(file) = file {
        match report::read(file) {
            Ok(failure) if !args.output.quiet => text.push_str(&report::render(&failure, file, terminal)),
            _ => {
                let _ = writeln!(text, "replay: cargo raddle replay {}", file.display());
            }
        }
    }
    text.push('\n');
    text
}

fn maximality(batch: &Batch) -> String {
    let mut text = String::new();
    for (method, found) in &batch.levels {
        let against =
            found.witness.as_ref().map_or(String::new(), |schema| format!("; not more by {schema}"));
        let _ = writeln!(
            text,
            "observed {} consistency for method: {method} ({}{against})",
            level_name(found.level),
            basis(found)
        );
    }
    text
}

fn summary(batch: &Batch, args: &ValidateArgs) -> String {
    let violations = batch.verdicts.iter().filter(|verdict| verdict.is_violation()).count();
    let complete = batch.verdicts.iter().filter(|verdict| verdict.complete).count();
    let executions: u64 = batch.verdicts.iter().map(|verdict| verdict.executions).sum();
    let of = batch.count.map_or(String::new(), |count| format!(" of {count}"));
    let (build, run) = batch.times;
    let schemas = batch.verdicts.len();
    format!(
        "Found {} in {schemas}{of} schema{} ({complete} searched to the end, {} executions, tester {}, seed {}; \
         {:.1} s to build, {:.1} s to run).\n",
        counted(violations, "violation"),
        plural(schemas),
        table::thousands(executions),
        args.tester.tester().name(),
        args.size.seed,
        build.as_secs_f64(),
        run.as_secs_f64()
    )
}

/// `1 violation`, `2 violations`.
fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", plural(number))
}

const fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

/// Each problem once, with its schemas.
fn problems(batch: &Batch) -> Vec<(&str, Vec<&str>)> {
    let mut problems: Vec<(&str, Vec<&str>)> = Vec::new();
    for Verdict { problem, schema, .. } in &batch.verdicts {
        let Some(problem) = problem else { continue };
        match problems.iter_mut().find(|(known, _)| known == problem) {
            Some((_, schemas)) => schemas.push(schema),
            None => problems.push((problem, vec![schema])),
        }
    }
    problems
}

/// All batches as one JSON document.
pub(crate) fn json(batches: &[Batch]) -> Result<String> {
    let method = |found: &MethodLevel| {
        serde_json::json!({
            "level": found.level, "schemas": found.schemas, "complete": found.complete, "witness": found.witness,
        })
    };
    let batch = |batch: &Batch| {
        let levels: serde_json::Map<String, serde_json::Value> =
            batch.levels.iter().map(|(name, found)| (name.clone(), method(found))).collect();
        let violations: Vec<_> = batch
            .violations
            .iter()
            .map(|violation| {
                serde_json::json!({
                    "verdict": violation.verdict, "schemas": violation.count, "file": violation.file,
                })
            })
            .collect();
        serde_json::json!({
            "spec": batch.path, "notes": batch.notes, "mistake": batch.mistake,
            "left_out": batch.left_out.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "verdicts": batch.verdicts, "violations": violations, "levels": levels,
            "seconds": { "build": batch.times.0.as_secs_f64(), "run": batch.times.1.as_secs_f64() },
        })
    };
    let document =
        serde_json::json!({ "format": 1, "batches": batches.iter().map(batch).collect::<Vec<_>>() });
    serde_json::to_string_pretty(&document).map_err(Error::usage)
}

/// One test suite for each specification, one test case for each schema.
pub(crate) fn junit(batches: &[Batch]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n".to_owned();
    for batch in batches {
        let failures = batch.verdicts.iter().filter(|verdict| verdict.is_violation()).count();
        let problems = batch.verdicts.iter().filter(|verdict| verdict.problem.is_some()).count();
        let mistakes = usize::from(batch.mistake.is_some());
        let name = escape(&batch.path.display().to_string());
        let tests = batch.verdicts.len() + mistakes;
        let errors = problems + mistakes;
        let _ = writeln!(
            text,
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">"
        );
        if let Some(mistake) = &batch.mistake {
            let message = escape(mistake);
            let _ = writeln!(
                text,
                "    <testcase name=\"specification\" classname=\"{name}\"><error message=\"{message}\"/></testcase>"
            );
        }
        for verdict in &batch.verdicts {
            let schema = escape(&verdict.schema);
            let time = verdict.seconds;
            let _ = write!(text, "    <testcase name=\"{schema}\" classname=\"{name}\" time=\"{time:.3}\">");
            if let Some(problem) = &verdict.problem {
                let _ = write!(text, "<error message=\"{}\"/>", escape(problem));
            } else if verdict.is_violation() {
                let message = match (&verdict.failure, &verdict.blamed) {
                    (Some(failure), _) => failure.what.clone(),
                    (None, Some(method)) => format!("unexpected outcome, to blame: {method}"),
                    (None, None) => "unexpected outcome".to_owned(),
                };
                let table = escape(&table::outcomes(verdict));
                let _ = write!(text, "<failure message=\"{}\">{table}</failure>", escape(&message));
            }
            text.push_str("</testcase>\n");
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

/// A table of methods and their levels.
pub(crate) fn markdown(batches: &[Batch]) -> String {
    let mut rows = Vec::new();
    for batch in batches {
        let object = batch.spec.as_ref().map_or(batch.path.display().to_string(), object_name);
        if let Some(mistake) = &batch.mistake {
            rows.push([
                object.clone(),
                String::new(),
                format!("not tried: {mistake}"),
                String::new(),
                String::new(),
            ]);
        }
        for (method, found) in &batch.levels {
            let witness = found.witness.as_deref().map_or(String::new(), in_cell);
            rows.push([
                object.clone(),
                format!("`{method}`"),
                format!("{} ({})", found.level.map_or("none", Level::name), basis(found)),
                documented(batch, method),
                witness,
            ]);
        }
        for Violation { verdict, .. } in &batch.violations {
            let what = match (&verdict.failure, &verdict.blamed) {
                (Some(failure), _) => failure.what.lines().next().unwrap_or_default().replace('|', "\\|"),
                (None, None) => "unexpected outcome, no method alone is to blame".to_owned(),
                (None, Some(_)) => continue,
            };
            // Nobody is blamed for a data race or a deadlock, but most schemas have one method only that is not trusted.
            let suspects = batch.spec.as_ref().map_or(Vec::new(), |spec| suspects(spec, &verdict.schema));
            let documented = match suspects.as_slice() {
                [only] => documented(batch, only),
                _ => String::new(),
            };
            let suspects: Vec<String> = suspects.iter().map(|name| format!("`{name}`")).collect();
            rows.push([object.clone(), suspects.join(", "), what, documented, in_cell(&verdict.schema)]);
        }
    }
    let table = columns(
        ["object", "method", "level seen", "what its documentation says", "smallest schema against more"],
        &rows,
    );
    let mut text = String::new();
    for (number, line) in table.lines().enumerate() {
        let line = if number == 1 { line.replace("-|-", " | ") } else { line.to_owned() };
        let _ = writeln!(text, "| {line} |");
    }
    text
}

/// What the documentation of a method says.
fn documented(batch: &Batch, method: &str) -> String {
    batch.spec.as_ref().and_then(|spec| spec.method(method)?.documented.clone()).unwrap_or_default()
}

/// `dashmap::DashMap` 6. What the specification itself makes of a crate, such as a pair of a sender and a receiver, is called by the crate.
fn object_name(spec: &Spec) -> String {
    let path = spec.object.split('<').next().unwrap_or_default().trim();
    let is_path = path.contains("::") && path.chars().all(|c| c.is_alphanumeric() || "_:".contains(c));
    let dependency = spec.dependencies.first();
    let name = match dependency {
        Some(dependency) if !is_path => dependency.name.as_str(),
        _ => path,
    };
    let version = dependency.and_then(|dependency| dependency.version.as_deref()).unwrap_or_default();
    format!("`{name}` {version}").trim_end().to_owned()
}

/// A schema in a cell of a table.
fn in_cell(schema: &str) -> String {
    format!("`{}`", schema.replace('|', "\\|"))
}

fn level_name(level: Option<Level>) -> &'static str {
    level.map_or("no", Level::name)
}

/// How much a level is based on.
fn basis(found: &MethodLevel) -> String {
    let schemas = counted(found.schemas, "schema");
    match found.complete {
        0 => format!("{schemas}, samples"),
        complete if complete == found.schemas => format!("{schemas}, all executions"),
        complete => format!("{schemas}, {complete} of them with all executions"),
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML 1.0 has no other control characters.
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use raddle_refine::spec::Language;

    use super::*;

    #[test]
    fn objects_are_called_by_their_paths_or_by_their_crates() {
        let name = |ty: &str, origin: &str| {
            let text = format!(
                r#"{{ "type": "{ty}", "constructor": "new()", "crate": {{ "name": "maps", {origin} }}, "methods": [{{ "name": "len" }}] }}"#
            );
            object_name(&Spec::read(&text, Language::Json).unwrap().spec)
        };
        assert_eq!(name("maps::Map<i32, i32>", r#""version": "6""#), "`maps::Map` 6");
        assert_eq!(name("(maps::Sender<i32>, maps::Receiver<i32>)", r#""version": "0.1""#), "`maps` 0.1");
        assert_eq!(name("Wrapper", r#""version": "0.1""#), "`maps` 0.1");
        assert_eq!(name("maps::Map", r#""path": ".""#), "`maps::Map`");
    }

    #[test]
    fn a_level_says_what_it_is_based_on() {
        let found = |schemas, complete| basis(&MethodLevel { level: None, schemas, complete, witness: None });
        assert_eq!(found(3, 0), "3 schemas, samples");
        assert_eq!(found(1, 1), "1 schema, all executions");
        assert_eq!(found(3, 2), "3 schemas, 2 of them with all executions");
    }
}
