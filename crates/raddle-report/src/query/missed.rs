//! Who wrote a location, who read it, and who should have seen a write and did not.

use super::accesses::{OfAddress, Source};
use super::answer::{Accesses, HowMissed, Miss, Missed, Moment, Read};
use super::{Index, NoAnswer};
use crate::failure::Action;

/// The accesses to a location that a person named.
pub(super) fn accesses(index: &Index<'_>, location: &str) -> Result<Accesses, NoAnswer> {
    let addresses = addresses(index, location)?;
    let all: Vec<&OfAddress> = addresses.iter().filter_map(|&address| index.accesses.to(address)).collect();
    let mut writes: Vec<usize> = all.iter().flat_map(|accesses| &accesses.writes).copied().collect();
    let mut reads: Vec<usize> = all.iter().flat_map(|accesses| &accesses.reads).copied().collect();
    if all.len() > 1 {
        // There is no modification order of several locations.
        writes.sort_unstable();
        writes.dedup();
        reads.sort_unstable();
    }
    let missed = writes.iter().filter_map(|&write| missed(index, write).ok());
    Ok(Accesses {
        location: location.to_owned(),
        missed: missed.filter(|missed| !missed.by.is_empty()).collect(),
        writes: writes.iter().map(|&write| index.moment(write)).collect(),
        reads: reads.iter().map(|&event| read(index, event)).collect(),
    })
}

/// Who should have seen a write and did not.
pub(super) fn missed(index: &Index<'_>, write: usize) -> Result<Missed, NoAnswer> {
    let accesses = index.events()[write].action.place().and_then(|place| index.accesses.to(place.address));
    let rank = accesses.and_then(|accesses| accesses.writes.iter().position(|&other| other == write));
    let (Some(accesses), Some(rank)) = (accesses, rank) else {
        return Err(NoAnswer(format!(
            "event {write} ({}) does not write: nobody could have missed it",
            index.moment(write).text
        )));
    };
    let reads = accesses.reads.iter().filter(|&&read| read > write && is_older(index, read, rank));
    let reads = reads.map(|&read| Miss {
        at: index.moment(read),
        how: HowMissed::ReadOlder,
        read: None,
        knew: knew(index, write, read),
        missing: (write as u32, read as u32),
    });
    let by = reads.chain(overwritten(index, accesses, write, rank)).collect();
    Ok(Missed { write: index.moment(write), by })
}

/// The first write of each other thread after this one, if the thread last read an older value: a lost update.
fn overwritten(index: &Index<'_>, accesses: &OfAddress, write: usize, rank: usize) -> Vec<Miss> {
    let events = index.events();
    let mut seen = vec![events[write].thread];
    let mut misses = Vec::new();
    for &later in &accesses.writes[rank + 1..] {
        let thread = events[later].thread;
        if seen.contains(&thread) {
            continue;
        }
        seen.push(thread);
        // A read-modify-write is one step: nothing comes between its read and its write.
        if matches!(events[later].action, Action::Rmw { .. } | Action::Cas { .. }) {
            continue;
        }
        let read = accesses.reads.iter().rev().find(|&&read| read < later && events[read].thread == thread);
        let Some(&read) = read.filter(|&&read| is_older(index, read, rank)) else { continue };
        // The thread relied on its own write since.
        let own =
            accesses.writes.iter().any(|&own| (read..later).contains(&own) && events[own].thread == thread);
        if !own {
            misses.push(Miss {
                at: index.moment(later),
                how: HowMissed::Overwrote,
                read: Some(index.moment(read)),
                knew: knew(index, write, read),
                missing: (write as u32, read as u32),
            });
        }
    }
    misses
}

/// Whether an event reads a value older than the write with this rank in modification order.
fn is_older(index: &Index<'_>, read: usize, rank: usize) -> bool {
    match index.accesses.source(read) {
        Source::Initial => true,
        Source::Write(source, _) => source < rank,
        Source::Unknown => false,
    }
}

/// The last event of a write's thread that happens before a read.
fn knew(index: &Index<'_>, write: usize, read: usize) -> Option<Moment> {
    let thread = index.events()[write].thread;
    let known = index.clocks.known(read, thread);
    let last = index.graph.threads.get(&thread)?.get(known.checked_sub(1)?)?;
    Some(index.moment(*last))
}

fn read(index: &Index<'_>, event: usize) -> Read {
    let place = index.events()[event].action.place();
    let accesses = place.and_then(|place| index.accesses.to(place.address));
    let source = index.accesses.source(event);
    let (from, newer) = match (source, accesses) {
        (Source::Write(at, _), Some(accesses)) => {
            (Some(accesses.writes[at] as u32), &accesses.writes[at + 1..])
        }
        (Source::Initial, Some(accesses)) => (None, &accesses.writes[..]),
        _ => (None, &[][..]),
    };
    Read { at: index.moment(event), from, stale: newer.iter().any(|&write| write < event) }
}

/// The addresses that a person named: by name or number as printed, by address, or by object.
fn addresses(index: &Index<'_>, location: &str) -> Result<Vec<u64>, NoAnswer> {
    let mut found = index.locations.find(location);
    if found.is_empty() {
        // The full name, with modules, is that of the file.
        let places = index.events().iter().filter_map(|event| event.action.place());
        found = places
            .filter(|place| place.name.as_deref() == Some(location))
            .map(|place| place.address)
            .collect();
        found.sort_unstable();
        found.dedup();
    }
    if let (true, Some(digits)) = (found.is_empty(), location.strip_prefix("0x"))
        && let Ok(address) = u64::from_str_radix(digits, 16)
    {
        found = index.accesses.addresses(address..address.saturating_add(1));
    }
    if found.is_empty()
        && let Some(objects) = &index.failure.objects
    {
        let root = objects.roots.iter().find(|root| root.name == location);
        let object = match root {
            Some(root) => objects.list.get(root.object as usize),
            None => objects.list.iter().find(|object| object.name == location),
        };
        if let Some(object) = object {
            found =
                index.accesses.addresses(object.address..object.address.saturating_add(object.size.max(1)));
            if found.is_empty() {
                return Err(NoAnswer(format!("no event accesses `{location}`")));
            }
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let mut names: Vec<&str> = index.locations.names().values().map(String::as_str).collect();
    names.sort_unstable();
    names.truncate(8);
    Err(NoAnswer(match names.is_empty() {
        true => format!("no event accesses a location `{location}`"),
        false => {
            format!("no event accesses a location `{location}`; some that are accessed: {}", names.join(", "))
        }
    }))
}
