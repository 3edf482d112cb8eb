//! Which schemas to try: at random, as Violat does by default, or all of them, smallest first.

mod aimed;
mod random;
mod rng;
mod spread;
mod systematic;

pub use random::{Random, Suspects};
pub use spread::gathered;
pub use systematic::Systematic;

use crate::schema::Invocation;

/// A call that schemas are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The call.
    pub invocation: Invocation,
    /// Whether it leaves the object as it is.
    pub readonly: bool,
    /// Whether its method is taken to be right.
    pub trusted: bool,
}

/// How large schemas are. The defaults are those of Violat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Threads at least.
    pub min_threads: usize,
    /// Threads at most.
    pub max_threads: usize,
    /// Invocations of all threads together, at least.
    pub min_invocations: usize,
    /// And at most.
    pub max_invocations: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { min_threads: 2, max_threads: 2, min_invocations: 3, max_invocations: 6 }
    }
}

/// How many values the few values of a schema are taken from, unless the specification says otherwise.
pub const RANGE: usize = 8;

impl Bounds {
    /// How many values of a type are tried by default: Violat's ⌈ln(most invocations)⌉.
    pub fn default_values(&self) -> usize {
        ((self.max_invocations.max(2) as f64).ln().ceil() as usize).max(1)
    }
}
