//! Permits that are taken and given back: a semaphore, and the mutex that is a semaphore of one.

use super::{Named, misfit, sentence, unknown};
use crate::model::Model;
use crate::value::Value;

/// A semaphore. A mutex is one with a single permit that may not be released twice.
#[derive(Clone, Debug)]
pub struct Semaphore {
    /// How many permits there are at first.
    pub permits: u64,
    /// The most there may be; releasing beyond is impossible.
    pub most: Option<u64>,
}

impl Semaphore {
    /// A semaphore with this many permits at first, and no bound.
    pub fn new(permits: u64) -> Semaphore {
        Semaphore { permits, most: None }
    }

    /// A mutex, free at first.
    pub fn mutex() -> Semaphore {
        Semaphore { permits: 1, most: Some(1) }
    }
}

/// An operation of a [`Semaphore`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SemaphoreOp {
    /// Takes permits; it waits until there are enough, so it takes effect only when there are.
    Acquire(u64),
    /// Takes permits if there are enough, and returns whether there were.
    TryAcquire(u64),
    /// Gives permits back.
    Release(u64),
    /// Returns how many there are.
    Available,
}

use SemaphoreOp::{Acquire, Available, Release, TryAcquire};

impl Model for Semaphore {
    type State = u64;
    type Input = SemaphoreOp;
    type Output = Value;

    fn init(&self) -> u64 {
        self.permits
    }

    fn step(&self, &free: &u64, op: &SemaphoreOp, output: Option<&Value>) -> impl IntoIterator<Item = u64> {
        match *op {
            Acquire(n) => free.checked_sub(n),
            TryAcquire(n) => {
                let fits = output.is_none_or(|seen| *seen == Value::Bool(free >= n));
                fits.then(|| free.checked_sub(n).unwrap_or(free))
            }
            Release(n) => free.checked_add(n).filter(|&sum| self.most.is_none_or(|most| sum <= most)),
            Available => {
                output.is_none_or(|seen| seen.as_int().is_some_and(|n| n as u64 == free)).then_some(free)
            }
        }
    }

    fn is_read_only(&self, op: &SemaphoreOp, output: Option<&Value>) -> bool {
        match op {
            Available | Acquire(0) | TryAcquire(0) | Release(0) => true,
            TryAcquire(_) => output == Some(&Value::Bool(false)),
            _ => false,
        }
    }

    fn describe(&self, op: &SemaphoreOp, output: Option<&Value>) -> String {
        let echo = output.map(|_| &Value::Nil);
        match op {
            Acquire(n) => sentence("acquire", n, echo),
            TryAcquire(n) => sentence("try-acquire", n, output),
            Release(n) => sentence("release", n, echo),
            Available => sentence("available", "", output),
        }
    }

    fn describe_state(&self, free: &u64) -> String {
        match (self.most, free) {
            (Some(1), 0) => "locked".into(),
            (Some(1), _) => "free".into(),
            _ => format!("{free} permits"),
        }
    }
}

impl Named for Semaphore {
    fn operation(&self, name: &str, argument: &Value) -> Result<SemaphoreOp, String> {
        let permits = |op: fn(u64) -> SemaphoreOp| match argument {
            Value::Nil => Ok(op(1)),
            Value::Int(n) if *n >= 0 => Ok(op(*n as u64)),
            _ => misfit(name, "a number of permits", argument),
        };
        match name {
            "acquire" | "lock" => permits(Acquire),
            "try-acquire" | "try-lock" => permits(TryAcquire),
            "release" | "unlock" => permits(Release),
            "available" => Ok(Available),
            _ => unknown(name, &["acquire", "try-acquire", "release", "available"]),
        }
    }
}
