//! Pinning of the main thread, for executions whose first thread only spawns and joins the others: when it does so
//! makes no difference.

use super::{Point, Strategy};
use crate::op::ThreadId;

/// A strategy that never preempts thread 0, and otherwise chooses it only when no other thread can go on. The strategy
/// within makes all other choices, and never sees thread 0 beside others.
#[allow(missing_debug_implementations, reason = "holds any strategy")]
pub struct PinMainThread {
    within: Box<dyn Strategy>,
    others: Vec<ThreadId>,
    active: Vec<ThreadId>,
}

const FIRST: ThreadId = 0;

impl PinMainThread {
    /// Leaves all other choices to `within`.
    pub fn new(within: Box<dyn Strategy>) -> PinMainThread {
        PinMainThread { within, others: Vec::with_capacity(64), active: Vec::with_capacity(64) }
    }
}

impl Strategy for PinMainThread {
    fn begin(&mut self, execution: u64) -> bool {
        self.within.begin(execution)
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        if point.runnable[0] != FIRST {
            return self.within.choose(point);
        }
        if point.current == FIRST && point.current_goes_on() {
            return FIRST;
        }
        let others = |threads: &[ThreadId], into: &mut Vec<ThreadId>| {
            into.clear();
            into.extend(threads.iter().filter(|&&thread| thread != FIRST));
        };
        others(point.runnable, &mut self.others);
        others(point.active, &mut self.active);
        match self.others[..] {
            [only] => only,
            _ => self.within.choose(&Point { runnable: &self.others, active: &self.active, ..*point }),
        }
    }

    fn choose_reads_from(&mut self, alternatives: usize, choice: usize) -> usize {
        self.within.choose_reads_from(alternatives, choice)
    }

    fn choose_waiter(&mut self, waiters: &[ThreadId], choice: usize) -> usize {
        self.within.choose_waiter(waiters, choice)
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

#[cfg(test)]
mod tests {
    use super::super::RoundRobin;
    use super::super::Steps;
    use super::*;

    #[track_caller]
    fn check(current: ThreadId, runnable: &[ThreadId], allowed: &[ThreadId]) {
        let mut conductor = PinMainThread::new(Box::new(RoundRobin::new()));
        conductor.begin(0);
        let point = Point { current, runnable, active: runnable, steps: Steps::Now(&[]), choice: 0 };
        assert!(allowed.contains(&conductor.choose(&point)));
    }

    #[test]
    fn the_first_thread_is_neither_interrupted_nor_preferred() {
        check(0, &[0, 1, 2], &[0]);
        check(1, &[0, 2], &[2]);
        check(1, &[0, 1, 2], &[1, 2]);
        check(1, &[1, 2], &[1, 2]);
    }
}
