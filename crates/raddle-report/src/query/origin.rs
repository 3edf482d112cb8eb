//! Where a value came from: the chain of reads and writes back to its origin.
//!
//! From a read the chain follows the recorded reads-from edge. From a write it goes to an earlier read of the same thread, which is
//! recorded for read-modify-writes only; for others the thread's reads are compared with the written value, and the step is marked as
//! likely.

use super::accesses::{Source, read_value, values};
use super::answer::{End, Link, Origin, Step};
use super::{Index, NoAnswer};
use crate::failure::{Action, Event, Location, Value};

/// The largest number of steps: longer chains are those of counters.
const MAX_STEPS: usize = 100;

/// Follows the value of an event back to its origin.
pub(super) fn origin(index: &Index<'_>, event: usize) -> Result<Origin, NoAnswer> {
    let action = &index.events()[event].action;
    let asked = Step { at: index.moment(event), link: Link::Asked, certain: true };
    let mut walk = Walk { index, steps: vec![asked] };
    let value = match action {
        Action::Panic { message } => {
            let end = walk.follow_text(event, message);
            return Ok(Origin { value: None, steps: walk.steps, end });
        }
        Action::Return { result, .. } => {
            let end = walk.follow_text(event, result);
            return Ok(Origin { value: Some(result.clone()), steps: walk.steps, end });
        }
        _ => action.written().or_else(|| values(action).next()),
    };
    let place = action.place().filter(|_| value.is_some() || matches!(action, Action::Write { .. }));
    let Some(place) = place else {
        return Err(NoAnswer(format!(
            "event {event} ({}) has no value: ask what happened before it instead",
            index.moment(event).text
        )));
    };
    let end = match is_write(action) {
        true => walk.follow_write(event),
        false => walk.follow_read(event),
    };
    Ok(Origin { value: value.map(|value| index.value(value, place.size)), steps: walk.steps, end })
}

struct Walk<'i, 'f> {
    index: &'i Index<'f>,
    steps: Vec<Step>,
}

impl Walk<'_, '_> {
    /// Goes from a read to the write that it reads from.
    fn follow_read(&mut self, read: usize) -> End {
        let index = self.index;
        let event = &index.events()[read];
        let Some(place) = event.action.place() else { return self.own(event) };
        let location = index.name(place);
        match index.accesses.source(read) {
            Source::Initial => End::Initial { location },
            Source::Unknown => End::NotRecorded { location },
            Source::Write(at, certain) => {
                let write = index.accesses.to(place.address).map(|accesses| accesses.writes[at]);
                match write {
                    // A read-modify-write reads before it writes.
                    Some(write) if write < read => {
                        self.step(write, Link::ReadsFrom, certain, Walk::follow_write)
                    }
                    _ => End::NotRecorded { location },
                }
            }
        }
    }

    /// Goes from a write to the read that its value comes from.
    fn follow_write(&mut self, write: usize) -> End {
        let event = &self.index.events()[write];
        match &event.action {
            Action::Rmw { op, .. } if op != "swap" => return self.follow_read(write),
            _ => {}
        }
        let (Some(place), value) = (event.action.place(), event.action.written()) else {
            return self.own(event);
        };
        if let Some(read) = value
            .filter(|value| is_telling(*value, place.size))
            .and_then(|value| self.last_read(write, |_, read| read == value))
        {
            return self.step(read, Link::SameValue, false, Walk::follow_read);
        }
        if let Some(end) = value.and_then(|value| self.address(write, value, place)) {
            return end;
        }
        match self.last_read(write, |at, _| at.address == place.address) {
            Some(read) => self.step(read, Link::ComputedFrom, false, Walk::follow_read),
            None => self.own(event),
        }
    }

    /// Goes from a text that a thread made to the last read whose value the text mentions, or to the last read of all.
    fn follow_text(&mut self, event: usize, text: &str) -> End {
        let mentioned = numbers(text);
        let read = self.last_read(event, |_, value| mentioned.contains(&value.0));
        match (read, self.last_result(event, &mentioned)) {
            (read, Some(returned)) if read < Some(returned) => {
                return self.step(returned, Link::Returned, false, Walk::follow_result);
            }
            (Some(read), _) => return self.step(read, Link::Mentioned, false, Walk::follow_read),
            _ => {}
        }
        match self.last_read(event, |_, _| true) {
            Some(read) => self.step(read, Link::LastRead, false, Walk::follow_read),
            None => self.own(&self.index.events()[event]),
        }
    }

