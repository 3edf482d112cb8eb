//! Atomic accesses and fences.

use super::std_calls::scope_of;
use super::{along_graph, at, enter, expanded, rwlocks, spurious};
use crate::detect::fault::AccessKind;
use crate::execution::{Engine, sites};
use crate::graph::event::Access as Step;
use crate::isolate::heap;
use crate::left_out::Reason;
use crate::op::{Caller, Effect, Int, Order, Pending, Rmw};
use crate::outcome::Outcome;
use crate::site::Site;
use crate::spinloop::watch::Read;
use crate::trace::Action;
use crate::weak_memory::{Access, Trust};

/// An atomic load.
///
/// # Safety
/// `engine` must be the running engine, the caller a virtual thread, and `place` valid for reads.
#[inline]
pub unsafe fn load<T: Int>(engine: *mut Engine, caller: Caller, place: *const T, order: Order) -> T {
    // SAFETY: the caller's. One OS thread runs all virtual threads, so plain accesses are atomic; they are volatile
    // because the compiler must not move them over a switch.
    unsafe {
        let site = sites::of(caller.pc, caller.fp);
        if site == Site::IsFinished || (site == Site::Merged && (*engine).counts_handles(place.addr())) {
            if (*engine).follows_graph()
                && let Some(handles) = along_graph::is_finished(engine, caller, place, order)
            {
                return handles;
            }
            (*engine).exploration.left_out.add(Reason::IsFinished);
        }
        // A scope also looks at a flag: whether one of its threads has panicked.
        let counts_threads = site == Site::ScopeEnd && size_of::<T>() == size_of::<usize>();
        if (*engine).follows_graph() {
            if site == Site::RefCountUp {
                return along_graph::count(engine, caller, place.cast_mut(), Step::Load, order, site);
            }
            if site == Site::MarkedCount {
                return along_graph::load_marked(engine, caller, place.cast_mut(), order);
            }
            if (*engine).is_trusted(site) {
                if counts_threads {
                    let running = || place.read_volatile().widen() != 0;
                    let running =
                        enter(engine, |engine| along_graph::end_scope(engine, place.addr(), running));
                    return T::narrow(running.into());
                }
                return place.read_volatile();
            }
            if site == Site::ExpandedRmw {
                return place.read_volatile();
            }
            if rwlocks::is_taken_at(site) {
                // It is free for all that std is to know: the exchange that follows waits until it is.
                return T::narrow(0);
            }
            return along_graph::access(engine, caller, place.cast_mut(), Step::Load, order);
        }
        // `Arc::get_mut` locks a count by the highest value, and `Arc::downgrade` waits until it is free.
        let waits = site == Site::RefCountUp && place.read_volatile().widen() == usize::MAX as u128;
        if !waits && ((*engine).is_trusted(site) || site == Site::ExpandedRmw) {
            trusted_reach(engine, place);
            let value = place.read_volatile();
            if counts_threads {
                enter(engine, |engine| engine.remember_scope_end(scope_of(place.addr())));
            } else if (*engine).is_trusted(site) {
                trusted(engine, |engine| {
                    engine.remember_load(access(engine, site, place, order, value));
                });
            }
            return value;
        }
        enter(engine, |engine| {
            engine.point(Pending { address: place.addr(), effect: Effect::Read });
            let time = engine.reach(at(place), AccessKind::AtomicRead);
            let newest = place.read_volatile();
            let value = match engine.remembers() {
                true => T::narrow(engine.remember_load(access(engine, site, place, order, newest))),
                false => newest,
            };
            engine.record(|| Action::Load {
                address: place.addr(),
                size: size_of::<T>() as u8,
                order,
                value: value.widen(),
                newest: newest.widen(),
            });
            engine.accessed(at(place), site, AccessKind::AtomicRead, caller, time);
            read(engine, caller, place.addr(), value, newest);
            value
        })
    }
}

