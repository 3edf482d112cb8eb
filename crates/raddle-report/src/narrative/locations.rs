//! What to call a place in memory, and which locations threads share.

use std::collections::{BTreeMap, BTreeSet};

use crate::failure::{Action, Failure, Location, ThreadEnd, Value};

/// The locations that the trace's events touched.
pub(crate) struct Locations {
    names: BTreeMap<u64, String>,
    /// Numbers for locations without a name, in the order of their first events: shared ones, what values point to, others.
    numbers: BTreeMap<u64, usize>,
    shared: BTreeSet<u64>,
}

impl Locations {
    pub(crate) fn of(failure: &Failure) -> Locations {
        let mut locations =
            Locations { names: BTreeMap::new(), numbers: BTreeMap::new(), shared: BTreeSet::new() };
        let mut touched: BTreeMap<u64, (BTreeSet<u32>, bool)> = BTreeMap::new();
        let mut order = Vec::new();
        for event in &failure.trace.events {
            let Some(place) = event.action.place() else { continue };
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
                let known = locations.names.entry(place.address).or_insert_with(|| name.to_owned());
                if known.starts_with("self") && !name.starts_with("self") {
                    *known = name.to_owned();
                }
            }
        }
        let shared = touched.into_iter().filter(|(_, (threads, written))| threads.len() > 1 && *written);
        locations.shared = shared.map(|(address, _)| address).collect();
        locations.share_what_is_awaited(failure);
        // Low numbers for those that will be seen.
        let (seen, others): (Vec<u64>, Vec<u64>) =
            order.into_iter().partition(|address| locations.shared.contains(address));
        let mut uses = BTreeMap::new();
        locations.tell_apart(&seen, &mut uses);
        locations.number_pointers(failure);
        locations.tell_apart(&others, &mut uses);
        locations
    }

    /// The name of a static, local or field without the module it is in, or a number for a place without a name.
    pub(crate) fn name(&self, place: &Location) -> String {
        match (self.names.get(&place.address), self.numbers.get(&place.address)) {
            (Some(name), _) => name.clone(),
            (None, Some(number)) => format!("#{number}"),
            (None, None) => format!("{:#x}", place.address),
        }
    }

    /// A value that points somewhere: `&TAIL`, `&#3`, with the bits that are kept in the low end of a pointer, `&#3+1`.
    pub(crate) fn pointer(&self, value: Value, size: u8) -> Option<String> {
        let (address, bits) = pointed_to(value, size)?;
        let name = match (self.names.get(&address), self.numbers.get(&address)) {
            (Some(name), _) => name.clone(),
            (None, Some(number)) => format!("#{number}"),
            (None, None) => return None,
        };
        Some(if bits == 0 { format!("&{name}") } else { format!("&{name}+{bits}") })
    }

    /// Whether more than one thread touched the place, and one wrote to it.
    pub(crate) fn is_shared(&self, place: &Location) -> bool {
        self.shared.contains(&place.address)
    }

    /// The numbered locations with their addresses.
    pub(crate) fn numbered(&self) -> Vec<(usize, u64)> {
        let mut numbered: Vec<_> = self.numbers.iter().map(|(&address, &number)| (number, address)).collect();
        numbered.sort_unstable();
        numbered
    }

    /// Numbers what values point to, so that the same pointer can be seen to be the same.
    fn number_pointers(&mut self, failure: &Failure) {
        for event in &failure.trace.events {
            let Some(place) = event.action.place() else { continue };
            for value in values(&event.action) {
                let Some((address, _)) = pointed_to(value, place.size) else { continue };
                if !self.names.contains_key(&address) {
                    let next = self.numbers.len() + 1;
                    self.numbers.entry(address).or_insert(next);
                }
            }
        }
    }

    /// What a thread waits for at the end concerns it, even if it has not touched it.
    fn share_what_is_awaited(&mut self, failure: &Failure) {
        for thread in &failure.threads {
            if let ThreadEnd::Waiting { awaited: Some(awaited), .. } = &thread.end {
                self.shared.extend(awaited.place().map(|place| place.address));
            }
        }
    }

    /// Numbers what has no name, and different locations of the same name, in this order.
    fn tell_apart(&mut self, order: &[u64], uses: &mut BTreeMap<String, usize>) {
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
                    self.numbers.entry(*address).or_insert(next);
                }
            }
        }
    }
}

/// Where a value points if it looks like a pointer, and the bits in its low end. Programs and their heaps lie high in the
/// lower half of the address space, where few other numbers are.
fn pointed_to(value: Value, size: u8) -> Option<(u64, u64)> {
    let value = u64::try_from(value.0).ok().filter(|value| (1 << 40..1 << 47).contains(value))?;
    (size == 8).then_some((value & !7, value & 7))
}

/// The values that an event read or wrote.
fn values(action: &Action) -> Vec<Value> {
    match action {
        Action::Load { value, .. } | Action::Store { value, .. } => vec![*value],
        Action::Rmw { read, written, .. } => vec![*read, *written],
        Action::Cas { expected, new, read, .. } => vec![*expected, *new, *read],
        _ => Vec::new(),
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
