//! What a person sees, for every kind of failure and terminal.

mod samples;

use std::path::Path;

use raddle_report::{Failure, Style, render};

const WIDE: Style = Style { width: 110, colour: false, unicode: true };

#[track_caller]
fn page(failure: &Failure, style: Style) -> String {
    let page = render(failure, style, Some(Path::new("target/raddle/failures/example.json")));
    for line in page.lines().filter(|line| !line.starts_with("replay:")) {
        assert_eq!(line, line.trim_end(), "spaces at the end of a line");
        assert!(style.colour || line.chars().count() <= style.width, "wider than the terminal: {line}");
    }
    page
}

#[test]
fn lost_update() {
    insta::assert_snapshot!(page(&samples::lost_update(), WIDE));
}

#[test]
fn deadlock() {
    insta::assert_snapshot!(page(&samples::deadlock(), WIDE));
}

#[test]
fn data_race() {
    insta::assert_snapshot!(page(&samples::data_race(), WIDE));
}

#[test]
fn double_free() {
    insta::assert_snapshot!(page(&samples::double_free(), WIDE));
}

#[test]
fn livelock() {
    insta::assert_snapshot!(page(&samples::livelock(), WIDE));
}

/// What is not proven says so.
#[test]
fn time_limit() {
    insta::assert_snapshot!(page(&samples::time_limit(), WIDE));
}

/// The thread that did it is named, not the one that was recorded last.
#[test]
fn exit() {
    insta::assert_snapshot!(page(&samples::exit(), WIDE));
}

#[test]
fn thread_leak() {
    insta::assert_snapshot!(page(&samples::thread_leak(), WIDE));
}

#[test]
fn scenario() {
    insta::assert_snapshot!(page(&samples::scenario(), WIDE));
}

#[test]
fn explained_scenario() {
    let mut failure = samples::scenario();
    failure.kind = raddle_report::Kind::IncorrectResults;
    failure.reasons = vec![
        "the order that explains most: push(1) -> (), T1 push(2) -> (), T1 pop() -> Some(1)".into(),
        "what can come next does not fit (the state is then [2]):".into(),
        "  T2 pop() -> Some(1): should be Some(2)".into(),
    ];
    let scenario = failure.scenario.as_mut().unwrap();
    scenario.code = Some(".scenario(\n    raddle::Scenario::new(),\n)".into());
    insta::assert_snapshot!(page(&failure, WIDE));
}

#[test]
fn found_on_real_threads() {
    let mut failure = samples::scenario();
    failure.trace = Default::default();
    failure.threads = Vec::new();
    failure.found_by.strategy = "stress".into();
    insta::assert_snapshot!(page(&failure, WIDE));
}

#[test]
fn narrow() {
    insta::assert_snapshot!(page(&samples::deadlock(), Style { width: 48, ..WIDE }));
}

#[test]
fn narrow_scenario() {
    insta::assert_snapshot!(page(&samples::scenario(), Style { width: 40, ..WIDE }));
}

#[test]
fn eighty_columns() {
    insta::assert_snapshot!(page(&samples::deadlock(), Style { width: 80, ..WIDE }));
}

#[test]
fn five_threads() {
    insta::assert_snapshot!(page(&samples::five_threads(), WIDE));
}

#[test]
fn colour() {
    let page = page(&samples::lost_update(), Style { colour: true, ..WIDE });
    insta::assert_snapshot!(page.replace('\x1b', "ESC"));
}

#[test]
fn ascii() {
    let page = page(&samples::scenario(), Style { unicode: false, ..WIDE });
    assert!(page.is_ascii());
    insta::assert_snapshot!(page);
}

#[test]
fn long_trace() {
    insta::assert_snapshot!(page(&samples::long_trace(), WIDE));
}

#[test]
fn every_width_is_kept() {
    for width in 20..200 {
        for failure in
            [samples::lost_update(), samples::deadlock(), samples::scenario(), samples::five_threads()]
        {
            page(&failure, Style { width, ..WIDE });
        }
    }
}
