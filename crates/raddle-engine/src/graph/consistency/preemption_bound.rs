//! Preemption bounding on execution graphs (Marmanis, Kokologiannakis and Vafeiadis, TACAS 2023).
//!
//! A graph represents all interleavings of its events. Its *cost* is the least number of preemptions in any of them, where a
//! preemption is a switch away from a thread that could go on. A thread cannot go on if it has ended, or is blocked at a lock, a
//! join or a spinloop. A graph is *within* the bound if its cost is.
//!
//! The search may reach a graph within the bound from a graph that exceeds it, because a revisit deletes events. The difference is
//! limited: the deleted events are maximal extensions, so they can come at the end of an interleaving, thread after thread. That
//! preempts each thread at most once, except the threads of the revisited read and of the write: the first has no events left, and
//! the second is switched away from in any case. So a graph is explored as long as its cost exceeds the bound by at most the
//! *slack*, the number of its threads less two. That requires that threads go on as long as they can past the end of the graph. A
//! prefix of a graph never costs more than the graph.
//!
//! Deviation: under weak memory an access that is not at the end of modification order costs one more, as it does in the search
//! over interleavings ([`Bounded`](crate::strategy::Bounded)).
//!
//! The cost is computed by a search over the interleavings of the graph, cheapest first. A thread that can make an event that no
//! other thread waits for makes it at once: a preemption after the event is never worse than one before.

use std::collections::HashSet;

use crate::graph::event::{Access, Event, EventId, INIT, LocationId, NONE};
use crate::graph::{Graph, Model, covers};
use crate::op::ThreadId;

/// Knowledge of when threads block, beyond the graph.
pub(crate) trait Blocking {
    /// Whether the thread of the event, which is its next one, is blocked while memory holds this value.
    fn is_blocked(&self, event: &Event, value: u64) -> bool;

    /// Whether the event may be a spin iteration, so that some values block its thread although its access accepts them.
    fn may_spin(&self, event: &Event) -> bool;

    /// The access at which a thread without further events is blocked. None if the thread has ended.
    fn pending(&self, thread: ThreadId) -> Option<Event>;
}

/// A partial graph, in which the next events of threads may be missing. An access that may block is taken to block, so that no
/// preemption is counted that an extension of the graph would not count.
struct PartialGraph<'a, B>(&'a B);

impl<B: Blocking> Blocking for PartialGraph<'_, B> {
    fn is_blocked(&self, event: &Event, value: u64) -> bool {
        !event.access.accepts(value) || self.0.may_spin(event)
    }

    fn may_spin(&self, event: &Event) -> bool {
        self.0.may_spin(event)
    }

    fn pending(&self, _thread: ThreadId) -> Option<Event> {
        None
    }
}

/// A bound on preemptions.
#[derive(Debug)]
pub(crate) struct Bound {
    preemptions: usize,
    /// The number of graphs seen that exceed the bound, explored or not.
    pub(crate) exceeded: u64,
}

impl Bound {
    pub(crate) fn new(preemptions: usize) -> Bound {
        Bound { preemptions, exceeded: 0 }
    }

    /// Whether the search may reach graphs within the bound from this one: its cost is within the bound and the slack.
    pub(crate) fn may_lead_within(&mut self, graph: &Graph, blocking: &impl Blocking) -> bool {
        let threads = graph.threads.iter().filter(|events| !events.is_empty()).count();
        let slack = threads.saturating_sub(2);
        let within = cost(graph, &PartialGraph(blocking), self.preemptions.saturating_add(slack)).is_some();
        self.exceeded += u64::from(!within);
        within
    }

    /// Whether a complete graph is within the bound.
    pub(crate) fn admits(&mut self, graph: &Graph, blocking: &impl Blocking) -> bool {
        let within = cost(graph, blocking, self.preemptions).is_some();
        self.exceeded += u64::from(!within);
        within
    }
}

/// The cost of a graph. None if it is greater than `most`.
pub(crate) fn cost(graph: &Graph, blocking: &impl Blocking, most: usize) -> Option<usize> {
    let search = Interleavings { graph, blocking, awaited: awaited_locations(graph, blocking) };
    let mut visited = HashSet::new();
    // The states to visit by their cost. An event may cost two: a preemption, and a position that is not last.
    let mut reached = vec![vec![State { view: vec![0; graph.width], current: NONE }]];
    for cost in 0..=most {
        while let Some(mut state) = reached.get_mut(cost)?.pop() {
            search.run_on(&mut state);
            if search.is_complete(&state) {
                return Some(cost);
            }
            if visited.contains(&state) {
                continue;
            }
            search.for_each_step(&state, |step, after| {
                let cost = cost + step;
                if cost <= most {
                    if reached.len() <= cost {
                        reached.resize_with(cost + 1, Vec::new);
                    }
                    reached[cost].push(after);
                }
            });
            visited.insert(state);
        }
    }
    None
}

