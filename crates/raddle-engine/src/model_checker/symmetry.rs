//! Symmetric threads of an execution (see `graph::consistency::symmetry`).

use super::ModelChecker;
use crate::graph::event::{Access, EventId};
use crate::op::ThreadId;

impl ModelChecker {
    /// Sets the symmetric predecessor of a thread that the latest event spawned: the latest sibling that `is_symmetric` accepts,
    /// if the parent has only spawned threads since.
    pub(crate) fn spawned(&mut self, child: ThreadId, is_symmetric: impl Fn(ThreadId) -> bool) {
        if self.replay.is_some() {
            return;
        }
        let graph = self.graph();
        let spawn = graph.event(self.made as EventId - 1);
        let before = graph.threads[usize::from(spawn.thread)][..spawn.po as usize].iter().rev();
        let siblings = before.map_while(|&id| match graph.event(id).access {
            Access::Spawn(thread) => Some(thread),
            _ => None,
        });
        let predecessor = siblings.into_iter().find(|&sibling| is_symmetric(sibling));
        self.graph_mut().set_symmetric_predecessor(child, predecessor);
    }

    /// Sets the symmetric predecessor of a thread that no thread spawns.
    #[cfg(test)]
    pub(crate) fn set_symmetric_predecessor(&mut self, thread: ThreadId, predecessor: ThreadId) {
        self.graph_mut().set_symmetric_predecessor(thread, Some(predecessor));
    }

    /// The symmetric predecessor that a thread has to wait for before its next event.
    pub(crate) fn awaited_symmetric_predecessor(&self, thread: ThreadId) -> Option<ThreadId> {
        let awaits =
            !self.exempt_from_symmetry.contains(&thread) && self.graph().awaits_symmetric_predecessor(thread);
        self.graph().symmetric_predecessor(thread).filter(|_| awaits)
    }

    /// Lets a thread go on without its symmetric predecessor, which has ended.
    pub(crate) fn stop_awaiting_symmetric_predecessor(&mut self, thread: ThreadId) {
        self.exempt_from_symmetry.push(thread);
    }

    /// Whether a thread that has ended contradicts the promise of symmetry, because its symmetric predecessor made more events.
    pub(crate) fn ended_before_symmetric_predecessor(&self, thread: ThreadId) -> bool {
        self.graph().ended_before_symmetric_predecessor(thread)
    }
}
