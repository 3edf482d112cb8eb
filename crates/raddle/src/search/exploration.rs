//! One call of an exploration.

use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};

use raddle_engine::platform::global::PROBE;
use raddle_report::failure::FoundBy;

use crate::build;
use crate::monitor;
use crate::options::{Allocation, Also, Memory, Options};

/// A call of [`Explorer::run`](crate::Explorer::run) or [`Test::run`](crate::Test::run).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exploration {
    /// The code that called.
    pub(crate) at: &'static Location<'static>,
    /// The number of the exploration within its process: a test may make several, and a failure belongs to one.
    pub(crate) number: u32,
    /// Whether the process runs this test and no other.
    pub(crate) owned: bool,
    /// The frame pointer of the function that explores, if the code under test may borrow what its callers have on their stacks.
    pub(crate) frame_pointer: Option<usize>,
}

impl Exploration {
    /// The next exploration of the process.
    pub(crate) fn begin(at: &'static Location<'static>, frame_pointer: Option<usize>) -> Exploration {
        static EXPLORATIONS: AtomicU32 = AtomicU32::new(0);
        monitor::install();
        let number = EXPLORATIONS.fetch_add(1, Ordering::Relaxed);
        Exploration { at, number, owned: build::owns_process(), frame_pointer }
    }

    /// The origin of a failure: this exploration, a search with these options, and the execution of this number from 0.
    pub(crate) fn found_by(&self, options: &Options, execution: u64) -> FoundBy {
        let (memory, allocation) = (options.memory(), options.allocation);
        FoundBy {
            strategy: options.strategy.to_string(),
            memory: (memory != Memory::Sc).then(|| memory.to_string()),
            seed: options.seed,
            execution: execution + 1,
            exploration: self.number,
            allocation: (allocation != Allocation::Quarantine).then(|| allocation.to_string()),
            reference_counts: Some(options.reference_counts.join(",")).filter(|counts| !counts.is_empty()),
            also: Some(list(&options.also)).filter(|also| !also.is_empty()),
        }
    }
}

/// Extra behaviours in the spelling of `RADDLE_ALSO`.
fn list(also: &[Also]) -> String {
    also.iter().map(Also::to_string).collect::<Vec<_>>().join(",")
}

/// Finds out how the calling crate was built, if this function is inlined there: from a generic function, which is compiled with
/// the caller. In an instrumented crate, the load below calls the engine; where plain accesses are announced, so is the read.
#[inline(always)]
pub(crate) fn probe() {
    PROBE.load(Ordering::Relaxed);
    // SAFETY: an initialised static.
    unsafe { (&raw const PROBE).cast::<u8>().read_volatile() };
}
