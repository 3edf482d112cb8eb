//! A bound on preemptions, together with the reduction.
//!
//! An execution graph stands for all interleavings that make it. What it *costs* is the least number of preemptions in any of
//! them: changes of thread while the thread that ran could go on. A thread cannot go on if it has ended, or waits for a lock,
//! another thread or a loop's condition. Where a memory model allows it, an access that does not go to the newest write costs
//! one more, as it does in the search by interleavings ([`Bounded`](crate::strategy::Bounded)). Graphs that cost at most the
//! bound are *within* it.
//!
//! The search reaches a graph by way of others, which may cost more: a revisit takes events away. How much more is known
//! (Marmanis, Kokologiannakis and Vafeiadis, TACAS 2023): what a revisit takes away was added last, and can be made at the end of
//! an interleaving, one thread after the other. That interrupts each thread once at most, except those of the read and of the write
//! of the revisit: the one has nothing left to do, and the other is interrupted by the write anyway. So graphs are explored
//! as long as they exceed the bound by at most the number of their threads less two, which needs that threads beyond
//! the graph go on as long as they can. A prefix of a graph never costs more than the graph.
//!
//! Costs are found by a search over the interleavings of the graph, cheapest first. A thread that can take a step nobody else
//! waits for takes it at once: to be interrupted after the step is never worse than before.

use std::collections::HashSet;

use crate::graph::event::{Access, Event, EventId, INIT, LocationId, NONE};
use crate::graph::{Graph, Model, covers};
use crate::op::ThreadId;

/// Says what threads wait for.
pub(crate) trait Waits {
    /// Whether the thread of the event, which comes next there, waits while memory holds this value.
    fn waits(&self, event: &Event, value: u64) -> bool;

    /// Whether that depends on the value in more ways than the event's access says.
    fn may_go_round(&self, event: &Event) -> bool;

    /// What the thread wants to do that has no more events, if it has not ended.
    fn wanted(&self, thread: ThreadId) -> Option<Event>;
}

/// Nothing is known but the graph, which is not complete: what threads do next may not be in it. What may wait, waits, so that
/// nothing is counted that a larger graph would not.
struct Partial<'a, W>(&'a W);

impl<W: Waits> Waits for Partial<'_, W> {
    fn waits(&self, event: &Event, value: u64) -> bool {
        !event.access.accepts(value) || self.0.may_go_round(event)
    }

    fn may_go_round(&self, event: &Event) -> bool {
        self.0.may_go_round(event)
    }

    fn wanted(&self, _thread: ThreadId) -> Option<Event> {
        None
    }
}

/// How many preemptions there may be.
#[derive(Debug)]
pub(crate) struct Bound {
    most: usize,
    /// How often a graph was seen that exceeds the bound, explored or not.
    pub(crate) exceeded: u64,
}

impl Bound {
    pub(crate) fn new(most: usize) -> Bound {
        Bound { most, exceeded: 0 }
    }

    /// Whether graphs within the bound may be reached from this one.
    pub(crate) fn may_lead_within(&mut self, graph: &Graph, waits: &impl Waits) -> bool {
        let threads = graph.threads.iter().filter(|events| !events.is_empty()).count();
        let slack = threads.saturating_sub(2);
        let within = cost(graph, &Partial(waits), self.most.saturating_add(slack)).is_some();
        self.exceeded += u64::from(!within);
        within
    }

    /// Whether a graph to which nothing can be added is within the bound.
    pub(crate) fn admits(&mut self, graph: &Graph, waits: &impl Waits) -> bool {
        let within = cost(graph, waits, self.most).is_some();
        self.exceeded += u64::from(!within);
        within
    }
}

/// What the graph costs, if that is at most this.
pub(crate) fn cost(graph: &Graph, waits: &impl Waits, most: usize) -> Option<usize> {
    let search = Interleavings { graph, waits, watched: watched(graph, waits) };
    let mut known = HashSet::new();
    // What can be reached at each cost. An access may cost two: one to come to it, and one for what it is.
    let mut reached = vec![vec![State { view: vec![0; graph.width], current: NONE }]];
    for cost in 0..=most {
        while let Some(mut state) = reached.get_mut(cost)?.pop() {
            search.run_on(&mut state);
            if search.is_done(&state) {
                return Some(cost);
            }
            if known.contains(&state) {
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
            known.insert(state);
        }
    }
    None
}

/// How far an interleaving has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// How many events of each thread were made.
    view: Vec<u32>,
    /// The thread that ran last.
    current: u32,
}

