//! Which memory orders would have ruled out what happened.
//!
//! Found by trying: stronger orders for the accesses and fences in question, and fences between them, one change and two at a
//! time, each set judged by the axioms. A change is one of the source: it is made to all events in question that come from the
//! same line. What is found is a fact about this execution; others may go wrong in other ways.

use std::collections::BTreeMap;

use super::axioms::{Changes, HappensBefore, Step, acquires, releases};
use super::{Effect, Graph};
use crate::failure::Order;

/// What is to be ruled out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ill<'a> {
    /// That these events read and wrote what they did.
    Seen(&'a [usize]),
    /// That the first event does not happen before the second.
    Unordered(usize, usize),
}

/// One change of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A stronger order for these events, which have the same line.
    Order { events: Vec<usize>, order: Order },
    /// A fence right before these events, which have the same line, and after an event of another line.
    Fence { after: usize, before: Vec<usize>, order: Order },
}

/// Changes that rule something out together.
pub(crate) type Cure = Vec<Change>;

/// Where sets of two are not enough, this many changes of orders are still worth telling.
const MOST: usize = 6;

/// The weakest changes that rule the ill out, by orders alone and with fences; the better one first. `pairs` are the events between
/// which a fence may help, `line` says which events come from the same line of the program's own code.
pub(crate) fn cures(
    graph: &Graph,
    ill: Ill<'_>,
    events: &[usize],
    pairs: &[(usize, usize)],
    line: impl Fn(usize) -> Option<String>,
) -> Vec<Cure> {
    let helps = |cure: &[&Change]| {
        let changes = changes(cure);
        let hb = HappensBefore::with(graph, &changes);
        match ill {
            Ill::Seen(events) => hb.forbids(events),
            Ill::Unordered(first, second) => hb.is(Step::Event(first), Step::Event(second)),
        }
    };
    let orders = orders(graph, events, &line);
    let fences = fences(graph, pairs, &line);
    let mut found: Vec<Cure> = Vec::new();
    found.extend(weakest(&orders, &helps).or_else(|| all_at_once(graph, &orders, &helps)));
    found.extend(weakest(&fences, &helps));
    if found.is_empty() {
        let mixed: Vec<Change> = orders.into_iter().chain(fences).collect();
        found.extend(weakest(&mixed, &helps));
    }
    found.sort_by_key(|cure| cost(cure));
    for cure in &mut found {
        cure.sort_by_key(|change| events.iter().position(|&event| event == change.event()));
    }
    found
}

/// The cheapest one or two of the changes that help.
fn weakest(changes: &[Change], helps: &impl Fn(&[&Change]) -> bool) -> Option<Cure> {
    let one = changes.iter().map(|change| vec![change]);
    let two = changes.iter().enumerate().flat_map(|(at, first)| {
        let others = changes[at + 1..].iter().filter(|second| !first.is_of_same(second));
        others.map(move |second| vec![first, second])
    });
    let mut sets: Vec<Vec<&Change>> = one.chain(two).collect();
    sets.sort_by_key(|set| set.iter().map(|change| change.cost()).sum::<u32>());
    let set = sets.into_iter().find(|set| helps(set))?;
    Some(set.into_iter().cloned().collect())
}

/// Sequential consistency for all accesses, as far as it takes.
fn all_at_once(graph: &Graph, orders: &[Change], helps: &impl Fn(&[&Change]) -> bool) -> Option<Cure> {
    let is_access = |events: &[usize]| !matches!(graph.nodes[events[0]].effect, Effect::Fence(_));
    let strongest = |change: &&Change| matches!(change, Change::Order { events, order: Order::SeqCst } if is_access(events));
    let mut set: Vec<&Change> = orders.iter().filter(strongest).collect();
    if !helps(&set) {
        return None;
    }
    for at in (0..set.len()).rev() {
        let without: Vec<&Change> =
            set.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, c)| *c).collect();
        if helps(&without) {
            set = without;
        }
    }
    (set.len() <= MOST).then(|| set.into_iter().cloned().collect())
}

