//! Atomic accesses and fences.

use crate::coverage;
use crate::execution::Engine;
use crate::execution::sites::{self, Called};
use crate::op::{Caller, Int, Order, Rmw};
use crate::semantics::{AtomicKind, AtomicOp, dispatch, enter, spurious};
use crate::site::Site;
use crate::trace::Action;

/// An atomic load.
///
/// # Safety
/// `engine` must be the running engine, the caller a virtual thread, and `location` valid for reads.
#[inline]
pub unsafe fn load<T: Int>(engine: *mut Engine, caller: Caller, location: *const T, order: Order) -> T {
    // SAFETY: the caller's.
    unsafe {
        let code = called::<T>(caller, None);
        let kind = AtomicKind::Load;
        let location = location.cast_mut();
        let read = dispatch!(engine, atomic(AtomicOp { caller, site: code.site, location, kind, order }));
        cover(engine, code, location);
        read
    }
}

/// An atomic store.
///
/// # Safety
/// As for [`load`], and `location` must be valid for writes.
#[inline]
pub unsafe fn store<T: Int>(engine: *mut Engine, caller: Caller, location: *mut T, value: T, order: Order) {
    // SAFETY: the caller's.
    unsafe {
        let code = called::<T>(caller, None);
        let kind = AtomicKind::Store(value);
        dispatch!(engine, atomic(AtomicOp { caller, site: code.site, location, kind, order }));
        cover(engine, code, location);
    }
}

/// An atomic read-modify-write; returns the value before.
///
/// # Safety
/// As for [`store`].
#[inline]
pub unsafe fn rmw<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    location: *mut T,
    operand: T,
    op: Rmw,
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        let code = called::<T>(caller, Some(op));
        let kind = AtomicKind::Rmw(op, operand);
        let read = dispatch!(engine, atomic(AtomicOp { caller, site: code.site, location, kind, order }));
        cover(engine, code, location);
        fence_if_local(engine, caller, location, order);
        read
    }
}

/// An atomic compare-exchange; returns the value before.
///
/// # Safety
/// As for [`store`].
#[inline]
pub unsafe fn compare_exchange<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    location: *mut T,
    expected: T,
    new: T,
    orders: [Order; 2],
) -> T {
    // SAFETY: the caller's.
    unsafe {
        let [order, failure] = dispatch!(&*engine, exchange_orders(orders));
        let code = called::<T>(caller, None);
        let site = code.site;
        let kind = AtomicKind::Cas { expected, new, failure };
        let op = AtomicOp { caller, site, location, kind, order };
        let may_fail = code.is_weak() && matches!(site, Site::User | Site::Merged | Site::MarkedCount);
        let read = match may_fail.then(|| spurious::attempt(engine, op, expected, failure)).flatten() {
            Some(read) => read,
            None => dispatch!(engine, atomic(op)),
        };
        cover(engine, code, location);
        fence_if_local(engine, caller, location, order);
        read
    }
}

/// The code that makes an access. Where an access is not one that counts references, it is not the code around the call that makes it:
/// another function has ended in a jump to the callback.
#[inline(always)]
unsafe fn called<T>(caller: Caller, rmw: Option<Rmw>) -> Called {
    // SAFETY: the caller's.
    let mut code = unsafe { sites::called(caller.pc, caller.fp) };
    let is_plausible = size_of::<T>() == size_of::<usize>()
        && match code.site {
            Site::RefCountUp => rmw.is_none_or(|rmw| rmw == Rmw::Add),
            _ => rmw.is_none_or(|rmw| rmw == Rmw::Sub),
        };
    if code.site.counts_references() && !is_plausible {
        code.site = Site::User;
    }
    code
}

/// Notes an access that the current thread has made.
#[inline(always)]
unsafe fn cover<T>(engine: *mut Engine, code: Called, location: *const T) {
    // SAFETY: the caller's.
    let (thread, execution) = unsafe { ((*engine).execution.current, (*engine).exploration.number) };
    coverage::access(code.site, code.offset, thread, location.addr(), execution);
}

/// A fence.
///
/// # Safety
/// `engine` must be the running engine and the caller a virtual thread.
#[inline]
pub unsafe fn fence(engine: *mut Engine, caller: Caller, order: Order) {
    // SAFETY: the caller's.
    unsafe {
        dispatch!(engine, fence(caller, order));
        if (*engine).exploration.trace.is_some()
            && matches!(
                sites::of(caller.pc, caller.fp),
                Site::User | Site::Merged | Site::Std | Site::MarkedCount
            )
        {
            enter(engine, |engine| engine.record(|| Action::Fence { order }));
        }
    }
}

/// A compiler fence. After a sequentially consistent read-modify-write it is how code for x86 spells a full fence,
/// which the instruction is there (crossbeam-epoch does so whenever it pins a thread).
///
/// # Safety
/// As for [`fence`].
#[inline]
pub unsafe fn compiler_fence(engine: *mut Engine, order: Order) {
    // SAFETY: the caller's.
    unsafe { dispatch!(engine, compiler_fence(order)) };
}

/// A full fence, spelled as a sequentially consistent read-modify-write of a local variable that no other thread can
/// know (event-listener did so on x86).
#[inline(always)]
unsafe fn fence_if_local<T>(engine: *mut Engine, caller: Caller, location: *const T, order: Order) {
    let here = 0u8;
    if order == Order::SeqCst && ((&raw const here).addr()..caller.fp).contains(&location.addr()) {
        // SAFETY: the caller's.
        unsafe { compiler_fence(engine, order) };
    }
}

/// `membarrier`: the system call that makes every thread execute a full fence, so that the others need not.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn membarrier(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| dispatch!(engine, membarrier())) };
}