/// An atomic store.
///
/// # Safety
/// As for [`load`], and `place` must be valid for writes.
#[inline]
pub unsafe fn store<T: Int>(engine: *mut Engine, caller: Caller, place: *mut T, value: T, order: Order) {
    // SAFETY: the caller's.
    unsafe {
        let site = sites::of(caller.pc, caller.fp);
        if (*engine).is_trusted(site) {
            trusted_reach(engine, place);
            let held = place.read_volatile();
            place.write_volatile(value);
            return trusted(engine, |engine| {
                engine.remember_store(access(engine, site, place, order, held), value.widen());
            });
        }
        if (*engine).follows_graph() {
            let step = Step::Store(value.widen() as u64);
            along_graph::access(engine, caller, place, step, order);
            return;
        }
        enter(engine, |engine| {
            engine.point(Pending { address: place.addr(), effect: Effect::Write });
            let time = engine.reach(at(place), AccessKind::AtomicWrite);
            let before = place.read_volatile();
            let is_newest = !engine.remembers()
                || engine.remember_store(access(engine, site, place, order, before), value.widen());
            if is_newest {
                place.write_volatile(value);
            }
            engine.record(|| Action::Store {
                address: place.addr(),
                size: size_of::<T>() as u8,
                order,
                value: value.widen(),
                newest: if is_newest { value.widen() } else { before.widen() },
            });
            engine.accessed(at(place), site, AccessKind::AtomicWrite, caller, time);
            match is_newest {
                true => wrote(engine, caller, place.addr(), before, value),
                false => engine.current().spin.reset(),
            }
        });
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
    place: *mut T,
    operand: T,
    op: Rmw,
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        let read = rmw_once(engine, caller, place, operand, op, order);
        fence_if_local(engine, caller, place, order);
        read
    }
}

#[inline(always)]
unsafe fn rmw_once<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    place: *mut T,
    operand: T,
    op: Rmw,
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        let site = sites::of(caller.pc, caller.fp);
        if (*engine).follows_graph() && site.counts_references() {
            let step = Step::Rmw(op, operand.widen() as u64);
            return along_graph::count(engine, caller, place, step, order, site);
        }
        if (*engine).follows_graph() && site == Site::MarkedCount {
            let step = Step::Rmw(op, operand.widen() as u64);
            return along_graph::count_marked(engine, caller, place, step, order);
        }
        if (*engine).is_trusted(site) {
            if site == Site::ThreadBookkeeping && op == Rmw::Add {
                enter(engine, |engine| engine.note_handle_count(place.addr()));
            }
            if (*engine).follows_graph() {
                // It asked std who it is, or ended the handle of a thread.
                if !(*engine).current().dropping.is_some_and(|dropping| dropping.of_thread) {
                    enter(engine, Engine::note_act);
                }
                if site == Site::ThreadBookkeeping && op == Rmw::Sub && size_of::<T>() == size_of::<usize>() {
                    enter(engine, |engine| along_graph::count_down_for_thread(engine, place.addr()));
                }
            }
            trusted_reach(engine, place);
            let read = place.read_volatile();
            let written = read.apply(op, operand);
            place.write_volatile(written);
            trusted(engine, |engine| {
                engine.remember_rmw(access(engine, site, place, order, read), written.widen());
            });
            return read;
        }
        if (*engine).follows_graph() {
            let step = Step::Rmw(op, operand.widen() as u64);
            if rwlocks::is_given_back(engine, place, step) {
                return T::narrow(rwlocks::unlock(engine, caller, place.cast(), step, order).into());
            }
            return along_graph::access(engine, caller, place, step, order);
        }
        enter(engine, |engine| {
            engine.point(Pending { address: place.addr(), effect: Effect::Write });
            let time = engine.reach(at(place), AccessKind::AtomicWrite);
            let read = place.read_volatile();
            let written = read.apply(op, operand);
            place.write_volatile(written);
            if engine.remembers() {
                engine.remember_rmw(access(engine, site, place, order, read), written.widen());
            }
            engine.record(|| Action::Rmw {
                address: place.addr(),
                size: size_of::<T>() as u8,
                order,
                op,
                read: read.widen(),
                written: written.widen(),
            });
            engine.accessed(at(place), site, AccessKind::AtomicWrite, caller, time);
            wrote(engine, caller, place.addr(), read, written);
            read
        })
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
    place: *mut T,
    expected: T,
    new: T,
    orders: [Order; 2],
) -> T {
    // SAFETY: the caller's.
    unsafe {
        let orders = (*engine).orders_of_exchange(orders);
        let read = exchange_once(engine, caller, place, expected, new, orders);
        fence_if_local(engine, caller, place, orders[0]);
        read
    }
}

