//! The memory of an execution: the values that reads may return, and happens-before.
//!
//! Memory itself always holds the newest value of every location. Plain accesses and uninstrumented code use that.
//! Where they wrote, memory differs from the newest known store, and the location's history restarts: in a program
//! without data races, every thread that reads the location then knows of that write.

use std::ops::Range;

use super::history::History;
use crate::happens_before::Model;
use crate::happens_before::sync::{Message, Sync};
use crate::location_table::{LocationTable, MemoryLocation};
use crate::op::{Order, ThreadId};

/// See the [module](self).
#[derive(Debug)]
pub struct Memory {
    /// Happens-before.
    pub sync: Sync,
    model: Model,
    /// The store history of each location.
    histories: LocationTable<History>,
    /// Number of stores of the execution.
    stores: StoreId,
    latest: Option<Touched>,
    /// The latest version of a history in any execution. Copies are changed by copying only, so that no version has two contents.
    version: u64,
}

/// The number of a store in an execution. Stores of uninstrumented code are numbered when they are found.
pub type StoreId = u32;

/// The number and value of a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) number: StoreId,
    pub(super) value: u128,
}

/// The reads-from and modification order of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The memory order: for a failed compare-exchange, that of failure.
    pub order: Order,
    /// The store that it read.
    pub read: Option<StoreId>,
    /// The store that it made, and the predecessor in modification order.
    pub made: Option<[StoreId; 2]>,
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The thread.
    pub thread: ThreadId,
    /// The memory location.
    pub location: MemoryLocation,
    /// The memory order.
    pub order: Order,
    /// The value in memory before the access.
    pub held: u128,
    /// The trust in the calling code.
    pub trust: Trust,
}

/// The trust in the code that makes an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// None: everything that the memory model allows may happen.
    Nothing,
    /// The code is right, so that sequential consistency will do.
    Right,
    /// The same, and the location is std's bookkeeping of threads, which uninstrumented code changes, too. Spawn and
    /// join events order it.
    Bookkeeping,
}

/// Chooses one of several positions in modification order. 0 is that of sequential consistency; higher numbers are
/// further back.
pub trait Choose: FnMut(usize) -> usize {}

impl<F: FnMut(usize) -> usize> Choose for F {}

impl Clone for Memory {
    fn clone(&self) -> Memory {
        let mut copy = Memory::new(self.model);
        copy.clone_from(self);
        copy
    }

    /// Keeps the allocations.
    fn clone_from(&mut self, other: &Memory) {
        self.sync.clone_from(&other.sync);
        self.histories.clone_from(&other.histories);
        (self.model, self.stores, self.latest) = (other.model, other.stores, other.latest);
        self.version = self.version.max(other.version);
    }
}

impl Memory {
    /// A memory with this model.
    pub fn new(model: Model) -> Memory {
        Memory {
            sync: Sync::default(),
            model,
            histories: LocationTable::default(),
            stores: 0,
            latest: None,
            version: 0,
        }
    }

    /// The model.
    #[inline]
    pub fn model(&self) -> Model {
        self.model
    }

    /// Begins an execution.
    pub fn begin(&mut self) {
        self.sync.begin();
        self.histories.clear();
        self.stores = 0;
        self.latest = None;
    }

    /// The reads-from and modification order of the latest access.
    pub fn latest(&self) -> Option<Touched> {
        self.latest
    }

    /// A load; returns the value that it reads.
    #[inline]
    pub fn load(&mut self, access: Access, choose: impl Choose) -> u128 {
        let Access { thread, order, .. } = access;
        let (weak, newest_only) = (self.is_weak_for(access), self.keeps_newest_only());
        let (sync, history) = self.find(access);
        let read = match newest_only {
            true => history.load_newest(sync, thread, order),
            false => {
                let back = pick(weak, || history.older_to_read(sync, thread, order, |_| true), choose);
                history.load(sync, thread, order, back, |_| true)
            }
        };
        self.latest = Some(Touched { order, read: Some(read.number), made: None });
        read.value
    }

    /// A store. Returns whether it is the newest, so that memory must hold its value.
    #[inline]
    pub fn store(&mut self, access: Access, value: u128, choose: impl Choose) -> bool {
        let Access { thread, order, .. } = access;
        let (weak, newest_only) = (self.is_weak_for(access), self.keeps_newest_only());
        let number = self.next_store();
        let (sync, history) = self.find(access);
        if newest_only {
            let after = history
                .replace_newest(Stored { number, value }, |message| sync.store(thread, order, message));
            self.latest = Some(Touched { order, read: None, made: Some([number, after]) });
            return true;
        }
        let back = pick(weak, || history.newer_than_store(sync, thread, order), choose);
        let after = history.store(sync, thread, order, Stored { number, value }, back);
        self.latest = Some(Touched { order, read: None, made: Some([number, after]) });
        back == 0
    }

