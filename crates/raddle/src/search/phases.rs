//! The searches that strategy `auto` may make, in order, with the share of the budget that each of them may take.

use raddle_options::{Allocation, Memory, Strategy};

use Allocation::{Quarantine, Reuse};
use Memory::{Rc11, Sc};

/// A search that a portfolio may make.
#[derive(Clone, Copy)]
pub(super) struct Phase {
    pub(super) strategy: fn() -> Strategy,
    pub(super) memory: Memory,
    pub(super) allocation: Allocation,
    /// The share of the budget, relative to the shares of the phases that follow.
    pub(super) share: u32,
    /// The largest number of executions.
    pub(super) most: u64,
    /// The preemption bound of an exhaustive search.
    pub(super) preemptions: Option<usize>,
    /// The number of earlier phases with the same strategy: added to the seed, so that the samples differ.
    pub(super) round: u64,
}

const fn phase(strategy: fn() -> Strategy, memory: Memory, allocation: Allocation, share: u32) -> Phase {
    Phase { strategy, memory, allocation, share, most: u64::MAX, preemptions: None, round: 0 }
}

const fn again(strategy: fn() -> Strategy, memory: Memory, allocation: Allocation, share: u32) -> Phase {
    Phase { round: 1, ..phase(strategy, memory, allocation, share) }
}

/// Executions of the first phase.
const FIRST_LOOK: u64 = 500;

/// The phases for a closure that give every strategy a little time. The others repeat them.
pub(super) const FIRST_ROUND: usize = 10;

/// The phases for a closure.
pub(super) const CLOSURE: [Phase; 16] = [
    // Most bugs are shallow, and sequentially consistent failures are the easiest to read.
    Phase { most: FIRST_LOOK, ..phase(|| Strategy::Pos, Sc, Quarantine, 2) },
    phase(|| Strategy::Exhaustive, Rc11, Quarantine, 8),
    phase(|| Strategy::Exhaustive, Rc11, Reuse, 8),
    // A little of everything: a bug that one of the strategies finds soon is found soon.
    Phase { preemptions: Some(2), ..phase(|| Strategy::Exhaustive, Rc11, Quarantine, 5) },
    again(|| Strategy::Pos, Sc, Quarantine, 5),
    phase(|| Strategy::Pos, Rc11, Quarantine, 5),
    phase(|| Strategy::Pct(3), Sc, Quarantine, 5),
    phase(|| Strategy::Bounded(2), Sc, Quarantine, 8),
    phase(|| Strategy::Pct(2), Rc11, Reuse, 4),
    phase(|| Strategy::Random, Rc11, Reuse, 3),
    // Then more of everything.
    again(|| Strategy::Pct(3), Sc, Quarantine, 14),
    again(|| Strategy::Pos, Rc11, Quarantine, 14),
    Phase { round: 2, ..phase(|| Strategy::Pos, Sc, Quarantine, 10) },
    phase(|| Strategy::Pct(4), Rc11, Quarantine, 8),
    phase(|| Strategy::Pos, Sc, Reuse, 6),
    again(|| Strategy::Random, Rc11, Reuse, 6),
];

/// The phases for a scenario: interleavings with few switches first, because they are the easiest to read.
pub(super) const SCENARIO: [Phase; 8] = [
    phase(|| Strategy::Bounded(2), Sc, Quarantine, 8),
    phase(|| Strategy::Exhaustive, Sc, Quarantine, 30),
    phase(|| Strategy::Exhaustive, Rc11, Quarantine, 24),
    phase(|| Strategy::Exhaustive, Rc11, Reuse, 8),
    phase(|| Strategy::Pos, Rc11, Quarantine, 10),
    phase(|| Strategy::Pct(3), Sc, Quarantine, 10),
    phase(|| Strategy::Random, Rc11, Reuse, 6),
    phase(|| Strategy::Bounded(usize::MAX), Sc, Quarantine, 12),
];
