//! loom's exhaustive search, up to a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::measure::{cpu_seconds, peak_rss, print};

#[allow(clippy::duplicate_mod, reason = "compiled against each tool's own types")]
#[path = "../../shared/classics.rs"]
mod classics;
#[allow(clippy::duplicate_mod, reason = "compiled against each tool's own types")]
#[path = "../../shared/programs.rs"]
mod programs;

mod rt {
    pub(super) use loom::sync::Mutex;
    pub(super) use loom::sync::atomic::{AtomicUsize, Ordering};
    pub(super) use loom::thread;
}

/// With the main thread, which loom counts.
const MOST_THREADS: usize = 5;

fn known() -> impl Iterator<Item = &'static programs::Program> {
    programs::PROGRAMS.iter().chain(classics::CLASSICS)
}

pub(crate) fn explore(program: &str, seconds: f64) {
    let &(_, threads, program) = known().find(|known| known.0 == program).expect("no such program");
    if threads + 1 > MOST_THREADS {
        return;
    }
    let executions = Arc::new(AtomicU64::new(0));
    let (mut cpu, mut complete, mut search) = (0.0, false, 0);
    // Long enough for a search of many executions; short ones are made again for a second.
    while cpu < seconds.min(1.0) || (!complete && cpu < seconds) {
        let mut builder = loom::model::Builder::new();
        let budget = Duration::from_secs_f64((seconds - cpu).max(0.1));
        builder.max_duration = Some(budget);
        // Limits are looked at this often.
        builder.checkpoint_interval = 256;
        let counter = Arc::clone(&executions);
        let (begin, started) = (cpu_seconds(), Instant::now());
        builder.check(move || {
            counter.fetch_add(1, Relaxed);
            program();
        });
        cpu += cpu_seconds() - begin;
        if started.elapsed() < budget && !complete {
            (complete, search) = (true, executions.load(Relaxed));
        }
    }
    print("executions", executions.load(Relaxed));
    print("search", if complete { search } else { executions.load(Relaxed) });
    print("cpu", cpu);
    print("complete", complete);
    print("rss", peak_rss());
}
