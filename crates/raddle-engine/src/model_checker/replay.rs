//! Schedules: writing the one of an execution, and following one.

use super::ModelChecker;
use super::request::{Answer, Request};
use crate::graph::event::{Access, Event, EventId, NONE};
use crate::graph::locations::Found;
use crate::op::ThreadId;
use crate::schedule::Schedule;

/// The replay of a schedule.
#[derive(Debug)]
pub(super) struct Replay {
    schedule: Schedule,
    /// The number of entries of `Schedule::mo_offsets` that the execution has followed.
    offsets_used: usize,
}

impl Replay {
    pub(super) fn new(schedule: Schedule) -> Replay {
        Replay { schedule, offsets_used: 0 }
    }

    /// Begins an execution.
    pub(super) fn begin(&mut self) {
        self.offsets_used = 0;
    }

    /// The thread of an event.
    #[inline]
    pub(super) fn thread(&self, event: usize) -> Option<ThreadId> {
        self.schedule.threads.get(event).copied()
    }

    /// The number of events.
    pub(super) fn len(&self) -> usize {
        self.schedule.threads.len()
    }

    /// The abstractions of the accesses to reference counts and `RwLock`s.
    pub(super) fn abstractions(&self) -> &[u16] {
        &self.schedule.counts
    }

    /// The next offset. An event past the end of the schedule takes the last write in modification order.
    fn next_offset(&mut self) -> u16 {
        let offset = self.schedule.mo_offsets.get(self.offsets_used).copied().unwrap_or(0);
        self.offsets_used += 1;
        offset
    }
}

impl ModelChecker {
    /// The schedule of the latest execution: the thread of each event, and for each access to memory the number of writes made
    /// before it that come later in modification order than its source, or than itself. An execution that failed may not have
    /// made all events of its graph.
    pub(crate) fn schedule(&self) -> Schedule {
        let events = self.branches.last().map_or(&[][..], |branch| &branch.graph.events);
        let is_made = |id: &EventId| !events[*id as usize].blocked;
        let made: Vec<EventId> = (0..events.len().min(self.made) as EventId).filter(is_made).collect();
        Schedule { counts: self.abstractions.schedule(), ..self.schedule_in_order(&made) }
    }

    /// The schedule of the latest execution as an interleaving, in which every read sees the newest write. The first events keep their
    /// places, as many as `fixed` says. None if there is no such interleaving, or if the schedule has abstractions, which are noted in the
    /// order of the execution.
    pub(crate) fn interleaving(&self, fixed: usize) -> Option<Schedule> {
        let order = self.branches.last()?.graph.interleaving(fixed)?;
        (self.abstractions.schedule().is_empty() && order.len() <= self.made)
            .then(|| self.schedule_in_order(&order))
    }

    /// The schedule that makes these events of the latest execution in this order.
    fn schedule_in_order(&self, order: &[EventId]) -> Schedule {
        let mut schedule = Schedule::default();
        let Some(branch) = self.branches.last() else { return schedule };
        let graph = &branch.graph;
        let mut places = vec![usize::MAX; graph.len()];
        let mut spawned: Vec<ThreadId> = vec![0];
        for (place, &id) in order.iter().enumerate() {
            places[id as usize] = place;
            let event = graph.event(id);
            let number = spawned.iter().position(|&thread| thread == event.thread);
            schedule.threads.push(number.map_or(event.thread, |number| number as ThreadId));
            match event.access {
                Access::Spawn(thread) => spawned.push(thread),
                Access::Choose(_) => schedule.mo_offsets.push(event.read as u16),
                _ => {}
            }
            if event.location == NONE || event.access == Access::Decrement {
                continue;
            }
            let write = if event.reads() { event.rf } else { id };
            let co_index = graph.co_index(event.location, write);
            let later = graph.co(event.location)[co_index..].iter();
            schedule.mo_offsets.push(later.filter(|&&write| places[write as usize] < place).count() as u16);
        }
        schedule
    }

    /// The schedule that the current execution follows, to its end or beyond.
    fn script(&mut self) -> Option<&mut Replay> {
        self.replay.as_mut().or(self.beginning.as_mut())
    }

    /// Adds the event of a request as the schedule demands.
    pub(super) fn follow_schedule(
        &mut self,
        request: &Request,
        found: Option<Found>,
    ) -> Result<EventId, Answer> {
        let mut event = Event::of(request, found);
        let mut co_index = 0;
        if let (Access::Choose(alternatives), Some(replay)) = (request.access, self.script()) {
            let index = replay.next_offset();
            if index >= alternatives {
                return Err(Answer::Diverged);
            }
            event.read = index.into();
        }
        if let (Some(found), Some(replay)) = (found, self.script())
            && request.access != Access::Decrement
        {
            let offset = replay.next_offset();
            let last = self.graph().co(found.location).len();
            co_index = last.checked_sub(offset.into()).ok_or(Answer::Diverged)? + 1;
            if let Access::Store(value) = request.access {
                event.written = Some(value);
            } else {
                let source = self.graph().write_at(found.location, co_index - 1);
                let value = self.graph().value(found.location, source);
                if !event.access.accepts(value) {
                    return Err(Answer::Diverged);
                }
                event.set_source(source, value);
            }
        }
        self.made += 1;
        Ok(self.graph_mut().push(event, co_index))
    }
}
