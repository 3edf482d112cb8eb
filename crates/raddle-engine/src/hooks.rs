//! What intercepted calls do when a virtual thread makes them.
//!
//! Each function here is one kind of event: the point at which threads may change, the effect, the record. They are called
//! by `raddle-intercept`, which knows the C symbols; callers have checked that a virtual thread runs
//! ([`crate::global::engine_of_virtual_thread`]).

mod along_graph;

use std::ffi::c_void;

use crate::engine::{Engine, Outcome};
use crate::event::{Effect, Order, Pending, Rmw};
use crate::fault::AccessKind;
use crate::global::{GLOBAL, MAX_KEYS};
use crate::graph::event::Access as Step;
use crate::isolate::heap::{self, Refusal};
use crate::memory::{Access, Place, Trust};
use crate::site::{self, Site};
use crate::spin::{CLOCK, Read};
use crate::thread::{Destructor, KeyDestructor, Start, StartRoutine, State, ThreadId, Wake};
use crate::trace::{Action, SwitchReason};

/// Where in the program an atomic access comes from.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// Where the call returns to.
    pub pc: usize,
    /// The frame pointer of the calling function.
    pub fp: usize,
}

/// An integer that instrumented code accesses atomically.
pub trait Int: Copy + Eq {
    /// Its value, widened.
    fn widen(self) -> u128;
    /// The value that was widened.
    fn narrow(wide: u128) -> Self;
    /// The result of a read-modify-write.
    fn apply(self, op: Rmw, operand: Self) -> Self;
}

macro_rules! int {
    ($($type:ty),*) => {$(
        impl Int for $type {
            #[inline(always)]
            fn widen(self) -> u128 {
                self as u128
            }

            #[inline(always)]
            fn narrow(wide: u128) -> $type {
                wide as $type
            }

            #[inline(always)]
            fn apply(self, op: Rmw, operand: $type) -> $type {
                match op {
                    Rmw::Swap => operand,
                    Rmw::Add => self.wrapping_add(operand),
                    Rmw::Sub => self.wrapping_sub(operand),
                    Rmw::And => self & operand,
                    Rmw::Or => self | operand,
                    Rmw::Xor => self ^ operand,
                    Rmw::Nand => !(self & operand),
                    Rmw::Min => self.min(operand),
                    Rmw::Max => self.max(operand),
                }
            }
        }
    )*};
}
int!(u8, u16, u32, u64, u128);

/// Runs the engine's part of an event: what it allocates is the engine's.
///
/// # Safety
/// As for the functions that use it.
#[inline(always)]
unsafe fn enter<T>(engine: *mut Engine, work: impl FnOnce(&mut Engine) -> T) -> T {
    GLOBAL.in_engine.set(true);
    GLOBAL.last_announced.set(0);
    // SAFETY: the caller's; the reference ends with the call.
    let result = work(unsafe { &mut *engine });
    GLOBAL.in_engine.set(false);
    result
}

