//! Events of an execution that follows an execution graph.

use std::mem;

use super::atomics::trusted_reach;
use super::{StdCall, at, enter};
use crate::detect::fault::AccessKind;
use crate::execution::{Engine, SyntheticLocation, sites};
use crate::graph::event::{Access, NONE};
use crate::isolate::heap;
use crate::model_checker::{Counting, FinalDrop, Location, LockUse, Purpose};
use crate::op::{Caller, Int, Order, Rmw, ThreadId};
use crate::outcome::Outcome;
use crate::platform::global::GLOBAL;
use crate::site::Site;
use crate::thread::{HandleCounts, Left, Scope, Start, State, Wake};
use crate::trace::{Action, SwitchReason};

/// The word at which a thread parks: somebody has woken the thread, or will find it parked.
const NOTIFIED: u32 = 1;
const PARKED: u32 = u32::MAX;

/// An access to memory; returns what it reads.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn access<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    place: *mut T,
    access: Access,
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if size_of::<T>() == size_of::<usize>() && engine.is_count(place.addr()) {
                // What the user marked may have other handles than those that are counted.
                let alone = !engine.is_marked_count(place.addr()) && is_alone(place.addr());
                let purpose = Purpose::Inspect { alone };
                if engine.counting(place.addr(), purpose) == Counting::Abstract {
                    return count_apart(engine, place, access, order, Site::RefCountDown);
                }
            }
            if size_of::<T>() == size_of::<u32>() && engine.is_shared_lock(place.addr()) {
                engine.locking(place.addr(), LockUse::Inspect);
            }
            access_and_check(engine, caller, place, access, order)
        })
    }
}

