//! Events that wait until it is known how the operations before them ended.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End<O> {
    /// It returned: what, where that was seen, and as which event.
    Returned { output: O, position: u64, event: u64 },
    /// Nobody knows.
    Unknown,
    /// It did not happen.
    Never,
}

/// An event that no longer waits.
pub(super) enum Ready<I, O> {
    Call { operation: u64, input: I, end: End<O> },
    Return { operation: u64, position: u64 },
}

enum Waiting {
    Call(u64),
    Return { operation: u64, position: u64 },
}

pub(super) struct Backlog<I, O> {
    events: VecDeque<Waiting>,
    /// The operations whose calls wait, with their ends where these are known.
    operations: FxHashMap<u64, (I, Option<End<O>>)>,
}

impl<I, O> Backlog<I, O> {
    pub(super) fn new() -> Self {
        Backlog { events: VecDeque::new(), operations: FxHashMap::default() }
    }

    /// How many events wait.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.events.capacity() * size_of::<Waiting>()
            + self.operations.capacity() * (size_of::<(I, End<O>)>() + 24)
    }

    pub(super) fn call(&mut self, operation: u64, input: I) {
        self.operations.insert(operation, (input, None));
        self.events.push_back(Waiting::Call(operation));
    }

    /// An operation ended; `false` if it was given up on before.
    pub(super) fn end(&mut self, operation: u64, end: End<O>) -> bool {
        let Some((_, known)) = self.operations.get_mut(&operation).filter(|(_, known)| known.is_none())
        else {
            return false;
        };
        if let End::Returned { position, .. } = end {
            self.events.push_back(Waiting::Return { operation, position });
        }
        *known = Some(end);
        true
    }

    /// Takes the operation that everything waits for as one of unknown outcome.
    pub(super) fn give_up_on_first(&mut self) {
        if let Some(Waiting::Call(operation)) = self.events.front() {
            self.end(*operation, End::Unknown);
        }
    }

    /// The next event, if it waits for nothing.
    pub(super) fn next(&mut self) -> Option<Ready<I, O>> {
        match self.events.front()? {
            Waiting::Call(operation) if self.operations[operation].1.is_none() => return None,
            _ => {}
        }
        match self.events.pop_front()? {
            Waiting::Return { operation, position } => Some(Ready::Return { operation, position }),
            Waiting::Call(operation) => {
                let (input, end) = self.operations.remove(&operation)?;
                Some(Ready::Call { operation, input, end: end? })
            }
        }
    }
}
