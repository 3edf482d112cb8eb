//! Executions as plain data, with happens-before by its definition and by views.

use crate::event::{Event, Graph, acquires, releases};
use crate::relation::Relation;
use crate::views::{ThreadViews, View};

/// An execution graph as plain data.
///
/// The events of each thread are numbered in program order.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// The events.
    pub events: Vec<Event>,
    /// For each event, the source of its read; none if the event reads the initial value or does not read.
    pub rf: Vec<Option<usize>>,
    /// For each event, the events that synchronise with it by other means than reads and fences: the spawn of its thread, the
    /// end of a thread that it joins.
    pub sw: Vec<Vec<usize>>,
}

impl Execution {
    /// Adds an event, and returns its number.
    pub fn push(&mut self, event: Event, rf: Option<usize>, sw: Vec<usize>) -> usize {
        self.events.push(event);
        self.rf.push(rf);
        self.sw.push(sw);
        self.events.len() - 1
    }

    /// Program order.
    pub fn po(&self) -> Relation {
        self.relation(|a, b| a < b && self.events[a].thread == self.events[b].thread)
    }

    /// Reads-from.
    pub fn rf(&self) -> Relation {
        self.relation(|a, b| self.rf[b] == Some(a))
    }

    /// Synchronizes-with, by definition.
    pub fn sw(&self) -> Relation {
        let (po, rf) = (self.po(), self.rf());
        let event = |a: usize| &self.events[a];
        let identity = |set: &dyn Fn(usize) -> bool| Relation::identity(self.events.len(), set);
        let is_fence_before = |a: usize, b: usize| event(a).is_fence() && event(b).write_index.is_some();
        let is_fence_after = |a: usize, b: usize| event(a).read_index.is_some() && event(b).is_fence();
        let release = po.only(is_fence_before).or(&identity(&|a| event(a).write_index.is_some()));
        let release = release.only(|a, _| releases(event(a).order));
        let release_sequence = rf.only(|_, b| event(b).is_rmw()).transitive().optional();
        let acquire = po.only(is_fence_after).or(&identity(&|a| event(a).read_index.is_some()));
        let acquire = acquire.only(|_, b| acquires(event(b).order));
        let by_other_means = self.relation(|a, b| self.sw[b].contains(&a));
        release.then(&release_sequence).then(&rf).then(&acquire).or(&by_other_means)
    }

    /// Happens-before, by definition: `(po ∪ sw)⁺`.
    pub fn hb(&self) -> Relation {
        self.po().or(&self.sw()).transitive()
    }

    /// Happens-before, in time and memory linear in the number of events.
    ///
    /// Each event must come after its source and after the events that synchronise with it.
    pub fn happens_before(&self) -> HappensBefore {
        HappensBefore::of(self)
    }

    fn relation(&self, holds: impl Fn(usize, usize) -> bool) -> Relation {
        Relation::of(self.events.len(), holds)
    }
}

/// Happens-before of an execution, as vector clocks.
#[derive(Clone, Debug)]
pub struct HappensBefore {
    /// The number of threads.
    width: usize,
    /// The thread of each event, and the event's number within that thread, from 1.
    steps: Vec<(usize, u32)>,
    /// For each event, the number of events of each thread that happen before it or are the event itself.
    clocks: Vec<u32>,
}

impl HappensBefore {
    fn of(execution: &Execution) -> HappensBefore {
        let threads = execution.events.iter().map(|event| event.thread as usize + 1);
        let width = threads.max().unwrap_or(0);
        let mut this = HappensBefore { width, steps: Vec::new(), clocks: Vec::new() };
        let zero = || vec![0; width];
        let mut threads: Vec<[Vec<u32>; 3]> = (0..width).map(|_| [zero(), zero(), zero()]).collect();
        let mut messages: Vec<Option<Vec<u32>>> = Vec::new();
        for (number, event) in execution.events.iter().enumerate() {
            let thread = event.thread as usize;
            let [current, acquirable, released] = &mut threads[thread];
            current[thread] += 1;
            this.steps.push((thread, current[thread]));
            let mut views = ThreadViews { current: &mut current[..], acquirable, released };
            for &before in &execution.sw[number] {
                views.current.include(this.clock(before));
            }
            let source = execution.rf[number].and_then(|source| messages[source].as_ref());
            if let Some(source) = source {
                views.read(event.order, source);
            }
            if event.is_fence() {
                views.acquire_fence(event.order);
                views.release_fence(event.order);
            }
            let message = event.write_index.map(|_| {
                let mut message = views.message(event.order).to_vec();
                if let Some(source) = source {
                    message[..].include(source);
                }
                message
            });
            messages.push(message);
            this.clocks.extend_from_slice(current);
        }
        this
    }

    /// Whether `before` happens before `after`.
    pub fn has(&self, before: usize, after: usize) -> bool {
        let (thread, step) = self.steps[before];
        before != after && step <= self.clock(after)[thread]
    }

    fn clock(&self, event: usize) -> &[u32] {
        &self.clocks[event * self.width..][..self.width]
    }
}

/// Some events of an execution, as a [`Graph`] of their own.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// The execution.
    pub execution: &'a Execution,
    /// Happens-before of the whole execution.
    pub hb: &'a HappensBefore,
    /// The numbers of the events.
    pub events: &'a [usize],
}

impl Graph for Selection<'_> {
    fn event_count(&self) -> usize {
        self.events.len()
    }

    fn event(&self, event: usize) -> Event {
        self.execution.events[self.events[event]]
    }

    fn past(&self, event: usize) -> impl Fn(usize) -> bool {
        let after = self.events[event];
        move |before| self.hb.has(self.events[before], after)
    }
}
