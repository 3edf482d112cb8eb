//! Adding events: maximal extensions past the end of the graph, and forward revisits, which add the same event in another way.

use super::ModelChecker;
use super::request::{Answer, Request};
use super::worklist::WorkItem;
use crate::graph::event::{Access, Event, EventId, INIT};
use crate::graph::locations::Found;

impl ModelChecker {
    /// Adds the event of a request as a maximal extension, and its alternatives to the work list.
    pub(super) fn add(&mut self, request: &Request, found: Option<Found>) -> Result<EventId, Answer> {
        let blocked = self.graph().blocked_read_of(request.thread);
        let event = Event::of(request, found);
        if self.graph().breaks_symmetry(&event) {
            return Err(Answer::Asymmetric);
        }
        self.blocked.remove(request.thread);
        let id = if request.access.reads() {
            self.add_read(event, blocked)
        } else if let Access::Store(value) = request.access {
            Some(self.add_write(Event { written: Some(value), ..event }))
        } else if let Access::Choose(alternatives) = request.access {
            for index in 1..u64::from(alternatives) {
                self.push_work(Event { read: index, ..event }, 0, None);
            }
            Some(self.graph_mut().push(event, 0))
        } else {
            Some(self.graph_mut().push(event, 0))
        };
        self.made = self.graph().len();
        id.ok_or(Answer::Blocked)
    }

    fn add_write(&mut self, event: Event) -> EventId {
        self.note_write(event.thread);
        let floor = self.floor(&event);
        let last = self.graph().co(event.location).len();
        for co_index in floor + 1..=last {
            if self.graph().rmw_successor(event.location, co_index - 1).is_none() {
                self.push_work(event, co_index, None);
            }
        }
        self.push_revisits(&event, last + 1, None);
        self.graph_mut().push(event, last + 1)
    }

    /// Adds a read, whose thread may have a blocked read at this position. None if the thread is blocked.
    fn add_read(&mut self, mut event: Event, blocked: Option<EventId>) -> Option<EventId> {
        let location = event.location;
        let graph = self.graph();
        let (co_max, value) = (graph.co_max(location), graph.co_max_value(location));
        if !self.accepts_co_max(&event, blocked) {
            self.blocked.insert(event);
            return None;
        }
        self.push_other_sources(event, blocked);
        event.set_source(co_max, value);
        let co_index = self.graph().co(location).len() + 1;
        if event.writes() {
            self.note_write(event.thread);
            self.push_revisits(&event, co_index, None);
        }
        Some(self.graph_mut().push(event, co_index))
    }

    /// Adds to the work list the sources of a read other than the last write in modification order.
    fn push_other_sources(&mut self, mut event: Event, blocked: Option<EventId>) {
        let location = event.location;
        let floor = self.floor(&event);
        for co_index in floor..self.graph().co(location).len() {
            let graph = self.graph();
            let write = graph.write_at(location, co_index);
            let value = graph.value(location, write);
            // Other graphs explore the sources that the blocked read may not take.
            let is_explored_elsewhere = blocked.is_some_and(|blocked| {
                write == INIT || write < blocked || !graph.blocked_read_may_take(blocked, write)
            });
            if is_explored_elsewhere || !self.accepts(&event, value) {
                continue;
            }
            event.set_source(write, value);
            self.push_work(event, co_index + 1, None);
        }
    }

    /// Adds to the work list the sources of reads at which threads are blocked, when no thread can go on. Each thread then gets
    /// a blocked read, so that the alternatives of the next threads assume that this one stays blocked, and no graph is reached
    /// twice.
    pub(crate) fn enumerate_blocked_reads(&mut self) {
        for mut event in self.blocked.to_vec() {
            let blocked = self.graph().blocked_read_of(event.thread);
            self.push_other_sources(event, blocked);
            let graph = self.graph_mut();
            event.set_source(graph.co_max(event.location), graph.co_max_value(event.location));
            graph.push(Event { blocked: true, ..event }, 0);
        }
        self.made = self.graph().len();
    }

    /// Adds the event of a work item, which is no backward revisit, to the graph. False if the graph is not consistent then.
    pub(super) fn forward_revisit(&mut self, work: &WorkItem) -> bool {
        let event = work.event;
        if let Access::Choose(_) = event.access {
            self.graph_mut().push(event, 0);
            return true;
        }
        if event.is_rmw() && !self.read_is_consistent(&event) {
            return false;
        }
        if let Some(successor) = self.rmw_successor_of(work) {
            self.push_revisits(&event, work.co_index, Some(successor));
            return false;
        }
        if event.writes() {
            self.push_revisits(&event, work.co_index, None);
        }
        let graph = &mut self.branches.current_mut().graph;
        let id = graph.push(event, work.co_index);
        graph.is_consistent(id, &mut self.scratch)
    }

    /// Whether the graph would be consistent with the read of an event, without its write.
    pub(super) fn read_is_consistent(&mut self, event: &Event) -> bool {
        let graph = &mut self.branches.current_mut().graph;
        let id = graph.push(Event { written: None, ..*event }, 0);
        let consistent = graph.is_consistent(id, &mut self.scratch);
        graph.truncate(id as usize);
        consistent
    }
}
