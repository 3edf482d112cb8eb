//! The store history of a location: its stores in modification order, and the stores that threads have seen.
//!
//! [`History::floor`] decides which stores an access may read from or be placed before, after Lahav, Vafeiadis, Kang,
//! Hur, Dreyer: "Repairing Sequential Consistency in C/C++11" (PLDI 2017), as C++20 has it. Deviations: only executions
//! are made in which program order, reads-from and the order of sequentially consistent events agree with the order in
//! which events are made; and the oldest stores of long histories are dropped. Both leave behaviour out and add none.
//!
//! The floor suffices for this reason. An edge of the axioms can point backwards in the order in which events are made
//! only where an access is put before an earlier store, by reading an older one or by being placed before it. The floor
//! forbids that
//!
//! - if the store, or a read of it, happened before the access (coherence);
//! - if both are sequentially consistent;
//! - if the access is sequentially consistent, and the store happened before an earlier sequentially consistent fence;
//! - if such a fence happened before the access, and before the fence was made either the store, itself sequentially
//!   consistent, or another such fence that happened after the store or a read of it.

use super::memory::{StoreId, Stored};
use crate::happens_before::clock::{Clock, Time};
use crate::happens_before::sync::{Message, Sync};
use crate::op::{Order, ThreadId};

/// Number of stores kept of a long history. Up to twice as many are there until the older half is dropped.
const KEPT: usize = if cfg!(test) { 4 } else { 16 };

/// Largest number of consecutive reads of one stale store by a thread: stores become visible in the end.
const MOST_STALE: u8 = 2;

/// The store history of a location.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Changes with the contents, so that equal versions mean equal contents. 0 if there are none yet.
    version: u64,
    /// The stores in modification order. **Invariant:** never empty; the last is the value in memory.
    stores: Vec<Store>,
    /// The stores that threads have read or made, as indices into `stores`. **Invariant:** later entries of a thread
    /// are newer stores.
    seen: Vec<Seen>,
    /// Threads whose last read was stale.
    stale: Vec<Stale>,
}

#[derive(Clone, Debug, PartialEq)]
struct Store {
    /// The number among all stores of the execution.
    number: StoreId,
    value: u128,
    message: Message,
    writer: ThreadId,
    /// The time of the writer; 0 if the store happened before everything.
    time: Time,
    /// The number of earlier sequentially consistent fences, if the store is sequentially consistent.
    fences: Option<u32>,
    /// Whether the store belongs to a read-modify-write of the store before: no store can be placed between.
    is_rmw: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    thread: ThreadId,
    time: Time,
    store: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stale {
    thread: ThreadId,
    store: usize,
    times: u8,
}

impl Store {
    /// A new store of the thread.
    #[inline(always)]
    fn by(thread: ThreadId, order: Order, stored: Stored, sync: &Sync, message: Message) -> Store {
        let fences = (order == Order::SeqCst).then(|| sync.fences());
        let Stored { number, value } = stored;
        Store { number, value, message, writer: thread, time: sync.now(thread), fences, is_rmw: false }
    }
}

impl Clone for History {
    fn clone(&self) -> History {
        let mut copy = History::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses the allocations. Most histories are equal already, because executions that begin at one checkpoint share most of them.
    #[inline]
    fn clone_from(&mut self, other: &History) {
        if self.version == other.version {
            debug_assert!(
                (&self.stores, &self.seen, &self.stale) == (&other.stores, &other.seen, &other.stale),
                "equal versions have equal contents"
            );
            return;
        }
        self.version = other.version;
        self.stores.clone_from(&other.stores);
        self.seen.clone_from(&other.seen);
        self.stale.clone_from(&other.stale);
    }
}

impl History {
    /// Gives the contents, which are about to change, a version that no history had before.
    #[inline]
    pub(super) fn changes(&mut self, version: u64) {
        self.version = version;
    }

    /// Restarts the history with a store that happened before everything.
    pub(super) fn begin(&mut self, Stored { number, value }: Stored, message: Message) {
        self.stores.clear();
        self.seen.clear();
        self.stale.clear();
        self.stores.push(Store { number, value, message, writer: 0, time: 0, fences: None, is_rmw: false });
    }

    /// The value in memory.
    #[inline]
    pub(super) fn newest(&self) -> u128 {
        self.stores[self.last()].value
    }

    /// Number of stores before the newest that a load may read from, among those whose values `accept` takes.
    pub(super) fn older_to_read(
        &self,
        sync: &Sync,
        thread: ThreadId,
        order: Order,
        accept: impl Fn(u128) -> bool,
    ) -> usize {
        let floor = self.floor(sync, thread, order);
        self.stores[floor..self.last()].iter().filter(|store| accept(store.value)).count()
    }

    /// A load from the store `back` before the newest, counting those whose values `accept` takes. Returns the store.
    pub(super) fn load(
        &mut self,
        sync: &mut Sync,
        thread: ThreadId,
        order: Order,
        back: usize,
        accept: impl Fn(u128) -> bool,
    ) -> Stored {
        let last = self.last();
        let store = match back {
            0 => last,
            _ => (0..last)
                .rev()
                .filter(|&store| accept(self.stores[store].value))
                .nth(back - 1)
                .unwrap_or(last),
        };
        self.record_stale(thread, store);
        self.record_seen(sync, thread, store);
        let &Store { number, value, ref message, .. } = &self.stores[store];
        sync.load(thread, order, message);
        Stored { number, value }
    }

    /// Number of stores before which a new store may be placed.
    pub(super) fn newer_than_store(&self, sync: &Sync, thread: ThreadId, order: Order) -> usize {
        let floor = self.floor(sync, thread, order);
        self.stores[floor + 1..].iter().filter(|store| !store.is_rmw).count()
    }

