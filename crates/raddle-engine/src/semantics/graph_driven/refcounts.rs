//! Accesses to reference counts in graph-driven executions: abstract where no thread can tell, decrements where the
//! order of drops matters, precise where the count is read (see [`crate::model_checker`]).

use std::ops::Range;

use super::access::{access, access_and_check, action};
use super::synthetic::SyntheticLocation;
use crate::execution::{Engine, sites};
use crate::graph::event::Access;
use crate::isolate::heap;
use crate::model_checker::{Counting, FinalDrop, Purpose, Restart};
use crate::op::{Caller, Int, Order, Rmw};
use crate::outcome::{Discarded, Outcome};
use crate::semantics::enter;
use crate::semantics::unobserved::{access_of, reach};
use crate::site::Site;

/// An access to a reference count by the code that counts; returns the value that it reads.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn count<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    location: *mut T,
    access: Access,
    order: Order,
    site: Site,
) -> T {
    // SAFETY: the caller's.
    unsafe { count_references(engine, caller, location, access, order, site, false) }
}

/// An access by code that the user marked as counting references; returns the value that it reads. Only accesses that
/// `Arc` would make count: a relaxed increment, and a decrement that releases, of a count that ends at 0.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn count_marked<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    location: *mut T,
    step: Access,
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        let site = match (step, order) {
            _ if size_of::<T>() != size_of::<usize>() => None,
            (Access::Rmw(Rmw::Add, 1), Order::Relaxed) => Some(Site::RefCountUp),
            (Access::Rmw(Rmw::Sub, 1), Order::Release | Order::AcqRel)
                if location.read_volatile().widen() != 0 =>
            {
                Some(Site::RefCountDown)
            }
            _ => None,
        };
        match site {
            Some(site) => count_references(engine, caller, location, step, order, site, true),
            None => access(engine, caller, location, step, order),
        }
    }
}

/// A load by code that the user marked as counting references; returns the value that it reads. The thread that dropped
/// the last reference may read the count instead of using a fence.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn load_marked<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    location: *mut T,
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        match &mut (*engine).current().dropping {
            Some(dropping) if dropping.count == location.addr() => {
                dropping.acquired |= order.acquires();
                enter(engine, |engine| {
                    count_abstractly(engine, location, Access::Load, order, Site::RefCountUp)
                })
            }
            _ => access(engine, caller, location, Access::Load, order),
        }
    }
}

/// Whether a fence belongs to the drop of a reference, which is no event of its own.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn is_part_of_drop(engine: *mut Engine, caller: Caller, order: Order) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let thread = (*engine).current();
        match sites::of(caller.pc, caller.fp) {
            Site::MarkedCount => match &mut thread.dropping {
                Some(dropping) if order == Order::Acquire => {
                    dropping.acquired = true;
                    true
                }
                _ => false,
            },
            // Bookkeeping of threads is ordered by other events.
            Site::ThreadBookkeeping => true,
            site => site.counts_references() && !thread.counted_precisely,
        }
    }
}

unsafe fn count_references<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    location: *mut T,
    access: Access,
    order: Order,
    site: Site,
    marked: bool,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        reach(engine, location);
        enter(engine, |engine| {
            let count = location.addr();
            if marked {
                engine.mark_count(count);
            }
            let is_decrement = site == Site::RefCountDown;
            let purpose = if is_decrement { Purpose::DropStrong } else { Purpose::Adjust };
            let counting = engine.counting(count, purpose);
            engine.current().counted_precisely = counting == Counting::Precise;
            let mut event = None;
            match counting {
                Counting::Precise => return access_and_check(engine, caller, location, access, order),
                Counting::Decrement => {
                    event =
                        Some(engine.take_synthetic_step(SyntheticLocation::Drops(count), Access::Decrement))
                }
                // The decrement would be an event if decrements were.
                Counting::Abstract if is_decrement => engine.observe_drop(),
                Counting::Abstract => {}
            }
            let is_last = location.read_volatile().widen() == 1;
            // Only the last decrement synchronizes with the others.
            let acquires = order.acquires() && is_last;
            let abstract_order = if order == Order::AcqRel && !is_last { Order::Release } else { order };
            let read = count_abstractly(engine, location, access, abstract_order, site);
            if is_decrement && is_last {
                engine.current().dropping =
                    Some(FinalDrop { count, event, acquired: !marked || acquires, of_thread: false });
                if marked {
                    engine.reach_zero_of_marked(count);
                }
            } else if site == Site::WeakCountDown {
                // The memory is released when the value has been dropped; the strong count lies before the weak one.
                let strong = count - size_of::<T>();
                if engine.current().dropping.is_some_and(|dropping| dropping.count == strong) {
                    engine.current().dropping = None;
                }
                if is_last {
                    engine.end_counts(strong, count);
                }
            }
            read
        })
    }
}

