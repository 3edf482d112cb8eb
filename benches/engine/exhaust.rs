//! Exhaustive searches.

use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::time::Duration;

use litmus::programs::{locks, structures};
use litmus::{Real, Test};
use raddle::{Explorer, Memory, Strategy};

use crate::classics::CLASSICS;
use crate::explore::timed;
use crate::measure::{peak_rss, print};

/// A search that takes longer is given up.
const LIMIT: Duration = Duration::from_secs(60);

/// Makes a test.
type Make = fn() -> Test;

/// Programs that wait for values, which not every tool can.
const WAITING: &[(&str, Make)] = &[
    ("peterson", || locks::peterson::<Real>(Acquire, Release)),
    ("peterson sc", || locks::peterson::<Real>(SeqCst, SeqCst)),
    ("dekker sc", || locks::dekker::<Real>(SeqCst, SeqCst)),
    ("szymanski", locks::szymanski::<Real>),
    ("lamport", locks::lamport::<Real>),
    ("ticket lock(3)", || locks::ticket_lock::<Real>(3)),
    ("mcs lock(3)", || locks::mcs_lock::<Real>(3)),
    ("ttas lock(3)", || locks::ttas_lock::<Real>(3)),
    ("barrier(4)", || locks::barrier::<Real>(4)),
    ("seqlock(2)", || structures::seqlock::<Real>(2)),
    ("hazard ptr(2)", || structures::hazard_pointer::<Real>(2)),
    ("chase-lev(2)", || structures::chase_lev::<Real>(2)),
];

/// Makes every execution, again and again for so many seconds of CPU time.
pub(crate) fn exhaust(program: &str, memory: &str, races: bool, seconds: f64) {
    let memory = match memory {
        "sc" => Memory::Sc,
        "rc11" => Memory::Rc11,
        _ => panic!("no such memory model"),
    };
    let explorer = Explorer::new().strategy(Strategy::Exhaustive).memory(memory).races(races);
    let explorer = explorer.executions(u64::MAX).budget(LIMIT);
    let waiting = WAITING.iter().find(|known| known.0 == program);
    let classic = CLASSICS.iter().find(|known| known.0 == program);
    let body = || match (waiting, classic) {
        (Some((_, build)), _) => _ = Real::run(build()),
        (_, Some((_, _, body))) => body(),
        _ => panic!("no such program"),
    };
    let first = timed(explorer.clone(), body);
    let (mut cpu, mut executions) = (first.cpu, first.report.executions);
    while cpu < seconds && first.report.complete {
        let again = timed(explorer.clone(), body);
        assert_eq!(again.report.executions, first.report.executions, "searches differ");
        cpu += again.cpu;
        executions += again.report.executions;
    }
    print("executions", first.report.executions);
    print("blocked", first.report.blocked);
    print("rate", executions as f64 / cpu);
    print("complete", first.report.complete);
    print("rss", peak_rss());
}
