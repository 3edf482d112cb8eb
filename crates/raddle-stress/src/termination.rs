//! Termination tests: does an actor that waits see the signal of another thread?
//!
//! The actor loops until something happens, the signal makes it happen. Where the compiler may hoist the load out of the loop, or nobody
//! is told, the actor never ends: the outcome is `STALE`, and the run ends, because the thread is lost.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::histogram::Histogram;
use crate::outcomes::Outcomes;
use crate::placement::{Placement, processors};
use crate::quiet::{panic_message, quietly};
use crate::rng::Rng;
use crate::system;

/// A function of the user.
type Step<S> = Box<dyn Fn(&S) + Send + Sync>;

/// How an actor of a termination test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    /// The actor returned after the signal.
    Terminated,
    /// The actor did not return in time.
    Stale,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ending::Terminated => "TERMINATED",
            Ending::Stale => "STALE",
        })
    }
}

/// A termination test and how it is run.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// use std::time::Duration;
/// use raddle_stress::{Ending, Termination};
///
/// let outcomes = Termination::new(|| AtomicBool::new(false))
///     .actor(|flag| while !flag.load(Relaxed) {})
///     .signal(|flag| flag.store(true, Relaxed))
///     .time(Duration::from_millis(20))
///     .run();
/// assert_eq!(outcomes.count(&[Ending::Stale]), 0);
/// assert_eq!(outcomes.count(&[Ending::Terminated]), outcomes.executions);
/// ```
#[must_use = "nothing happens before `run`"]
pub struct Termination<S> {
    make: Box<dyn Fn() -> S + Send + Sync>,
    actor: Option<Step<S>>,
    signal: Option<Step<S>>,
    time: Duration,
    patience: Duration,
    seed: u64,
}

impl<S> fmt::Debug for Termination<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Termination").field("time", &self.time).finish_non_exhaustive()
    }
}

impl<S: Send + Sync + 'static> Termination<S> {
    /// A test whose instances this function makes.
    pub fn new(make_state: impl Fn() -> S + Send + Sync + 'static) -> Termination<S> {
        let (time, patience) = (Duration::from_secs(1), Duration::from_secs(5));
        Termination { make: Box::new(make_state), actor: None, signal: None, time, patience, seed: 0 }
    }

    /// Sets the actor, which waits for the signal.
    pub fn actor(mut self, actor: impl Fn(&S) + Send + Sync + 'static) -> Self {
        self.actor = Some(Box::new(actor));
        self
    }

    /// Sets the signal, which another thread gives while the actor runs.
    pub fn signal(mut self, signal: impl Fn(&S) + Send + Sync + 'static) -> Self {
        self.signal = Some(Box::new(signal));
        self
    }

    /// Sets how long the test is run: a second if not set.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Sets how long the actor may take after the signal: five seconds if not set.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets the seed of the delays before signals.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Runs the test. A stale actor ends it: its thread goes on with the lowest priority until the process ends.
    ///
    /// # Panics
    /// If the actor or the signal is missing, or if the signal panics or an instance cannot be made.
    pub fn run(self) -> Outcomes<Ending> {
        let actor = self.actor.expect("a termination test needs an actor");
        let signal = self.signal.expect("a termination test needs a signal");
        let (give, instances) = channel::<Arc<S>>();
        let (say, ended) = channel::<Result<(), String>>();
        let entered = Arc::new((AtomicU64::new(0), AtomicI32::new(0)));
        let mine = Arc::clone(&entered);
        let work = move || {
            mine.1.store(system::thread_id(), Ordering::Relaxed);
            for state in instances {
                mine.0.fetch_add(1, Ordering::Release);
                let acted = quietly(|| catch_unwind(AssertUnwindSafe(|| actor(&state))));
                drop(state);
                if say.send(acted.map_err(|payload| panic_message(&*payload))).is_err() {
                    return;
                }
            }
        };
        let actor = Builder::new().name("actor 0".to_owned()).spawn(work);
        let mut actor = Some(actor.expect("the system has a thread for the actor"));
        let (mut histogram, mut outcomes) = (Histogram::new(1), Outcomes::new(self.seed));
        let (mut rng, begin) = (Rng::new(self.seed, 0), Instant::now());
        while begin.elapsed() < self.time {
            let state = Arc::new((self.make)());
            let turn = entered.0.load(Ordering::Relaxed) + 1;
            give.send(Arc::clone(&state))
                .expect("the actor's thread takes instances until it is told to end");
            // Half of the signals come while the actor runs, the others around its beginning.
            if rng.next().is_multiple_of(2) {
                while entered.0.load(Ordering::Acquire) < turn {
                    std::thread::yield_now();
                }
                crate::delay::spin(rng.next() & 0xfff);
            }
            signal(&state);
            outcomes.executions += 1;
            match ended.recv_timeout(self.patience) {
                Ok(Ok(())) => histogram.count(&[&Ending::Terminated]),
                Ok(Err(said)) => histogram.count_panic(vec![Err(said)]),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    histogram.count(&[&Ending::Stale]);
                    let all: Vec<usize> = processors().iter().map(|processor| processor.id).collect();
                    system::demote(entered.1.load(Ordering::Relaxed), &all);
                    actor = None;
                    break;
                }
            }
        }
        drop(give);
        if let Some(actor) = actor {
            // It ends by itself now, and would still do so while an exploration runs. Its panics were caught.
            let _ = actor.join();
        }
        outcomes.elapsed = begin.elapsed();
        outcomes.placements = vec![(Placement::Unpinned, outcomes.executions)];
        outcomes.set_counts(&histogram);
        outcomes
    }
}