pub(super) unsafe fn access_and_check<T: Int>(
    engine: &mut Engine,
    caller: Caller,
    place: *mut T,
    access: Access,
    order: Order,
) -> T {
    // Others call before this one goes round.
    engine.current().registers = GLOBAL.registers.get();
    let kind = if access.reads_only() { AccessKind::AtomicRead } else { AccessKind::AtomicWrite };
    engine.reach(at(place), kind);
    // SAFETY: the caller's.
    let read = unsafe { access_within(engine, caller.pc, place, access, order) };
    engine.accessed_along_graph(at(place), caller);
    read
}

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
        trusted_reach(engine, place);
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
fn is_alone(count: usize) -> bool {
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
unsafe fn count_apart<T: Int>(
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
            let remembered = super::atomics::access(engine, site, place, order, read);
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

/// [`access`] to memory that is there and that nothing races for.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn access_within<T: Int>(
    engine: &mut Engine,
    pc: usize,
    place: *mut T,
    access: Access,
    order: Order,
) -> T {
    let thread = engine.current_id();
    if size_of::<T>() > size_of::<u64>() {
        engine.stop(Outcome::Unsupported { thread });
    }
    // SAFETY: the caller's.
    unsafe {
        let location = || {
            let value = Some(place.read_volatile().widen() as u64);
            Some(Location { address: place.addr(), size: size_of::<T>() as u8, value })
        };
        let (read, write) = engine.take_step(access, order, location, NONE, pc);
        let held = place.read_volatile();
        if let Some(value) = write {
            place.write_volatile(T::narrow(value.into()));
        }
        let read = T::narrow(read.into());
        let newest = if matches!(access, Access::Store(_)) { place.read_volatile() } else { held };
        engine.record(|| action(place, access, order, read, newest));
        read
    }
}

/// What to record of an access that read `read`, when memory held `newest` (for a store: holds then).
fn action<T: Int>(place: *const T, access: Access, order: Order, read: T, newest: T) -> Action {
    let (address, size) = (place.addr(), size_of::<T>() as u8);
    let (value, newest) = (read.widen(), newest.widen());
    let written = || access.writes(value as u64, size).map_or(0, u128::from);
    match access {
        Access::Load | Access::AwaitGreater(_) | Access::AwaitNotEqual(_) => {
            Action::Load { address, size, order, value, newest }
        }
        Access::Store(value) => Action::Store { address, size, order, value: value.into(), newest },
        Access::Rmw(op, _) => Action::Rmw { address, size, order, op, read: value, written: written() },
        Access::RwLockUnlock(_) => {
            Action::Rmw { address, size, order, op: Rmw::Sub, read: value, written: written() }
        }
        Access::Cas { expected, new, .. } => {
            let (expected, new) = (expected.into(), new.into());
            Action::Cas { address, size, order, expected, new, read: value, newest }
        }
        // A lock is taken when it is free, so nothing newer matters.
        _ => {
            Action::Cas { address, size, order, expected: value, new: written(), read: value, newest: value }
        }
    }
}

/// A futex wait.
pub(super) fn futex_wait(
    engine: &mut Engine,
    place: *const u32,
    expected: u32,
    mask: u32,
    deadline: Option<u64>,
) -> Option<Wake> {
    let address = place.addr();
    lock_queue(engine, address);
    let location = || {
        // SAFETY: the caller waits at this word.
        let value = unsafe { place.read_volatile() };
        Some(Location { address, size: 4, value: Some(value.into()) })
    };
    let (value, _) = engine.take_step(Access::Load, Order::Acquire, location, NONE, 0);
    let blocks = value as u32 == expected;
    let timeout = deadline.map(|deadline| deadline.saturating_sub(engine.time()));
    engine.record(|| Action::Wait { address, expected, blocks, timeout });
    if !blocks {
        unlock_queue(engine, address);
        return None;
    }
    let me = engine.current_id();
    if let Some(deadline) = deadline
        && engine.times_out_early(deadline)
    {
        unlock_queue(engine, address);
        engine.record(|| Action::Woken { address, timed_out: true });
        return Some(Wake::TimedOut);
    }
    engine.futexes.wait(me, address, mask);
    engine.current().woken = false;
    unlock_queue(engine, address);
    if !engine.current().woken {
        if let Some(deadline) = deadline {
            engine.clock.sleep(me, deadline);
        }
        engine.block(State::Futex { address, mask }, SwitchReason::Blocked);
    }
    let wake = engine.current().wake;
    match wake {
        Wake::Woken => {
            let waker = engine.current().woken_by;
            engine.take_other_step(Access::Woken, Order::Relaxed, waker);
        }
        Wake::TimedOut => engine.take_other_step(Access::TimedOut, Order::Relaxed, NONE),
    }
    engine.record(|| Action::Woken { address, timed_out: wake == Wake::TimedOut });
    Some(wake)
}

/// Before something is done to the queue of those who wait at an address: one thread at a time may, as in the kernel. Threads that
/// it wakes go on after this event.
pub(super) fn lock_queue(engine: &mut Engine, address: usize) -> u32 {
    engine.take_shared_step(SyntheticLocation::Queue(address), Access::Lock(1))
}

/// The queue is as it is to be.
pub(super) fn unlock_queue(engine: &mut Engine, address: usize) {
    engine.take_shared_step(SyntheticLocation::Queue(address), Access::Rmw(Rmw::Swap, 0));
}

/// What a function of std does that is not instrumented, step by step as its source has it (sys/sync, with futexes). Returns
/// what the function returns.
///
/// # Safety
/// The objects of the call must be what it says.
pub(super) unsafe fn std_call(engine: &mut Engine, call: StdCall) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        let step = |engine: &mut Engine, place: *mut u32, access, order| {
            access_within(engine, 0, place, access, order)
        };
        match call {
            StdCall::CondvarWait { condvar, mutex, deadline } => {
                let seen = step(engine, condvar, Access::Load, Order::Relaxed);
                step(engine, mutex, Access::Rmw(Rmw::Swap, 0), Order::Release);
                let wake = match engine.wakes_spuriously() {
                    true => Some(Wake::Woken),
                    false => futex_wait(engine, condvar, seen, !0, deadline),
                };
                step(engine, mutex, Access::Lock(1), Order::Acquire);
                (wake != Some(Wake::TimedOut)).into()
            }
            StdCall::CondvarNotify { condvar, count } => {
                step(engine, condvar, Access::Rmw(Rmw::Add, 1), Order::Relaxed);
                super::futexes::wake_at(engine, condvar.addr(), count, !0);
                0
            }
            StdCall::LockShared { state } => {
                engine.locking(state.addr(), LockUse::Inspect);
                step(engine, state, Access::RwLockRead, Order::Acquire);
                0
            }
            StdCall::LockAlone { state } => {
                engine.locking(state.addr(), LockUse::Inspect);
                step(engine, state, Access::RwLockWrite, Order::Acquire);
                0
            }
            StdCall::Park { state, deadline, by_user } => {
                let by_user = by_user && !mem::take(&mut engine.current().ends_scope);
                if by_user && engine.owns_scope(state.addr()) {
                    engine.need_handles_of_threads();
                }
                if by_user && engine.wakes_spuriously() {
                    return 0;
                }
                if step(engine, state, Access::Rmw(Rmw::Sub, 1), Order::Acquire) == NOTIFIED {
                    return 0;
                }
                futex_wait(engine, state, PARKED, !0, deadline);
                if deadline.is_some() {
                    step(engine, state, Access::Rmw(Rmw::Swap, 0), Order::Acquire);
                    return 0;
                }
                let take = Access::Cas { expected: NOTIFIED.into(), new: 0, failure: Order::Acquire };
                while step(engine, state, take, Order::Acquire) != NOTIFIED {
                    futex_wait(engine, state, PARKED, !0, deadline);
                }
                0
            }
            StdCall::Lock { .. } | StdCall::EnterScope { .. } | StdCall::LeaveScope { .. } => {
                unreachable!("not a step of its own")
            }
            StdCall::Barrier { arrivals, threads } => {
                let threads = threads.max(1);
                let before = access_within(engine, 0, arrivals, Access::Rmw(Rmw::Add, 1), Order::AcqRel);
                if before == 0 {
                    engine.renew_barrier(arrivals.addr());
                }
                let is_last = before % threads == threads - 1;
                // The last one to come lets its generation go, and no other: threads may already come for the next.
                engine.pass_barrier(arrivals.addr(), before / threads, is_last);
                is_last.into()
            }
        }
    }
}