    /// Goes on from the result of an operation.
    fn follow_result(&mut self, event: usize) -> End {
        match &self.index.events()[event].action {
            Action::Return { result, .. } => self.follow_text(event, result),
            _ => self.own(&self.index.events()[event]),
        }
    }

    /// The last operation that happens before a panic and returned one of these numbers. Results of other threads reach a thread
    /// when it joins them.
    fn last_result(&self, panic: usize, mentioned: &[u128]) -> Option<usize> {
        let index = self.index;
        if !matches!(index.events()[panic].action, Action::Panic { .. }) {
            return None;
        }
        (0..panic).rev().find(|&event| match &index.events()[event].action {
            Action::Return { result, .. } => {
                numbers(result).iter().any(|number| mentioned.contains(number))
                    && index.clocks.happens_before(event, panic)
            }
            _ => false,
        })
    }

    /// Adds a step, and goes on from there.
    fn step(&mut self, event: usize, link: Link, certain: bool, on: fn(&mut Self, usize) -> End) -> End {
        if self.steps.len() == MAX_STEPS {
            return End::CutOff;
        }
        self.steps.push(Step { at: self.index.moment(event), link, certain });
        on(self, event)
    }

    /// The last earlier read of the same thread with this property.
    fn last_read(&self, before: usize, is_wanted: impl Fn(&Location, Value) -> bool) -> Option<usize> {
        let node = &self.index.graph.nodes[before];
        let earlier = &self.index.graph.threads[&node.thread][..node.po];
        earlier.iter().rev().copied().find(|&event| {
            let action = &self.index.events()[event].action;
            // A wait for a lock uses no value.
            let value = read_value(action).filter(|_| !matches!(action, Action::Wait { .. }));
            action.place().zip(value).is_some_and(|(place, value)| is_wanted(place, value))
        })
    }

    /// The end of a chain at a value that is the address of an object or block.
    fn address(&self, write: usize, value: Value, place: &Location) -> Option<End> {
        if place.size != 8 {
            return None;
        }
        let address = u64::try_from(value.0).ok().filter(|&address| address >= 1 << 12)? & !7;
        let index = self.index;
        let objects = index.failure.objects.iter().flat_map(|objects| &objects.list);
        // Memory is used again: the object is the last one there that exists at that time.
        let exists = |since: Option<u32>| since.is_none_or(|since| since as usize <= write);
        let object = objects.rev().find(|object| object.address == address && exists(object.since));
        if let Some(object) = object {
            let made_by = object.since.map(|since| index.moment(since as usize));
            return Some(End::Address { of: object.name.clone(), made_by });
        }
        let allocates = |event: &Event| matches!(event.action, Action::Allocate { address: block, .. } if block == address);
        let made = index.events()[..write].iter().rposition(allocates)?;
        Some(End::Address { of: format!("the block at {address:#x}"), made_by: Some(index.moment(made)) })
    }

    fn own(&self, event: &Event) -> End {
        let thread = event.thread;
        let spawns = |event: &Event| matches!(event.action, Action::Spawn { thread: made } if made == thread);
        let spawned_by = self.index.events().iter().position(spawns).map(|spawn| self.index.moment(spawn));
        End::Own { thread, spawned_by }
    }
}

/// The numbers that a text mentions.
fn numbers(text: &str) -> Vec<u128> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter_map(|word| word.parse().ok()).collect()
}

fn is_write(action: &Action) -> bool {
    action.written().is_some() || matches!(action, Action::Write { .. })
}

/// Whether two equal values are unlikely to be equal by chance.
fn is_telling(value: Value, size: u8) -> bool {
    let ones = if size >= 16 { u128::MAX } else { (1 << (8 * u32::from(size))) - 1 };
    value.0 > 1 && value.0 != ones
}
