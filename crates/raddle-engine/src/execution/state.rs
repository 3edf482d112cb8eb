//! The state of one execution, apart from its threads and their memory.

use std::cell::{Cell, RefCell};

use super::clock::Clock;
use super::fair::Fair;
use super::futex::Futexes;
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
        /// Whether the current thread yields: it goes on later if others can.
        pub(crate) is_yielding: bool,
        /// The threads that could go on at a scheduling point where some yield or sleep, and those of them that do neither.
        pub(crate) willing: Vec<ThreadId>,
        pub(crate) eager: Vec<ThreadId>,
        /// The threads that spin.
        pub(crate) spinners: Vec<ThreadId>,
        /// The threads that wait for a mutex.
        pub(crate) lockers: Vec<ThreadId>,
        /// The thread taken at each scheduling point where more than one could go on.
        pub(crate) schedule: Vec<ThreadId>,
        /// How far back in modification order accesses went that had a choice.
        pub(crate) mo_offsets: Vec<u16>,
        /// Events so far.
        pub(crate) steps: u64,
        /// The events of the checkpoint that the execution began at.
        pub(crate) begun_at: u64,
        /// Changes of thread so far.
        pub(crate) switches: u64,
        /// Events of the current thread since it began to run, at which others could have.
        pub(crate) in_a_row: u32,
        /// The number of events after which the execution goes on fairly.
        pub(crate) step_limit: u64,
        /// Whose turn it is, if the execution goes on fairly.
        pub(crate) fair: Option<Box<Fair>>,
        /// The hash of memory at the end of the last round in which all threads that were left span.
        pub(crate) memory_of_round: Option<u64>,
        /// The first thread that could not go on by itself.
        pub(crate) waited: Option<ThreadId>,
        /// The outcome, when the execution is over.
        pub(crate) outcome: Option<Outcome>,
        /// Whether the current thread goes on in another execution than it paused in.
        pub(crate) is_restored: bool,
        /// Store histories and clocks, if the memory model or the race detector needs them.
        pub(crate) memory: Option<Box<Memory>>,
        /// The messages of threads that left a scope to its end, by the address of the scope, where executions are interleavings.
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
        /// The call stack of the thread that ended the execution, or panicked last, if that is noted.
        pub(crate) stopped_at: Vec<CallFrame>,
        /// The threads that are left, if that is the failure.
        pub(crate) leaked: RefCell<Vec<ThreadId>>,
        /// The kind of the execution, if the judge named one.
        pub(crate) kind: Cell<Option<usize>>,
    }
}

impl Execution {
    /// The initial state: no thread was made.
    pub(super) fn new(step_limit: u64, clock: Clock) -> Execution {
        Execution {
            alive: 0,
            current: 0,
            runnable: Vec::new(),
            is_yielding: false,
            willing: Vec::new(),
            eager: Vec::new(),
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
            memory_of_round: None,
            waited: None,
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
            kind: Cell::new(None),
        }
    }

    /// Begins anew, as a copy of the initial state. The store histories are emptied instead: they keep more memory than a copy would.
    pub(super) fn begin(&mut self, initial: &Execution) {
        let mut memory = self.memory.take();
        self.clone_from(initial);
        if let Some(memory) = &mut memory {
            memory.begin();
        }
        self.memory = memory;
    }
}
