//! The protocol with the engine: a thread requests an event, and the checker answers.
//!
//! While the execution follows the graph, the requested event must be the next one of the graph. Past the end of the graph it is
//! added (`extension`).

use std::ops::Range;

use super::ModelChecker;
use crate::graph::event::{Access, Event, EventId, NONE};
use crate::graph::locations::Found;
use crate::op::{Order, ThreadId};

/// The event that a thread is about to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) thread: ThreadId,
    pub(crate) access: Access,
    pub(crate) order: Order,
    /// The memory that the event accesses.
    pub(crate) memory: Option<Location>,
    /// The event of another thread that the event follows: the spawn of a beginning, the last event of a joined thread.
    /// [`NONE`] if there is no such event.
    pub(crate) follows: EventId,
}

/// A memory location and the value that memory holds there; or a synthetic location, whose value only the graph knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    pub(crate) address: usize,
    pub(crate) size: u8,
    pub(crate) value: Option<u64>,
}

/// The reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The thread has made the event `id`, which read `read`. Memory is to hold `write` from now on.
    Done { id: EventId, read: u64, write: Option<u64> },
    /// The thread is blocked until another thread writes.
    Blocked,
    /// The event is not the one of the graph: the program is not deterministic.
    Diverged,
    /// The location overlaps another one that is accessed with a different size.
    MixedSize,
    /// The event contradicts the promise that threads are symmetric.
    Asymmetric,
}

impl Event {
    /// The event of a request, without a source.
    pub(super) fn of(request: &Request, found: Option<Found>) -> Event {
        Event {
            thread: request.thread,
            access: request.access,
            order: request.order,
            declared_order: request.order,
            location: found.map_or(NONE, |found| found.location),
            size: request.memory.map_or(0, |at| at.size),
            po: 0,
            reads_hash: 0,
            stamp: NONE,
            rf: request.follows,
            read: 0,
            written: None,
            blocked: false,
        }
    }
}

impl ModelChecker {
    /// Answers the request of the thread whose turn it is.
    pub(crate) fn request(&mut self, request: &Request) -> Answer {
        let found = match request.memory {
            None => {
                self.locations.access_nothing();
                None
            }
            Some(at) => match self.locate(at) {
                Ok(found) => Some(found),
                Err(answer) => return answer,
            },
        };
        let answered = match self.turn() {
            Some(_) if self.replay.is_some() || self.beginning.is_some() => {
                self.follow_schedule(request, found)
            }
            Some(_) => self.follow_graph(request, found),
            None => self.add(request, found),
        };
        match answered {
            Ok(id) => self.done(id, found),
            Err(answer) => answer,
        }
    }

    fn locate(&mut self, at: Location) -> Result<Found, Answer> {
        let found = self.locations.find(at.address, at.size, at.value).ok_or(Answer::MixedSize)?;
        if found.first {
            let init = at.value.unwrap_or(0);
            if self.graph().is_accessed(found.location) && self.graph().init(found.location) != init {
                return Err(Answer::Diverged);
            }
            self.graph_mut().set_init(found.location, init);
        }
        Ok(found)
    }

    /// Makes the next event of the graph.
    fn follow_graph(&mut self, request: &Request, found: Option<Found>) -> Result<EventId, Answer> {
        let event = &self.graph().events[self.made];
        let same = event.thread == request.thread
            && event.access == request.access
            && event.location == found.map_or(NONE, |found| found.location);
        if !same {
            return Err(Answer::Diverged);
        }
        self.made += 1;
        Ok(self.made as EventId - 1)
    }

    fn done(&mut self, id: EventId, found: Option<Found>) -> Answer {
        let graph = &self.branches.current().graph;
        let event = graph.event(id);
        let write = match (event.written, found) {
            (Some(value), Some(found)) => {
                let co_index = |write| graph.co_index(found.location, write);
                let comes_after = |other| co_index(id) > co_index(other);
                self.locations.write(found.slot, id, value, comes_after).then_some(value)
            }
            _ => None,
        };
        Answer::Done { id, read: event.read, write }
    }

    /// Notes that memory was freed.
    pub(crate) fn memory_freed(&mut self, memory: &Range<usize>) {
        self.locations.free(memory);
    }

    /// Whether a byte belongs to a location that the execution has accessed atomically.
    pub(crate) fn is_atomic_byte(&self, address: usize) -> bool {
        self.locations.contains(address)
    }

    /// Whether code without events wrote to a location of the graph: uninstrumented code, or the exclusive owner of the memory.
    /// In the first case the search may miss behaviour.
    pub(crate) fn saw_uninstrumented_writes(&self) -> bool {
        self.locations.saw_uninstrumented_writes
    }

    /// Begins a generation of a synthetic location: its address stands for another object from now on. False if it stood for
    /// none yet.
    pub(crate) fn begin_generation(&mut self, address: usize) -> bool {
        self.locations.begin_generation(address)
    }
}
