//! Turns: the steps at which threads may change where not every event is one.

use super::{Point, Strategy};
use crate::op::{Effect, ThreadId};

/// A strategy in which threads change only where they are about to begin a marked operation, to lock, to enter a monitor, to wait
/// there or to notify; or where they cannot go on. The strategy within makes all choices between such threads.
///
/// A marked operation is atomic as a whole, unless it blocks.
#[allow(missing_debug_implementations, reason = "holds any strategy")]
pub struct OnlyMarked {
    within: Box<dyn Strategy>,
    turns: TurnDetector,
}

impl OnlyMarked {
    /// Leaves the choices between marked operations to `within`.
    pub fn new(within: Box<dyn Strategy>) -> OnlyMarked {
        OnlyMarked { within, turns: TurnDetector::new(true) }
    }
}

impl Strategy for OnlyMarked {
    fn begin(&mut self, execution: u64) -> bool {
        self.turns.begin();
        self.within.begin(execution)
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        match self.turns.between_turns(point) {
            Some(thread) => thread,
            None => self.within.choose(point),
        }
    }

    fn choose_reads_from(&mut self, alternatives: usize, choice: usize) -> usize {
        self.within.choose_reads_from(alternatives, choice)
    }

    fn choose_waiter(&mut self, waiters: &[ThreadId], choice: usize) -> usize {
        self.within.choose_waiter(waiters, choice)
    }

    fn demote(&mut self, thread: ThreadId) {
        self.within.demote(thread);
    }

    fn end(&mut self, choices: usize) {
        self.within.end(choices);
    }

    fn is_indexed(&self) -> bool {
        self.within.is_indexed()
    }

    fn depends_on_points_alone(&self) -> bool {
        self.within.depends_on_points_alone()
    }

    fn is_exhaustive(&self) -> bool {
        self.within.is_exhaustive()
    }
}

/// Tells whether a thread is at a turn: about to take a step before which threads may change.
///
/// Beginnings of threads, fences and yields are no turns, and neither are unlocks: whatever others do before an unlock, they can do
/// after it. An unlock is a write to a word that was locked in this execution.
#[derive(Debug)]
pub(super) struct TurnDetector {
    only_marked: bool,
    locks: Vec<usize>,
}

impl TurnDetector {
    /// Takes every atomic access for a turn, too, unless `only_marked` is set.
    pub(super) fn new(only_marked: bool) -> TurnDetector {
        TurnDetector { only_marked, locks: Vec::new() }
    }

    /// Begins an execution.
    pub(super) fn begin(&mut self) {
        self.locks.clear();
    }

    /// A thread that goes on because it is not at a turn: the current one if possible. None if all are at turns.
    pub(super) fn between_turns(&mut self, point: &Point<'_>) -> Option<ThreadId> {
        let threads = point.preferred();
        for &thread in threads {
            let pending = point.pending(thread);
            if pending.effect == Effect::Lock && !self.locks.contains(&pending.address) {
                self.locks.push(pending.address);
            }
        }
        let is_between = |thread: &ThreadId| !self.is_turn(point, *thread);
        threads.iter().find(|&thread| *thread == point.current && is_between(thread)).copied().or_else(|| {
            // One that yields or sleeps is not urged on.
            point.active.iter().find(|&thread| is_between(thread)).copied()
        })
    }

    fn is_turn(&self, point: &Point<'_>, thread: ThreadId) -> bool {
        let pending = point.pending(thread);
        match pending.effect {
            Effect::Marked | Effect::Lock | Effect::Woken => true,
            Effect::Nothing => false,
            Effect::Read | Effect::Write => !self.only_marked && !self.locks.contains(&pending.address),
        }
    }
}
