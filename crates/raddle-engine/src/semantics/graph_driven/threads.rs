//! Threads, their handles and their scopes in graph-driven executions.

use std::mem;

use super::access::{NOTIFIED, PARKED, access_within, action};
use super::synthetic::SyntheticLocation;
use crate::execution::{Engine, Exploration, leaks};
use crate::graph::event::{Access, EventId, NONE};
use crate::isolate::heap;
use crate::left_out::Reason;
use crate::model_checker::FinalDrop;
use crate::op::{Caller, Int, Order, Rmw, ThreadId};
use crate::outcome::{Discarded, Outcome};
use crate::platform::global::GLOBAL;
use crate::platform::sys;
use crate::semantics::{AtomicOp, enter};
use crate::site::Site;
use crate::thread::{HandleCounts, Left, Scope, Start, ThreadStatus, VThread};
use crate::trace::SwitchReason;

/// Spawns a thread.
pub(super) fn spawn(engine: &mut Engine, start: Start) -> ThreadId {
    engine.check_spawn_order();
    let child = engine.next_child();
    engine.take_other_step(Access::Spawn(child), Order::Relaxed, NONE);
    engine.set_symmetry_class(child);
    let class = engine.current().child_class;
    engine.make_thread_with_number(child.into(), start);
    let (scope, handle_counts) =
        (engine.current().enters.take(), mem::take(&mut engine.current().made_counts));
    let thread = &mut engine.threads[usize::from(child)];
    thread.symmetry_class = class;
    thread.scope = scope;
    thread.handle_counts = handle_counts;
    child
}

/// The current thread is about to spawn a thread of a scope.
pub(super) fn enter_scope(engine: &mut Engine, count: usize, parker: usize) {
    if engine.counts_handles_of_threads() {
        let add = Access::Rmw(Rmw::Add, 1);
        let running = engine.take_synthetic_read(SyntheticLocation::Scope(count), add, Order::Relaxed);
        if running == u64::from(u8::MAX) {
            // The count has room for no more.
            engine.stop(Outcome::Unsupported { thread: engine.current_id() });
        }
    }
    engine.current().enters = Some(Scope { count, parker, left: Left::No });
}

/// Drops one of the two handles of a thread's result: the thread's own, or that of its join handle's owner. The last
/// drop frees the result, and counts one thread less in the scope.
pub(super) fn drop_result_handle(engine: &mut Engine, thread: ThreadId) {
    if engine.counts_handles_of_threads() {
        engine.take_synthetic_read(
            SyntheticLocation::Handles(thread),
            Access::Rmw(Rmw::Add, 1),
            Order::AcqRel,
        );
    }
}

/// A change of a reference count of `std::thread` by the current thread: of a thread's result or data, or of a scope.
///
/// # Safety
/// As for the functions of [`super`].
#[inline(always)]
pub(super) unsafe fn count_handle<T: Int>(engine: *mut Engine, op: &AtomicOp<T>, rmw: Rmw) {
    // SAFETY: the caller's.
    unsafe {
        if op.site == Site::ThreadBookkeeping && rmw == Rmw::Add {
            enter(engine, |engine| engine.add_handle_count(op.address()));
        }
        // The thread asked std for its handle, or dropped the handle of a thread.
        if !(*engine).current().dropping.is_some_and(|dropping| dropping.of_thread) {
            enter(engine, Engine::observe_drop);
        }
        if op.site == Site::ThreadBookkeeping && rmw == Rmw::Sub && size_of::<T>() == size_of::<usize>() {
            enter(engine, |engine| count_down_for_thread(engine, op.address()));
        }
    }
}

