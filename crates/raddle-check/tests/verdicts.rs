//! The recorded histories in `tests/histories`, each with its known verdict.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use raddle_check::format::{Format, read_history};
use raddle_check::model::kv::Kv;
use raddle_check::model::register::Register;
use raddle_check::{Checker, Report, Verdict};

fn histories() -> Vec<(String, bool)> {
    let table = std::fs::read_to_string(directory().join("VERDICTS.tsv")).unwrap();
    let rows = table.lines().skip(1).map(|row| row.split_once('\t').unwrap());
    rows.map(|(path, verdict)| (path.to_owned(), verdict == "linearizable")).collect()
}

fn directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

fn check_file(path: &str, checker: &Checker) -> Report {
    let reader = BufReader::new(File::open(directory().join(path)).unwrap());
    if path.starts_with("etcd/") {
        let model = Register::default();
        let loaded = read_history(reader, Format::JepsenLog, &model, false).unwrap();
        checker.check(&loaded.history, &model)
    } else {
        let model = Kv::default();
        let loaded = read_history(reader, Format::Edn, &model, true).unwrap();
        checker.check(&loaded.history, &model)
    }
}

#[track_caller]
fn expect(path: &str, linearizable: bool, report: &Report) {
    assert!(!report.is_unknown(), "{path} was not decided");
    assert_eq!(report.is_accepted(), linearizable, "{path}");
}

#[test]
fn every_verdict_is_right() {
    let histories = histories();
    assert_eq!(histories.len(), 56);
    for (path, linearizable) in histories {
        expect(&path, linearizable, &check_file(&path, &Checker::new()));
    }
}

#[test]
fn a_key_value_history_in_one_piece_has_the_same_verdict() {
    for (path, linearizable) in histories().into_iter().filter(|(path, _)| path.starts_with("kv/c01")) {
        expect(&path, linearizable, &check_file(&path, &Checker::new().whole()));
    }
}

#[test]
fn a_violation_names_a_prefix_that_ends_with_the_return_of_the_operation() {
    for (path, _) in histories().into_iter().filter(|(_, linearizable)| !linearizable) {
        let report = check_file(&path, &Checker::new());
        for part in &report.parts {
            if let Verdict::Violation(violation) = &part.verdict {
                let operation = violation.operation.expect("a search names the operation");
                assert!(part.operations.contains(&operation), "{path}");
                assert!(!violation.attempts.is_empty(), "{path}: {violation:?}");
            }
        }
    }
}

#[test]
fn on_all_processors_the_report_is_the_same() {
    for (path, _) in histories().into_iter().filter(|(path, _)| path.starts_with("kv/")) {
        let model = Kv::default();
        let reader = BufReader::new(File::open(directory().join(&path)).unwrap());
        let history = read_history(reader, Format::Edn, &model, true).unwrap().history;
        let without_times = |mut report: Report| {
            report.parts.iter_mut().for_each(|part| part.time = std::time::Duration::ZERO);
            report
        };
        let one = without_times(Checker::new().check(&history, &model));
        let all = without_times(Checker::new().try_check_parallel(&history, &model).unwrap());
        assert!(one.parts.len() > 1, "{path}");
        assert_eq!(one, all, "{path}");
    }
}
