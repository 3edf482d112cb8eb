//! The accesses to each memory location, in modification order.

use std::collections::{BTreeMap, HashMap};

use crate::failure::{Action, Did, Event, Value, Write};
use crate::graph::Graph;

/// The accesses of a trace by address.
pub(super) struct Accesses {
    by_address: BTreeMap<u64, OfAddress>,
    /// For each event, the write that it reads from.
    sources: Vec<Source>,
}

/// The accesses to one address.
#[derive(Default)]
pub(super) struct OfAddress {
    /// The events that write, in modification order as far as that is recorded, else in the order of the trace.
    pub(super) writes: Vec<usize>,
    /// The events that read, in the order of the trace.
    pub(super) reads: Vec<usize>,
}

/// The write that a read reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The write with this index in [`OfAddress::writes`], and whether that is recorded or only likely.
    Write(usize, bool),
    Initial,
    Unknown,
}

impl Accesses {
    pub(super) fn of(events: &[Event], graph: &Graph) -> Accesses {
        let mut by_address: BTreeMap<u64, OfAddress> = BTreeMap::new();
        for event in events {
            if let Some(place) = event.action.place() {
                by_address.entry(place.address).or_default();
            }
        }
        for (number, event) in events.iter().enumerate() {
            let Some(place) = event.action.place() else { continue };
            if let Action::Write { length, .. } = event.action {
                // A plain write may cover several locations.
                let end = place.address.saturating_add(length.max(1));
                for (_, accesses) in by_address.range_mut(place.address..end) {
                    accesses.writes.push(number);
                }
                continue;
            }
            let accesses = by_address.entry(place.address).or_default();
            if writes(&event.action) {
                accesses.writes.push(number);
            }
            if reads(&event.action) {
                accesses.reads.push(number);
            }
        }
        for accesses in by_address.values_mut() {
            in_modification_order(&mut accesses.writes, graph);
        }
        let mut sources = vec![Source::Unknown; events.len()];
        for accesses in by_address.values() {
            accesses.find_sources(events, &mut sources);
        }
        Accesses { by_address, sources }
    }

    /// The accesses to an address.
    pub(super) fn to(&self, address: u64) -> Option<&OfAddress> {
        self.by_address.get(&address)
    }

    /// The accessed addresses in a range.
    pub(super) fn addresses(&self, range: std::ops::Range<u64>) -> Vec<u64> {
        self.by_address.range(range).map(|(&address, _)| address).collect()
    }

    /// The write that a read reads from.
    pub(super) fn source(&self, read: usize) -> Source {
        self.sources[read]
    }
}

impl OfAddress {
    /// Finds the write that each read reads from.
    fn find_sources(&self, events: &[Event], sources: &mut [Source]) {
        let ranks: HashMap<usize, usize> =
            self.writes.iter().enumerate().map(|(rank, &write)| (write, rank)).collect();
        let mut in_trace = self.writes.clone();
        in_trace.sort_unstable();
        for &read in &self.reads {
            let event = &events[read];
            let recorded = match event.reads_from {
                Some(Write::Event(write)) => ranks.get(&(write as usize)),
                _ => None,
            };
            // Without an edge, the last write of the trace is likely the one, if it wrote the value.
            let before = in_trace.partition_point(|&write| write < read);
            let last = before.checked_sub(1).map(|last| in_trace[last]);
            let value = read_value(&event.action);
            sources[read] = match (recorded, last) {
                (Some(&rank), _) => Source::Write(rank, true),
                _ if event.reads_from == Some(Write::Initial) => Source::Initial,
                (None, Some(write)) if may_have_written(&events[write].action, event, value) => {
                    Source::Write(ranks[&write], false)
                }
                (None, None) if event.reads_from.is_none() => Source::Initial,
                _ => Source::Unknown,
            };
        }
    }
}

/// Puts writes into modification order. Writes whose position is not recorded stay where the trace has them.
fn in_modification_order(writes: &mut [usize], graph: &Graph) {
    let mut slots: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (slot, &write) in writes.iter().enumerate() {
        if let (Some(location), Some(_)) = (graph.nodes[write].location, graph.nodes[write].write_index) {
            slots.entry(location).or_default().push(slot);
        }
    }
    for slots in slots.into_values() {
        let mut ordered: Vec<usize> = slots.iter().map(|&slot| writes[slot]).collect();
        ordered.sort_by_key(|&write| graph.nodes[write].write_index);
        for (slot, write) in slots.into_iter().zip(ordered) {
            writes[slot] = write;
        }
    }
}

/// Whether an action writes memory.
fn writes(action: &Action) -> bool {
    match action {
        Action::Access { kind, .. } => matches!(kind, Did::Write | Did::AtomicWrite),
        Action::Write { .. } => true,
        _ => action.written().is_some(),
    }
}

/// Whether an action reads memory.
fn reads(action: &Action) -> bool {
    match action {
        Action::Access { kind, .. } => matches!(kind, Did::Read | Did::AtomicRead),
        _ => read_value(action).is_some(),
    }
}

/// The value that an action read.
pub(super) fn read_value(action: &Action) -> Option<Value> {
    match *action {
        Action::Load { value, .. } => Some(value),
        Action::Rmw { read, .. } | Action::Cas { read, .. } => Some(read),
        Action::Wait { expected, blocks: true, .. } => Some(expected),
        _ => None,
    }
}

/// Whether a write may have left a value where another event reads it. The parts of a large plain write are not recorded.
fn may_have_written(action: &Action, read: &Event, value: Option<Value>) -> bool {
    let same = action.place().map(|place| place.address) == read.action.place().map(|place| place.address);
    match action.written() {
        Some(written) if same => Some(written) == value,
        _ => matches!(action, Action::Write { .. }),
    }
}

/// The values that an action read or wrote.
pub(super) fn values(action: &Action) -> impl Iterator<Item = Value> + use<> {
    read_value(action).into_iter().chain(action.written())
}