    /// A read-modify-write of the value in memory.
    #[inline]
    pub fn rmw(&mut self, access: Access, written: u128) {
        let (newest_only, number) = (self.keeps_newest_only(), self.next_store());
        let (sync, history) = self.find(access);
        let stored = Stored { number, value: written };
        let read = match newest_only {
            true => history.replace_newest(stored, |message| sync.rmw(access.thread, access.order, message)),
            false => history.rmw(sync, access.thread, access.order, stored),
        };
        self.latest = Some(Touched { order: access.order, read: Some(read), made: Some([number, read]) });
    }

    /// A compare-exchange, with the memory order of failure; returns the value that it reads. It succeeds if that is
    /// `expected`.
    #[inline]
    pub fn compare_exchange(
        &mut self,
        access: Access,
        failure: Order,
        expected: u128,
        new: u128,
        choose: impl Choose,
    ) -> u128 {
        let Access { thread, order, held, .. } = access;
        let (weak, newest_only) = (self.is_weak_for(access), self.keeps_newest_only());
        let number = self.next_store();
        let (sync, history) = self.find(access);
        if newest_only {
            if held != expected {
                let read = history.load_newest(sync, thread, failure);
                self.latest = Some(Touched { order: failure, read: Some(read.number), made: None });
                return read.value;
            }
            let read = history
                .replace_newest(Stored { number, value: new }, |message| sync.rmw(thread, order, message));
            self.latest = Some(Touched { order, read: Some(read), made: Some([number, read]) });
            return expected;
        }
        // The exchange may fail where it could succeed, by a stale read of another value.
        let differs = |value| value != expected;
        let back = pick(weak, || history.older_to_read(sync, thread, failure, differs), choose);
        if back == 0 && held == expected {
            let read = history.rmw(sync, thread, order, Stored { number, value: new });
            self.latest = Some(Touched { order, read: Some(read), made: Some([number, read]) });
            return expected;
        }
        let read = history.load(sync, thread, failure, back, differs);
        self.latest = Some(Touched { order: failure, read: Some(read.number), made: None });
        read.value
    }

    /// Drops the histories of freed memory.
    pub fn forget(&mut self, memory: Range<usize>) {
        self.histories.remove_within(memory);
    }

    /// Whether only the newest store can be read, so that no other is kept.
    #[inline]
    fn keeps_newest_only(&self) -> bool {
        self.model == Model::Sc
    }

    #[inline]
    fn next_store(&mut self) -> StoreId {
        self.stores += 1;
        self.stores
    }

    #[inline]
    fn is_weak_for(&self, access: Access) -> bool {
        self.model == Model::Rc11 && access.trust == Trust::Nothing
    }

    /// The history of a location. It restarts if its newest store is not the value in memory.
    #[inline]
    fn find(&mut self, Access { location, held, trust, .. }: Access) -> (&mut Sync, &mut History) {
        let (index, known) = self.histories.find_or_insert(location);
        let history = &mut self.histories[index];
        self.version += 1;
        history.changes(self.version);
        if !known || history.newest() != held {
            self.stores += 1;
            let found = Stored { number: self.stores, value: held };
            // Uninstrumented code that wrote there may have synchronised.
            let may_synchronise = known && trust != Trust::Bookkeeping;
            history.begin(found, if may_synchronise { self.sync.release_all() } else { Message::default() });
        }
        (&mut self.sync, history)
    }
}

/// The position of an access in modification order, if there is a choice.
#[inline]
fn pick(weak: bool, others: impl FnOnce() -> usize, mut choose: impl Choose) -> usize {
    if !weak {
        return 0;
    }
    match others() {
        0 => 0,
        others => choose(1 + others),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_told_apart_by_their_numbers() {
        let location = MemoryLocation { address: 64, size: 4 };
        let access =
            |held: u128| Access { thread: 0, location, order: Order::Relaxed, held, trust: Trust::Nothing };
        let mut memory = Memory::new(Model::Rc11);
        memory.begin();
        let newest = |_: usize| 0;
        let touched = |memory: &Memory| memory.latest().map(|latest| (latest.read, latest.made));

        memory.load(access(5), newest);
        let (Some(initial), None) = touched(&memory).unwrap() else { panic!("it reads and does not write") };
        memory.store(access(5), 5, newest);
        let (None, Some([first, before])) = touched(&memory).unwrap() else { panic!("it only writes") };
        assert!(before == initial && first != initial, "equal values are different stores");
        memory.rmw(access(5), 6);
        let (Some(read), Some([second, before])) = touched(&memory).unwrap() else { panic!("it does both") };
        assert!(read == first && before == first && second != first);
        memory.compare_exchange(Access { order: Order::SeqCst, ..access(6) }, Order::Acquire, 5, 7, newest);
        let failed = memory.latest().unwrap();
        assert_eq!((failed.order, failed.read, failed.made), (Order::Acquire, Some(second), None));
        // Something else wrote there.
        memory.load(access(9), newest);
        let (Some(unseen), None) = touched(&memory).unwrap() else { panic!("it reads and does not write") };
        assert!(![initial, first, second].contains(&unseen));
    }
}
