//! Numbers of threads, which are the same in all executions of the search.

use super::ModelChecker;
use crate::graph::covers;
use crate::graph::event::{Access, Event, EventId, NONE};
use crate::graph::stored::stored;
use crate::op::ThreadId;

/// The numbers of all threads that executions have spawned. A thread is identified by its parent and by the number of threads
/// that the parent had spawned before: in another execution the same thread may be spawned earlier or later.
#[derive(Debug, Default)]
pub(super) struct ThreadIds {
    /// Parent, number of earlier children, number. The number is the index plus one; 0 is the main thread.
    children: Vec<(ThreadId, u32, ThreadId)>,
}

stored!(ThreadIds { children });

impl ThreadIds {
    fn of_child(&mut self, parent: ThreadId, earlier: u32) -> ThreadId {
        let known = self.children.iter().find(|child| (child.0, child.1) == (parent, earlier));
        if let Some(&(_, _, child)) = known {
            return child;
        }
        let child = self.children.len() as ThreadId + 1;
        self.children.push((parent, earlier, child));
        child
    }
}

impl ModelChecker {
    /// The number of the thread that `parent` spawns next, after `earlier` others.
    pub(crate) fn child_id(&mut self, parent: ThreadId, earlier: u32) -> ThreadId {
        self.thread_ids.of_child(parent, earlier)
    }

    /// The number of a thread in the order of the spawns of the latest execution, as schedules use it.
    pub(crate) fn spawn_number_of(&self, thread: ThreadId) -> ThreadId {
        let events = self.branches.last().map_or(&[][..], |branch| &branch.graph.events);
        let spawns = events.iter().filter(|event| matches!(event.access, Access::Spawn(_)));
        let before = spawns.take_while(|event| event.access != Access::Spawn(thread)).count();
        if thread == 0 { 0 } else { before as ThreadId + 1 }
    }

    /// Whether the latest spawn of the execution is in the prefix of the next event of the thread.
    pub(crate) fn sees_latest_spawn(&self, thread: ThreadId) -> bool {
        let graph = self.graph();
        let made = graph.events[..self.made].iter().rev();
        let latest = made.into_iter().find(|event| matches!(event.access, Access::Spawn(_)));
        match (latest, self.last_made_by(thread)) {
            (Some(latest), Some(own)) => covers(graph.prefix.row(own as usize), latest),
            _ => true,
        }
    }

    /// The last event of a thread that the execution has made.
    pub(super) fn last_made_by(&self, thread: ThreadId) -> Option<EventId> {
        let own = self.graph().threads.get(usize::from(thread))?;
        own.iter().copied().rfind(|&id| (id as usize) < self.made)
    }

    /// The event that spawns a thread, or [`NONE`].
    pub(crate) fn spawn_of(&self, thread: ThreadId) -> EventId {
        let is_spawn = |event: &Event| event.access == Access::Spawn(thread);
        self.graph().events.iter().position(is_spawn).map_or(NONE, |id| id as EventId)
    }

    /// The last event of a thread in the graph, or [`NONE`].
    pub(crate) fn last_of(&self, thread: ThreadId) -> EventId {
        self.graph().last_of(thread).unwrap_or(NONE)
    }
}
