//! A record of every search that a process makes, by which two versions of the engine are compared (`cargo xtask regression`).
//!
//! `RADDLE_RECORD` names a file. Each search appends a line to it: the test, the number of the search within the process, the
//! strategy, and everything that must not change unless the semantics of the engine does.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use raddle_engine::SearchReport;
use raddle_report::failure::Schedule;

use crate::options::Options;

/// Appends the result of a search, if a record is asked for.
pub(crate) fn search(options: &Options, report: &SearchReport) {
    static SEARCHES: AtomicU32 = AtomicU32::new(0);
    let Some(path) = std::env::var_os("RADDLE_RECORD") else { return };
    let number = SEARCHES.fetch_add(1, Ordering::Relaxed);
    let line = format!("{} {number:05} {}\n", test(), line(options, report));
    // One write: tests run in processes of their own and share the file.
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("raddle: cannot write `{}`: {error}", path.display()));
}

/// The package, the target and the test, as `cargo raddle` knows them.
fn test() -> String {
    let variable = |name| std::env::var(name).unwrap_or_default();
    format!("{}/{}", variable("RADDLE_PACKAGE"), variable("RADDLE_TEST"))
}

fn line(options: &Options, report: &SearchReport) -> String {
    let SearchReport { executions, blocked, exceeded, steps, switches, complete, .. } = report;
    let search = format!("{} {}", options.strategy, options.memory());
    let is_cut = options.budget.is_some_and(|budget| report.elapsed >= budget);
    let failure = report.failure.as_ref().map(|found| {
        // Only the kind: what else there is to say has addresses in it.
        let outcome = format!("{:?}", found.outcome);
        let kind = outcome.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let schedule = &found.schedule;
        let [threads, mo_offsets, counts] = [&schedule.threads, &schedule.mo_offsets, &schedule.counts]
            .map(|choices| String::from(Schedule(choices.clone())));
        let (execution, steps) = (found.execution, found.steps);
        format!(" {kind} at {execution} after {steps}: [{threads}] [{mo_offsets}] [{counts}]")
    });
    match failure {
        None if is_cut => format!("{search}: out of time"),
        failure => format!(
            "{search}: {executions} executions, {blocked} blocked, {exceeded} exceeded, {steps} events, {switches} switches, \
             complete {complete}, outcomes {:?}, left out {:?}{}",
            report.outcome_counts,
            report.left_out.iter().map(|reason| reason as u8).collect::<Vec<_>>(),
            failure.unwrap_or_default()
        ),
    }
}
