//! The record of one execution. It is made only while an execution is replayed for its report, so that the search pays
//! nothing.

use std::ops::Range;

use crate::detect::fault::{AccessKind, Watch};
use crate::happens_before::clock::Time;
use crate::op::{Order, Rmw, ThreadId};
use crate::outcome::Outcome;
use crate::platform::unwind::CallFrame;
use crate::weak_memory::Touched;

/// The events of one execution.
#[derive(Debug)]
pub struct Trace {
    /// The latest events.
    pub events: Vec<Event>,
    /// Number of earlier events, which were dropped.
    pub omitted: u64,
    limit: usize,
    /// Steps at the beginning of the execution whose events are not recorded.
    pub(crate) skipped_steps: u64,
    switched: Option<SwitchReason>,
    /// Accesses that are recorded although they are no events, because they explain the failure.
    pub(crate) watch: Watch,
    /// The recorded accesses of `watch`, however long ago.
    pub evidence: Vec<Event>,
    /// The plain writes that are recorded.
    pub(crate) writes: PlainWrites,
    /// What happened since the latest observation.
    news: News,
}

/// Plain writes: the one that was announced last and has not been recorded yet, and how many there were.
#[derive(Debug, Default)]
pub(crate) struct PlainWrites {
    pub(crate) announced: Option<PlainWrite>,
    /// Number of recorded ones.
    recorded: usize,
    /// Number of those since the latest event.
    in_a_row: usize,
}

/// A plain write, which its thread makes after it was announced and before it enters the engine again.
#[derive(Debug)]
pub(crate) struct PlainWrite {
    pub(crate) thread: ThreadId,
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) name: Option<String>,
    pub(crate) stack: Vec<CallFrame>,
    pub(crate) links: Links,
}

/// Most plain writes of a trace, and most between two events: a long initialisation is not told write by write.
const MOST_WRITES: usize = 4_000;
const MOST_WRITES_IN_A_ROW: usize = 32;

/// What happened besides events.
#[derive(Debug, Default)]
struct News {
    freed: Vec<usize>,
    objects: Vec<Introduced>,
}

/// An object that the code under test introduces, because the report is about it.
#[derive(Clone, Copy, Debug)]
pub struct Introduced {
    /// The address of the object.
    pub address: usize,
    /// A function that is an instance for the type of the object.
    pub anchor: usize,
}

/// Looks at the memory of an execution while it is recorded.
pub trait Observer {
    /// The execution begins, perhaps again.
    fn begin(&mut self);

    /// The value of up to 16 bytes of memory, if they can be read.
    fn value(&mut self, address: usize, size: usize) -> Option<u128>;

    /// An event was recorded.
    fn observe(&mut self, observation: &Observation<'_>);
}

/// An observer of nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn begin(&mut self) {}

    fn value(&mut self, _: usize, _: usize) -> Option<u128> {
        None
    }

    fn observe(&mut self, _: &Observation<'_>) {}
}

/// An event, and what happened since the event before.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The number of the event, omitted ones included.
    pub number: u64,
    /// The event.
    pub event: &'a Event,
    /// The blocks that were freed.
    pub freed: &'a [usize],
    /// The objects that were introduced.
    pub objects: &'a [Introduced],
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The thread.
    pub thread: ThreadId,
    /// The action.
    pub action: Action,
    /// The name of the memory location.
    pub name: Option<String>,
    /// The call stack, innermost first.
    pub stack: Vec<CallFrame>,
    /// The reason why the previous thread stopped, if it is another.
    pub switch: Option<SwitchReason>,
    /// The relations to other events.
    pub links: Links,
}

/// The relations of an event to other events, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The reads-from and modification order of an access.
    pub touched: Option<Touched>,
    /// The time of the event by the clock of its thread, and the vector clock of the events that happen before it,
    /// itself included.
    pub moment: Option<(Time, Vec<Time>)>,
}

/// Why a thread stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say what they mean")]
pub enum SwitchReason {
    Preempted,
    Blocked,
    Joining,
    Sleeping,
    Yielded,
    Spinning,
    Finished,
}

