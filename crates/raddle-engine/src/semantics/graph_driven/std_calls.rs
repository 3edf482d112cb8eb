//! Uninstrumented functions of std, made step by step in graph-driven executions.

use std::mem;

use super::access::{NOTIFIED, PARKED, access_within};
use super::futex::futex_wait;
use super::synthetic::SyntheticLocation;
use super::threads;
use crate::execution::Engine;
use crate::graph::event::Access;
use crate::model_checker::LockUse;
use crate::op::{Order, Rmw};
use crate::semantics::StdCall;
use crate::thread::Wake;

/// A call: see [`Semantics::std_call`](crate::semantics::Semantics::std_call).
///
/// # Safety
/// The pointers of the call must be valid for their objects.
pub(super) unsafe fn std_call(engine: &mut Engine, call: StdCall) -> Option<u64> {
    // SAFETY: the caller's.
    unsafe {
        match call {
            StdCall::EnterScope { count, parker } => {
                threads::enter_scope(engine, count.addr(), parker);
                None
            }
            StdCall::LeaveScope { count, parker, panicked } => {
                engine.propagate_panic_to_scope();
                // The function would also wake the owner of the scope, without an event.
                count.write_volatile(count.read_volatile() - 1);
                if let Some(panicked) = panicked {
                    panicked.write_volatile(true);
                }
                threads::leave_scope(engine, count.addr(), parker);
                Some(0)
            }
            // The function that is called next locks without a callback, and finds the mutex free.
            StdCall::Lock { word } => {
                access_within(engine, 0, word, Access::Lock(1), Order::Acquire);
                word.write_volatile(0);
                // Compiled code that locks and unlocks it on its own is not seen.
                engine.acquire_uninstrumented();
                None
            }
            _ => Some(steps(engine, call)),
        }
    }
}

/// The steps of a function that blocks or wakes, as its source has them (sys/sync, with futexes). Returns the result of
/// the function.
///
/// # Safety
/// As for [`std_call`].
pub(super) unsafe fn steps(engine: &mut Engine, call: StdCall) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        let step = |engine: &mut Engine, location: *mut u32, access, order| {
            access_within(engine, 0, location, access, order)
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
                super::futex::wake(engine, condvar.addr(), count, !0);
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
                // The last thread to arrive releases its generation and no other: threads may already arrive for the
                // next.
                engine.pass_barrier(arrivals.addr(), before / threads, is_last);
                is_last.into()
            }
        }
    }
}

/// Before `Once::call`: one thread at a time may call it. Returns the state of the once.
///
/// # Safety
/// As for [`std_call`].
pub(super) unsafe fn once_begins(engine: &mut Engine, once: *mut u32) -> u32 {
    engine.take_synthetic_step(SyntheticLocation::Once(once.addr()), Access::Lock(1));
    // SAFETY: the caller's.
    unsafe { once.read_volatile() }
}

/// After `Once::call`, which left the once in the state `after`.
///
/// # Safety
/// As for [`std_call`].
pub(super) unsafe fn once_ends(engine: &mut Engine, once: *mut u32, after: u32) {
    // SAFETY: the caller's. No other thread changes the once meanwhile.
    unsafe {
        if after != once.read_volatile() {
            access_within(engine, 0, once, Access::Store(after.into()), Order::Release);
        }
    }
    engine.take_synthetic_step(SyntheticLocation::Once(once.addr()), Access::Rmw(Rmw::Swap, 0));
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

impl Engine {
    /// Begins a barrier, at which the current thread arrives first. An earlier barrier at its address has ended.
    fn renew_barrier(&mut self, barrier: usize) {
        for number in 0..SyntheticLocation::BARRIER_GENERATIONS as u16 {
            let location = SyntheticLocation::BarrierGeneration(barrier, number).address();
            if !self.checker().begin_generation(location) {
                return;
            }
        }
    }

    /// The current thread releases a generation of threads at a barrier, or waits until another does.
    fn pass_barrier(&mut self, barrier: usize, generation: u64, lets_go: bool) {
        let location = SyntheticLocation::BarrierGeneration(
            barrier,
            (generation % SyntheticLocation::BARRIER_GENERATIONS) as u16,
        );
        let times = generation / SyntheticLocation::BARRIER_GENERATIONS;
        self.take_synthetic_step(
            location,
            if lets_go { Access::Store(times + 1) } else { Access::AwaitGreater(times) },
        );
    }
}
