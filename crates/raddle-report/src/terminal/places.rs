//! What to call a place in memory, and which places threads share.

use std::collections::{BTreeMap, BTreeSet};

use crate::failure::{Action, Failure, Place};

/// The places that the trace's events touched.
pub(super) struct Places {
    names: BTreeMap<u64, String>,
    /// Numbers for places without a name: shared ones first, in the order of their first events.
    numbers: BTreeMap<u64, usize>,
    shared: BTreeSet<u64>,
}

impl Places {
    pub(super) fn of(failure: &Failure) -> Places {
        let mut places = Places { names: BTreeMap::new(), numbers: BTreeMap::new(), shared: BTreeSet::new() };
        let mut touched: BTreeMap<u64, (BTreeSet<u32>, bool)> = BTreeMap::new();
        let mut order = Vec::new();
        for event in &failure.trace.events {
            let Some(place) = place(&event.action) else { continue };
            let (threads, written) = touched.entry(place.address).or_insert_with(|| {
                order.push(place.address);
                Default::default()
            });
            threads.insert(event.thread);
            *written |= !matches!(event.action, Action::Load { .. });
            if let Some(name) = &place.name {
                let name = without_modules(name);
                // Each function has its own name for what it was lent: one of them must do for all, and `self` is the
                // one that tells least.
                let known = places.names.entry(place.address).or_insert_with(|| name.to_owned());
                if known.starts_with("self") && !name.starts_with("self") {
                    *known = name.to_owned();
                }
            }
        }
        let shared = touched.into_iter().filter(|(_, (threads, written))| threads.len() > 1 && *written);
        places.shared = shared.map(|(address, _)| address).collect();
        // Low numbers for those that will be seen.
        order.sort_by_key(|address| !places.shared.contains(address));
        places.tell_apart(&order);
        places
    }

    /// The name of a static, local or field without the module it is in, or a number for a place without a name.
    pub(super) fn name(&self, place: &Place) -> String {
        match (self.names.get(&place.address), self.numbers.get(&place.address)) {
            (Some(name), _) => name.clone(),
            (None, Some(number)) => format!("#{number}"),
            (None, None) => format!("{:#x}", place.address),
        }
    }

    /// Whether more than one thread touched the place, and one wrote to it.
    pub(super) fn is_shared(&self, place: &Place) -> bool {
        self.shared.contains(&place.address)
    }

    /// The numbered places with their addresses.
    pub(super) fn numbered(&self) -> Vec<(usize, u64)> {
        let mut numbered: Vec<_> = self.numbers.iter().map(|(&address, &number)| (number, address)).collect();
        numbered.sort_unstable();
        numbered
    }

    /// Numbers what has no name, and different places of the same name, in this order.
    fn tell_apart(&mut self, order: &[u64]) {
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for address in order {
            match self.names.get_mut(address) {
                Some(name) => {
                    let used = uses.entry(name.clone()).or_default();
                    *used += 1;
                    if *used > 1 {
                        *name = format!("{name}'{used}");
                    }
                }
                None => {
                    let next = self.numbers.len() + 1;
                    self.numbers.insert(*address, next);
                }
            }
        }
    }
}

/// The place that an event touched.
pub(super) fn place(action: &Action) -> Option<&Place> {
    match action {
        Action::Load { place, .. }
        | Action::Store { place, .. }
        | Action::Rmw { place, .. }
        | Action::Cas { place, .. }
        | Action::Wait { place, .. }
        | Action::Woken { place, .. }
        | Action::Wake { place, .. } => Some(place),
        _ => None,
    }
}

/// `my_crate::queue::TAIL.index` is `TAIL.index` to someone who reads one trace.
fn without_modules(name: &str) -> &str {
    // Only the path before the first field or index: fields have no modules.
    let end = name.find(['.', '[', '+', '<']).unwrap_or(name.len());
    match name[..end].rfind("::") {
        Some(at) => &name[at + 2..],
        None => name,
    }
}
