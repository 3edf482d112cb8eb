//! Accesses of trusted code that are no events: bookkeeping of `std::thread` and increments of reference counts. They
//! take effect at once, and update the clocks.

use super::{AtomicKind, AtomicOp, enter};
use crate::detect::fault::AccessKind;
use crate::execution::Engine;
use crate::isolate::heap;
use crate::location_table::MemoryLocation;
use crate::op::{Int, Order};
use crate::site::Site;
use crate::weak_memory::{Access, Trust};

/// Makes an access that is no event; returns the value that it reads.
///
/// # Safety
/// As for [`Semantics::atomic`](super::Semantics::atomic).
#[inline(always)]
pub(crate) unsafe fn access<T: Int>(engine: *mut Engine, op: AtomicOp<T>) -> T {
    // SAFETY: the caller's.
    unsafe {
        reach(engine, op.location);
        let held = op.location.read_volatile();
        let written = op.written(held);
        if let Some(value) = written {
            op.location.write_volatile(value);
        }
        with_clocks(engine, |engine| {
            let access = access_of(engine, op.site, op.location, op.order, held);
            match op.kind {
                AtomicKind::Load => _ = engine.load_from_history(access),
                AtomicKind::Store(value) => _ = engine.store_in_history(access, value.widen()),
                AtomicKind::Rmw(..) => {
                    engine.rmw_in_history(access, written.unwrap_or(held).widen());
                }
                AtomicKind::Cas { expected, new, failure } => {
                    engine.cas_in_history(access, failure, [expected.widen(), new.widen()]);
                }
            }
        });
        held
    }
}

/// Checks that the memory of an access in trusted code is allocated.
///
/// # Safety
/// As for [`access`].
#[inline(always)]
pub(crate) unsafe fn reach<T>(engine: *mut Engine, location: *const T) {
    if heap::is_freed(location.addr()) {
        let location = MemoryLocation { address: location.addr(), size: size_of::<T>() as u8 };
        // SAFETY: the caller's.
        unsafe { enter(engine, |engine| _ = engine.reach(location, AccessKind::AtomicWrite)) };
    }
}

/// Updates store histories and clocks, if they are kept.
///
/// # Safety
/// As for [`access`].
#[inline(always)]
pub(super) unsafe fn with_clocks(engine: *mut Engine, with_clocks: impl FnOnce(&mut Engine)) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).keeps_clocks() {
            enter(engine, with_clocks);
        }
    }
}

/// An access of the current thread, for its location's store history.
#[inline(always)]
pub(super) fn access_of<T: Int>(
    engine: &Engine,
    site: Site,
    location: *const T,
    order: Order,
    held: T,
) -> Access {
    Access {
        thread: engine.current_id(),
        location: MemoryLocation { address: location.addr(), size: size_of::<T>() as u8 },
        order,
        held: held.widen(),
        trust: match site {
            Site::Unknown | Site::Plumbing | Site::User | Site::Merged | Site::MarkedCount => Trust::Nothing,
            // Instrumented code makes the first access to a lock; uninstrumented code changes it later.
            Site::RefCountUp | Site::RefCountDown | Site::WeakCountDown => Trust::Right,
            Site::ExpandedRmw | Site::MutexLock | Site::Std | Site::IsFinished => Trust::Right,
            Site::RwLockWait | Site::RwLockTry => Trust::Right,
            Site::ThreadBookkeeping | Site::ScopeEnd => Trust::Bookkeeping,
        },
    }
}
