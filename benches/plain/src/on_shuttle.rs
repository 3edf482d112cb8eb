//! shuttle's searches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, Runner};

use crate::measure::{cpu_seconds, peak_rss, print};

#[allow(clippy::duplicate_mod, reason = "compiled against each tool's own types")]
#[path = "../../shared/classics.rs"]
mod classics;
#[allow(clippy::duplicate_mod, reason = "compiled against each tool's own types")]
#[path = "../../shared/programs.rs"]
mod programs;

mod rt {
    pub(super) use shuttle::sync::Mutex;
    pub(super) use shuttle::sync::atomic::{AtomicUsize, Ordering};
    pub(super) use shuttle::thread;
}

fn known() -> impl Iterator<Item = &'static programs::Program> {
    programs::PROGRAMS.iter().chain(classics::CLASSICS)
}

pub(crate) fn explore(program: &str, strategy: &str, seconds: f64) {
    let &(_, _, program) = known().find(|known| known.0 == program).expect("no such program");
    let points = Arc::new(AtomicU64::new(0));
    let (mut executions, mut cpu, mut complete, mut search) = (0, 0.0, false, 0);
    // Long enough for a search of many executions; short ones are made again for a second.
    while cpu < seconds.min(1.0) || (!complete && cpu < seconds) {
        let mut config = Config::new();
        let budget = Duration::from_secs_f64((seconds - cpu).max(0.1));
        config.max_time = Some(budget);
        let inner: Box<dyn Scheduler + Send> = match strategy {
            "random" => Box::new(RandomScheduler::new_from_seed(0, usize::MAX)),
            "pct:3" => Box::new(PctScheduler::new_from_seed(0, 3, usize::MAX)),
            "dfs" => Box::new(DfsScheduler::new(None, false)),
            _ => panic!("no such strategy"),
        };
        let scheduler = Counting { inner, points: Arc::clone(&points) };
        let (begin, started) = (cpu_seconds(), Instant::now());
        executions += Runner::new(scheduler, config).run(program);
        cpu += cpu_seconds() - begin;
        if started.elapsed() < budget && !complete {
            (complete, search) = (true, executions);
        }
    }
    print("executions", executions);
    print("search", if complete { search } else { executions });
    print("events", points.load(Relaxed));
    print("cpu", cpu);
    print("complete", complete);
    print("rss", peak_rss());
}

/// Counts scheduling points.
struct Counting {
    inner: Box<dyn Scheduler + Send>,
    points: Arc<AtomicU64>,
}

impl Scheduler for Counting {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.inner.new_execution()
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, yielding: bool) -> Option<TaskId> {
        self.points.store(self.points.load(Relaxed) + 1, Relaxed);
        self.inner.next_task(runnable, current, yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}
