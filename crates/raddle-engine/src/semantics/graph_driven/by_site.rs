//! Atomic operations of graph-driven executions, by the class of their code: events, reference counts, locks of `RwLock`s, expanded
//! read-modify-writes, or bookkeeping without an event.

use super::{access, expanded_rmw, refcounts, rwlocks, threads};
use crate::execution::Engine;
use crate::graph::event::Access;
use crate::left_out::Reason;
use crate::op::{Int, Rmw};
use crate::semantics::{AtomicOp, enter, unobserved};
use crate::site::Site;

/// A load.
///
/// # Safety
/// As for [`Semantics::atomic`](crate::semantics::Semantics::atomic), here and below.
#[inline(always)]
pub(super) unsafe fn load<T: Int>(engine: *mut Engine, op: AtomicOp<T>) -> T {
    let AtomicOp { caller, site, location, order, .. } = op;
    // SAFETY: the caller's.
    unsafe {
        if op.is_finished_load(&*engine) {
            if let Some(handles) = threads::is_finished(engine, caller, location, order) {
                return handles;
            }
            (*engine).exploration.left_out.add(Reason::IsFinished);
        }
        match site {
            Site::RefCountUp => refcounts::count(engine, caller, location, Access::Load, order, site),
            Site::MarkedCount => refcounts::load_marked(engine, caller, location, order),
            _ if op.is_scope_end() => {
                let running = || location.read_volatile().widen() != 0;
                let running = enter(engine, |engine| threads::end_scope(engine, op.address(), running));
                T::narrow(running.into())
            }
            _ if (*engine).is_trusted(site) => location.read_volatile(),
            Site::ExpandedRmw => location.read_volatile(),
            // std is shown a free lock: the exchange that follows waits until it is free.
            _ if rwlocks::is_lock_attempt(site) => T::narrow(0),
            _ => access::access(engine, caller, location, Access::Load, order),
        }
    }
}

/// A store.
#[inline(always)]
pub(super) unsafe fn store<T: Int>(engine: *mut Engine, op: AtomicOp<T>) -> T {
    // SAFETY: the caller's.
    unsafe {
        match (*engine).is_trusted(op.site) {
            true => unobserved::access(engine, op),
            false => access::access(engine, op.caller, op.location, op.label(), op.order),
        }
    }
}

/// A read-modify-write.
#[inline(always)]
pub(super) unsafe fn read_modify_write<T: Int>(engine: *mut Engine, op: AtomicOp<T>, rmw: Rmw) -> T {
    let AtomicOp { caller, site, location, order, .. } = op;
    // SAFETY: the caller's.
    unsafe {
        if site.counts_references() {
            return refcounts::count(engine, caller, location, op.label(), order, site);
        }
        if site == Site::MarkedCount {
            return refcounts::count_marked(engine, caller, location, op.label(), order);
        }
        if (*engine).is_trusted(site) {
            threads::count_handle(engine, &op, rmw);
            return unobserved::access(engine, op);
        }
        if rwlocks::is_unlock(engine, location, op.label()) {
            let read = rwlocks::unlock(engine, caller, location.cast(), op.label(), order);
            return T::narrow(read.into());
        }
        access::access(engine, caller, location, op.label(), order)
    }
}

/// A compare-exchange.
#[inline(always)]
pub(super) unsafe fn compare_exchange<T: Int>(
    engine: *mut Engine,
    op: AtomicOp<T>,
    expected: T,
    new: T,
) -> T {
    let AtomicOp { caller, site, location, order, .. } = op;
    // SAFETY: the caller's.
    unsafe {
        if site.counts_references() {
            return refcounts::count(engine, caller, location, op.label(), order, site);
        }
        if (*engine).is_trusted(site) {
            return unobserved::access(engine, op);
        }
        if let Some([unlocked, locked]) = op.locks_mutex() {
            let lock = Access::Lock(locked.widen() as u64);
            access::access::<u32>(engine, caller, location.cast(), lock, order);
            return unlocked;
        }
        if site == Site::ExpandedRmw {
            return expanded_rmw::attempt(engine, caller, location, [expected, new], order);
        }
        if rwlocks::is_lock_attempt(site) {
            let shared = new.widen() == 1;
            if site == Site::RwLockTry {
                let read = rwlocks::try_lock(engine, caller, location.cast(), shared, order);
                return T::narrow(read.into());
            }
            rwlocks::lock(engine, caller, location.cast(), shared, order);
            return expected;
        }
        access::access(engine, caller, location, op.label(), order)
    }
}