/// An atomic load.
///
/// # Safety
/// `engine` must be the running engine, the caller a virtual thread, and `place` valid for reads.
#[inline]
pub unsafe fn load<T: Int>(engine: *mut Engine, caller: Caller, place: *const T, order: Order) -> T {
    // SAFETY: the caller's. One OS thread runs all virtual threads, so plain accesses are atomic; they are volatile
    // because the compiler must not move them over a switch.
    unsafe {
        let site = site::of(caller.pc, caller.fp);
        if (*engine).follows_graph() {
            if is_apart(site) {
                if site == Site::ScopeEnd {
                    let running = || place.read_volatile().widen() != 0;
                    enter(engine, |engine| along_graph::end_scope(engine, running));
                }
                return place.read_volatile();
            }
            return along_graph::access(engine, caller, place.cast_mut(), Step::Load, order);
        }
        if site.is_trusted() || site == Site::ExpandedRmw {
            trusted_reach(engine, place);
            let value = place.read_volatile();
            if site.is_trusted() {
                trusted(engine, site, order, |engine| {
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
        let site = site::of(caller.pc, caller.fp);
        if site.is_trusted() {
            trusted_reach(engine, place);
            let held = place.read_volatile();
            place.write_volatile(value);
            return trusted(engine, site, order, |engine| {
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
        let site = site::of(caller.pc, caller.fp);
        if site.is_trusted() || ((*engine).follows_graph() && is_apart(site)) {
            trusted_reach(engine, place);
            let read = place.read_volatile();
            let written = read.apply(op, operand);
            place.write_volatile(written);
            trusted(engine, site, order, |engine| {
                engine.remember_rmw(access(engine, site, place, order, read), written.widen());
            });
            return read;
        }
        if (*engine).follows_graph() {
            let step = Step::Rmw(op, operand.widen() as u64);
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
    let order = orders[0];
    // SAFETY: the caller's.
    unsafe {
        let site = site::of(caller.pc, caller.fp);
        if site.is_trusted() {
            trusted_reach(engine, place);
            let read = place.read_volatile();
            if read == expected {
                place.write_volatile(new);
            }
            trusted(engine, site, order, |engine| {
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

/// Whether the access is left out of execution graphs: the exhaustive search takes counts of references to be what memory
/// says.
fn is_apart(site: Site) -> bool {
    site.is_trusted() || site == Site::RefCountDown
}

#[inline(always)]
fn at<T>(place: *const T) -> Place {
    Place { address: place.addr(), size: size_of::<T>() as u8 }
}

/// An access of the current thread.
#[inline(always)]
fn access<T: Int>(engine: &Engine, site: Site, place: *const T, order: Order, held: T) -> Access {
    Access {
        thread: engine.current_id(),
        place: at(place),
        order,
        held: held.widen(),
        trust: match site {
            Site::Unknown | Site::Plumbing | Site::User => Trust::Nothing,
            // The first access to a lock is made by code that is instrumented: what comes later and is not seen changes it.
            Site::RefCountUp | Site::RefCountDown | Site::ExpandedRmw | Site::MutexLock | Site::Std => {
                Trust::Right
            }
            Site::ThreadBookkeeping | Site::ScopeEnd => Trust::PartlySeen,
        },
    }
}

/// The current thread is about to make an access in trusted code.
#[inline(always)]
unsafe fn trusted_reach<T>(engine: *mut Engine, place: *const T) {
    if heap::is_freed(place.addr()) {
        // SAFETY: the caller's.
        unsafe { enter(engine, |engine| _ = engine.reach(at(place), AccessKind::AtomicWrite)) };
    }
}

/// The current thread has made an access in trusted code. Where threads are started and joined, std's own compiled code takes
/// part, which announces nothing, so that there is nothing to follow.
#[inline(always)]
unsafe fn trusted(engine: *mut Engine, site: Site, order: Order, remember: impl FnOnce(&mut Engine)) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).remembers() {
            enter(engine, |engine| match site {
                Site::ThreadBookkeeping | Site::ScopeEnd if order.acquires() => {
                    engine.remember_unseen_synchronisation()
                }
                Site::ThreadBookkeeping | Site::ScopeEnd => {}
                _ => remember(engine),
            });
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
        if (*engine).follows_graph() && site::of(caller.pc, caller.fp) != Site::RefCountDown {
            enter(engine, |engine| engine.take_fence(order));
        }
        if (*engine).remembers() {
            trusted(engine, site::of(caller.pc, caller.fp), order, |engine| {
                if order == Order::SeqCst && engine.is_weak() {
                    engine.point(Pending::NOTHING);
                }
                engine.remember_fence(order);
            });
        }
        if (*engine).trace.is_some() && matches!(site::of(caller.pc, caller.fp), Site::User | Site::Std) {
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

/// The current thread waits at `place` until it is woken, if the place holds `expected`.
///
/// `deadline` is a time of the monotonic clock. Returns how the wait ended; none if the value was another.
///
/// # Safety
/// As for [`load`].
pub unsafe fn futex_wait(
    engine: *mut Engine,
    place: *const u32,
    expected: u32,
    mask: u32,
    deadline: Option<u64>,
) -> Option<Wake> {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let address = place.addr();
            if engine.follows_graph() {
                return along_graph::futex_wait(engine, place, expected, mask, deadline);
            }
            engine.point(Pending { address, effect: Effect::Write });
            engine.reach(at(place), AccessKind::AtomicRead);
            let blocks = place.read_volatile() == expected;
            let now = engine.clock.monotonic();
            engine.record(|| Action::Wait {
                address,
                expected,
                blocks,
                timeout: deadline.map(|deadline| deadline.saturating_sub(now)),
            });
            if !blocks {
                engine.remember_unseen_synchronisation();
                return None;
            }
            engine.current().spin.reset();
            let me = engine.current_id();
            engine.futexes.wait(me, address, mask);
            if let Some(deadline) = deadline {
                engine.clock.sleep(me, deadline);
            }
            engine.block(State::Futex { address, mask }, SwitchReason::Blocked);
            engine.remember_unseen_synchronisation();
            let wake = engine.current().wake;
            engine.record(|| Action::Woken { address, timed_out: wake == Wake::TimedOut });
            Some(wake)
        })
    }
}

/// Wakes up to `count` threads that wait at the address; returns how many.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn futex_wake(engine: *mut Engine, address: usize, count: u32, mask: u32) -> u32 {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| wake_at(engine, address, count, mask)) }
}

fn wake_at(engine: &mut Engine, address: usize, count: u32, mask: u32) -> u32 {
    point_at_queue(engine, address);
    let woken = wake_waiters(engine, address, count, mask);
    leave_queue(engine, address);
    engine.remember_unseen_synchronisation();
    engine.record(|| Action::Wake { address, woken: woken.clone() });
    woken.len() as u32
}

/// Wakes up to `wake` threads at `from` and lets up to `requeue` others wait at `to` from now on. Returns how many were
/// woken and how many moved.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn futex_requeue(
    engine: *mut Engine,
    from: usize,
    to: usize,
    wake: u32,
    requeue: u32,
) -> (u32, u32) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                let thread = engine.current_id();
                engine.stop(Outcome::Unsupported { thread });
            }
            point_at_queue(engine, from);
            let woken = wake_waiters(engine, from, wake, !0);
            let mut moved = Vec::new();
            engine.futexes.requeue(from, to, requeue, |thread| moved.push(thread));
            for &thread in &moved {
                if let State::Futex { address, .. } = &mut engine.threads[usize::from(thread)].state {
                    *address = to;
                }
            }
            engine.record(|| Action::Wake { address: from, woken: woken.clone() });
            (woken.len() as u32, moved.len() as u32)
        })
    }
}

fn point_at_queue(engine: &mut Engine, address: usize) {
    match engine.follows_graph() {
        true => engine.current().woken_by = along_graph::lock_queue(engine, address),
        false => engine.point(Pending { address, effect: Effect::Write }),
    }
}

fn leave_queue(engine: &mut Engine, address: usize) {
    if engine.follows_graph() {
        along_graph::unlock_queue(engine, address);
    }
}

fn wake_waiters(engine: &mut Engine, address: usize, count: u32, mask: u32) -> Vec<ThreadId> {
    let mut woken = Vec::new();
    engine.futexes.wake(address, count, mask, |thread| woken.push(thread));
    let waker = engine.current().woken_by;
    for &thread in &woken {
        engine.threads[usize::from(thread)].woken_by = waker;
        engine.threads[usize::from(thread)].woken = true;
        engine.clock.cancel(thread);
        engine.unblock(thread, Wake::Woken);
    }
    engine.current().spin.reset();
    woken
}

/// Makes a thread; returns its number, after handing it to `made` before the thread can run.
///
/// # Safety
/// As for [`fence`]; `routine` must be callable with `argument` on another thread.
pub unsafe fn spawn(
    engine: *mut Engine,
    routine: StartRoutine,
    argument: *mut c_void,
    made: impl FnOnce(ThreadId),
) -> ThreadId {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let start = Start::Routine(routine, argument);
            let thread = match engine.follows_graph() {
                true => along_graph::spawn(engine, start),
                false => engine.make_thread(start),
            };
            made(thread);
            engine.remember_spawn(thread);
            engine.record(|| Action::Spawn { thread });
            engine.current().spin.reset();
            if !engine.follows_graph() {
                engine.point(Pending::NOTHING);
            }
            thread
        })
    }
}

/// Waits for a thread's end; returns what its routine did. None if there is no such thread to join.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn join(engine: *mut Engine, thread: ThreadId) -> Option<*mut c_void> {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let index = usize::from(thread);
            if index >= engine.alive || engine.threads[index].joined || engine.threads[index].detached {
                return None;
            }
            if engine.threads[index].state != State::Finished {
                engine.current().spin.reset();
                engine.block(State::Join(thread), SwitchReason::Joining);
            }
            engine.threads[index].joined = true;
            if engine.follows_graph() {
                along_graph::joined(engine, thread);
            }
            engine.remember_join(thread);
            engine.record(|| Action::Join { thread });
            Some(engine.threads[index].result)
        })
    }
}

