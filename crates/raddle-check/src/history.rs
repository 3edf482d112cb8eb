//! What was observed: operations with the times of their call and return, and crashes.

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome<O> {
    /// It returned `output` at time `at`.
    Returned {
        /// What it returned.
        output: O,
        /// When.
        at: u64,
    },
    /// Nobody knows: it may have taken effect at any time after its call, may still do so, or never will.
    Unknown,
}

/// One call on the object, with its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation<I, O> {
    /// Who called: a thread, a client, a Jepsen process.
    pub process: u64,
    /// When it was called. Any unit: only the order of times matters.
    pub call: u64,
    /// What was called, with which arguments.
    pub input: I,
    /// How it ended.
    pub outcome: Outcome<O>,
}

impl<I, O> Operation<I, O> {
    /// What it returned, if that is known.
    pub fn output(&self) -> Option<&O> {
        match &self.outcome {
            Outcome::Returned { output, .. } => Some(output),
            Outcome::Unknown => None,
        }
    }

    /// When it returned, if it did.
    pub fn returned_at(&self) -> Option<u64> {
        match self.outcome {
            Outcome::Returned { at, .. } => Some(at),
            Outcome::Unknown => None,
        }
    }
}

/// Operations in the order they were added, and the times at which the whole system crashed.
///
/// Record one while a system runs, with [`invoke`](History::invoke) and [`respond`](History::respond), or
/// [`push`](History::push) operations whose times come from elsewhere.
///
/// ```
/// use raddle_check::History;
///
/// let mut history = History::new();
/// let write = history.invoke(0, "write 1");
/// let read = history.invoke(1, "read");
/// history.respond(read, 1);
/// history.respond(write, 1);
/// assert_eq!(history.operations().len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct History<I, O> {
    operations: Vec<Operation<I, O>>,
    crashes: Vec<u64>,
    clock: u64,
}

impl<I, O> Default for History<I, O> {
    fn default() -> Self {
        History { operations: Vec::new(), crashes: Vec::new(), clock: 0 }
    }
}

impl<I, O> History<I, O> {
    /// A history in which nothing happened.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a call now; until [`respond`](History::respond) its outcome is unknown. Returns its index.
    pub fn invoke(&mut self, process: u64, input: I) -> usize {
        let call = self.tick();
        self.operations.push(Operation { process, call, input, outcome: Outcome::Unknown });
        self.operations.len() - 1
    }

    /// Records that operation `index` returned `output` now.
    ///
    /// # Panics
    /// If there is no such operation or it has returned before.
    pub fn respond(&mut self, index: usize, output: O) {
        let at = self.tick();
        let operation = &mut self.operations[index];
        assert!(matches!(operation.outcome, Outcome::Unknown), "operation {index} has returned before");
        operation.outcome = Outcome::Returned { output, at };
    }

    /// Records a crash of the whole system now; see [`Contract::Durable`](crate::Contract::Durable).
    pub fn crash(&mut self) {
        let at = self.tick();
        self.crashes.push(at);
    }

    /// Adds an operation whose times come from elsewhere.
    ///
    /// # Panics
    /// If it returns before it is called.
    pub fn push(&mut self, operation: Operation<I, O>) {
        let last = operation.returned_at().unwrap_or(operation.call);
        assert!(
            last >= operation.call,
            "an operation returns at {last}, before its call at {}",
            operation.call
        );
        self.clock = self.clock.max(last.saturating_add(1));
        self.operations.push(operation);
    }

    /// Adds a crash at a time that comes from elsewhere.
    pub fn push_crash(&mut self, at: u64) {
        self.clock = self.clock.max(at.saturating_add(1));
        self.crashes.push(at);
    }

    /// Records that operation `index` returned `output` at a time that comes from elsewhere.
    #[cfg(feature = "formats")]
    pub(crate) fn respond_at(&mut self, index: usize, output: O, at: u64) {
        self.clock = self.clock.max(at.saturating_add(1));
        self.operations[index].outcome = Outcome::Returned { output, at };
    }

    /// Takes out the operations for which `keep` does not hold.
    #[cfg(feature = "formats")]
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let mut index = 0;
        self.operations.retain(|_| {
            index += 1;
            keep(index - 1)
        });
    }

    /// The operations, in the order they were added.
    pub fn operations(&self) -> &[Operation<I, O>] {
        &self.operations
    }

    /// The times of the crashes, in the order they were added.
    pub fn crashes(&self) -> &[u64] {
        &self.crashes
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock - 1
    }
}

impl<I, O> FromIterator<Operation<I, O>> for History<I, O> {
    fn from_iter<T: IntoIterator<Item = Operation<I, O>>>(operations: T) -> Self {
        let mut history = History::new();
        operations.into_iter().for_each(|operation| history.push(operation));
        history
    }
}