#[inline(always)]
unsafe fn exchange_once<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    place: *mut T,
    expected: T,
    new: T,
    orders: [Order; 2],
) -> T {
    let order = orders[0];
    // SAFETY: the caller's.
    unsafe {
        let (site, is_weak) = sites::of_exchange(caller.pc, caller.fp);
        if is_weak
            && matches!(site, Site::User | Site::Merged | Site::MarkedCount)
            && let Some(read) = spurious::attempt(engine, caller, place, expected, orders[1])
        {
            return read;
        }
        if (*engine).follows_graph() && site.counts_references() {
            let (expected, new) = (expected.widen() as u64, new.widen() as u64);
            let step = Step::Cas { expected, new, failure: orders[1] };
            return along_graph::count(engine, caller, place, step, order, site);
        }
        if (*engine).is_trusted(site) {
            trusted_reach(engine, place);
            let read = place.read_volatile();
            if read == expected {
                place.write_volatile(new);
            }
            trusted(engine, |engine| {
                let values = [expected.widen(), new.widen()];
                engine.remember_exchange(access(engine, site, place, order, read), orders[1], values);
            });
            return read;
        }
        if site == Site::MutexLock && size_of::<T>() == size_of::<u32>() {
            lock(engine, caller, place.cast(), new.widen() as u32, order);
            return expected;
        }
        if (*engine).follows_graph() {
            if site == Site::ExpandedRmw {
                return expanded::attempt(engine, caller, place, [expected, new], order);
            }
            if rwlocks::is_taken_at(site) {
                let shared = new.widen() == 1;
                if site == Site::RwLockTry {
                    let read = rwlocks::try_lock(engine, caller, place.cast(), shared, order);
                    return T::narrow(read.into());
                }
                rwlocks::lock(engine, caller, place.cast(), shared, order);
                return expected;
            }
            let (expected, new) = (expected.widen() as u64, new.widen() as u64);
            let step = Step::Cas { expected, new, failure: orders[1] };
            return along_graph::access(engine, caller, place, step, order);
        }
        enter(engine, |engine| {
            // The compiler turned one read-modify-write into a loop that first reads without asking. Only the first
            // attempt is a point; if what was read is out of date, the second attempt follows at once and succeeds.
            let retry = site == Site::ExpandedRmw && std::mem::take(&mut engine.current().in_expanded_rmw);
            if !retry {
                engine.point(Pending { address: place.addr(), effect: Effect::Write });
            }
            let time = engine.reach(at(place), AccessKind::AtomicWrite);
            let newest = place.read_volatile();
            if site == Site::ExpandedRmw && newest != expected {
                engine.current().in_expanded_rmw = true;
                return newest;
            }
            let seen = match engine.remembers() {
                true => {
                    let access = access(engine, site, place, order, newest);
                    let values = [expected.widen(), new.widen()];
                    T::narrow(engine.remember_exchange(access, orders[1], values))
                }
                false => newest,
            };
            if seen == expected {
                place.write_volatile(new);
            }
            engine.record(|| Action::Cas {
                address: place.addr(),
                size: size_of::<T>() as u8,
                order,
                expected: expected.widen(),
                new: new.widen(),
                read: seen.widen(),
                newest: newest.widen(),
            });
            let kind = if seen == expected { AccessKind::AtomicWrite } else { AccessKind::AtomicRead };
            engine.accessed(at(place), site, kind, caller, time);
            if seen == expected {
                wrote(engine, caller, place.addr(), seen, new);
            } else {
                read(engine, caller, place.addr(), seen, newest);
            }
            seen
        })
    }
}

/// The lock of a `std::sync::Mutex`: one event, taken when the mutex is free. What std would do otherwise (spin, mark the
/// mutex as contended, wait, try again) is not made, because it ends in the same.
unsafe fn lock(engine: *mut Engine, caller: Caller, place: *mut u32, new: u32, order: Order) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).follows_graph() {
            along_graph::access(engine, caller, place, Step::Lock(new.into()), order);
            return;
        }
        enter(engine, |engine| {
            engine.reach(at(place), AccessKind::AtomicWrite);
            engine.point_of_lock(place);
            engine.reach(at(place), AccessKind::AtomicWrite);
            place.write_volatile(new);
            if engine.remembers() {
                engine.remember_rmw(access(engine, Site::MutexLock, place, order, 0), new.into());
            }
            let size = size_of::<u32>() as u8;
            let (address, new) = (place.addr(), new.into());
            engine.record(|| Action::Cas { address, size, order, expected: 0, new, read: 0, newest: 0 });
        });
    }
}

