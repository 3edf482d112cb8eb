//! The state of one execution, apart from its threads and their memory.

use std::cell::{Cell, RefCell};

use super::clock::Clock;
use super::fair::Fair;
use super::futex::Futexes;
use super::order_hash::OrderHash;
use super::prefixes::Prefix;
use crate::happens_before::sync::Message;
use crate::in_place::in_place;
use crate::op::{Caller, ThreadId};
use crate::outcome::Outcome;
use crate::platform::unwind::CallFrame;
use crate::thread::KeyDestructor;
use crate::weak_memory::Memory;

in_place! {
    /// The state of one execution.
    ///
    /// An execution begins as a copy of the [initial state](Execution::new), or of that in a checkpoint. State of an execution
    /// that is kept elsewhere would leak into the next one.
    #[derive(Debug)]
    pub(crate) struct Execution {
        /// How many threads the execution has made.
        pub(crate) alive: usize,
        pub(crate) current: ThreadId,
        /// The threads that can run, in ascending order.
        pub(crate) runnable: Vec<ThreadId>,
        /// Whether threads run to their first event when they are made. Only where executions are interleavings.
        pub(crate) starts_eagerly: bool,
        /// The thread that was just made, and runs next.
        pub(crate) starting: Option<ThreadId>,
        /// Whether the current thread yields: it goes on later if others can.
        pub(crate) is_yielding: bool,
        /// The runnable threads at a scheduling point where some yield or sleep, and those of them that do neither.
        pub(crate) candidates: Vec<ThreadId>,
        pub(crate) active: Vec<ThreadId>,
        /// The threads that spin.
        pub(crate) spinners: Vec<ThreadId>,
        /// The threads that wait for a mutex.
        pub(crate) lockers: Vec<ThreadId>,
        /// The thread taken at each scheduling point where more than one could go on.
        pub(crate) schedule: Vec<ThreadId>,
        /// For each access that had a choice, how far back in modification order it went.
        pub(crate) mo_offsets: Vec<u16>,
        /// Events so far, including those before the checkpoint.
        pub(crate) steps: u64,
        /// Events before the checkpoint that the execution began at.
        pub(crate) begun_at: u64,
        /// Context switches so far.
        pub(crate) switches: u64,
        /// Consecutive events of the current thread at which another thread was runnable.
        pub(crate) in_a_row: u32,
        /// The number of events after which the execution goes on fairly.
        pub(crate) step_limit: u64,
        /// The fair scheduler, once the execution has reached its limit.
        pub(crate) fair: Option<Box<Fair>>,
        /// The hash of memory when all remaining threads last were spinning.
        pub(crate) memory_hash_of_round: Option<u64>,
        /// The first thread that blocked or spun.
        pub(crate) waited: Option<ThreadId>,
        /// The relation of the execution to the tree of prefixes. Only where executions are interleavings.
        pub(crate) prefix: Prefix,
        /// The hash of the order of events, if others may be [recognised](super::recognition) by it.
        pub(crate) order_hash: Option<Box<OrderHash>>,
        /// The outcome, when the execution is over.
        pub(crate) outcome: Option<Outcome>,
        /// Whether the current thread continues from a checkpoint, in another execution than the one that took it.
        pub(crate) is_restored: bool,
        /// Store histories and clocks, if the memory model or the race detector needs them.
        pub(crate) memory: Option<Box<Memory>>,
        /// What threads that left a scope release to its end, by the address of the scope. Only where executions are
        /// interleavings.
        pub(crate) scopes: Vec<(usize, Message)>,
        pub(crate) futexes: Futexes,
        pub(crate) clock: Clock,
        /// Destructors of the thread-specific keys that the execution made; their numbers follow those of the process.
        pub(crate) keys: Vec<Option<KeyDestructor>>,
        /// Memory that the execution mapped: address and length.
        pub(crate) mappings: Vec<(usize, usize)>,
        /// The last panic: its thread and message.
        pub(crate) panic: Option<(ThreadId, String)>,
        /// Where a signal ended the execution.
        pub(crate) crashed_at: Option<Caller>,
        /// The call stack of the thread that ended the execution or panicked last, if stacks are saved.
        pub(crate) stopped_at: Vec<CallFrame>,
        /// The leaked threads, if they are the failure.
        pub(crate) leaked: RefCell<Vec<ThreadId>>,
        /// The outcome class of the execution, if the judge named one.
        pub(crate) outcome_class: Cell<Option<usize>>,
    }
}

impl Execution {
    /// The initial state: no thread was made.
    pub(super) fn new(step_limit: u64, clock: Clock) -> Execution {
        Execution {
            alive: 0,
            current: 0,
            runnable: Vec::new(),
            starts_eagerly: false,
            starting: None,
            is_yielding: false,
            candidates: Vec::new(),
            active: Vec::new(),
            spinners: Vec::new(),
            lockers: Vec::new(),
            schedule: Vec::new(),
            mo_offsets: Vec::new(),
            steps: 0,
            begun_at: 0,
            switches: 0,
            in_a_row: 0,
            step_limit,
            fair: None,
            memory_hash_of_round: None,
            waited: None,
            prefix: Prefix::Left,
            order_hash: None,
            outcome: None,
            is_restored: false,
            memory: None,
            scopes: Vec::new(),
            futexes: Futexes::default(),
            clock,
            keys: Vec::new(),
            mappings: Vec::new(),
            panic: None,
            crashed_at: None,
            stopped_at: Vec::new(),
            leaked: RefCell::default(),
            outcome_class: Cell::new(None),
        }
    }

    /// Becomes a copy of the initial state. Store histories and hashes are cleared rather than copied, so that their allocations
    /// are reused.
    pub(super) fn begin(&mut self, initial: &Execution) {
        let mut memory = self.memory.take();
        let order_hash = self.order_hash.take();
        self.clone_from(initial);
        self.order_hash = order_hash;
        if let Some(memory) = &mut memory {
            memory.begin();
        }
        self.memory = memory;
    }
}
