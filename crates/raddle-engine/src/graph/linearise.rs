//! Linear extensions of a sequentially consistent graph.

use std::collections::BTreeSet;

use super::Graph;
use super::event::{Access, EventId};

/// The state of an event in the depth-first search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Unvisited,
    /// The predecessors of the event are being placed. An edge to an open event closes a cycle.
    Open,
    Placed,
}

impl Graph {
    /// The position of each event in a linear extension of `po ∪ rf ∪ co ∪ fr`, as close as possible to the order
    /// of the events in the graph.
    ///
    /// Consecutive [`Access::ReadCompletions`] of a thread form a *group* with adjacent positions. The search adds them one by
    /// one, so that a group may have read values that no single instant shows. Then there is no linear extension.
    pub(crate) fn linear_extension(&self) -> Option<Vec<u32>> {
        let mut positions = vec![0; self.len()];
        let mut marks = vec![Mark::Unvisited; self.len()];
        let mut next = 0;
        let mut stack: Vec<EventId> = Vec::new();
        for event in (0..self.len() as EventId).filter(|&event| !self.event(event).blocked) {
            stack.push(self.group_leader(event));
            while let Some(&event) = stack.last() {
                match marks[event as usize] {
                    Mark::Placed => {
                        stack.pop();
                    }
                    Mark::Open => {
                        for member in self.group_from(event) {
                            positions[member as usize] = next;
                            next += 1;
                        }
                        marks[event as usize] = Mark::Placed;
                        stack.pop();
                    }
                    Mark::Unvisited => {
                        marks[event as usize] = Mark::Open;
                        let mut cycle = false;
                        for member in self.group_from(event) {
                            self.for_each_predecessor(member, |before| {
                                let before = self.group_leader(before);
                                if before == event {
                                    return;
                                }
                                match marks[before as usize] {
                                    Mark::Unvisited => stack.push(before),
                                    Mark::Open => cycle = true,
                                    Mark::Placed => {}
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
        Some(positions)
    }

    /// The events in an order in which sequential consistency could have made them: a linear extension like that of
    /// [`Graph::linear_extension`]. The first events of the graph stay where they are, as many as `fixed` says. Among the others that could
    /// come next, one of the running thread is preferred, then the earliest. None if there is no such order.
    pub(crate) fn interleaving(&self, fixed: usize) -> Option<Vec<EventId>> {
        let mut predecessors = vec![0; self.len()];
        let mut successors = vec![Vec::new(); self.len()];
        let events = || (0..self.len() as EventId).filter(|&event| !self.event(event).blocked);
        for event in events() {
            let leader = self.group_leader(event);
            self.for_each_predecessor(event, |before| {
                let before = self.group_leader(before);
                if before != leader {
                    successors[before as usize].push(leader);
                    predecessors[leader as usize] += 1;
                }
            });
        }
        let mut order: Vec<EventId> = Vec::with_capacity(self.len());
        let leaders = || events().filter(|&event| self.group_leader(event) == event);
        let mut ready: BTreeSet<EventId> =
            leaders().filter(|&event| predecessors[event as usize] == 0).collect();
        while let Some(&first) = ready.first() {
            let running = order.last().map(|&last| self.event(last).thread);
            let runs_on = |&&event: &&EventId| Some(self.event(event).thread) == running;
            let next = match (first as usize) < fixed {
                true => first,
                false => *ready.iter().find(runs_on).unwrap_or(&first),
            };
            ready.remove(&next);
            order.extend(self.group_from(next));
            for &after in &successors[next as usize] {
                predecessors[after as usize] -= 1;
                if predecessors[after as usize] == 0 {
                    ready.insert(after);
                }
            }
        }
        let stays = order.iter().zip(0..).take(fixed).all(|(&event, place)| event == place);
        (stays && order.len() == events().count()).then_some(order)
    }

    /// The first event of the group of the event. An event of another kind is a group of its own.
    fn group_leader(&self, event: EventId) -> EventId {
        if self.event(event).access != Access::ReadCompletions {
            return event;
        }
        let own = &self.threads[usize::from(self.event(event).thread)];
        let before = own[..self.event(event).po as usize].iter().rev();
        before
            .take_while(|&&other| self.event(other).access == Access::ReadCompletions)
            .last()
            .copied()
            .unwrap_or(event)
    }

    /// The events of the group that begins with the event.
    fn group_from(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        let is_group = self.event(event).access == Access::ReadCompletions;
        let own = &self.threads[usize::from(self.event(event).thread)];
        let from = own[self.event(event).po as usize..].iter().copied();
        from.enumerate()
            .take_while(move |&(index, other)| {
                index == 0 || is_group && self.event(other).access == Access::ReadCompletions
            })
            .map(|(_, other)| other)
    }
}
