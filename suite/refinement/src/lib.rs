//! Objects whose methods are consistent to different degrees: twins of what Violat found in Java's collections, and objects that go wrong in
//! other ways.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A map from a few small keys to numbers that are not negative. Single entries are atomic; a look at all of them is not, as in Java's
/// `ConcurrentHashMap`.
#[derive(Debug)]
pub struct Map {
    /// By key; negative if there is no value.
    slots: [AtomicI32; 2],
    /// The number of entries, brought up to date after the entry.
    count: AtomicI32,
}

impl Default for Map {
    fn default() -> Map {
        Map::new()
    }
}

impl Map {
    /// An empty map.
    pub fn new() -> Map {
        Map { slots: [AtomicI32::new(-1), AtomicI32::new(-1)], count: AtomicI32::new(0) }
    }

    /// Adds or replaces an entry, and returns the old value.
    pub fn insert(&self, key: usize, value: i32) -> Option<i32> {
        let old = value_of(self.slots[key].swap(value, SeqCst));
        if old.is_none() {
            self.count.fetch_add(1, SeqCst);
        }
        old
    }

    /// Removes an entry, and returns its value.
    pub fn remove(&self, key: usize) -> Option<i32> {
        let old = value_of(self.slots[key].swap(-1, SeqCst));
        if old.is_some() {
            self.count.fetch_sub(1, SeqCst);
        }
        old
    }

    /// The value of a key.
    pub fn get(&self, key: usize) -> Option<i32> {
        value_of(self.slots[key].load(SeqCst))
    }

    /// Whether a key has a value.
    pub fn contains_key(&self, key: usize) -> bool {
        self.get(key).is_some()
    }

    /// Whether some key has this value. Weakly consistent: keys are looked at one after another.
    pub fn contains_value(&self, value: i32) -> bool {
        self.slots.iter().any(|slot| slot.load(SeqCst) == value)
    }

    /// The number of entries. Not consistent at all: it may lag behind what the caller has seen.
    pub fn size(&self) -> i32 {
        self.count.load(SeqCst)
    }
}

fn value_of(slot: i32) -> Option<i32> {
    (slot >= 0).then_some(slot)
}

/// A map of two shards, each behind a lock. Whoever looks at all entries takes one lock after the other.
#[derive(Debug, Default)]
pub struct Sharded {
    shards: [Mutex<BTreeMap<i32, i32>>; 2],
}

impl Sharded {
    /// Neighbours share a shard, as keys with similar hashes do: 0 to 3 are in the first, 4 to 7 in the second.
    fn shard(&self, key: i32) -> MutexGuard<'_, BTreeMap<i32, i32>> {
        let shard = usize::try_from(key / 4).unwrap_or_default() % self.shards.len();
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds or replaces an entry, and returns the old value.
    pub fn insert(&self, key: i32, value: i32) -> Option<i32> {
        self.shard(key).insert(key, value)
    }

    /// Removes an entry, and returns its value.
    pub fn remove(&self, key: i32) -> Option<i32> {
        self.shard(key).remove(&key)
    }

    /// The value of a key.
    pub fn get(&self, key: i32) -> Option<i32> {
        self.shard(key).get(&key).copied()
    }

    /// The number of entries: the sum over shards that may change meanwhile.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all entries, those of one shard after those of the other.
    pub fn clear(&self) {
        self.shards.iter().for_each(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).clear());
    }
}

/// An object that panics when it is made.
#[derive(Debug)]
pub struct Explosive;

impl Explosive {
    /// Panics.
    ///
    /// # Panics
    /// Always.
    pub fn new() -> Explosive {
        panic!("no powder");
    }

    /// Never called.
    pub fn poke(&self) {}
}

impl Default for Explosive {
    fn default() -> Explosive {
        Explosive::new()
    }
}

/// An object that only one thread can use.
#[derive(Debug, Default)]
pub struct Lonely(std::cell::Cell<u32>);

impl Lonely {
    /// Counts.
    pub fn bump(&self) -> u32 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }
}

/// An object with a method that never returns.
#[derive(Debug, Default)]
pub struct Stubborn(AtomicU32);

impl Stubborn {
    /// Counts.
    pub fn bump(&self) -> u32 {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst)
    }

    /// Waits for what nobody does.
    pub fn wait(&self) {
        while self.0.load(std::sync::atomic::Ordering::SeqCst) < u32::MAX {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// Two numbers that are written one by one and read at once: accesses of different sizes to one place, which an exhaustive search does not
/// follow.
#[derive(Debug, Default)]
pub struct Halves(AtomicU64);

impl Halves {
    /// Writes one of the numbers.
    pub fn set(&self, half: usize, value: u32) {
        let halves = self.0.as_ptr().cast::<u32>();
        // SAFETY: the place is aligned for both sizes, lives as long as the object, and is only ever accessed by atomics.
        unsafe { AtomicU32::from_ptr(halves.add(half % 2)) }.store(value, SeqCst);
    }

    /// Reads both.
    pub fn both(&self) -> u64 {
        self.0.load(SeqCst)
    }
}
