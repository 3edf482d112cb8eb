//! Explicit schedules: how many a second.

use crate::cell::{Bench, Side, command};
use crate::table::{Table, count, none, ns, verdict};

/// Published for small programs: "several tens of thousands of interleavings per second".
const MUSCAT: f64 = 30_000.0;

const GOAL: f64 = 20.0;

/// Executions of one measurement: those of a test, times as many as make it long enough.
const SCHEDULES: f64 = 200_000.0;

/// The bounded-buffer test of a course.
pub(crate) fn print(bench: &Bench) {
    let title = format!(
        "explicit schedules: three threads at a buffer with a monitor (goal: {GOAL} times Muscat's published tens of thousands)"
    );
    let columns =
        [("", 0), ("schedules/s", 12), ("10,000, ms", 10), ("ns/turn", 8), ("of Muscat", 9), ("", 6)];
    let table = Table::new(&title, &columns);
    let schedules = (SCHEDULES * bench.seconds) as u64;
    let kinds = [("off", "without data races"), ("on", "with data races")];
    let commands = kinds.map(|(races, _)| command(Side::Engine, &["schedules", races], schedules));
    let medians = bench.medians(&commands, |values| values.rate("executions"));
    for ((_, name), values) in kinds.iter().zip(&medians) {
        let rate = values.as_ref().and_then(|values| values.rate("executions"));
        let turns = values.as_ref().and_then(|values| values.rate("events"));
        let times = rate.map(|rate| rate / MUSCAT);
        table.row(&[
            (*name).to_owned(),
            count(rate),
            rate.map_or_else(none, |rate| format!("{:.0}", 1e7 / rate)),
            ns(turns.map(|turns| 1e9 / turns)),
            times.map_or_else(none, |times| format!("{times:.1} x")),
            verdict(times.map(|times| times >= GOAL)),
        ]);
    }
}