/// A prefix of an interleaving.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// The number of events that each thread has made.
    view: Vec<u32>,
    /// The thread that ran last; [`NONE`] at the beginning.
    current: u32,
}

struct Interleavings<'a, B> {
    graph: &'a Graph,
    blocking: &'a B,
    /// Whether threads may block at each location.
    awaited: Vec<bool>,
}

fn awaited_locations(graph: &Graph, blocking: &impl Blocking) -> Vec<bool> {
    let mut awaited = vec![false; graph.locations.len()];
    let pending = (0..graph.threads.len()).filter_map(|thread| blocking.pending(thread as ThreadId));
    for event in graph.events.iter().filter(|event| !event.blocked).copied().chain(pending) {
        let may_block = event.access.may_block() || event.reads() && blocking.may_spin(&event);
        if event.location != NONE && may_block {
            awaited[event.location as usize] = true;
        }
    }
    awaited
}

impl<B: Blocking> Interleavings<'_, B> {
    /// The next event of a thread.
    fn next(&self, state: &State, thread: u32) -> Option<EventId> {
        let events = self.graph.threads.get(thread as usize)?;
        events.get(state.view[thread as usize] as usize).copied()
    }

    fn is_complete(&self, state: &State) -> bool {
        (0..self.graph.threads.len() as u32).all(|thread| self.next(state, thread).is_none())
    }

    /// Lets the current thread go on as long as no other choice can be cheaper.
    fn run_on(&self, state: &mut State) {
        while let Some(id) = self.next(state, state.current) {
            let event = self.graph.event(id);
            let awaited = event.location != NONE && self.awaited[event.location as usize];
            let costs = !self.is_enabled_under_sc(state, id) || self.cost_of(state, id) != Some(0);
            if awaited || event.access == Access::TimedOut || costs {
                break;
            }
            state.view[state.current as usize] += 1;
        }
    }

    /// Whether all predecessors of an event under sequential consistency were made.
    fn is_enabled_under_sc(&self, state: &State, id: EventId) -> bool {
        let mut enabled = true;
        self.graph
            .for_each_predecessor(id, |before| enabled &= covers(&state.view, self.graph.event(before)));
        enabled
    }

    /// Visits the next states and the cost of the step to each.
    fn for_each_step(&self, state: &State, mut visit: impl FnMut(usize, State)) {
        let preemption = usize::from(self.can_go_on(state));
        for thread in 0..self.graph.threads.len() as u32 {
            let Some(id) = self.next(state, thread) else { continue };
            let Some(cost) = self.cost_of(state, id) else { continue };
            let mut after = State { view: state.view.clone(), current: thread };
            after.view[thread as usize] += 1;
            visit(cost + if thread == state.current { 0 } else { preemption }, after);
        }
    }

    /// The cost of an event besides a preemption. None if the event cannot be made yet.
    fn cost_of(&self, state: &State, id: EventId) -> Option<usize> {
        match self.graph.model {
            Model::Sc => self.is_enabled_under_sc(state, id).then_some(0),
            Model::Rc11 => {
                let event = self.graph.event(id);
                if event.source().is_some_and(|source| !covers(&state.view, self.graph.event(source))) {
                    return None;
                }
                if event.location == NONE {
                    return Some(0);
                }
                if event.access == Access::Decrement {
                    return self.is_enabled_under_sc(state, id).then_some(0);
                }
                let co_index = match event.reads() {
                    true => self.graph.co_index(event.location, event.rf),
                    false => self.graph.co_index(event.location, id) - 1,
                };
                let later = &self.graph.co(event.location)[co_index..];
                Some(later.iter().any(|&write| covers(&state.view, self.graph.event(write))).into())
            }
        }
    }

    /// Whether the current thread could go on, so that a switch is a preemption.
    fn can_go_on(&self, state: &State) -> bool {
        if state.current == NONE {
            return false;
        }
        let event = match self.next(state, state.current) {
            Some(id) => *self.graph.event(id),
            None => match self.blocking.pending(state.current as ThreadId) {
                Some(event) => event,
                None => return false,
            },
        };
        match event.access {
            Access::TimedOut => false,
            Access::Begin | Access::Join(_) | Access::EndScope(_) | Access::Woken => {
                event.source().is_none_or(|source| covers(&state.view, self.graph.event(source)))
            }
            _ if event.reads() => !self.blocking.is_blocked(&event, self.memory(state, event.location)),
            _ => true,
        }
    }

    /// The value in memory: that of the last write in modification order.
    fn memory(&self, state: &State, location: LocationId) -> u64 {
        let writes = self.graph.co(location).iter();
        let co_max = writes.rev().find(|&&write| covers(&state.view, self.graph.event(write)));
        self.graph.value(location, co_max.copied().unwrap_or(INIT))
    }
}