/// Nobody will join the thread.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn detach(engine: *mut Engine, thread: ThreadId) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if let Some(thread) = engine.threads.get_mut(usize::from(thread)) {
                thread.detached = true;
            }
        });
    }
}

/// A call of a function of std that waits for other threads or wakes them, and that is not instrumented.
#[derive(Clone, Copy, Debug)]
pub enum StdCall {
    /// `Condvar::wait` or `wait_timeout`, with the time of the monotonic clock at which it ends.
    CondvarWait {
        /// The word of the condition variable.
        condvar: *mut u32,
        /// The word of the mutex.
        mutex: *mut u32,
        /// When it ends, if it does.
        deadline: Option<u64>,
    },
    /// `Condvar::notify_one` or `notify_all`.
    CondvarNotify {
        /// The word of the condition variable.
        condvar: *mut u32,
        /// How many are woken.
        count: u32,
    },
    /// The part of `RwLock::read` that waits.
    LockShared {
        /// The first word of the lock.
        state: *mut u32,
    },
    /// The part of `RwLock::write` that waits.
    LockAlone {
        /// The first word of the lock.
        state: *mut u32,
    },
    /// `thread::park` or `park_timeout`.
    Park {
        /// The word of the current thread.
        state: *mut u32,
        /// When it ends, if it does.
        deadline: Option<u64>,
    },
}

