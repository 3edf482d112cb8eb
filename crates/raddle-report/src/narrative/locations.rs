//! The memory locations of a trace: their names, and which of them threads share.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::failure::{Action, Failure, Location, ThreadEnd, Value};

/// The memory locations that the events of a trace access.
pub(crate) struct Locations {
    /// The names of locations, by address; different locations have different names.
    names: BTreeMap<u64, String>,
    /// The numbers of locations without a name, by address. Shared locations come first, then the targets of pointers, then
    /// others, each in the order of first events.
    numbers: BTreeMap<u64, usize>,
    shared: BTreeSet<u64>,
    /// The names of objects, by address.
    objects: BTreeMap<u64, String>,
}

/// Names locations in a text, and keeps the numbers that the text mentions.
pub(crate) struct Naming<'a> {
    locations: &'a Locations,
    mentioned: RefCell<BTreeSet<usize>>,
}

impl Locations {
    pub(crate) fn of(failure: &Failure) -> Locations {
        let mut locations = Locations {
            names: BTreeMap::new(),
            numbers: BTreeMap::new(),
            shared: BTreeSet::new(),
            objects: BTreeMap::new(),
        };
        for object in failure.objects.iter().flat_map(|objects| &objects.list) {
            // An address that is allocated again has several objects, and values do not tell which they mean.
            locations
                .objects
                .entry(object.address)
                .and_modify(|name| *name = format!("{name}/{}", object.name))
                .or_insert_with(|| object.name.clone());
        }
        let mut accessed: BTreeMap<u64, (BTreeSet<u32>, bool)> = BTreeMap::new();
        let mut order = Vec::new();
        for event in &failure.trace.events {
            let Some(place) = event.action.place() else { continue };
            // Plain writes are hidden: they have names, but no part in the numbering.
            if matches!(event.action, Action::Write { .. }) {
                continue;
            }
            let (threads, is_written) = accessed.entry(place.address).or_insert_with(|| {
                order.push(place.address);
                Default::default()
            });
            threads.insert(event.thread);
            *is_written |= !matches!(event.action, Action::Load { .. });
            if let Some(name) = &place.name {
                locations.add_name(place.address, without_modules(name));
            }
        }
        let shared = accessed.into_iter().filter(|(_, (threads, written))| threads.len() > 1 && *written);
        locations.shared = shared.map(|(address, _)| address).collect();
        locations.share_awaited_locations(failure);
        let (shared, others): (Vec<u64>, Vec<u64>) =
            order.into_iter().partition(|address| locations.shared.contains(address));
        let mut uses = BTreeMap::new();
        locations.make_distinct(&shared, &mut uses);
        locations.number_pointers(failure);
        locations.make_distinct(&others, &mut uses);
        for event in &failure.trace.events {
            if let Action::Write { place: Location { name: Some(name), address, .. }, .. } = &event.action {
                locations.names.entry(*address).or_insert_with(|| without_modules(name).to_owned());
            }
        }
        locations
    }

    /// Whether several threads access the location and one of them writes, or a thread waits for it.
    pub(crate) fn is_shared(&self, place: &Location) -> bool {
        self.shared.contains(&place.address)
    }

    /// The numbered locations with their addresses, by number.
    pub(crate) fn numbered(&self) -> Vec<(usize, u64)> {
        let mut numbered: Vec<_> = self.numbers.iter().map(|(&address, &number)| (number, address)).collect();
        numbered.sort_unstable();
        numbered
    }

    /// The addresses of the locations that have this name or number.
    #[cfg(feature = "query")]
    pub(crate) fn find(&self, label: &str) -> Vec<u64> {
        let number = label.strip_prefix('#').and_then(|number| number.parse::<usize>().ok());
        let named = self.names.iter().filter(|(_, name)| *name == label).map(|(&address, _)| address);
        let numbered =
            self.numbers.iter().filter(|(_, of)| Some(**of) == number).map(|(&address, _)| address);
        named.chain(numbered).collect()
    }

    /// The names of locations, by address.
    #[cfg(feature = "query")]
    pub(crate) fn names(&self) -> &BTreeMap<u64, String> {
        &self.names
    }

