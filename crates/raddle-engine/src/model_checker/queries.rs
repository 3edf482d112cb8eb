//! Answers for reports: reads-from, modification order, happens-before and a linear extension of the current execution.

use super::ModelChecker;
use crate::graph::event::{Event, EventId, INIT, NONE};
use crate::op::ThreadId;
use crate::weak_memory::Touched;

impl ModelChecker {
    /// An event of the graph.
    pub(crate) fn event(&self, id: EventId) -> &Event {
        self.graph().event(id)
    }

    /// The source of the latest event and its predecessor in modification order, if the event is the thread's and accesses this
    /// address. A write is numbered by its event, the initial write of location `l` by `INIT - l`.
    pub(crate) fn rf_and_co(&self, thread: ThreadId, address: usize) -> Option<Touched> {
        let (graph, id) = (self.graph(), self.made.checked_sub(1)? as EventId);
        let event = graph.event(id);
        let location = event.location;
        if event.thread != thread || location == NONE || self.locations.address(location) != Some(address) {
            return None;
        }
        let number = |write: EventId| if write == INIT { INIT - location } else { write };
        let co_predecessor = || graph.write_at(location, graph.co_index(location, id) - 1);
        Some(Touched {
            order: event.order,
            read: event.reads().then(|| number(event.rf)),
            made: event.writes().then(|| [id, number(co_predecessor())]),
        })
    }

    /// The vector clock of a thread's last event: its own entry, and for each thread the number of its events that happen before.
    pub(crate) fn timestamp(&self, thread: ThreadId) -> Option<(u32, Vec<u32>)> {
        let last = self.graph().last_of(thread)?;
        Some((self.event(last).po + 1, self.graph().happened_before(last).to_vec()))
    }

    /// An entry of the vector clock of a thread's next event under RC11: the number of events of `other` that happen before it,
    /// itself included.
    pub(crate) fn hb_entry_of_next(&self, thread: ThreadId, other: ThreadId) -> u32 {
        let mut made = self.graph().events[..self.made].iter();
        match made.rposition(|event| event.thread == thread && !event.blocked) {
            Some(last) => self.graph().hb_entry(last as EventId, other) + u32::from(thread == other),
            None => 0,
        }
    }

    /// The position of each event in a linear extension of the graph (see
    /// [`Graph::linear_extension`](crate::graph::Graph::linear_extension)).
    pub(crate) fn linear_extension(&self) -> Option<Vec<u32>> {
        self.graph().linear_extension()
    }
}