/// The action of an event. Values are widened to 128 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say what they mean")]
pub enum Action {
    /// `newest` is the value in memory; `value` may be an older one.
    Load {
        address: usize,
        size: u8,
        order: Order,
        value: u128,
        newest: u128,
    },
    /// The load before was a compare-exchange that failed spuriously.
    FailsSpuriously,
    /// `newest` is the value in memory after the store: another one if an earlier store comes later in modification
    /// order.
    Store {
        address: usize,
        size: u8,
        order: Order,
        value: u128,
        newest: u128,
    },
    Rmw {
        address: usize,
        size: u8,
        order: Order,
        op: Rmw,
        read: u128,
        written: u128,
    },
    Cas {
        address: usize,
        size: u8,
        order: Order,
        expected: u128,
        new: u128,
        read: u128,
        newest: u128,
    },
    Fence {
        order: Order,
    },
    Wait {
        address: usize,
        expected: u32,
        blocks: bool,
        timeout: Option<u64>,
    },
    Woken {
        address: usize,
        timed_out: bool,
    },
    Wake {
        address: usize,
        woken: Vec<ThreadId>,
    },
    Spawn {
        thread: ThreadId,
    },
    Join {
        thread: ThreadId,
    },
    /// A plain access, or an atomic one that failed because of a memory error.
    Access {
        address: usize,
        size: usize,
        kind: AccessKind,
    },
    /// A plain write to memory that other threads may know, and the value that it leaves, if that is small.
    Write {
        address: usize,
        size: usize,
        value: Option<u128>,
    },
    Allocate {
        address: usize,
        size: usize,
    },
    Free {
        address: usize,
    },
    Signal {
        signal: i32,
    },
    /// The thread ends the process.
    Exit {
        code: i32,
    },
    /// The thread runs over the end of its stack.
    Overflow,
    Begin,
    End,
    Yield,
    Sleep {
        ns: u64,
    },
    Panic {
        message: String,
    },
    Call {
        call: String,
    },
    Return {
        call: String,
        result: String,
    },
    /// A marked operation begins, or has ended with a result, if it has one.
    Step {
        name: String,
        ended: Option<StepEnd>,
    },
    /// An operation of the monitor whose lock is at the address.
    Monitor {
        address: usize,
        act: MonitorAct,
    },
}

/// The end of a marked operation: its result in words, unless it returns nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepEnd(pub Option<String>);

/// What a thread does at a monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MonitorAct {
    /// Waits until no thread is inside.
    Blocks,
    /// Enters.
    Enters,
    /// Leaves.
    Exits,
    /// Leaves, and waits for a notification.
    Waits,
    /// Was notified, and is inside again.
    Resumes,
    /// Notifies one thread, if any waits.
    Notifies(Option<ThreadId>),
    /// Notifies all threads that wait.
    NotifiesAll(Vec<ThreadId>),
}

/// Names a memory location, from the call stack of an event and the address.
pub type Namer = Box<dyn FnMut(&[CallFrame], usize) -> Option<String>>;

impl Action {
    /// The address of the memory location.
    pub fn address(&self) -> Option<usize> {
        match *self {
            Action::Load { address, .. }
            | Action::Store { address, .. }
            | Action::Rmw { address, .. }
            | Action::Cas { address, .. }
            | Action::Access { address, .. }
            | Action::Write { address, .. }
            | Action::Allocate { address, .. }
            | Action::Free { address }
            | Action::Wait { address, .. }
            | Action::Woken { address, .. }
            | Action::Wake { address, .. }
            | Action::Monitor { address, .. } => Some(address),
            _ => None,
        }
    }
}

impl Action {
    /// Whether the action releases its thread's view, which advances the thread's time.
    pub(crate) fn releases(&self) -> bool {
        match *self {
            Action::Store { order, .. } | Action::Rmw { order, .. } | Action::Fence { order } => {
                order.releases()
            }
            Action::Cas { order, expected, read, .. } => expected == read && order.releases(),
            Action::Spawn { .. } => true,
            Action::Monitor { ref act, .. } => *act == MonitorAct::Exits,
            _ => false,
        }
    }