/// The current thread is about to call a function of std: what that does before it enters the kernel is a step of its own.
/// Returns what the function returns if there is no need to call it: the exhaustive search takes its steps one by one.
///
/// # Safety
/// As for [`fence`], and the objects of the call must be what it says.
pub unsafe fn std_call(engine: *mut Engine, call: StdCall) -> Option<u64> {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                return Some(along_graph::std_call(engine, call));
            }
            engine.point(Pending::NOTHING);
            engine.remember_unseen_synchronisation();
            if let StdCall::CondvarWait { mutex, .. } = call
                && engine.remembers()
            {
                // It unlocks the mutex unseen; what others find there is nothing new if it was so before.
                let held = mutex.read_volatile();
                engine.remember_store(access(engine, Site::Std, mutex, Order::Release, held), 0);
            }
            None
        })
    }
}

/// The current thread is about to call `Once::call`. Returns what [`once_ends`] wants to know.
///
/// # Safety
/// As for [`std_call`].
pub unsafe fn once_begins(engine: *mut Engine, once: *mut u32) -> u32 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                return along_graph::once_begins(engine, once);
            }
            engine.point(Pending::NOTHING);
            engine.remember_unseen_synchronisation();
            0
        })
    }
}

/// The current thread has called `Once::call`, or is unwinding from it.
///
/// # Safety
/// As for [`std_call`].
pub unsafe fn once_ends(engine: *mut Engine, once: *mut u32, before: u32) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if engine.follows_graph() {
                along_graph::once_ends(engine, once, before);
            }
        });
    }
}

