//! All that an execution has come to at one moment.

use crate::program::ThreadId;

/// More threads than any program has.
pub const THREADS: usize = 6;

/// A vector clock: how much of each thread comes before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clock([u8; THREADS]);

impl Clock {
    /// Takes over what another one knows.
    pub fn join(&mut self, other: &Clock) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own = (*own).max(other);
        }
    }

    /// Makes what the thread does from here on something new.
    pub fn tick(&mut self, thread: ThreadId) {
        self.0[thread] += 1;
    }

    /// What is known of a thread.
    pub fn of(&self, thread: ThreadId) -> u8 {
        self.0[thread]
    }

    /// Notes how far a thread is.
    pub fn set(&mut self, thread: ThreadId, time: u8) {
        self.0[thread] = time;
    }

    /// Whether all of it comes before another one.
    pub fn is_before(&self, other: &Clock) -> bool {
        self.0.iter().zip(other.0).all(|(own, other)| *own <= other)
    }
}

/// Where a thread is within an instruction that takes more than one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// At its beginning.
    #[default]
    Ready,
    /// Until somebody wakes it.
    Asleep,
    /// Somebody has.
    Woken,
    /// Nobody has in time.
    TimedOut,
    /// It was the last owner, and destroys.
    Last,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Thread {
    pub(crate) started: bool,
    pub(crate) at: usize,
    pub(crate) phase: Phase,
    pub(crate) seen: Vec<u64>,
    /// When it stops waiting.
    pub(crate) deadline: Option<u64>,
    /// Whether nobody who waits for the end of its scope has to wait for it any more.
    pub(crate) done: bool,
    pub(crate) has_local: bool,
    /// Somebody unparked it.
    pub(crate) token: bool,
    /// It has a note for itself: the generation of a barrier, or what it was handed.
    pub(crate) note: u64,
    pub(crate) has_sender: bool,
    pub(crate) arcs: u8,
    pub(crate) has_weak: bool,
    pub(crate) clock: Clock,
    /// Whether others know its clock: what it accesses from then on is something new.
    pub(crate) handed_on: bool,
    /// What an acquire fence would take over.
    pub(crate) read: Clock,
    /// What was known at the last release fence.
    pub(crate) fenced: Clock,
    pub(crate) token_clock: Clock,
}

/// An atomic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Atomic {
    pub(crate) value: u64,
    pub(crate) released: Clock,
}

/// Plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cell {
    pub(crate) value: u64,
    pub(crate) written: Clock,
    pub(crate) read: Clock,
}

/// A mutex with its condition variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mutex {
    pub(crate) held: bool,
    pub(crate) value: u64,
    pub(crate) clock: Clock,
    /// Who waits at the condition variable, in order.
    pub(crate) waiting: Vec<ThreadId>,
}

/// An `RwLock`, as std has it on futexes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RwLock {
    pub(crate) readers: u8,
    pub(crate) writer: bool,
    pub(crate) readers_wait: bool,
    pub(crate) writers_wait: bool,
    pub(crate) reading: Vec<ThreadId>,
    pub(crate) writing: Vec<ThreadId>,
    pub(crate) value: u64,
    pub(crate) written: Clock,
    pub(crate) read: Clock,
}

/// The channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Channel {
    pub(crate) queue: Vec<(u64, Clock)>,
    pub(crate) senders: u8,
    pub(crate) has_receiver: bool,
    /// Who offers what, if nothing is stored.
    pub(crate) offers: Vec<(ThreadId, u64, Clock)>,
    /// Who waits for an offer.
    pub(crate) waits: Option<ThreadId>,
    /// What everybody knew who did something to it.
    pub(crate) clock: Clock,
}

/// The barrier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Barrier {
    pub(crate) count: usize,
    pub(crate) generation: u64,
    pub(crate) clock: Clock,
}

/// Something that is initialised once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Once {
    pub(crate) running: bool,
    pub(crate) complete: bool,
    pub(crate) value: u64,
    pub(crate) clock: Clock,
}

/// The counts of the `Arc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    pub(crate) strong: u8,
    pub(crate) weak: u8,
    /// `get_mut` looks at it.
    pub(crate) locked: bool,
    pub(crate) released: Clock,
}

/// Everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    pub(crate) threads: Vec<Thread>,
    pub(crate) atomics: Vec<Atomic>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) mutexes: Vec<Mutex>,
    pub(crate) rwlocks: Vec<RwLock>,
    pub(crate) channel: Channel,
    pub(crate) barrier: Barrier,
    /// Of each kind.
    pub(crate) onces: [Vec<Once>; 3],
    pub(crate) arc: Counts,
    pub(crate) now: u64,
    /// Whether a step raced.
    pub(crate) raced: bool,
}
