//! Continuations: a search whose executions all begin with the same events, the *fixed* ones.
//!
//! The first execution makes the fixed events as a schedule says, and adds the others. No read among the fixed events is revisited, so
//! that all later graphs begin with them, too. Under sequential consistency, the fixed events are an interleaving, and all other events
//! come after it: they read no older writes and write no older ones. Under RC11 the same holds for accesses that are `SeqCst`, whose total
//! order is that of time. Both rules are monotone (a graph that obeys them still does when an event is taken away, and a maximal
//! extension obeys them), so that TruSt explores each continuation once.

use super::replay::Replay;
use super::{Model, ModelChecker};
use crate::graph::event::{Event, EventId};
use crate::op::{Order, ThreadId};
use crate::schedule::Schedule;

impl ModelChecker {
    /// Begins a search of the executions that begin with the first events of a schedule. What the checker knows of the program stays.
    /// `goes_last` is a thread that goes on only where no other can.
    pub(crate) fn begin_continuations(
        &mut self,
        schedule: &Schedule,
        fixed: usize,
        goes_last: Option<ThreadId>,
    ) {
        let threads = schedule.threads.iter().take(fixed).copied().collect();
        let beginning = Schedule { threads, mo_offsets: schedule.mo_offsets.clone(), ..Schedule::default() };
        self.discard_checkpoints();
        self.branches.reset(self.model);
        self.fixed = beginning.threads.len();
        self.beginning = Some(Replay::new(beginning));
        self.goes_last = goes_last;
        self.started = false;
        self.repeat = false;
    }

    /// The thread that goes on only where no other can.
    #[inline]
    pub(crate) fn goes_last(&self) -> Option<ThreadId> {
        self.goes_last
    }

    /// Begins the first execution, if it is not made yet. One that is to be repeated begins anew.
    pub(super) fn begins_with_schedule(&mut self) -> bool {
        let is_first = !self.started || self.repeat;
        let Some(beginning) = self.beginning.as_mut().filter(|_| is_first) else {
            self.beginning = None;
            return false;
        };
        beginning.begin();
        self.started = true;
        self.repeat = false;
        self.branches.reset(self.model);
        true
    }

    /// Whether the graph has all fixed events, and the execution has made them.
    pub(crate) fn has_made_fixed_events(&self) -> bool {
        self.made >= self.fixed && self.branches.last().is_some_and(|branch| branch.graph.len() >= self.fixed)
    }

    /// The least position in modification order that an access may read from, or write after.
    pub(super) fn floor(&self, event: &Event) -> usize {
        let graph = self.graph();
        let floor = graph.coherence_floor(event.thread, event.location);
        let is_timed = |event: &Event| self.model == Model::Sc || event.order == Order::SeqCst;
        if self.fixed == 0 || !is_timed(event) {
            return floor;
        }
        let is_before = |&write: &EventId| (write as usize) < self.fixed && is_timed(graph.event(write));
        let mut writes = graph.co(event.location).iter();
        floor.max(writes.rposition(is_before).map_or(0, |index| index + 1))
    }
}