/// The current thread is about to drop a reference to an object that belongs to a thread.
pub(super) fn count_down_for_thread(engine: &mut Engine, count: usize) {
    if engine.counts_handles_of_threads() {
        if engine.counts_own_result(count) {
            let me = engine.current_id();
            drop_result_handle(engine, me);
        }
        return;
    }
    // The order of the drops matters if dropping the result has an effect before its memory is freed. The memory begins
    // with the strong count; the weak one follows.
    let is_strong = heap::block_of(count).is_some_and(|block| block.start == count);
    // SAFETY: the count lives as long as a handle.
    if is_strong && unsafe { (count as *const usize).read_volatile() } == 1 {
        engine.current().dropping = Some(FinalDrop::of_thread(count));
    }
}

/// Counts one thread less in a scope. The last thread wakes the owner.
///
/// # Safety
/// The owner parks at `parker`.
pub(super) unsafe fn leave_scope(engine: &mut Engine, count: usize, parker: usize) {
    if !engine.counts_handles_of_threads() {
        return engine.unblock_scopes();
    }
    if engine.take_synthetic_read(SyntheticLocation::Scope(count), Access::Rmw(Rmw::Sub, 1), Order::Release)
        == 1
    {
        let swap = Access::Rmw(Rmw::Swap, NOTIFIED.into());
        // SAFETY: the caller's; the scope has a handle of the thread.
        let before = unsafe { access_within(engine, 0, parker as *mut u32, swap, Order::Release) };
        if before == PARKED {
            super::futex::wake(engine, parker, 1, !0);
        }
    }
}

/// `is_finished` loads the number of handles of a thread's result: 1 if the code of the thread has ended. None if no
/// thread is known for the address of the count.
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
            let mut threads = engine.threads[..engine.execution.alive].iter();
            let thread = threads.rfind(|thread| is_counted(&thread.handle_counts))?.id;
            engine.need_handles_of_threads();
            // The load may be part of a spinloop.
            engine.current().registers = GLOBAL.registers.get();
            let dropped = engine.take_synthetic_load(SyntheticLocation::Handles(thread), order, caller.pc);
            let handles = T::narrow(2 - u128::from(dropped));
            engine.record(|| action(count, Access::Load, order, handles, handles));
            Some(handles)
        })
    }
}

/// The end of a scope in the current thread. Returns the number of its threads that are `running`.
///
/// Unless handles of threads are events, waits for all threads and synchronizes with one after another, because the
/// order in which they leave makes no difference.
pub(super) fn end_scope(engine: &mut Engine, count: usize, running: impl Fn() -> bool) -> u64 {
    if engine.counts_handles_of_threads() {
        let running =
            engine.take_synthetic_read(SyntheticLocation::Scope(count), Access::Load, Order::Acquire);
        engine.current().ends_scope = running != 0;
        return running;
    }
    while running() || engine.has_threads_in(count) {
        engine.block(ThreadStatus::JoinScope, SwitchReason::Joining);
    }
    while let Some((thread, left)) = engine.next_to_have_left(count) {
        if let Some(scope) = &mut engine.threads[usize::from(thread)].scope {
            scope.left = Left::SeenByOwner;
        }
        engine.take_other_step(Access::EndScope(thread), Order::Relaxed, left);
    }
    0
}

/// The current thread joins a thread that has ended.
pub(super) fn joined(engine: &mut Engine, thread: ThreadId) {
    let last = engine.last_event_of(thread);
    engine.take_other_step(Access::Join(thread), Order::Relaxed, last);
    drop_result_handle(engine, thread);
}

impl Engine {
    /// Whether drops of thread handles and the end of a scope are events.
    #[inline]
    fn counts_handles_of_threads(&mut self) -> bool {
        self.checker().thread_handles_are_events()
    }

    /// The current thread observes when handles of threads are dropped, so that the drops must be events.
    pub(super) fn need_handles_of_threads(&mut self) {
        if self.checker().require_thread_handle_events().is_err() {
            self.stop(Outcome::Discarded(Discarded::Restart));
        }
    }