    /// A store before the `back` newest stores that belong to no read-modify-write. Returns its predecessor in
    /// modification order.
    pub(super) fn store(
        &mut self,
        sync: &mut Sync,
        thread: ThreadId,
        order: Order,
        stored: Stored,
        back: usize,
    ) -> StoreId {
        let end = self.stores.len();
        let position = match back {
            0 => end,
            _ => (1..end).rev().filter(|&store| !self.stores[store].is_rmw).nth(back - 1).unwrap_or(end),
        };
        let after = self.stores[position - 1].number;
        self.insert(position, Store::by(thread, order, stored, sync, Message::default()));
        self.record_seen(sync, thread, position);
        sync.store(thread, order, &mut self.stores[position].message);
        self.forget_oldest();
        after
    }

    /// A read-modify-write of the newest store. Returns the store that it reads.
    pub(super) fn rmw(&mut self, sync: &mut Sync, thread: ThreadId, order: Order, stored: Stored) -> StoreId {
        let read = self.last();
        let Store { number, ref message, .. } = self.stores[read];
        let message = message.clone();
        self.stores.push(Store { is_rmw: true, ..Store::by(thread, order, stored, sync, message) });
        self.record_seen(sync, thread, read + 1);
        sync.rmw(thread, order, &mut self.stores[read + 1].message);
        self.forget_oldest();
        number
    }

    /// A load from the newest store, where no other can be read.
    pub(super) fn load_newest(&mut self, sync: &mut Sync, thread: ThreadId, order: Order) -> Stored {
        let &mut Store { number, value, ref message, .. } = self.newest_mut();
        sync.load(thread, order, message);
        Stored { number, value }
    }

    /// Replaces the newest store, where no other can be read. Returns the replaced one.
    #[inline]
    pub(super) fn replace_newest(
        &mut self,
        stored: Stored,
        synchronise: impl FnOnce(&mut Message),
    ) -> StoreId {
        let newest = self.newest_mut();
        newest.value = stored.value;
        synchronise(&mut newest.message);
        std::mem::replace(&mut newest.number, stored.number)
    }

    /// The coherence floor: the oldest store that a load of the thread may read from. Its own stores come after it. See
    /// the [module](self).
    fn floor(&self, sync: &Sync, thread: ThreadId, order: Order) -> usize {
        let last = self.last();
        let view = sync.view(thread);
        let mut floor = self.seen_in(&view.clock);
        if floor == last {
            return last;
        }
        if self.stale.iter().any(|stale| stale.thread == thread && stale.times >= MOST_STALE) {
            return last;
        }
        if let Some(fences) = sync.seen_by_fences(thread) {
            floor = floor.max(self.seen_in(fences));
            floor = floor.max(self.newest_where(|store| store.fences.is_some_and(|made| made < view.fences)));
        }
        if order == Order::SeqCst {
            floor = floor.max(self.newest_where(|store| store.fences.is_some()));
            if let Some(fences) = sync.seen_by_all_fences() {
                floor = floor.max(self.newest_where(|store| fences.knows(store.writer, store.time)));
            }
        }
        floor
    }

    /// The newest store that was seen by events which happened before, by the clock.
    #[inline]
    fn seen_in(&self, clock: &Clock) -> usize {
        let known = self.seen.iter().filter(|seen| clock.knows(seen.thread, seen.time));
        known.map(|seen| seen.store).max().unwrap_or(0)
    }

    #[inline]
    fn newest_where(&self, condition: impl Fn(&Store) -> bool) -> usize {
        self.stores.iter().rposition(condition).unwrap_or(0)
    }

    #[inline]
    fn newest_mut(&mut self) -> &mut Store {
        let last = self.last();
        &mut self.stores[last]
    }

    #[inline]
    fn last(&self) -> usize {
        self.stores.len() - 1
    }

    /// Records that the thread has seen a store.
    #[inline]
    fn record_seen(&mut self, sync: &Sync, thread: ThreadId, store: usize) {
        let time = sync.now(thread);
        // The latest entry of a thread is the last of its entries.
        match self.seen.iter_mut().rev().find(|seen| seen.thread == thread) {
            Some(seen) if seen.store >= store => {}
            Some(seen) if seen.time == time => seen.store = store,
            _ if store == 0 => {}
            _ => self.seen.push(Seen { thread, time, store }),
        }
    }

    fn record_stale(&mut self, thread: ThreadId, store: usize) {
        let newest = store == self.last();
        match self.stale.iter().position(|stale| stale.thread == thread) {
            Some(at) if newest => _ = self.stale.swap_remove(at),
            Some(at) if self.stale[at].store == store => self.stale[at].times += 1,
            Some(at) => self.stale[at] = Stale { thread, store, times: 1 },
            None if newest => {}
            None => self.stale.push(Stale { thread, store, times: 1 }),
        }
    }

    fn insert(&mut self, position: usize, store: Store) {
        if position < self.stores.len() {
            for seen in self.seen.iter_mut().filter(|seen| seen.store >= position) {
                seen.store += 1;
            }
            for stale in self.stale.iter_mut().filter(|stale| stale.store >= position) {
                stale.store += 1;
            }
        }
        self.stores.insert(position, store);
    }

    #[inline]
    fn forget_oldest(&mut self) {
        if self.stores.len() >= 2 * KEPT {
            let dropped = self.stores.len() - KEPT;
            self.stores.drain(..dropped);
            self.seen.retain_mut(|seen| {
                let kept = seen.store > dropped;
                seen.store = seen.store.saturating_sub(dropped);
                kept
            });
            self.stale.clear();
        }
    }
}
