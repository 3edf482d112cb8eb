//! What a thread does next, given what its accesses returned so far.
//!
//! A body is called again from its start each time. Its accesses get the answers that are known; the first one without an answer
//! leaves the body by unwinding, and is what the thread does next. So a body may be any Rust code that is deterministic.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};

use crate::machine::{Atomic, Body, Lock, Machine, Test};

/// The machine on which the oracle answers.
#[derive(Debug)]
pub enum Abstract {}

/// What an access asks for.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// Reads a location.
    Load(usize, Ordering),
    /// Writes a value to a location.
    Store(usize, u32, Ordering),
    /// Reads and writes a location.
    Rmw(usize, Modify, Ordering),
    /// Reads a location, and writes it if it held the first value; the second order is that of a mere read.
    CompareExchange(usize, u32, u32, Ordering, Ordering),
    /// A fence.
    Fence(Ordering),
}

/// What a read-modify-write writes.
#[derive(Clone, Copy, Debug)]
pub enum Modify {
    /// The value.
    Swap(u32),
    /// The sum of what it read and the value.
    Add(u32),
}

/// What comes after the answers.
#[derive(Clone, Debug)]
pub enum Next {
    /// Another access.
    Access(Access),
    /// The thread waits for something that its last reads did not see.
    Blocked,
    /// The thread has ended, and saw this.
    Ended(Vec<u32>),
}

/// Builds a test and tells the initial value of each of its locations.
pub(super) fn build(build: impl Fn() -> Test) -> (Test, Vec<u32>) {
    CONTEXT.set(Context::Build(Vec::new()));
    let test = build();
    match CONTEXT.take() {
        Context::Build(initial) => (test, initial),
        _ => unreachable!("nothing else sets the context meanwhile"),
    }
}

/// What a thread does next.
pub(super) fn next(body: &Body, answers: &[u32]) -> Next {
    CONTEXT.set(Context::Replay { answers: answers.to_vec(), given: 0 });
    let left = catch_unwind(AssertUnwindSafe(body));
    CONTEXT.take();
    left.map_or_else(|payload| *next_of(payload), Next::Ended)
}

/// What is read after all threads, when locations hold these values.
pub(super) fn finally(body: &Body, values: Vec<u32>) -> Vec<u32> {
    CONTEXT.set(Context::Finally(values));
    let read = body();
    CONTEXT.take();
    read
}

/// What answers accesses.
#[derive(Default)]
enum Context {
    #[default]
    None,
    /// The initial value of each location so far.
    Build(Vec<u32>),
    Replay {
        answers: Vec<u32>,
        given: usize,
    },
    /// What locations hold.
    Finally(Vec<u32>),
}

thread_local! {
    static CONTEXT: RefCell<Context> = RefCell::default();
}

fn next_of(payload: Box<dyn Any + Send>) -> Box<Next> {
    payload.downcast().unwrap_or_else(|panic| resume_unwind(panic))
}

fn leave(next: Next) -> ! {
    resume_unwind(Box::new(next))
}

fn access(access: Access) -> u32 {
    let answer = CONTEXT.with_borrow_mut(|context| match (context, access) {
        (Context::Replay { answers, given }, _) => {
            *given += 1;
            answers.get(*given - 1).copied()
        }
        (Context::Finally(values), Access::Load(location, _)) => Some(values[location]),
        _ => panic!("{access:?} is neither in a thread nor a read after all threads"),
    });
    answer.unwrap_or_else(|| leave(Next::Access(access)))
}

/// A location.
#[derive(Debug)]
pub struct Location(usize);

impl Machine for Abstract {
    type Atomic = Location;
    type Lock = LockWord;

    fn fence(order: Ordering) {
        access(Access::Fence(order));
    }

    fn wait_until(condition: impl Fn() -> bool) {
        if !condition() {
            leave(Next::Blocked);
        }
    }

    fn retry<T>(operation: impl Fn() -> Option<T>) -> T {
        operation().unwrap_or_else(|| leave(Next::Blocked))
    }
}

impl Atomic for Location {
    fn new(value: u32) -> Location {
        CONTEXT.with_borrow_mut(|context| match context {
            Context::Build(initial) => {
                initial.push(value);
                Location(initial.len() - 1)
            }
            _ => panic!("locations are made before threads"),
        })
    }

    fn load(&self, order: Ordering) -> u32 {
        access(Access::Load(self.0, order))
    }

    fn store(&self, value: u32, order: Ordering) {
        access(Access::Store(self.0, value, order));
    }

    fn swap(&self, value: u32, order: Ordering) -> u32 {
        access(Access::Rmw(self.0, Modify::Swap(value), order))
    }

    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        access(Access::Rmw(self.0, Modify::Add(value), order))
    }

    fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        let found = access(Access::CompareExchange(self.0, current, new, success, failure));
        if found == current { Ok(found) } else { Err(found) }
    }
}

/// A lock: taken by a read-modify-write of a word, given back by a write.
#[derive(Debug)]
pub struct LockWord(Location);

impl Lock for LockWord {
    fn new() -> LockWord {
        LockWord(Location::new(0))
    }

    fn with<T>(&self, critical: impl FnOnce() -> T) -> T {
        if self.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            leave(Next::Blocked);
        }
        let value = critical();
        self.0.store(0, Release);
        value
    }
}
