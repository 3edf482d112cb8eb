//! Checking a history while it happens, in memory that does not grow with it.
//!
//! Events are taken as they come. An operation can be placed in an order only once its result is known, so what comes
//! after the call of an open operation waits until that one has returned; what is held is this backlog and the
//! frontier of the search, or the content of the collection where a monitor does it.

mod backlog;
mod part;
mod queue;

use std::time::Instant;

use rustc_hash::FxHashMap;

use backlog::End;
use part::Part;

use crate::engine::limits::{Budget, Exhausted, Limits};
use crate::model::Model;
use crate::value::Value;

/// Checks the linearizability of a history event by event.
///
/// ```
/// use raddle_check::Stream;
/// use raddle_check::model::register::{Register, RegisterOp};
///
/// let mut stream = Stream::new(Register::default());
/// let write = stream.call(RegisterOp::Write(1.into()))?;
/// stream.respond(write, 1.into(), 2)?;
/// let read = stream.call(RegisterOp::Read)?;
/// let stop = stream.respond(read, 2.into(), 4).unwrap_err();
/// assert_eq!(stop.to_string(), "read() -> 2 has no place in any order; the state before it is 1");
/// # Ok::<(), raddle_check::stream::Stop>(())
/// ```
pub struct Stream<M: Model> {
    model: M,
    budget: Budget,
    patience: usize,
    /// What a search may use while a monitor can do without it.
    spare: usize,
    whole: bool,
    parts: FxHashMap<Option<Value>, Part<M>>,
    /// The part of each operation that has not ended.
    open: FxHashMap<u64, Option<Value>>,
    calls: u64,
    events: u64,
    /// Some operation was given up on and returned after all.
    is_late: bool,
}

/// Why a stream cannot be continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The history is wrong.
    Violation(Found),
    /// A limit was reached.
    Limit(Exhausted),
    /// The history cannot be checked as a stream; the text says why.
    Unsupported(String),
}

/// A violation in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The key of the part that is wrong.
    pub key: Option<Value>,
    /// The number of the operation whose return proves it.
    pub operation: u64,
    /// Where that return was seen, as the caller said.
    pub position: u64,
    /// What is wrong, in words.
    pub summary: String,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Violation(found) => f.write_str(&found.summary),
            Stop::Limit(Exhausted::Time) => f.write_str("the time limit was reached"),
            Stop::Limit(Exhausted::Memory) => f.write_str("the memory limit was reached"),
            Stop::Unsupported(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Stop {}

/// How many events may wait for one operation to return before it is given up.
const PATIENCE: usize = 1 << 20;

/// What a search may hold where a monitor can do without it.
const SPARE: usize = 16 << 20;

impl<M: Model> Stream<M> {
    /// A stream in which nothing has happened, without limits.
    pub fn new(model: M) -> Stream<M> {
        Stream {
            model,
            budget: Budget::new(Limits::default(), Instant::now()),
            patience: PATIENCE,
            spare: SPARE,
            whole: false,
            parts: FxHashMap::default(),
            open: FxHashMap::default(),
            calls: 0,
            events: 0,
            is_late: false,
        }
    }

    /// When to give up; the time is counted from now.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.budget = Budget::new(limits, Instant::now());
        self
    }

    /// Checks the history in one piece even if the model can split it.
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// After how many events an operation that does not return is taken as one of unknown outcome. If it returns after
    /// all, the history cannot be accepted any more.
    pub fn patience(mut self, events: usize) -> Self {
        self.patience = events.max(1);
        self
    }

    /// How many bytes a search may hold where a monitor can decide without it; beyond, only the monitor goes on.
    pub fn spare(mut self, bytes: usize) -> Self {
        self.spare = bytes;
        self
    }

    /// An operation was called. Returns its number, by which to say how it ended.
    pub fn call(&mut self, input: M::Input) -> Result<u64, Stop> {
        let key = if self.whole { None } else { self.model.partition(&input) };
        if !self.parts.is_empty() && self.parts.contains_key(&None) != key.is_none() {
            let operation = self.model.describe(&input, None);
            let reason =
                format!("{operation} does not concern one key only, as others do: check it in one piece");
            return Err(Stop::Unsupported(reason));
        }
        let operation = self.calls;
        self.calls += 1;
        self.events += 1;
        self.open.insert(operation, key.clone());
        let part = self.parts.entry(key.clone()).or_insert_with(|| Part::new(&self.model, self.spare));
        part.backlog.call(operation, input);
        if part.backlog.len() > self.patience {
            part.backlog.give_up_on_first();
            self.advance(&key)?;
        }
        Ok(operation)
    }

    /// An operation returned; `position` is where that was seen, for reports.
    ///
    /// # Panics
    /// If no such operation is open.
    pub fn respond(&mut self, operation: u64, output: M::Output, position: u64) -> Result<(), Stop> {
        self.events += 1;
        let event = self.events;
        self.end(operation, End::Returned { output, position, event })
    }

    /// Nobody will learn how an operation ended.
    ///
    /// # Panics
    /// If no such operation is open.
    pub fn forget(&mut self, operation: u64) -> Result<(), Stop> {
        self.end(operation, End::Unknown)
    }

    /// An operation did not happen.
    ///
    /// # Panics
    /// If no such operation is open.
    pub fn retract(&mut self, operation: u64) -> Result<(), Stop> {
        self.end(operation, End::Never)
    }

    /// The history is over: what is open stays so. `true` if it is linearizable, `false` if that cannot be told because
    /// an operation was given up on too early.
    pub fn finish(mut self) -> Result<bool, Stop> {
        let mut open: Vec<u64> = self.open.keys().copied().collect();
        open.sort_unstable();
        for operation in open {
            self.forget(operation)?;
        }
        Ok(!self.is_late)
    }

    fn end(&mut self, operation: u64, end: End<M::Output>) -> Result<(), Stop> {
        let key = self.open.remove(&operation);
        let key = key.unwrap_or_else(|| panic!("operation {operation} is not open"));
        let part = self.parts.get_mut(&key).expect("an open operation has a part");
        let is_known = end != End::Unknown;
        if !part.backlog.end(operation, end) && is_known {
            self.is_late = true;
        }
        self.advance(&key)
    }

    /// Checks what no longer waits.
    fn advance(&mut self, key: &Option<Value>) -> Result<(), Stop> {
        let part = self.parts.get_mut(key).expect("a part that has events");
        part.advance(&self.model, &mut self.budget).map_err(|stop| match stop {
            Stop::Violation(found) => Stop::Violation(Found { key: key.clone(), ..found }),
            other => other,
        })
    }
}