struct Interleavings<'a, W> {
    graph: &'a Graph,
    waits: &'a W,
    /// The places at which threads may wait.
    watched: Vec<bool>,
}

fn watched(graph: &Graph, waits: &impl Waits) -> Vec<bool> {
    let mut watched = vec![false; graph.places.len()];
    let wanted = (0..graph.threads.len()).filter_map(|thread| waits.wanted(thread as ThreadId));
    for event in graph.events.iter().filter(|event| !event.waits).copied().chain(wanted) {
        if event.place != NONE && (event.access.may_wait() || event.reads() && waits.may_go_round(&event)) {
            watched[event.place as usize] = true;
        }
    }
    watched
}

impl<W: Waits> Interleavings<'_, W> {
    fn next(&self, state: &State, thread: u32) -> Option<EventId> {
        let events = self.graph.threads.get(thread as usize)?;
        events.get(state.view[thread as usize] as usize).copied()
    }

    fn is_done(&self, state: &State) -> bool {
        (0..self.graph.threads.len() as u32).all(|thread| self.next(state, thread).is_none())
    }

    /// Lets the current thread go on while that is the best it can do.
    fn run_on(&self, state: &mut State) {
        while let Some(id) = self.next(state, state.current) {
            let event = self.graph.event(id);
            let watched = event.place != NONE && self.watched[event.place as usize];
            let costs = !self.comes_next(state, id) || self.cost_of(state, id) != Some(0);
            if watched || event.access == Access::TimedOut || costs {
                break;
            }
            state.view[state.current as usize] += 1;
        }
    }

    /// Whether everything was made that precedes the event under sequential consistency.
    fn comes_next(&self, state: &State, id: EventId) -> bool {
        let mut ready = true;
        self.graph.for_each_predecessor(id, |before| ready &= covers(&state.view, self.graph.event(before)));
        ready
    }

    /// The steps that the interleaving can go on with, and what they cost.
    fn for_each_step(&self, state: &State, mut visit: impl FnMut(usize, State)) {
        let preempted = usize::from(self.can_go_on(state));
        for thread in 0..self.graph.threads.len() as u32 {
            let Some(id) = self.next(state, thread) else { continue };
            let Some(cost) = self.cost_of(state, id) else { continue };
            let mut after = State { view: state.view.clone(), current: thread };
            after.view[thread as usize] += 1;
            visit(cost + if thread == state.current { 0 } else { preempted }, after);
        }
    }

    /// What making the event now costs, if it can be made.
    fn cost_of(&self, state: &State, id: EventId) -> Option<usize> {
        match self.graph.model {
            Model::Sc => self.comes_next(state, id).then_some(0),
            Model::Rc11 => {
                let event = self.graph.event(id);
                if event.rf < NONE && !covers(&state.view, self.graph.event(event.rf)) {
                    return None;
                }
                if event.place == NONE {
                    return Some(0);
                }
                if event.access == Access::Drop {
                    return self.comes_next(state, id).then_some(0);
                }
                let rank = match event.reads() {
                    true => self.graph.rank(event.place, event.rf),
                    false => self.graph.rank(event.place, id) - 1,
                };
                let newer = &self.graph.co(event.place)[rank..];
                Some(newer.iter().any(|&write| covers(&state.view, self.graph.event(write))).into())
            }
        }
    }

    /// Whether the current thread could go on, so that taking its turn away is a preemption.
    fn can_go_on(&self, state: &State) -> bool {
        if state.current == NONE {
            return false;
        }
        let event = match self.next(state, state.current) {
            Some(id) => *self.graph.event(id),
            None => match self.waits.wanted(state.current as ThreadId) {
                Some(event) => event,
                None => return false,
            },
        };
        match event.access {
            Access::TimedOut => false,
            Access::Begin | Access::Join(_) | Access::EndScope(_) | Access::Woken => {
                event.rf == NONE || covers(&state.view, self.graph.event(event.rf))
            }
            _ if event.reads() => !self.waits.waits(&event, self.memory(state, event.place)),
            _ => true,
        }
    }

    /// What memory holds.
    fn memory(&self, state: &State, place: LocationId) -> u64 {
        let writes = self.graph.co(place).iter();
        let newest = writes.rev().find(|&&write| covers(&state.view, self.graph.event(write)));
        self.graph.value(place, newest.copied().unwrap_or(INIT))
    }
}
