//! Repairs: the weakest memory orders and fences that would have forbidden an execution.
//!
//! A repair is found by search: stronger orders for the events in question and fences between them, one change and two at a
//! time, each set judged by the axioms. A change is one of the source: it applies to all events in question that come from the
//! same line. A repair is a fact about this execution only; other executions of the program may fail in other ways.

use std::collections::BTreeMap;

use super::axioms::{StrengthenedExecution, Strengthening};
use super::{Effect, Graph, acquires, releases};
use crate::failure::Order;

/// The property that a repair must establish.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RepairGoal<'a> {
    /// RC11 forbids the reads and writes of these events.
    Forbid(&'a [usize]),
    /// The first event happens before the second.
    Order(usize, usize),
}

/// One change of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A stronger order for these events, which have the same line.
    Order { events: Vec<usize>, order: Order },
    /// A fence right before these events, which have the same line, and after an event of another line.
    Fence { after: usize, before: Vec<usize>, order: Order },
}

/// A set of changes that together establish a goal.
pub(crate) type Repair = Vec<Change>;

/// The largest number of changes in a repair that makes accesses sequentially consistent, where no two changes are enough.
const MAX_CHANGES: usize = 6;

/// The cheapest repair by orders alone and the cheapest by fences, cheapest first; a mixed one where neither exists.
///
/// `events` may get stronger orders, and fences may be inserted between the events of each of the `pairs`. `line` is the line of
/// the program's own code that made an event.
pub(crate) fn repairs(
    graph: &Graph,
    goal: RepairGoal<'_>,
    events: &[usize],
    pairs: &[(usize, usize)],
    line: impl Fn(usize) -> Option<String>,
) -> Vec<Repair> {
    let suffices = |changes: &[&Change]| {
        let strengthening = strengthening(changes);
        let execution = StrengthenedExecution::of(graph, &strengthening);
        match goal {
            RepairGoal::Forbid(events) => execution.forbids(events),
            RepairGoal::Order(first, second) => execution.orders(first, second),
        }
    };
    let orders = stronger_orders(graph, events, &line);
    let fences = possible_fences(graph, pairs, &line);
    let mut found: Vec<Repair> = Vec::new();
    found.extend(cheapest(&orders, &suffices).or_else(|| all_seq_cst(graph, &orders, &suffices)));
    found.extend(cheapest(&fences, &suffices));
    if found.is_empty() {
        let mixed: Vec<Change> = orders.into_iter().chain(fences).collect();
        found.extend(cheapest(&mixed, &suffices));
    }
    found.sort_by_key(|repair| repair.iter().map(Change::cost).sum::<u32>());
    for repair in &mut found {
        repair.sort_by_key(|change| events.iter().position(|&event| event == change.first_event()));
    }
    found
}

/// The cheapest set of one or two changes that suffices.
fn cheapest(changes: &[Change], suffices: &impl Fn(&[&Change]) -> bool) -> Option<Repair> {
    let one = changes.iter().map(|change| vec![change]);
    let two = changes.iter().enumerate().flat_map(|(at, first)| {
        let others = changes[at + 1..].iter().filter(|second| !first.has_same_site(second));
        others.map(move |second| vec![first, second])
    });
    let mut sets: Vec<Vec<&Change>> = one.chain(two).collect();
    sets.sort_by_key(|set| set.iter().map(|change| change.cost()).sum::<u32>());
    let set = sets.into_iter().find(|set| suffices(set))?;
    Some(set.into_iter().cloned().collect())
}

/// `SeqCst` for all accesses, without those that turn out not to be needed.
fn all_seq_cst(graph: &Graph, orders: &[Change], suffices: &impl Fn(&[&Change]) -> bool) -> Option<Repair> {
    let is_access = |events: &[usize]| !graph.nodes[events[0]].effect.is_fence();
    let strongest = |change: &&Change| matches!(change, Change::Order { events, order: Order::SeqCst } if is_access(events));
    let mut set: Vec<&Change> = orders.iter().filter(strongest).collect();
    if !suffices(&set) {
        return None;
    }
    for at in (0..set.len()).rev() {
        let without: Vec<&Change> =
            set.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, c)| *c).collect();
        if suffices(&without) {
            set = without;
        }
    }
    (set.len() <= MAX_CHANGES).then(|| set.into_iter().cloned().collect())
}