/// Before `Once::call`: one thread at a time may call. Returns the state of the once.
///
/// # Safety
/// As for [`std_call`].
pub(super) unsafe fn once_begins(engine: &mut Engine, once: *mut u32) -> u32 {
    engine.take_shared_step(SyntheticLocation::Once(once.addr()), Access::Lock(1));
    // SAFETY: the caller's.
    unsafe { once.read_volatile() }
}

/// After `Once::call`, which left the once in the state `after`.
///
/// # Safety
/// As for [`std_call`].
pub(super) unsafe fn once_ends(engine: &mut Engine, once: *mut u32, after: u32) {
    // SAFETY: the caller's. Nobody else changes it meanwhile.
    unsafe {
        if after != once.read_volatile() {
            access_within(engine, 0, once, Access::Store(after.into()), Order::Release);
        }
    }
    engine.take_shared_step(SyntheticLocation::Once(once.addr()), Access::Rmw(Rmw::Swap, 0));
}

/// Waits until the once is complete, or poisoned unless `force` is set; returns its state.
///
/// # Safety
/// As for [`std_call`].
pub(super) unsafe fn once_waits(
    engine: &mut Engine,
    once: *mut u32,
    force: bool,
    [incomplete, complete]: [u32; 2],
) -> u32 {
    let mut state = incomplete;
    loop {
        // SAFETY: the caller's.
        state =
            unsafe { access_within(engine, 0, once, Access::AwaitNotEqual(state.into()), Order::Acquire) };
        if state == complete || !force {
            return state;
        }
    }
}

/// Makes a thread.
pub(super) fn spawn(engine: &mut Engine, start: Start) -> ThreadId {
    engine.note_spawn();
    let child = engine.next_child();
    engine.take_other_step(Access::Spawn(child), Order::Relaxed, NONE);
    engine.note_kind_of(child);
    let kind = engine.current().makes;
    engine.make_thread_with_number(child.into(), start);
    let (scope, handle_counts) =
        (engine.current().enters.take(), mem::take(&mut engine.current().made_counts));
    let thread = &mut engine.threads[usize::from(child)];
    thread.kind = kind;
    thread.scope = scope;
    thread.handle_counts = handle_counts;
    child
}

/// The current thread is about to make a thread of a scope.
pub(super) fn enter_scope(engine: &mut Engine, count: usize, parker: usize) {
    if engine.counts_handles_of_threads() {
        let add = Access::Rmw(Rmw::Add, 1);
        let running = engine.take_shared_read(SyntheticLocation::Scope(count), add, Order::Relaxed);
        if running == u64::from(u8::MAX) {
            // The number has no room for more.
            engine.stop(Outcome::Unsupported { thread: engine.current_id() });
        }
    }
    engine.current().enters = Some(Scope { count, parker, left: Left::No });
}