    /// Whether the thread that parks at this futex owns or owned a scope with threads.
    pub(super) fn owns_scope(&self, parker: usize) -> bool {
        let parks_there = |thread: &VThread| thread.scope.is_some_and(|scope| scope.parker == parker);
        self.threads[..self.execution.alive].iter().any(|thread| parks_there(thread))
    }

    /// Whether the address holds the reference count of the current thread's own result. `std::thread` counts
    /// references to the thread's data and to its scope, too.
    fn counts_own_result(&mut self, count: usize) -> bool {
        let of_data = self.exploration.handle_at.is_some_and(|at| {
            // SAFETY: std keeps the handle there, in the thread-locals of the current thread.
            let data = unsafe { ((sys::fs_base() - at) as *const usize).read_volatile() };
            (count..count + leaks::BEHIND).contains(&data)
        });
        let thread = self.current();
        let of_scope = thread
            .scope
            .is_some_and(|scope| heap::block_of(scope.count).is_some_and(|block| block.start == count));
        thread.handle_counts.contains(&count) && !of_data && !of_scope
    }

    /// The code of the current thread has ended, and the thread leaves its scope; destructors of thread-locals follow.
    pub(super) fn leave_scope(&mut self) {
        let Some(scope) = self.current().scope else { return };
        if self.counts_handles_of_threads() {
            return;
        }
        self.take_other_step(Access::LeaveScope, Order::Relaxed, NONE);
        // The graph may already contain later events of the thread: those of destructors, for which no scope waits.
        let left = Left::By(self.latest_event());
        self.current().scope = Some(Scope { left, ..scope });
        self.unblock_scopes();
    }

    /// Whether threads have yet to leave a scope.
    fn has_threads_in(&self, count: usize) -> bool {
        let is_in = |thread: &VThread| {
            thread.scope.is_some_and(|scope| scope.count == count && scope.left == Left::No)
        };
        self.threads[..self.execution.alive].iter().any(|thread| is_in(thread))
    }

    /// Records that other orders of thread identifiers are left out, if the current thread spawns without having
    /// observed the latest spawn.
    fn check_spawn_order(&mut self) {
        let thread = self.execution.current;
        if !self.checker().sees_latest_spawn(thread) {
            self.exploration.left_out.add(Reason::ThreadIds);
        }
    }

    /// The number of the thread that the current one is about to spawn.
    fn next_child(&mut self) -> ThreadId {
        let parent = self.execution.current;
        let before = self.current().children;
        self.current().children += 1;
        self.checker().child_id(parent, before)
    }

    /// Declares the new thread symmetric to its siblings of the same symmetry class.
    fn set_symmetry_class(&mut self, child: ThreadId) {
        let class = self.current().child_class;
        let Engine { exploration: Exploration { checker, .. }, threads, .. } = self;
        let is_symmetric =
            |sibling: ThreadId| class.is_some() && threads[usize::from(sibling)].symmetry_class == class;
        checker.as_mut().expect("the execution follows a graph").spawned(child, is_symmetric);
    }

    /// The next thread that left the scope which the current thread ends, and the event by which it left. While the
    /// execution follows the graph, the graph determines the thread.
    fn next_to_have_left(&mut self, scope: usize) -> Option<(ThreadId, EventId)> {
        let me = self.execution.current;
        let has_left = |thread: &VThread| match thread.scope? {
            Scope { count, left: Left::By(event), .. } if count == scope => Some((thread.id, event)),
            _ => None,
        };
        match self.checker().next_event_of(me) {
            Some(Access::EndScope(thread)) => {
                has_left(self.threads[..self.execution.alive].get(usize::from(thread))?)
            }
            Some(_) => None,
            None => self.threads[..self.execution.alive].iter().find_map(|thread| has_left(thread)),
        }
    }

    /// The last event of a thread.
    fn last_event_of(&mut self, thread: ThreadId) -> EventId {
        self.checker().last_of(thread)
    }

    /// The latest event.
    fn latest_event(&mut self) -> EventId {
        self.checker().made() as EventId - 1
    }
}
