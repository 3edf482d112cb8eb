//! What a failing test prints: the log of the execution, and the schedule to paste back.

use raddle_options::Strategy;
use raddle_report::{Failure, Kind, Style, render_log};

use super::schedule::Schedule;
use super::test::TestReport;
use crate::output::{announce, style};

/// Prints the report and fails the test, without the noise of a second panic message.
pub(super) fn fail(failure: &Failure) -> ! {
    announce(failure);
    eprintln!("{}", text(failure, style()));
    std::panic::resume_unwind(Box::new(text(failure, Style { colour: false, ..style() })))
}

/// The report of a failure.
pub(super) fn text(failure: &Failure, style: Style) -> String {
    let mut text = render_log(failure, style, failure.file.as_deref());
    if let Ok(Strategy::Turns(threads)) = failure.found_by.strategy.parse() {
        let schedule = Schedule::from(threads);
        let (turns, switches) = (schedule.len(), schedule.switches());
        text.push_str(&format!(
            "schedule: \"{schedule}\" ({}, {}), as in `ScheduleTest::new(..).only([\"{schedule}\".parse().unwrap()])`\n",
            counted(turns, "turn"),
            counted(switches, "context switch")
        ));
    }
    text
}

fn counted(number: usize, noun: &str) -> String {
    let end = match (number, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{number} {noun}{end}")
}

/// Ends a test that should have failed in one of these ways, and did not.
#[track_caller]
pub(super) fn say_otherwise(kinds: &[Kind], otherwise: Result<TestReport, Box<Failure>>) -> ! {
    let expected: Vec<String> = kinds.iter().map(|kind| format!("{kind:?}").to_lowercase()).collect();
    let expected = expected.join(" or ");
    match otherwise {
        Ok(report) => panic!("expected {expected}, but none of {} schedules failed", report.schedules),
        Err(failure) => {
            panic!(
                "expected {expected}, but the test failed otherwise:\n{}",
                text(&failure, Style { colour: false, ..style() })
            )
        }
    }
}
