//! Locks with their holders, and cells that are set once.

use std::collections::HashMap;

use raddle_report::failure::Datum;

use super::layout::Layout;
use super::rules::Rule;
use super::scalars::word;
use super::walk::Walk;

/// Who holds the exclusive locks: the thread whose event was the first after which a lock was taken.
#[derive(Default)]
pub(super) struct Holders {
    by_address: HashMap<u64, u32>,
    /// The readers of each lock that is read-locked; none if it is not known who they are.
    readers: HashMap<u64, Option<Vec<u32>>>,
    /// The thread of the latest event.
    pub(super) current: Option<u32>,
}

impl Holders {
    fn state(&mut self, address: u64, is_taken: bool, taken: &str) -> String {
        if !is_taken {
            self.by_address.remove(&address);
            return "unlocked".to_owned();
        }
        let Some(current) = self.current else { return taken.to_owned() };
        format!("{taken} by T{}", self.by_address.entry(address).or_insert(current))
    }
}

impl Holders {
    /// The state of a lock with so many readers. Who they are is known if they came and went one by one.
    fn readers(&mut self, address: u64, count: u64) -> String {
        if count == 0 {
            self.readers.remove(&address);
            return "unlocked".to_owned();
        }
        let readers = self.readers.entry(address).or_insert_with(|| Some(Vec::new()));
        *readers = readers.take().and_then(|mut known| {
            let current = self.current?;
            match known.len() as u64 {
                before if before == count => {}
                before if before + 1 == count => known.push(current),
                before if before == count + 1 => {
                    known.remove(known.iter().position(|&reader| reader == current)?);
                }
                _ => return None,
            }
            Some(known)
        });
        match readers {
            Some(known) => {
                let names: Vec<String> = known.iter().map(|thread| format!("T{thread}")).collect();
                format!("read-locked by {}", names.join(", "))
            }
            None => format!("read-locked by {count}"),
        }
    }
}

/// The futex word of `RwLock`: the number of readers, or all bits below these for a writer.
const READERS: u64 = (1 << 30) - 1;

/// The word of parking_lot's `RwLock`: readers are counted above these bits.
const PARKED_BITS: u32 = 4;
const WRITER: u64 = 0b1000;

impl Walk<'_> {
    pub(super) fn lock(
        &mut self,
        layout: &Layout,
        address: u64,
        bytes: &[u8],
        depth: usize,
    ) -> Option<Datum> {
        let raw = layout.member("inner").or_else(|| layout.member("raw"))?;
        // The first atomic of the lock is its word.
        let word_of = |walk: &mut Self, name: &str| {
            let (offset, of) = walk.find(raw.of, name)?;
            let size = walk.layout(of).size as usize;
            Some(word(bytes.get((raw.offset + offset) as usize..)?.get(..size)?))
        };
        let (kind, mut state) = match layout.rule {
            Rule::Mutex => {
                let is_taken = word_of(self, "futex")? != 0;
                ("Mutex", self.holders.state(address, is_taken, "locked"))
            }
            Rule::ParkingLotMutex => {
                let is_taken = word_of(self, "state")? & 1 != 0;
                ("Mutex", self.holders.state(address, is_taken, "locked"))
            }
            Rule::RwLock => {
                let state = word_of(self, "state")? & READERS;
                let text = self.holders.state(address, state == READERS, "write-locked");
                ("RwLock", if state == READERS { text } else { self.holders.readers(address, state) })
            }
            _ => {
                let state = word_of(self, "state")?;
                let is_written = state & WRITER != 0;
                let text = self.holders.state(address, is_written, "write-locked");
                let readers = state >> PARKED_BITS;
                ("RwLock", if is_written { text } else { self.holders.readers(address, readers) })
            }
        };
        if let Some(poison) = layout.member("poison")
            && bytes.get(poison.offset as usize).is_some_and(|&poison| poison != 0)
        {
            state += ", poisoned";
        }
        let value = self.part(layout.member("data")?, address, bytes, depth);
        Some(Datum::Lock { kind: kind.to_owned(), state, value: vec![value] })
    }

    /// A cell that is set once: its value, if it is set.
    pub(super) fn once(
        &mut self,
        layout: &Layout,
        address: u64,
        bytes: &[u8],
        depth: usize,
    ) -> Option<Datum> {
        // The futex word of `Once`, and its value when all is done.
        const COMPLETE: u64 = 0;
        const STATES: u64 = 3;
        let once = layout.member("once")?;
        let (state, _) = self.find(once.of, "state_and_queued")?;
        let state = word(bytes.get((once.offset + state) as usize..)?.get(..4)?) & STATES;
        if state != COMPLETE {
            return Some(Datum::Scalar("<uninit>".to_owned()));
        }
        if let Some(value) = layout.member("value") {
            return Some(self.part(value, address, bytes, depth));
        }
        let data = layout.member("data")?;
        let (offset, of) = self.find(data.of, "value")?;
        // The union has a value or a function; the cell around it is called `value`, too.
        let (inner, of) = self.find(of, "value").map_or((0, of), |(inner, of)| (inner, of));
        let offset = data.offset + offset + inner;
        Some(self.value(of, address.wrapping_add(offset), bytes.get(offset as usize..)?, depth + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_known_if_they_come_and_go_one_by_one() {
        let mut holders = Holders::default();
        let mut state = |thread: u32, count: u64| {
            holders.current = Some(thread);
            holders.readers(8, count)
        };
        assert_eq!(state(1, 1), "read-locked by T1");
        assert_eq!(state(2, 2), "read-locked by T1, T2");
        assert_eq!(state(3, 2), "read-locked by T1, T2");
        assert_eq!(state(1, 1), "read-locked by T2");
        // A guard that another thread drops.
        assert_eq!(state(2, 2), "read-locked by T2, T2");
        assert_eq!(state(3, 1), "read-locked by 1");
        assert_eq!(state(3, 2), "read-locked by 2");
        assert_eq!(state(3, 0), "unlocked");
        assert_eq!(state(3, 2), "read-locked by 2");
    }
}