/// One of the two handles of a thread's result is about to be given up: by the thread itself, or by the owner of its join handle. Whoever
/// comes last drops the result, and counts one thread less in its scope.
pub(super) fn give_up_handle(engine: &mut Engine, thread: ThreadId) {
    if engine.counts_handles_of_threads() {
        engine.take_shared_read(SyntheticLocation::Handles(thread), Access::Rmw(Rmw::Add, 1), Order::AcqRel);
    }
}

/// The current thread is about to count one handle less of something that belongs to a thread.
pub(super) fn count_down_for_thread(engine: &mut Engine, count: usize) {
    if engine.counts_handles_of_threads() {
        if engine.counts_own_result(count) {
            let me = engine.current_id();
            give_up_handle(engine, me);
        }
        return;
    }
    // It matters who comes last if the end of the result is noticed: what is done between this and the end of its memory.
    // That begins with the count; weak handles are counted behind it.
    let is_strong = heap::block_of(count).is_some_and(|block| block.start == count);
    // SAFETY: the count lives as long as a handle.
    if is_strong && unsafe { (count as *const usize).read_volatile() } == 1 {
        engine.current().dropping = Some(FinalDrop::of_thread(count));
    }
}

/// A scope counts one thread less. With the last one, its owner is woken.
///
/// # Safety
/// The owner parks at `parker`.
pub(super) unsafe fn leave_scope(engine: &mut Engine, count: usize, parker: usize) {
    if !engine.counts_handles_of_threads() {
        return engine.unblock_scopes();
    }
    if engine.take_shared_read(SyntheticLocation::Scope(count), Access::Rmw(Rmw::Sub, 1), Order::Release) == 1
    {
        let swap = Access::Rmw(Rmw::Swap, NOTIFIED.into());
        // SAFETY: the caller's; the scope has a handle of the thread.
        let before = unsafe { access_within(engine, 0, parker as *mut u32, swap, Order::Release) };
        if before == PARKED {
            super::futexes::wake_at(engine, parker, 1, !0);
        }
    }
}

/// `is_finished` loads how many handles the result of a thread has: 1 if the code of the thread has ended. None if the thread is not
/// known by the address of that count.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn is_finished<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    count: *const T,
    order: Order,
) -> Option<T> {
    let is_counted = |counts: &HandleCounts| counts.contains(&count.addr());
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let mut threads = engine.threads[..engine.alive].iter();
            let thread = threads.rfind(|thread| is_counted(&thread.handle_counts))?.id;
            engine.need_handles_of_threads();
            // Threads may ask again and again.
            engine.current().registers = GLOBAL.registers.get();
            let dropped = engine.take_shared_load(SyntheticLocation::Handles(thread), order, caller.pc);
            let handles = T::narrow(2 - u128::from(dropped));
            engine.record(|| action(count, Access::Load, order, handles, handles));
            Some(handles)
        })
    }
}

/// The current thread looks how many threads of a scope are `running`, at the end of that scope.
///
/// Unless the handles of threads are counted step by step, it waits for all of them and takes over what they did, one after
/// another, because the order in which they leave makes no difference.
pub(super) fn end_scope(engine: &mut Engine, count: usize, running: impl Fn() -> bool) -> u64 {
    if engine.counts_handles_of_threads() {
        let running = engine.take_shared_read(SyntheticLocation::Scope(count), Access::Load, Order::Acquire);
        engine.current().ends_scope = running != 0;
        return running;
    }
    while running() || engine.has_threads_in(count) {
        engine.block(State::JoinScope, SwitchReason::Joining);
    }
    while let Some((thread, left)) = engine.next_to_have_left(count) {
        if let Some(scope) = &mut engine.threads[usize::from(thread)].scope {
            scope.left = Left::SeenByOwner;
        }
        engine.take_other_step(Access::EndScope(thread), Order::Relaxed, left);
    }
    0
}

/// A thread that was waited for has ended.
pub(super) fn joined(engine: &mut Engine, thread: ThreadId) {
    let last = engine.last_event_of(thread);
    engine.take_other_step(Access::Join(thread), Order::Relaxed, last);
    give_up_handle(engine, thread);
}
