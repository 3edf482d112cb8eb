//! RC11's verdict on some events of a failure, under the recorded memory orders or under stronger ones.
//!
//! The axioms are those of [`raddle_axioms`]. Happens-before is computed for the whole execution; stronger orders can only extend
//! it, so the recorded sw edges are kept. Coherence and the acyclicity of psc are then decided among the events in question: a
//! violation among them is a violation of the execution.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use raddle_axioms::{Event, Execution, HappensBefore, Kind, Psc, Selection, rc11};

use super::{Effect, Graph, Node};
use crate::failure::Order;

/// A modification of an execution: memory orders other than the recorded ones, and inserted fences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strengthening {
    /// The new memory orders of events.
    pub(crate) orders: BTreeMap<usize, Order>,
    /// The fences inserted right before events.
    pub(crate) fences: BTreeMap<usize, Order>,
}

/// An execution under a strengthening, with its happens-before relation.
pub(crate) struct StrengthenedExecution<'a> {
    graph: &'a Graph,
    execution: Execution,
    hb: HappensBefore,
    /// The number of each recorded event in `execution`, where inserted fences have numbers, too.
    numbers: Vec<usize>,
    /// The numbers of the inserted fences.
    fences: Vec<usize>,
}

impl<'a> StrengthenedExecution<'a> {
    pub(crate) fn of(graph: &'a Graph, strengthening: &Strengthening) -> StrengthenedExecution<'a> {
        let threads: BTreeMap<u32, u32> = graph.threads.keys().copied().zip(0..).collect();
        let mut execution = Execution::default();
        let (mut numbers, mut fences) = (Vec::new(), Vec::new());
        for (number, node) in graph.nodes.iter().enumerate() {
            let thread = threads[&node.thread];
            if let Some(&order) = strengthening.fences.get(&number) {
                fences.push(execution.push(Event::fence(thread, order.into()), None, Vec::new()));
            }
            let event = node.event(thread, strengthening.orders.get(&number).copied());
            let rf = node.rf.and_then(|from| numbers.get(from).copied());
            let sw = node.sw.iter().map(|&before| numbers[before]).collect();
            numbers.push(execution.push(event, rf, sw));
        }
        let hb = execution.happens_before();
        StrengthenedExecution { graph, execution, hb, numbers, fences }
    }

    /// Whether one event happens before another.
    pub(crate) fn orders(&self, before: usize, after: usize) -> bool {
        self.hb.has(self.numbers[before], self.numbers[after])
    }

    /// Whether RC11 forbids the reads and writes of these events.
    pub(crate) fn forbids(&self, events: &[usize]) -> bool {
        let events = self.with_fences(events);
        let selection = Selection { execution: &self.execution, hb: &self.hb, events: &events };
        !rc11::coherence(&selection) || !Psc::default().is_acyclic(&selection)
    }

    /// The inserted fences, the SC fences between the events of each thread, and the events that are no fences.
    fn with_fences(&self, events: &[usize]) -> Vec<usize> {
        let event = |number: usize| &self.execution.events[self.numbers[number]];
        let mut selected = self.fences.clone();
        for thread in self.graph.threads.values() {
            let Some(first) = thread.iter().position(|event| events.contains(event)) else { continue };
            let last = thread.iter().rposition(|event| events.contains(event)).unwrap_or(first);
            let is_sc_fence = |&&number: &&usize| event(number).is_fence() && event(number).is_sc();
            selected
                .extend(thread[first..last].iter().filter(is_sc_fence).map(|&number| self.numbers[number]));
        }
        let accesses = events.iter().filter(|&&number| !event(number).is_fence());
        selected.extend(accesses.map(|&number| self.numbers[number]));
        selected
    }
}

impl Node {
    /// The event as the axioms see it, with its recorded memory order or another one.
    fn event(&self, thread: u32, order: Option<Order>) -> Event {
        let kind = match self.effect {
            Effect::Load(_) | Effect::Store(_) | Effect::Rmw(_) => Kind::Access,
            Effect::Fence(_) => Kind::Fence,
            Effect::None => Kind::Other,
        };
        let narrow = |index: usize| index as u32;
        Event {
            thread,
            kind,
            order: self.effect.order().map_or(Ordering::Relaxed, |recorded| order.unwrap_or(recorded).into()),
            location: self.location.map(narrow),
            read_index: self.read_index.map(narrow),
            write_index: self.write_index.map(narrow),
        }
    }
}

impl From<Order> for Ordering {
    fn from(order: Order) -> Ordering {
        match order {
            Order::Relaxed => Ordering::Relaxed,
            Order::Acquire => Ordering::Acquire,
            Order::Release => Ordering::Release,
            Order::AcqRel => Ordering::AcqRel,
            Order::SeqCst => Ordering::SeqCst,
        }
    }
}
