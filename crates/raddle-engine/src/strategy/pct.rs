//! PCT: Probabilistic Concurrency Testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010).
//!
//! Threads get distinct random priorities; the highest runs. At `depth - 1` random points the running thread falls below
//! all others. Finds a bug of depth d among n threads and k choices with probability at least 1/(n·k^(d-1)).
//!
//! Deviations: only points with more than one runnable thread count as steps; k is taken from execution 0, which has no
//! change points, or is two, four or eight times that, by chance: threads that are made to wait go round loops, which makes
//! executions longer. Threads are given priorities as they first appear.

use super::stale_reads::StaleReadPolicy;
use super::start_policy::StartPolicy;
use super::yield_policy::YieldPolicy;
use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::rng::Rng;

/// See the [module](self).
#[derive(Debug)]
pub struct Pct {
    seed: u64,
    depth: usize,
    rng: Rng,
    start_policy: StartPolicy,
    yield_policy: YieldPolicy,
    stale_reads: StaleReadPolicy,
    /// Priorities by thread; 0 is unknown. **Invariant:** those given at change points are below [`FIRST`], and those
    /// of demoted threads below [`CHANGED`].
    priorities: Vec<u64>,
    /// Number of demotions.
    demoted: u64,
    /// The choices at which the running thread falls, in descending order.
    change_points: Vec<usize>,
    length: usize,
    first: bool,
}

/// Lowest initial priority of a thread.
const FIRST: u64 = 1 << 32;

/// Lowest priority of a thread after a change point.
const CHANGED: u64 = 1 << 31;

impl Pct {
    /// PCT for bugs of this depth (at least 1).
    pub fn new(seed: u64, depth: usize) -> Pct {
        Pct {
            seed,
            depth: depth.max(1),
            rng: Rng::new(seed),
            start_policy: StartPolicy::default(),
            yield_policy: YieldPolicy::default(),
            stale_reads: StaleReadPolicy::default(),
            priorities: Vec::new(),
            demoted: 0,
            change_points: Vec::new(),
            length: 0,
            first: true,
        }
    }

    fn priority(&mut self, thread: ThreadId) -> u64 {
        let index = usize::from(thread);
        if self.priorities.len() <= index {
            self.priorities.resize(index + 1, 0);
        }
        if self.priorities[index] == 0 {
            self.priorities[index] = FIRST + (self.rng.next() >> 1);
        }
        self.priorities[index]
    }

    fn highest(&mut self, threads: &[ThreadId]) -> ThreadId {
        let mut best = (0, threads[0]);
        for &thread in threads {
            best = best.max((self.priority(thread), thread));
        }
        best.1
    }
}

impl Strategy for Pct {
    fn begin(&mut self, execution: u64) -> bool {
        self.rng = Rng::of_execution(self.seed, execution);
        self.start_policy.begin(&mut self.rng);
        self.yield_policy.begin();
        self.stale_reads.begin();
        self.priorities.clear();
        self.demoted = 0;
        self.change_points.clear();
        self.first = execution == 0;
        if self.length > 0 {
            let span = self.length << self.rng.below(4);
            for _ in 1..self.depth {
                self.change_points.push(self.rng.below(span));
            }
            self.change_points.sort_unstable_by(|a, b| b.cmp(a));
        }
        true
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        let threads = self.yield_policy.choose(&mut self.rng, point);
        let mut chosen = self.highest(threads);
        while self.change_points.last().is_some_and(|&at| at <= point.choice) {
            self.change_points.pop();
            // The later the change, the lower the thread falls.
            self.priorities[usize::from(chosen)] = CHANGED + self.change_points.len() as u64;
            chosen = self.highest(threads);
        }
        chosen
    }

    fn choose_reads_from(&mut self, alternatives: usize, _choice: usize) -> usize {
        self.stale_reads.choose(&mut self.rng, alternatives)
    }

    fn demote(&mut self, thread: ThreadId) {
        self.priority(thread);
        self.demoted += 1;
        self.priorities[usize::from(thread)] = CHANGED - self.demoted.min(CHANGED - 1);
    }

    fn end(&mut self, choices: usize) {
        if self.first {
            self.length = choices.max(1);
        }
    }

    fn is_indexed(&self) -> bool {
        true
    }

    fn starts_threads_eagerly(&self) -> bool {
        self.start_policy.is_eager
    }

    fn depends_on_points_alone(&self) -> bool {
        true
    }
}
