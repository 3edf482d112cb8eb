//! The race detector of an exploration: the accesses of the current execution, the lines of stacks that threads share, and the clocks
//! beside an execution graph.

use std::collections::HashMap;

use crate::detect::race::{self, Calls, Races};
use crate::graph::event::{Access as Step, Event, EventId};
use crate::happens_before::sync::{Message, Sync};
use crate::op::Order;
use crate::platform::global::{GLOBAL, Global, LINE, LINES};

/// The race detector.
#[derive(Debug, Default)]
pub(crate) struct RaceDetector {
    pub(crate) races: Races,
    /// Whether a thread has accessed a line of another thread's stack or thread-locals in which the owner's accesses
    /// were not recorded. Then a race may have been missed, and the execution is repeated.
    pub(super) has_found_sharing: bool,
    /// Whether races at these calls are suppressed, by earlier answers of the filter.
    pub(super) suppressed: HashMap<Calls, bool>,
    /// The message that each event of an execution graph releases. Graphs do not contain everything that orders
    /// accesses (abstract reference counts), so clocks are kept beside them.
    messages: Vec<EventMessage>,
    /// Number of messages of the current execution. Those behind keep their allocations.
    pub(super) sent: usize,
    /// The number of the latest message of all executions.
    number: u64,
    latest: Option<(Event, u32)>,
}

/// The message that an event releases.
#[derive(Debug, Default)]
struct EventMessage {
    /// Identifies messages that are not empty; 0 for empty ones.
    number: u64,
    message: Message,
}

/// A copy of the detector's state of an execution, for a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct DetectorSnapshot {
    races: race::Snapshot,
    messages: Vec<EventMessage>,
    sent: usize,
}

impl EventMessage {
    /// Copies messages to `others`. Most are equal already, because executions share prefixes.
    fn copy(messages: &[EventMessage], others: &mut Vec<EventMessage>) {
        if others.len() < messages.len() {
            others.resize_with(messages.len(), EventMessage::default);
        }
        for (other, sent) in others.iter_mut().zip(messages) {
            if other.number != sent.number {
                other.number = sent.number;
                other.message.clone_from(&sent.message);
            }
        }
    }
}

impl RaceDetector {
    /// Updates the clocks for a new event of an execution graph: all of them, or those of spawns, joins and scopes.
    pub(crate) fn follow(&mut self, id: EventId, event: Event, sync: &mut Sync, all: bool) {
        let (thread, order) = (event.thread, event.order);
        self.latest = Some((event, sync.now(thread)));
        let is_fork_or_join =
            matches!(event.access, Step::Spawn(_) | Step::Join(_) | Step::LeaveScope | Step::EndScope(_));
        if !all && !is_fork_or_join {
            return;
        }
        // Blocked reads have numbers, too, and release nothing.
        let next = id as usize + 1;
        if self.messages.len() < next {
            self.messages.resize_with(next, EventMessage::default);
        }
        for sent in &mut self.messages[self.sent..next] {
            sent.number = 0;
            sent.message.clear();
        }
        self.sent = next;
        self.number += 1;
        let (before, EventMessage { number, message }) = match &mut self.messages[..next] {
            [before @ .., last] => (before, last),
            [] => return,
        };
        *number = self.number;
        let source = before.get(event.rf as usize).map(|source| &source.message);
        match event.access {
            // The clocks follow a fence, a beginning and a timeout where they are made, whether they are events or not.
            Step::Fence | Step::Begin | Step::TimedOut => {}
            // Real time orders nothing in memory.
            Step::ReadCompletions => {}
            Step::Spawn(child) => sync.spawn(thread, child),
            Step::Join(other) => sync.join(thread, other),
            Step::LeaveScope => sync.store(thread, Order::Release, message),
            Step::EndScope(_) | Step::Woken => {
                source.into_iter().for_each(|source| sync.load(thread, Order::Acquire, source))
            }
            _ if event.written.is_none() => {
                source.into_iter().for_each(|from| sync.load(thread, order, from))
            }
            Step::Store(_) => sync.store(thread, order, message),
            _ => {
                source.into_iter().for_each(|source| message.clone_from(source));
                sync.rmw(thread, order, message);
            }
        }
    }

    /// The latest event of an execution graph, and the time of its thread before the event.
    pub(crate) fn latest(&self) -> Option<(Event, u32)> {
        self.latest
    }

    /// Copies the state of the execution into a snapshot.
    pub(crate) fn snapshot(&mut self, known: &mut DetectorSnapshot) {
        self.races.snapshot(&mut known.races);
        EventMessage::copy(&self.messages[..self.sent], &mut known.messages);
        known.sent = self.sent;
    }

    /// Continues the execution, which has just begun, from a snapshot.
    pub(crate) fn restore(&mut self, known: &DetectorSnapshot) {
        self.races.restore(&known.races);
        EventMessage::copy(&known.messages[..known.sent], &mut self.messages);
        self.sent = known.sent;
    }

    /// Whether an access of a thread to its own stack cannot race: no other thread has accessed these lines in any
    /// execution of the search.
    #[inline(always)]
    pub(super) fn is_private(address: usize, size: usize) -> bool {
        let (first, last) = (Global::line(address), Global::line(address + size - 1));
        if first == last {
            return !GLOBAL.shared_lines[first].get();
        }
        !lines(address, size).any(|line| GLOBAL.shared_lines[line].get())
    }

    /// Marks lines of a thread's stack as shared, because another thread accesses them.
    #[inline(always)]
    pub(super) fn share(&mut self, address: usize, size: usize) {
        // An instrumentation callback looks only at the line in which the access begins.
        let begin = address - (MOST_ANNOUNCED - 1);
        for line in lines(begin, address + size - begin) {
            self.has_found_sharing |= !GLOBAL.shared_lines[line].replace(true);
        }
    }

    /// Begins a search, in which all lines count as shared, or only those that turn out to be.
    pub(crate) fn begin_sharing(everything: bool) {
        GLOBAL.shared_lines.iter().for_each(|line| line.set(everything));
    }
}

/// Largest access that has an instrumentation callback of its own.
const MOST_ANNOUNCED: usize = 16;

/// The numbers of the lines that an access touches.
#[inline(always)]
fn lines(address: usize, size: usize) -> impl Iterator<Item = usize> {
    let all = address >> LINE..=(address + size - 1) >> LINE;
    all.map(|line| line % LINES)
}