/// An access of the current thread.
#[inline(always)]
pub(super) fn access<T: Int>(engine: &Engine, site: Site, place: *const T, order: Order, held: T) -> Access {
    Access {
        thread: engine.current_id(),
        place: at(place),
        order,
        held: held.widen(),
        trust: match site {
            Site::Unknown | Site::Plumbing | Site::User | Site::Merged | Site::MarkedCount => Trust::Nothing,
            // The first access to a lock is made by code that is instrumented: what comes later and is not seen changes it.
            Site::RefCountUp | Site::RefCountDown | Site::WeakCountDown => Trust::Right,
            Site::ExpandedRmw | Site::MutexLock | Site::Std | Site::IsFinished => Trust::Right,
            Site::RwLockWait | Site::RwLockTry => Trust::Right,
            Site::ThreadBookkeeping | Site::ScopeEnd => Trust::Bookkeeping,
        },
    }
}

/// The current thread is about to make an access in trusted code.
#[inline(always)]
pub(super) unsafe fn trusted_reach<T>(engine: *mut Engine, place: *const T) {
    if heap::is_freed(place.addr()) {
        // SAFETY: the caller's.
        unsafe { enter(engine, |engine| _ = engine.reach(at(place), AccessKind::AtomicWrite)) };
    }
}

/// The current thread has made an access in trusted code.
#[inline(always)]
unsafe fn trusted(engine: *mut Engine, remember: impl FnOnce(&mut Engine)) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).remembers() {
            enter(engine, remember);
        }
    }
}

/// The current thread has read. Who sees an older value is not waiting: it will see a newer one.
#[inline(always)]
fn read<T: Int>(engine: &mut Engine, caller: Caller, address: usize, value: T, newest: T) {
    if value == newest {
        engine.has_read(Read { pc: caller.pc, address, value: value.widen() as u64 });
    } else {
        engine.current().spin.reset();
    }
}

/// The current thread has written. A write that changes nothing, such as the swap of a spin lock that is taken, is a read to
/// those who wait.
#[inline(always)]
fn wrote<T: Int>(engine: &mut Engine, caller: Caller, address: usize, before: T, after: T) {
    if before != after {
        engine.has_written(address);
    } else {
        engine.current().spin.wrote_the_same();
        engine.has_read(Read { pc: caller.pc, address, value: after.widen() as u64 });
    }
}

/// A fence.
///
/// # Safety
/// `engine` must be the running engine and the caller a virtual thread.
#[inline]
pub unsafe fn fence(engine: *mut Engine, caller: Caller, order: Order) {
    // SAFETY: the caller's. Under sequential consistency a fence has no effect and is no point; it is recorded because
    // people look for it, except where a reference count uses it. In weak memory those that are sequentially consistent have
    // an order of their own, which is worth choosing.
    unsafe {
        if (*engine).follows_graph() && !along_graph::is_part_of_drop(engine, caller, order) {
            enter(engine, |engine| engine.take_fence(order));
        }
        if (*engine).remembers() {
            trusted(engine, |engine| {
                if order == Order::SeqCst && engine.is_weak() {
                    engine.point(Pending::NOTHING);
                }
                engine.remember_fence(order);
            });
        }
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

/// A fence for the compiler only. After a sequentially consistent read-modify-write it is how code for x86 spells a full fence,
/// which the instruction is there (crossbeam-epoch does so whenever it pins a thread).
///
/// # Safety
/// As for [`fence`].
#[inline]
pub unsafe fn compiler_fence(engine: *mut Engine, order: Order) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).follows_graph() && order == Order::SeqCst {
            enter(engine, |engine| engine.take_fence(order));
        }
        if (*engine).remembers() && order == Order::SeqCst && (*engine).current().made_sc_rmw {
            enter(engine, |engine| engine.remember_fence(Order::SeqCst));
        }
    }
}

/// A sequentially consistent read-modify-write of a variable of the calling function itself, which no other thread can know, is
/// another way to spell a full fence for x86 (event-listener did so).
#[inline(always)]
unsafe fn fence_if_local<T>(engine: *mut Engine, caller: Caller, place: *const T, order: Order) {
    let here = 0u8;
    if order == Order::SeqCst && ((&raw const here).addr()..caller.fp).contains(&place.addr()) {
        // SAFETY: the caller's.
        unsafe { compiler_fence(engine, order) };
    }
}

/// The system call that makes every thread execute a full fence, so that the others need not.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn membarrier(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                let thread = engine.current_id();
                engine.stop(Outcome::Unsupported { thread });
            }
            engine.remember_fences_of_all();
        });
    }
}