    /// Whether the action accesses any of the bytes.
    pub fn overlaps(&self, bytes: &Range<usize>) -> bool {
        let (address, size) = match *self {
            Action::Load { address, size, .. }
            | Action::Store { address, size, .. }
            | Action::Rmw { address, size, .. }
            | Action::Cas { address, size, .. } => (address, size.into()),
            Action::Access { address, size, .. } | Action::Write { address, size, .. } => (address, size),
            _ => return false,
        };
        address < bytes.end && bytes.start < address + size
    }
}

impl Trace {
    /// An empty trace that keeps the last `limit` events of an execution that makes this many steps.
    pub fn new(limit: usize, steps: u64) -> Trace {
        Trace {
            events: Vec::new(),
            omitted: 0,
            limit,
            skipped_steps: steps.saturating_sub(limit as u64),
            switched: None,
            watch: Watch::default(),
            evidence: Vec::new(),
            writes: PlainWrites::default(),
            news: News::default(),
        }
    }

    /// Clears the trace, because the execution is repeated.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.omitted = 0;
        self.switched = None;
        self.writes = PlainWrites::default();
        self.news = News::default();
    }

    /// The trace, set to record the accesses that explain a failure.
    pub fn watching(mut self, outcome: &Outcome) -> Trace {
        if let Outcome::Fault(fault) = outcome {
            self.watch = fault.watch();
        }
        self
    }

    pub(crate) fn record(
        &mut self,
        thread: ThreadId,
        action: Action,
        stack: Vec<CallFrame>,
        name: Option<String>,
        links: Links,
        is_skipped: bool,
    ) {
        let is_watched = self.is_watched(&action);
        match action {
            Action::Write { .. } => self.writes.recorded += 1,
            _ => self.writes.in_a_row = 0,
        }
        let mut event = Event { thread, action, name, stack, switch: None, links };
        if is_watched {
            self.evidence.push(event.clone());
        }
        if is_skipped || is_watched && self.watch.is_aside {
            return;
        }
        if self.events.len() >= self.limit {
            // Dropping half at a time keeps the cost per event constant.
            let drop = self.limit / 2;
            self.events.drain(..drop);
            self.omitted += drop as u64;
        }
        // A chosen thread may be switched away from before it makes an event.
        let same = self.events.last().is_some_and(|last| last.thread == thread);
        event.switch = self.switched.take().filter(|_| !same);
        self.events.push(event);
    }

    /// Whether an action belongs to the evidence, which is kept however long the execution is.
    pub(crate) fn is_watched(&self, action: &Action) -> bool {
        let Some(address) = action.address() else { return false };
        match *action {
            // Evidence is recorded as an access.
            Action::Write { .. } => false,
            Action::Allocate { .. } | Action::Free { .. } => self.watch.blocks.contains(&address),
            _ => !self.watch.bytes.is_empty() && action.overlaps(&self.watch.bytes),
        }
    }

    /// The number of events so far.
    pub(crate) fn made(&self) -> u64 {
        self.omitted + self.events.len() as u64
    }

    pub(crate) fn switch(&mut self, reason: SwitchReason) {
        self.switched.get_or_insert(reason);
    }

    /// Whether another plain write is recorded.
    pub(crate) fn wants_write(&mut self) -> bool {
        self.writes.in_a_row += 1;
        self.writes.in_a_row <= MOST_WRITES_IN_A_ROW && self.writes.recorded < MOST_WRITES
    }

    /// A block is freed.
    pub(crate) fn has_freed(&mut self, address: usize) {
        self.news.freed.push(address);
    }

    /// The code under test introduces an object.
    pub(crate) fn introduce(&mut self, object: Introduced) {
        self.news.objects.push(object);
    }

    /// Shows the latest event to an observer.
    pub(crate) fn show(&mut self, observer: &mut dyn Observer) {
        let Some(event) = self.events.last() else { return };
        let number = self.omitted + self.events.len() as u64 - 1;
        let News { freed, objects } = &self.news;
        observer.observe(&Observation { number, event, freed, objects });
        self.news.freed.clear();
        self.news.objects.clear();
    }
}
