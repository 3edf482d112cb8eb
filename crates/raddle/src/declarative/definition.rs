//! Definitions of tests: what the builder collects, and the runner reads.

use raddle_check::Contract;

use super::mode::Mode;
use super::scenario::Scenario;
use super::spec::Specification;
use super::subject::Subject;
use crate::Explorer;

/// The definition of a test.
pub(crate) struct Definition {
    pub(crate) subject: Subject,
    pub(crate) spec: SpecOf,
    pub(crate) has_spec: bool,
    pub(crate) contract: Contract,
    pub(crate) explorer: Explorer,
    pub(crate) size: Size,
    /// Whether the operations decide how many threads there are.
    pub(crate) chooses_threads: bool,
    pub(crate) iterations: Option<usize>,
    pub(crate) executions: u64,
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) mode: Mode,
    pub(crate) demands: Demands,
    pub(crate) minimize: bool,
}

/// Constructs the specification of a subject. The error is a sentence about what does not fit.
pub(crate) type SpecOf = Box<dyn FnOnce(&Subject) -> Result<Box<dyn Specification>, String>>;

/// How large scenarios become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) fewest_threads: usize,
    /// The most threads: scenarios take turns with all numbers from the fewest.
    pub(crate) threads: usize,
    pub(crate) per_thread: usize,
    pub(crate) before: usize,
    pub(crate) after: usize,
}

/// The progress guarantees that a test asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demands {
    pub(crate) obstruction_free: bool,
    /// The largest number of events between two completions.
    pub(crate) lock_free: Option<u64>,
}

impl Demands {
    /// Whether the test asks for a guarantee.
    pub(crate) fn any(self) -> bool {
        self.obstruction_free || self.lock_free.is_some()
    }
}
