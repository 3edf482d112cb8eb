//! From a graph to an order in time.

use super::Graph;
use super::event::{Access, EventId};

/// How far the search for an order has come with an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// What precedes it is being placed.
    Open,
    Placed,
}

impl Graph {
    /// When each event happens, in an order that sequential consistency allows: as near as possible to the one in which they were
    /// made.
    ///
    /// Looks of a thread that follow one another happen at one moment. The search adds them one by one, so that they may
    /// have seen what no moment shows; then there is no order.
    pub(crate) fn moments(&self) -> Option<Vec<u32>> {
        let mut moments = vec![0; self.len()];
        let mut states = vec![State::New; self.len()];
        let mut now = 0;
        let mut stack: Vec<EventId> = Vec::new();
        for event in (0..self.len() as EventId).filter(|&event| !self.event(event).waits) {
            stack.push(self.first_look(event));
            while let Some(&event) = stack.last() {
                match states[event as usize] {
                    State::Placed => {
                        stack.pop();
                    }
                    State::Open => {
                        for look in self.looks_from(event) {
                            moments[look as usize] = now;
                            now += 1;
                        }
                        states[event as usize] = State::Placed;
                        stack.pop();
                    }
                    State::New => {
                        states[event as usize] = State::Open;
                        let mut cycle = false;
                        for look in self.looks_from(event) {
                            self.for_each_predecessor(look, |before| {
                                let before = self.first_look(before);
                                if before == event {
                                    return;
                                }
                                match states[before as usize] {
                                    State::New => stack.push(before),
                                    State::Open => cycle = true,
                                    State::Placed => {}
                                }
                            });
                        }
                        if cycle {
                            return None;
                        }
                    }
                }
            }
        }
        Some(moments)
    }

    /// The first of the looks that the event is one of; the event itself if it is none.
    fn first_look(&self, event: EventId) -> EventId {
        if self.event(event).access != Access::Look {
            return event;
        }
        let own = &self.threads[usize::from(self.event(event).thread)];
        let before = own[..self.event(event).po as usize].iter().rev();
        before.take_while(|&&other| self.event(other).access == Access::Look).last().copied().unwrap_or(event)
    }

    /// The looks that begin with the event; the event itself if it is none.
    fn looks_from(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        let is_look = self.event(event).access == Access::Look;
        let own = &self.threads[usize::from(self.event(event).thread)];
        let from = own[self.event(event).po as usize..].iter().copied();
        from.enumerate()
            .take_while(move |&(place, other)| {
                place == 0 || is_look && self.event(other).access == Access::Look
            })
            .map(|(_, other)| other)
    }
}