/// Whether the reference counted at the address is the only one, strong or weak.
pub(super) fn is_sole_reference(count: usize) -> bool {
    const LOCKED: usize = usize::MAX;
    heap::block_of(count).is_some_and(|block| {
        block.start == count && block.size >= 2 * size_of::<usize>() && {
            let counts = count as *const usize;
            // SAFETY: the block lives, or its use is reported before this.
            let (strong, weak) = unsafe { (counts.read_volatile(), counts.add(1).read_volatile()) };
            strong == 1 && (weak == 1 || weak == LOCKED)
        }
    })
}

/// An access to a reference count that is no event, or whose event has been made.
pub(super) unsafe fn count_abstractly<T: Int>(
    engine: &mut Engine,
    location: *mut T,
    access: Access,
    order: Order,
    site: Site,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        let read = location.read_volatile();
        let written = access.writes(read.widen() as u64, size_of::<T>() as u8);
        if let Some(written) = written {
            location.write_volatile(T::narrow(written.into()));
        }
        if engine.keeps_clocks() {
            let order = match access {
                Access::Cas { failure, .. } if written.is_none() => failure,
                _ => order,
            };
            let access_to_history = access_of(engine, site, location, order, read);
            match written {
                Some(written) => engine.rmw_in_history(access_to_history, written.into()),
                None => _ = engine.load_from_history(access_to_history),
            }
        }
        if site == Site::RefCountDown {
            engine.record(|| action(location, access, order, read, read));
        }
        read
    }
}

impl Engine {
    /// The abstraction by which the current thread accesses a reference count.
    pub(crate) fn counting(&mut self, count: usize, purpose: Purpose) -> Counting {
        let (thread, drops) = (self.execution.current, SyntheticLocation::Drops(count).address());
        match self.checker().counting(thread, count, drops, purpose) {
            Ok(counting) => counting,
            Err(Restart) => self.stop(Outcome::Discarded(Discarded::Restart)),
        }
    }

    /// Whether the address holds a reference count.
    pub(super) fn is_count(&mut self, address: usize) -> bool {
        self.checker().is_refcount(address)
    }

    /// Marks a reference count of code that the user marked.
    fn mark_count(&mut self, count: usize) {
        if self.checker().mark_user_refcount(count).is_err() {
            self.stop(Outcome::Discarded(Discarded::Restart));
        }
    }

    /// Whether the reference count belongs to code that the user marked.
    pub(super) fn is_marked_count(&mut self, count: usize) -> bool {
        self.checker().is_user_refcount(count)
    }

    /// A reference count of code that the user marked has reached zero.
    fn reach_zero_of_marked(&mut self, count: usize) {
        self.checker().user_refcount_reached_zero(count);
    }

    /// Ends the marked reference counts in freed memory that have reached zero.
    pub(super) fn end_marked_counts(&mut self, memory: &Range<usize>) {
        while let Some(count) = self.checker().take_user_refcount(memory) {
            self.end_counts(count, count);
            if let Some(dropping) = self.current().dropping.take_if(|dropping| dropping.count == count)
                && self.checker().drop_ended(dropping).is_err()
            {
                self.stop(Outcome::Discarded(Discarded::Restart));
            }
        }
    }

    /// Ends the reference counts at these addresses: the memory is freed.
    fn end_counts(&mut self, strong: usize, weak: usize) {
        self.checker().end_refcounts([strong, weak], SyntheticLocation::Drops(strong).address());
    }

    /// The current thread has an effect that others can observe: if it is dropping a value, the drop has an effect.
    #[inline]
    pub(super) fn observe_drop(&mut self) {
        let thread = self.execution.current;
        if let Some(dropping) = self.current().dropping.take()
            && self.checker().drop_has_effect(thread, dropping).is_err()
        {
            self.stop(Outcome::Discarded(Discarded::Restart));
        }
    }
}
