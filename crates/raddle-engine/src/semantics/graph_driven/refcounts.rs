//! Accesses to reference counts along an execution graph: abstract where nobody can tell, decrements where the order of drops
//! matters, precise where the count is read (see [`crate::model_checker`]).

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

/// An access to a count of references by the code that counts; returns what it reads.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn count<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    place: *mut T,
    access: Access,
    order: Order,
    site: Site,
) -> T {
    // SAFETY: the caller's.
    unsafe { count_handles(engine, caller, place, access, order, site, false) }
}

/// An access to memory by code that the user says counts references; returns what it reads. Only what `Arc` would do is taken for
/// counting: a handle more without order, and one less that releases what was done with it, of a count that ends at 0.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn count_marked<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    place: *mut T,
    step: Access,
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        let site = match (step, order) {
            _ if size_of::<T>() != size_of::<usize>() => None,
            (Access::Rmw(Rmw::Add, 1), Order::Relaxed) => Some(Site::RefCountUp),
            (Access::Rmw(Rmw::Sub, 1), Order::Release | Order::AcqRel)
                if place.read_volatile().widen() != 0 =>
            {
                Some(Site::RefCountDown)
            }
            _ => None,
        };
        match site {
            Some(site) => count_handles(engine, caller, place, step, order, site, true),
            None => access(engine, caller, place, step, order),
        }
    }
}

/// A load by code that the user says counts references; returns what it reads. Whoever has given up the last handle may read the
/// count instead of using a fence.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn load_marked<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    place: *mut T,
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        match &mut (*engine).current().dropping {
            Some(dropping) if dropping.count == place.addr() => {
                dropping.acquired |= order.acquires();
                enter(engine, |engine| count_apart(engine, place, Access::Load, order, Site::RefCountUp))
            }
            _ => access(engine, caller, place, Access::Load, order),
        }
    }
}

/// Whether a fence belongs to the end of a handle, which is more than a fence.
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
            // What threads do with their own data is ordered by other events.
            Site::ThreadBookkeeping => true,
            site => site.counts_references() && !thread.counted_exactly,
        }
    }
}

unsafe fn count_handles<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    place: *mut T,
    access: Access,
    order: Order,
    site: Site,
    marked: bool,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        reach(engine, place);
        enter(engine, |engine| {
            let count = place.addr();
            if marked {
                engine.mark_count(count);
            }
            let gives_up = site == Site::RefCountDown;
            let purpose = if gives_up { Purpose::DropStrong } else { Purpose::Adjust };
            let counting = engine.counting(count, purpose);
            engine.current().counted_exactly = counting == Counting::Precise;
            let mut event = None;
            match counting {
                Counting::Precise => return access_and_check(engine, caller, place, access, order),
                Counting::Decrement => {
                    event = Some(engine.take_shared_step(SyntheticLocation::Drops(count), Access::Decrement))
                }
                // It would be an event if ends of handles were.
                Counting::Abstract if gives_up => engine.note_act(),
                Counting::Abstract => {}
            }
            let is_last = place.read_volatile().widen() == 1;
            // Only the last one knows that others came before it.
            let acquires = order.acquires() && is_last;
            let order_apart = if order == Order::AcqRel && !is_last { Order::Release } else { order };
            let read = count_apart(engine, place, access, order_apart, site);
            if gives_up && is_last {
                engine.current().dropping =
                    Some(FinalDrop { count, event, acquired: !marked || acquires, of_thread: false });
                if marked {
                    engine.note_last_of_marked(count);
                }
            } else if site == Site::WeakCountDown {
                // The memory is let go of when the value has been dropped, whose handles are counted before it.
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

/// Whether the handle that is counted at the address is the only one: there are no others, nor weak ones.
pub(super) fn is_alone(count: usize) -> bool {
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

/// An access to a count that is no event, or whose event has been made.
pub(super) unsafe fn count_apart<T: Int>(
    engine: &mut Engine,
    place: *mut T,
    access: Access,
    order: Order,
    site: Site,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        let read = place.read_volatile();
        let written = access.writes(read.widen() as u64, size_of::<T>() as u8);
        if let Some(written) = written {
            place.write_volatile(T::narrow(written.into()));
        }
        if engine.remembers() {
            let order = match access {
                Access::Cas { failure, .. } if written.is_none() => failure,
                _ => order,
            };
            let remembered = access_of(engine, site, place, order, read);
            match written {
                Some(written) => engine.remember_rmw(remembered, written.into()),
                None => _ = engine.remember_load(remembered),
            }
        }
        if site == Site::RefCountDown {
            engine.record(|| action(place, access, order, read, read));
        }
        read
    }
}

impl Engine {
    /// How the current thread is to access a count of references.
    pub(crate) fn counting(&mut self, count: usize, purpose: Purpose) -> Counting {
        let (thread, drops) = (self.execution.current, SyntheticLocation::Drops(count).address());
        match self.checker().counting(thread, count, drops, purpose) {
            Ok(counting) => counting,
            Err(Restart) => self.stop(Outcome::Discarded(Discarded::Restart)),
        }
    }

    /// Whether references are counted here.
    pub(crate) fn is_count(&mut self, address: usize) -> bool {
        self.checker().is_refcount(address)
    }

    /// The current thread counts handles here, by code that the user marked.
    pub(crate) fn mark_count(&mut self, count: usize) {
        if self.checker().mark_user_refcount(count).is_err() {
            self.stop(Outcome::Discarded(Discarded::Restart));
        }
    }

    /// Whether handles are counted here by code that the user marked.
    pub(crate) fn is_marked_count(&mut self, count: usize) -> bool {
        self.checker().is_user_refcount(count)
    }

    /// The last handle is given up that is counted here, by code that the user marked.
    pub(crate) fn note_last_of_marked(&mut self, count: usize) {
        self.checker().user_refcount_reached_zero(count);
    }

    /// Memory is freed, and with it what the user marked as counts whose last handle was given up.
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

    /// The handles that were counted at these addresses are gone, and so is the memory.
    pub(crate) fn end_counts(&mut self, strong: usize, weak: usize) {
        self.checker().end_refcounts([strong, weak], SyntheticLocation::Drops(strong).address());
    }

    /// The current thread does something that others can notice: if it is dropping a value, it matters that it does.
    #[inline]
    pub(crate) fn note_act(&mut self) {
        if let Some(dropping) = self.current().dropping.take()
            && self.checker().drop_has_effect(dropping).is_err()
        {
            self.stop(Outcome::Discarded(Discarded::Restart));
        }
    }
}