/// The changes to every stronger order of the events, one for each line and kind of event.
fn stronger_orders(graph: &Graph, events: &[usize], line: &impl Fn(usize) -> Option<String>) -> Vec<Change> {
    let mut sites: BTreeMap<(String, u8), Vec<usize>> = BTreeMap::new();
    for &event in events {
        let kind = match graph.nodes[event].effect {
            Effect::Load(_) => 0,
            Effect::Store(_) => 1,
            Effect::Rmw(_) => 2,
            Effect::Fence(_) => 3,
            Effect::None => continue,
        };
        if let Some(line) = line(event) {
            let site = sites.entry((line, kind)).or_default();
            if !site.contains(&event) {
                site.push(event);
            }
        }
    }
    let mut changes = Vec::new();
    for events in sites.into_values() {
        let effect = graph.nodes[events[0]].effect;
        let possible: &[Order] = match effect {
            Effect::Load(_) => &[Order::Acquire, Order::SeqCst],
            Effect::Store(_) => &[Order::Release, Order::SeqCst],
            _ => &[Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst],
        };
        let is_stronger = |&order: &Order| {
            events
                .iter()
                .any(|&event| graph.nodes[event].effect.order().is_some_and(|old| is_weaker(old, order)))
        };
        for &order in possible.iter().filter(|order| is_stronger(order)) {
            changes.push(Change::Order { events: events.clone(), order });
        }
    }
    changes
}

/// The changes that insert a fence between the events of each pair, or strengthen a fence that is there.
fn possible_fences(
    graph: &Graph,
    pairs: &[(usize, usize)],
    line: &impl Fn(usize) -> Option<String>,
) -> Vec<Change> {
    let mut sites: BTreeMap<String, (usize, Vec<usize>)> = BTreeMap::new();
    for &(before, after) in pairs {
        let Some(second) = line(after) else { continue };
        // A fence cannot be inserted within a line.
        let between = graph.between(before, after).iter().rev();
        let elsewhere = |&event: &usize| line(event).is_some_and(|first| first != second);
        if let Some(&first) = between.into_iter().find(|&event| elsewhere(event)) {
            let site = &mut sites.entry(second).or_insert((first, Vec::new())).1;
            if !site.contains(&after) {
                site.push(after);
            }
        }
    }
    let mut recorded = Vec::new();
    for &(before, after) in pairs {
        let inner = graph.between(before, after).iter().copied();
        recorded.extend(inner.filter(|&event| graph.nodes[event].effect.is_fence()));
    }
    let mut changes = stronger_orders(graph, &recorded, line);
    for (after, before) in sites.into_values() {
        for order in [Order::Acquire, Order::Release, Order::SeqCst] {
            changes.push(Change::Fence { after, before: before.clone(), order });
        }
    }
    changes
}

fn strengthening(changes: &[&Change]) -> Strengthening {
    let mut strengthening = Strengthening::default();
    for change in changes {
        match change {
            Change::Order { events, order } => {
                strengthening.orders.extend(events.iter().map(|&event| (event, *order)))
            }
            Change::Fence { before, order, .. } => {
                strengthening.fences.extend(before.iter().map(|&event| (event, *order)))
            }
        }
    }
    strengthening
}

/// Whether the new order is strictly stronger than the old one.
fn is_weaker(old: Order, new: Order) -> bool {
    let kept = (!acquires(old) || acquires(new)) && (!releases(old) || releases(new));
    old != new && kept && old != Order::SeqCst
}

impl Graph {
    /// The events from one event up to, but not including, a later one of the same thread.
    fn between(&self, from: usize, to: usize) -> &[usize] {
        let (from, to) = (&self.nodes[from], &self.nodes[to]);
        &self.threads[&from.thread][from.po..to.po]
    }
}

impl Change {
    /// The cost by which repairs are compared: weak orders are cheaper than strong ones, and changed orders than new fences.
    fn cost(&self) -> u32 {
        match self {
            Change::Order { order: Order::Acquire | Order::Release, .. } => 2,
            Change::Order { order: Order::AcqRel, .. } => 3,
            Change::Order { .. } => 4,
            Change::Fence { order: Order::SeqCst, .. } => 7,
            Change::Fence { .. } => 5,
        }
    }

    /// The first of the events that the change concerns.
    fn first_event(&self) -> usize {
        match self {
            Change::Order { events, .. } => events[0],
            Change::Fence { before, .. } => before[0],
        }
    }

    /// Whether two changes concern the same events in the same manner, so that one replaces the other.
    fn has_same_site(&self, other: &Change) -> bool {
        match (self, other) {
            (Change::Order { events: a, .. }, Change::Order { events: b, .. })
            | (Change::Fence { before: a, .. }, Change::Fence { before: b, .. }) => a == b,
            _ => false,
        }
    }
}
