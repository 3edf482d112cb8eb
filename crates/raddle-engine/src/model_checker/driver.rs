//! The driver: finds the graph that the next execution follows.

use super::ModelChecker;
use super::replay::Replay;
use super::worklist::WorkItem;
use crate::graph::consistency::preemption_bound::Bound;

/// The effort for work items without a consistent graph, tried in a row, after which the driver pauses, so that the search can look at its
/// time limit. The effort of an item is the square of its number of events: a check of consistency takes at least that many steps.
const MAX_EFFORT: usize = if cfg!(test) { usize::MAX / 2 } else { 1 << 20 };

impl ModelChecker {
    /// Begins the next execution. False if there is none.
    pub(crate) fn begin(&mut self) -> bool {
        let more = self.prepare_graph();
        // The events that a schedule begins with are none that the execution may take back.
        let scripted = self.beginning.as_ref().map_or(0, Replay::len);
        self.initial_len = if more { self.graph().len().max(scripted) } else { 0 };
        more
    }

    /// Lets the next execution follow the current graph once more, from the beginning.
    pub(crate) fn repeat_graph(&mut self) {
        self.discard_checkpoints();
        self.repeat = true;
    }

    /// Whether the driver paused when [`ModelChecker::begin`] last returned false: there may be more executions.
    pub(crate) fn take_paused(&mut self) -> bool {
        std::mem::take(&mut self.paused)
    }

    fn prepare_graph(&mut self) -> bool {
        self.locations.begin();
        self.abstractions.begin(self.replay.as_ref(), self.refcounts.thread_handles_are_events());
        self.refcounts.begin();
        self.blocked.clear();
        self.spins.begin();
        self.exempt_from_symmetry.clear();
        self.made = 0;
        if let Some(replay) = &mut self.replay {
            replay.begin();
            self.graph_mut().clear();
            return true;
        }
        if self.begins_with_schedule() || std::mem::take(&mut self.repeat) {
            return true;
        }
        if !self.started {
            self.started = true;
            return true;
        }
        if let Some(mut probe) = self.probe.take() {
            self.advance_probe(&mut probe);
            self.probe = Some(probe);
            return true;
        }
        self.apply_next_work()
    }

    /// Applies work items until one leads to a graph to explore.
    fn apply_next_work(&mut self) -> bool {
        let mut effort = 0usize;
        loop {
            if effort >= MAX_EFFORT && self.branches.last().is_some() {
                self.paused = true;
                break;
            }
            match self.branches.pop_work() {
                None => break,
                Some(None) => self.branches.retire(),
                Some(Some(work)) => {
                    let events = work.position as usize + 1;
                    if self.apply(work) {
                        return true;
                    }
                    effort = effort.saturating_add(events.saturating_mul(events));
                }
            }
        }
        false
    }

    /// Makes the current graph the one that a work item leads to. False if that graph is not to be explored.
    pub(super) fn apply(&mut self, work: WorkItem) -> bool {
        debug_assert!(work.position as usize <= self.graph().len(), "the events before {work:?} are there");
        self.branches.truncate(work.position as usize);
        // The value may have been found to be a spin iteration since the item was added.
        if work.event.reads() && !self.accepts(&work.event, work.event.read) {
            return false;
        }
        let ready = match work.revisits {
            None => self.forward_revisit(&work),
            Some(read) => self.backward_revisit(&work, read),
        };
        ready && self.check_bound(Bound::may_lead_within)
    }
}
