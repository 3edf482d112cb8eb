//! The memory of an execution: which values its reads see, and what happens before what.
//!
//! Memory itself always holds the newest value of every place. Plain accesses and code that is not instrumented use that; where
//! they wrote, memory differs from the newest store that is known, and the place's history begins anew: in a program without
//! data races, everybody who reads it then knows of that write.

use std::ops::Range;

use super::Model;
use super::history::History;
use super::sync::{Message, Sync};
use super::table::{Place, Table};
use crate::event::Order;
use crate::thread::ThreadId;

/// See the [module](self).
#[derive(Debug)]
pub struct Memory {
    /// What happened before what.
    pub sync: Sync,
    model: Model,
    table: Table,
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The thread.
    pub thread: ThreadId,
    /// Where.
    pub place: Place,
    /// The memory order.
    pub order: Order,
    /// The value that memory holds there, before the access.
    pub held: u128,
    /// What is known about the code that makes it.
    pub trust: Trust,
}

/// What is known about the code that makes an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nothing: all that the memory model allows may happen.
    Nothing,
    /// It is right, so that sequential consistency will do.
    Right,
    /// It is right, and parts of it are not instrumented: what it finds may come from stores that were not announced.
    PartlySeen,
}

/// Chooses one of several ways in which memory can behave, by its number. 0 is what sequential consistency would have; higher
/// numbers are further back in modification order.
pub trait Choose: FnMut(usize) -> usize {}

impl<F: FnMut(usize) -> usize> Choose for F {}

impl Memory {
    /// Memory that follows this model.
    pub fn new(model: Model) -> Memory {
        Memory { sync: Sync::default(), model, table: Table::default() }
    }

    /// The model.
    #[inline]
    pub fn model(&self) -> Model {
        self.model
    }

    /// Begins an execution.
    pub fn begin(&mut self) {
        self.sync.begin();
        self.table.clear();
    }

    /// A load; returns what it reads.
    #[inline]
    pub fn load(&mut self, access: Access, choose: impl Choose) -> u128 {
        let Access { thread, order, .. } = access;
        let (weak, newest_only) = (self.is_weak_for(access), self.keeps_newest_only());
        let (sync, history) = self.find(access);
        if newest_only {
            return history.load_newest(sync, thread, order);
        }
        let back = pick(weak, || history.older_to_read(sync, thread, order, |_| true), choose);
        history.load(sync, thread, order, back, |_| true)
    }

    /// A store. Returns whether it is the newest, so that memory is to hold its value.
    #[inline]
    pub fn store(&mut self, access: Access, value: u128, choose: impl Choose) -> bool {
        let Access { thread, order, .. } = access;
        let (weak, newest_only) = (self.is_weak_for(access), self.keeps_newest_only());
        let (sync, history) = self.find(access);
        if newest_only {
            history.replace_newest(sync, thread, order, value);
            return true;
        }
        let back = pick(weak, || history.newer_than_store(sync, thread, order), choose);
        history.store(sync, thread, order, value, back);
        back == 0
    }

    /// A read-modify-write that reads what memory holds.
    #[inline]
    pub fn rmw(&mut self, access: Access, written: u128) {
        let newest_only = self.keeps_newest_only();
        let (sync, history) = self.find(access);
        match newest_only {
            true => history.modify_newest(sync, access.thread, access.order, written),
            false => history.rmw(sync, access.thread, access.order, written),
        }
    }

    /// A compare-exchange, with the memory order of its failure; returns what it reads. It succeeds if that is `expected`.
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
        let (sync, history) = self.find(access);
        if newest_only {
            if held != expected {
                return history.load_newest(sync, thread, failure);
            }
            history.modify_newest(sync, thread, order, new);
            return expected;
        }
        // It may fail where it could succeed, by reading an older store of another value.
        let differs = |value| value != expected;
        let back = pick(weak, || history.older_to_read(sync, thread, failure, differs), choose);
        if back == 0 && held == expected {
            history.rmw(sync, thread, order, new);
            return expected;
        }
        history.load(sync, thread, failure, back, differs)
    }

    /// A fence.
    #[inline]
    pub fn fence(&mut self, thread: ThreadId, order: Order) {
        self.sync.fence(thread, order);
    }

    /// What is known of a stretch of memory no longer holds: the block was freed.
    pub fn forget(&mut self, memory: Range<usize>) {
        self.table.forget(memory);
    }

    /// Whether reads see the newest store only, so that no other is of interest.
    #[inline]
    fn keeps_newest_only(&self) -> bool {
        self.model == Model::Sc
    }

    #[inline]
    fn is_weak_for(&self, access: Access) -> bool {
        self.model == Model::Rc11 && access.trust == Trust::Nothing
    }

    /// The history of a place, as far as it explains what memory holds.
    #[inline]
    fn find(&mut self, Access { place, held, trust, .. }: Access) -> (&mut Sync, &mut History) {
        let (history, known) = self.table.find(place);
        if !known && trust != Trust::PartlySeen {
            history.begin(held, Message::default());
        } else if !known || history.newest() != held {
            // Where code wrote that is not instrumented, it may have meant to synchronise.
            history.begin(held, self.sync.release_all());
        }
        (&mut self.sync, history)
    }
}

/// How far back an access goes, if memory is weak and there is a choice.
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