/// All stronger orders of the events.
fn orders(graph: &Graph, events: &[usize], line: &impl Fn(usize) -> Option<String>) -> Vec<Change> {
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
        let weakest = |&order: &Order| {
            events
                .iter()
                .any(|&event| graph.nodes[event].effect.order().is_some_and(|old| is_weaker(old, order)))
        };
        for &order in possible.iter().filter(|order| weakest(order)) {
            changes.push(Change::Order { events: events.clone(), order });
        }
    }
    changes
}

/// All fences between the events of each pair.
fn fences(graph: &Graph, pairs: &[(usize, usize)], line: &impl Fn(usize) -> Option<String>) -> Vec<Change> {
    let mut sites: BTreeMap<String, (usize, Vec<usize>)> = BTreeMap::new();
    for &(before, after) in pairs {
        let Some(second) = line(after) else { continue };
        // Where one line does all of it, there is no room between.
        let between = graph.between(before, after).iter().rev();
        let elsewhere = |&event: &usize| line(event).is_some_and(|first| first != second);
        if let Some(&first) = between.into_iter().find(|&event| elsewhere(event)) {
            let site = &mut sites.entry(second).or_insert((first, Vec::new())).1;
            if !site.contains(&after) {
                site.push(after);
            }
        }
    }
    // Where there are fences already, they can be made stronger.
    let mut between = Vec::new();
    for &(before, after) in pairs {
        let inner = graph.between(before, after).iter().copied();
        between.extend(inner.filter(|&event| matches!(graph.nodes[event].effect, Effect::Fence(_))));
    }
    let mut changes = orders(graph, &between, line);
    for (after, before) in sites.into_values() {
        for order in [Order::Acquire, Order::Release, Order::SeqCst] {
            changes.push(Change::Fence { after, before: before.clone(), order });
        }
    }
    changes
}

fn changes(cure: &[&Change]) -> Changes {
    let mut changes = Changes::default();
    for change in cure {
        match change {
            Change::Order { events, order } => {
                changes.orders.extend(events.iter().map(|&event| (event, *order)))
            }
            Change::Fence { before, order, .. } => {
                changes.fences.extend(before.iter().map(|&event| (event, *order)))
            }
        }
    }
    changes
}

/// Whether the second order is stronger than the first.
fn is_weaker(old: Order, new: Order) -> bool {
    let kept = (!acquires(old) || acquires(new)) && (!releases(old) || releases(new));
    old != new && kept && old != Order::SeqCst
}

impl Graph {
    /// The events of a thread from one on and before another.
    fn between(&self, from: usize, to: usize) -> &[usize] {
        let (from, to) = (&self.nodes[from], &self.nodes[to]);
        &self.threads[&from.thread][from.po..to.po]
    }
}

fn cost(cure: &[Change]) -> u32 {
    cure.iter().map(Change::cost).sum()
}

impl Change {
    /// What it takes to like it: weak orders are cheaper than strong ones, and what is there already than what is new.
    fn cost(&self) -> u32 {
        match self {
            Change::Order { order: Order::Acquire | Order::Release, .. } => 2,
            Change::Order { order: Order::AcqRel, .. } => 3,
            Change::Order { .. } => 4,
            Change::Fence { order: Order::SeqCst, .. } => 7,
            Change::Fence { .. } => 5,
        }
    }

    /// An event that it concerns.
    fn event(&self) -> usize {
        match self {
            Change::Order { events, .. } => events[0],
            Change::Fence { before, .. } => before[0],
        }
    }

    fn is_of_same(&self, other: &Change) -> bool {
        match (self, other) {
            (Change::Order { events: a, .. }, Change::Order { events: b, .. })
            | (Change::Fence { before: a, .. }, Change::Fence { before: b, .. }) => a == b,
            _ => false,
        }
    }
}