    /// Names a location. Each function has its own name for a borrowed location; `self` is the least telling one.
    fn add_name(&mut self, address: u64, name: &str) {
        let known = self.names.entry(address).or_insert_with(|| name.to_owned());
        if known.starts_with("self") && !name.starts_with("self") {
            *known = name.to_owned();
        }
    }

    /// Numbers the targets of pointers, so that equal pointers are seen to be equal.
    fn number_pointers(&mut self, failure: &Failure) {
        for event in &failure.trace.events {
            let Some(place) = event.action.place() else { continue };
            for value in values(&event.action) {
                let Some((address, _)) = pointed_to(value, place.size) else { continue };
                if !self.names.contains_key(&address) && !self.objects.contains_key(&address) {
                    let next = self.numbers.len() + 1;
                    self.numbers.entry(address).or_insert(next);
                }
            }
        }
    }

    /// Marks the locations as shared that threads wait for at the end: a blocked thread need not have an event there.
    fn share_awaited_locations(&mut self, failure: &Failure) {
        self.shared.extend(awaited(failure));
    }

    /// Numbers the locations without a name, and appends a number to names that are taken: `x'2`.
    fn make_distinct(&mut self, order: &[u64], uses: &mut BTreeMap<String, usize>) {
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

impl<'a> Naming<'a> {
    pub(crate) fn of(locations: &'a Locations) -> Naming<'a> {
        Naming { locations, mentioned: RefCell::default() }
    }

    /// The name of a location without its modules, its number (`#3`), or its address.
    pub(crate) fn name(&self, place: &Location) -> String {
        self.label(place.address).unwrap_or_else(|| format!("{:#x}", place.address))
    }

    /// A value that is a pointer to an object, or to a named or numbered location: `Node#2`, `&TAIL`, `&#3`; with tag bits,
    /// `&#3+1`.
    pub(crate) fn pointer(&self, value: Value, size: u8) -> Option<String> {
        let (address, tag) = pointed_to(value, size)?;
        if let Some(name) = self.locations.objects.get(&address) {
            return Some(if tag == 0 { name.clone() } else { format!("{name}+{tag}") });
        }
        let label = self.label(address)?;
        Some(if tag == 0 { format!("&{label}") } else { format!("&{label}+{tag}") })
    }

    /// The numbers of the locations that were named by their numbers.
    pub(crate) fn into_mentioned(self) -> BTreeSet<usize> {
        self.mentioned.into_inner()
    }

    fn label(&self, address: u64) -> Option<String> {
        if let Some(name) = self.locations.names.get(&address) {
            return Some(name.clone());
        }
        let number = *self.locations.numbers.get(&address)?;
        self.mentioned.borrow_mut().insert(number);
        Some(format!("#{number}"))
    }
}

/// The addresses that threads wait for at the end.
pub(super) fn awaited(failure: &Failure) -> impl Iterator<Item = u64> {
    failure.threads.iter().filter_map(|thread| match &thread.end {
        ThreadEnd::Waiting { awaited: Some(awaited), .. } => Some(awaited.place()?.address),
        _ => None,
    })
}

/// The target and the tag bits of a value that looks like a pointer. Programs and their heaps lie high in the lower half of the
/// address space, where few other numbers are.
fn pointed_to(value: Value, size: u8) -> Option<(u64, u64)> {
    let value = u64::try_from(value.0).ok().filter(|value| (1 << 40..1 << 47).contains(value))?;
    (size == 8).then_some((value & !7, value & 7))
}

/// The values that an atomic access read or wrote.
fn values(action: &Action) -> Vec<Value> {
    match action {
        Action::Load { value, .. } | Action::Store { value, .. } => vec![*value],
        Action::Rmw { read, written, .. } => vec![*read, *written],
        Action::Cas { expected, new, read, .. } => vec![*expected, *new, *read],
        _ => Vec::new(),
    }
}

/// A name without its modules: `my_crate::queue::TAIL.index` becomes `TAIL.index`.
fn without_modules(name: &str) -> &str {
    // Only the part before the first field or index can have modules.
    let end = name.find(['.', '[', '+', '<']).unwrap_or(name.len());
    match name[..end].rfind("::") {
        Some(at) => &name[at + 2..],
        None => name,
    }
}