/// Nanoseconds of the monotonic clock.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn now(engine: *mut Engine) -> u64 {
    // SAFETY: the caller's.
    unsafe { (*engine).clock.monotonic() }
}

/// The current thread gives way to the others, in a call that returns to `pc`.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn yield_now(engine: *mut Engine, pc: usize) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.record(|| Action::Yield);
            engine.yield_now(pc);
        });
    }
}

/// The current thread sleeps until this time of the monotonic clock.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn sleep_until(engine: *mut Engine, deadline: u64) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let ns = deadline.saturating_sub(engine.clock.monotonic());
            engine.record(|| Action::Sleep { ns });
            let me = engine.current_id();
            engine.current().spin.reset();
            if engine.follows_graph() {
                // Whoever sleeps may be late, and so may the others.
                return engine.clock.advance(deadline);
            }
            engine.clock.sleep(me, deadline);
            engine.block(State::Sleeping, SwitchReason::Sleeping);
        });
    }
}

/// The virtual time: nanoseconds of the monotonic clock.
///
/// Asking again and again is a way to wait, so the answer counts as a read of a place that only time changes.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn monotonic_time(engine: *mut Engine, pc: usize) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.count_step();
            let now = engine.clock.monotonic();
            engine.has_read(Read { pc, address: CLOCK, value: now });
            engine.clock.monotonic()
        })
    }
}

/// The real-time clock that belongs to a monotonic time.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn real_time(engine: *mut Engine, monotonic: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe { (*engine).clock.real_time() - (*engine).clock.monotonic() + monotonic }
}

/// The monotonic time that a time of the real-time clock stands for.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn from_real_time(engine: *mut Engine, real: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe { (*engine).clock.from_real_time(real) }
}

/// Fills a buffer with random bytes that are equal in every execution.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn fill_random(engine: *mut Engine, buffer: &mut [u8]) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            for chunk in buffer.chunks_mut(8) {
                chunk.copy_from_slice(&engine.random.next().to_le_bytes()[..chunk.len()]);
            }
        });
    }
}

/// Registers a destructor of a thread-local of the current thread.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn at_thread_exit(engine: *mut Engine, destructor: Destructor) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.current().destructors.push(destructor)) };
}

/// Notes the destructor of a thread-specific key that was made outside executions.
pub fn note_key(key: u32, destructor: Option<KeyDestructor>) {
    if let Some(known) = GLOBAL.key_destructors.get(key as usize) {
        known.set(destructor);
    }
}

/// Makes a thread-specific key that lasts as long as the execution.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn make_key(engine: *mut Engine, destructor: Option<KeyDestructor>) -> u32 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.keys.push(destructor);
            (MAX_KEYS + engine.keys.len() - 1) as u32
        })
    }
}

/// The current thread's value of a key.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn specific(engine: *mut Engine, key: u32) -> *mut c_void {
    // SAFETY: the caller's.
    let thread = unsafe { (*engine).current() };
    thread.specific.iter().find(|(known, _)| *known == key).map_or(std::ptr::null_mut(), |(_, value)| *value)
}

/// Sets the current thread's value of a key.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn set_specific(engine: *mut Engine, key: u32, value: *mut c_void) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let specific = &mut engine.current().specific;
            match specific.iter_mut().find(|(known, _)| *known == key) {
                Some(known) => known.1 = value,
                None => specific.push((key, value)),
            }
        });
    }
}

/// The code under test has mapped memory.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn mapped(engine: *mut Engine, address: usize, len: usize) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.mappings.push((address, len))) };
}

/// The code under test wants memory unmapped. False if the memory existed before the execution, which must not lose it.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn may_unmap(engine: *mut Engine, address: usize, len: usize) -> bool {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let inside = |&(start, size): &(usize, usize)| start <= address && address + len <= start + size;
            let known = engine.mappings.iter().any(inside);
            engine.mappings.retain(|&whole| whole != (address, len));
            known
        })
    }
}

/// Names the current thread.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn name_thread(engine: *mut Engine, name: &str) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.current().name = Some(name.to_owned())) };
}

