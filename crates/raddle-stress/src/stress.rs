//! The builder of a run, and the thread that watches over it.

use std::fmt;
use std::hash::Hash;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::histogram::Histogram;
use crate::outcomes::Outcomes;
use crate::placement::{Placement, placements, processors};
use crate::quiet::quietly;
use crate::rendezvous::Spin;
use crate::rng::Rng;
use crate::session::{Program, Session, lock};
use crate::system;

/// The most actors that a program has: enough for any program whose outcomes are worth counting.
pub(crate) const ACTORS: usize = 64;

/// Instances of a stride where actors take turns on the processors: they meet more often than they would by chance.
const STRIDE_IN_TURNS: usize = 32;

/// A program and how it is run. `S` is the state that actors share, `T` what each returns.
///
/// Everything is moved to other threads, and a thread that never returns keeps it: hence `'static`.
#[must_use = "nothing happens before `run`"]
pub struct Stress<S, T> {
    program: Program<S, T>,
    time: Duration,
    patience: Duration,
    spin: Spin,
    only: Option<Vec<Placement>>,
}

impl<S, T> fmt::Debug for Stress<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let actors = self.program.actors.len();
        f.debug_struct("Stress").field("actors", &actors).field("time", &self.time).finish_non_exhaustive()
    }
}

impl<S, T> Stress<S, T>
where
    S: Send + Sync + 'static,
    T: Clone + Eq + Hash + Send + 'static,
{
    /// A program whose instances this function makes.
    pub fn new(make_state: impl Fn() -> S + Send + Sync + 'static) -> Stress<S, T> {
        let program = Program {
            make: Box::new(make_state),
            actors: Vec::new(),
            arbiter: None,
            stride: 256,
            strides: 40,
            delays: true,
            executions: u64::MAX,
            seed: 0,
        };
        let (time, patience) = (Duration::from_secs(1), Duration::from_secs(10));
        Stress { program, time, patience, spin: Spin::default(), only: None }
    }

    /// Adds an actor: a thread of its own calls it once on each instance.
    ///
    /// # Panics
    /// If there are 64 already.
    pub fn actor(mut self, actor: impl Fn(&S) -> T + Send + Sync + 'static) -> Self {
        assert!(self.program.actors.len() < ACTORS, "a program has at most {ACTORS} actors");
        self.program.actors.push(Box::new(actor));
        self
    }

    /// Adds an arbiter, which is called on each instance after all actors. Its result is the last.
    pub fn arbiter(mut self, arbiter: impl Fn(&S) -> T + Send + Sync + 'static) -> Self {
        self.program.arbiter = Some(Box::new(arbiter));
        self
    }

    /// Sets how long the program is run: a second if not set.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Limits the number of executions, in each placement: the time is the limit if not set.
    pub fn executions(mut self, executions: u64) -> Self {
        self.program.executions = executions.max(1);
        self
    }

    /// Sets the seed of delays and of the assignment of actors to processors.
    pub fn seed(mut self, seed: u64) -> Self {
        self.program.seed = seed;
        self
    }

    /// Sets how long an actor may take before it counts as stuck: ten seconds if not set.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets whether there are random delays: there are if not set.
    pub fn delays(mut self, delays: bool) -> Self {
        self.program.delays = delays;
        self
    }

    /// Sets the most instances of a stride and the most strides of a batch: 256 and 40 if not set.
    ///
    /// # Panics
    /// If one of them is 0.
    pub fn strides(mut self, instances: usize, strides: usize) -> Self {
        assert!(instances > 0 && strides > 0, "a batch has at least one stride of one instance");
        (self.program.stride, self.program.strides) = (instances, strides);
        self
    }

    /// Sets how threads wait for each other.
    pub fn spin(mut self, spin: Spin) -> Self {
        self.spin = spin;
        self
    }

    /// Uses only these placements, as far as the machine has them.
    pub fn placements(mut self, only: &[Placement]) -> Self {
        self.only = Some(only.to_vec());
        self
    }

    /// Runs the program. The time is divided among the placements that the machine has.
    ///
    /// An actor that does not return ends the run, and is listed in [`Outcomes::stuck`]. A thread cannot be ended from outside: that one
    /// goes on, unpinned and with the lowest priority, until the process ends, and keeps the instances of its batch. The others end.
    ///
    /// # Panics
    /// If there is no actor. If making or dropping an instance panics, with that panic.
    pub fn run(mut self) -> Outcomes<T> {
        let actors = self.program.actors.len();
        assert!(actors > 0, "a program needs an actor");
        let processors = processors();
        let in_turns = processors.len() < actors;
        if in_turns {
            self.program.stride = self.program.stride.min(STRIDE_IN_TURNS);
        }
        let spin = if in_turns && self.spin == Spin::Adaptive { Spin::Yield } else { self.spin };
        let mut places = placements(&processors, actors);
        if let Some(only) = &self.only {
            places.retain(|(placement, _)| only.contains(placement));
            if places.is_empty() {
                places.push((Placement::Unpinned, Vec::new()));
            }
        }
        let program = Arc::new(self.program);
        let all: Vec<usize> = processors.iter().map(|processor| processor.id).collect();
        let (mut rng, time) = (Rng::new(program.seed, 0), self.time / places.len() as u32);
        let mut outcomes = Outcomes::new(program.seed);
        let mut total = Histogram::new(program.width());
        for (number, (placement, mut ids)) in places.into_iter().enumerate() {
            rng.shuffle(&mut ids);
            let session = Arc::new(Session::new(&program, spin, time));
            let begin = Instant::now();
            let stream = 1 + (number * ACTORS) as u64;
            let mut actors = start(&session, &ids, stream);
            outcomes.stuck = watch(&session, &mut actors, time, self.patience);
            outcomes.elapsed += begin.elapsed();
            if let Some(payload) = lock(&session.broken).take() {
                resume_unwind(payload);
            }
            let mut executions = 0;
            for worker in &session.workers {
                let histogram = lock(&worker.0.histogram);
                executions += histogram.executions();
                total.merge(&histogram);
            }
            outcomes.executions += executions;
            outcomes.placements.push((placement, executions));
            if !outcomes.stuck.is_empty() {
                for &actor in &outcomes.stuck {
                    system::demote(session.workers[actor].0.thread.load(Relaxed), &all);
                }
                break;
            }
        }
        outcomes.set_counts(&total);
        outcomes
    }
}