/// The current thread's number, and the lowest address and length of its stack.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn current_stack(engine: *mut Engine) -> (ThreadId, usize, usize) {
    // SAFETY: the caller's.
    unsafe {
        let thread = (*engine).current();
        (thread.id, thread.stack.bottom(), thread.stack.top() - thread.stack.bottom())
    }
}

/// The current thread panics, with this message.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn panicked(engine: *mut Engine, message: impl FnOnce() -> String) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let message = message();
            engine.record(|| Action::Panic { message: message.clone() });
            engine.panic = Some((engine.current_id(), message));
        });
    }
}

/// Records something that has no effect on the execution, if a trace is wanted.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn note(engine: *mut Engine, action: impl FnOnce() -> Action) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.record(action)) };
}

/// The current thread is about to begin an operation: others may go first, so that what they have done by then comes
/// before it in real time.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn operation_begins(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.point(Pending::NOTHING)) };
}

/// Writes down what the current thread has seen of the first threads: how far each of them had come in what happened before
/// now. False if nobody keeps count.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn seen_of_threads(engine: *mut Engine, seen: &mut [u32]) -> bool {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let me = engine.current_id();
            let Some(memory) = &engine.memory else { return false };
            let clock = &memory.sync.view(me).clock;
            seen.iter_mut().enumerate().for_each(|(thread, time)| *time = clock.get(thread as ThreadId));
            true
        })
    }
}

/// The panic that is being raised will end the current thread: nothing in the code under test catches it.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn panic_ends_thread(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe { (*engine).current().panicked = true };
}

/// The code under test ends the process, by a signal that it raises itself or by exiting.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn end_process(engine: *mut Engine, signal: Option<i32>, code: i32) -> ! {
    GLOBAL.in_engine.set(true);
    // SAFETY: the caller's.
    unsafe {
        let thread = (*engine).current_id();
        match signal {
            Some(signal) => (*engine).stop(Outcome::Crash { thread, signal, address: 0 }),
            None => (*engine).stop(Outcome::Exit { code }),
        }
    }
}

/// The code under test has allocated a block.
///
/// # Safety
/// As for [`fence`].
#[inline]
pub unsafe fn allocated(engine: *mut Engine, address: usize, size: usize) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.allocated(address, size)) };
}

/// The code under test frees a block: what is known of the places in it will no longer hold.
///
/// # Safety
/// As for [`fence`].
#[inline]
pub unsafe fn freeing(engine: *mut Engine, address: usize) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).remembers() || (*engine).trace.is_some() {
            enter(engine, |engine| engine.freeing(address));
        }
    }
}

/// The code under test frees what is no live block: what glibc ends a process for.
///
/// # Safety
/// As for [`fence`].
#[cold]
pub unsafe fn bad_free(engine: *mut Engine, address: usize, refusal: Refusal) -> ! {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.bad_free(address, refusal)) }
}

/// The code under test frees something that executions did not allocate: a block that existed before, or no block at all.
///
/// # Safety
/// As for [`fence`].
pub unsafe fn foreign_free(engine: *mut Engine, address: usize) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).is_no_block(address) {
            bad_free(engine, address, Refusal::NoBlock);
        }
    }
}

/// A plain access.
///
/// # Safety
/// As for [`fence`].
#[inline]
pub unsafe fn plain(engine: *mut Engine, caller: Caller, address: usize, size: usize, kind: AccessKind) {
    // Addresses have 47 bits.
    let access = address | size << 48 | (kind as usize) << 60;
    if GLOBAL.last_announced.get() == access {
        return;
    }
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.plain_access(address, size, kind, caller)) };
    GLOBAL.last_announced.set(access);
}

/// A plain access that the programmer made volatile, knowing that others may change the place: it must be there, and that is all.
///
/// # Safety
/// As for [`fence`].
#[inline]
pub unsafe fn volatile(engine: *mut Engine, address: usize, size: usize, kind: AccessKind) {
    if heap::is_freed(address) {
        // SAFETY: the caller's.
        unsafe { enter::<()>(engine, |engine| engine.use_after_free(address, size, kind)) };
    }
}