/// The threads of a session, which say when they end.
struct Actors {
    ended: Receiver<usize>,
    /// The handle of each actor, until that has ended.
    handles: Vec<Option<JoinHandle<()>>>,
}

impl Actors {
    fn are_running(&self) -> bool {
        self.handles.iter().any(Option::is_some)
    }

    /// Waits for the end of an actor that has said that it ends. A thread that still ends while an exploration runs would hold locks
    /// of std that the exploration sees.
    fn join(&mut self, actor: usize) {
        if let Some(handle) = self.handles[actor].take() {
            // A panic was caught and kept.
            let _ = handle.join();
        }
    }
}

/// Starts the threads of a session.
fn start<S, T>(session: &Arc<Session<S, T>>, processors: &[usize], stream: u64) -> Actors
where
    S: Send + Sync + 'static,
    T: Clone + Eq + Hash + Send + 'static,
{
    let (say, ended) = channel();
    let start = |actor: usize| {
        let (session, say) = (Arc::clone(session), say.clone());
        let processor = processors.get(actor).copied();
        let work = move || {
            quietly(|| session.work(actor, processor, stream + actor as u64));
            // The watcher takes the results when all have ended: nothing of the session may be left to this thread.
            drop(session);
            let _ = say.send(actor);
        };
        Builder::new()
            .name(format!("actor {actor}"))
            .spawn(work)
            .expect("the system has threads for the actors")
    };
    let handles = (0..session.workers.len()).map(|actor| Some(start(actor))).collect();
    Actors { ended, handles }
}

/// Waits until the threads have ended. Stops them when the time is over, and abandons them if one is stuck. Returns the stuck ones.
fn watch<S, T>(session: &Session<S, T>, actors: &mut Actors, time: Duration, patience: Duration) -> Vec<usize>
where
    S: Send + Sync,
    T: Clone + Eq + Hash + Send,
{
    let begin = Instant::now();
    let progress =
        || session.workers.iter().map(|worker| worker.0.progress.load(Relaxed)).collect::<Vec<_>>();
    let (mut last, mut since) = (progress(), begin);
    while actors.are_running() {
        let left = time.saturating_sub(begin.elapsed());
        if left.is_zero() {
            session.stop.0.store(true, Relaxed);
        }
        // After the time is over the threads need only end their strides.
        let nap = if left.is_zero() { patience / 4 } else { left.min(patience / 4) };
        match actors.ended.recv_timeout(nap) {
            Ok(actor) => actors.join(actor),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let now = progress();
                if now != last {
                    (last, since) = (now, Instant::now());
                } else if since.elapsed() >= patience {
                    let running = actors.handles.iter().enumerate().filter(|(_, handle)| handle.is_some());
                    let stuck =
                        running.map(|(actor, _)| actor).filter(|&actor| !session.waits(actor)).collect();
                    session.abandon();
                    return stuck;
                }
            }
        }
    }
    Vec::new()
}
