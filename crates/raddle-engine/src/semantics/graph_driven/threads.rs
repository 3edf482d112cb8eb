//! Threads, their handles and their scopes along an execution graph.

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
use crate::thread::{HandleCounts, Left, Scope, Start, State, VThread};
use crate::trace::SwitchReason;

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

/// The current thread changes a count of `std::thread`: the handles of a thread, or the threads of a scope.
///
/// # Safety
/// As for the functions of [`super`].
#[inline(always)]
pub(super) unsafe fn count_handle<T: Int>(engine: *mut Engine, op: &AtomicOp<T>, rmw: Rmw) {
    // SAFETY: the caller's.
    unsafe {
        if op.site == Site::ThreadBookkeeping && rmw == Rmw::Add {
            enter(engine, |engine| engine.note_handle_count(op.address()));
        }
        // The thread asked std who it is, or ended the handle of a thread.
        if !(*engine).current().dropping.is_some_and(|dropping| dropping.of_thread) {
            enter(engine, Engine::note_act);
        }
        if op.site == Site::ThreadBookkeeping && rmw == Rmw::Sub && size_of::<T>() == size_of::<usize>() {
            enter(engine, |engine| count_down_for_thread(engine, op.address()));
        }
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
            super::futex::wake(engine, parker, 1, !0);
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
            let mut threads = engine.threads[..engine.execution.alive].iter();
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

impl Engine {
    /// Whether giving up a handle of a thread, and the end of a scope, are steps of their own.
    #[inline]
    pub(crate) fn counts_handles_of_threads(&mut self) -> bool {
        self.checker().thread_handles_are_events()
    }

    /// The current thread does something that shows when handles of threads are given up.
    pub(crate) fn need_handles_of_threads(&mut self) {
        if self.checker().require_thread_handle_events().is_err() {
            self.stop(Outcome::Discarded(Discarded::Restart));
        }
    }

    /// Whether the thread that parks at this word has a scope with threads, or had one.
    pub(crate) fn owns_scope(&self, parker: usize) -> bool {
        let parks_there = |thread: &VThread| thread.scope.is_some_and(|scope| scope.parker == parker);
        self.threads[..self.execution.alive].iter().any(|thread| parks_there(thread))
    }

    /// Whether the handles of the current thread's own result are counted at the address. `std::thread` counts those of the thread's
    /// data and of its scope, too.
    pub(crate) fn counts_own_result(&mut self, count: usize) -> bool {
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

    /// The code of the current thread has ended, and with it all that its scope waits for; destructors of thread-locals follow.
    pub(super) fn leave_scope(&mut self) {
        let Some(scope) = self.current().scope else { return };
        if self.counts_handles_of_threads() {
            return;
        }
        self.take_other_step(Access::LeaveScope, Order::Relaxed, NONE);
        // The graph may know of events that the thread has not made yet: those of destructors, for which no scope waits.
        let left = Left::By(self.latest_event());
        self.current().scope = Some(Scope { left, ..scope });
        self.unblock_scopes();
    }

    /// Whether threads have yet to leave a scope.
    pub(crate) fn has_threads_in(&self, count: usize) -> bool {
        let is_in = |thread: &VThread| {
            thread.scope.is_some_and(|scope| scope.count == count && scope.left == Left::No)
        };
        self.threads[..self.execution.alive].iter().any(|thread| is_in(thread))
    }

    /// The current thread is about to make another, and std gives that the next of its identifiers.
    pub(crate) fn note_spawn(&mut self) {
        let thread = self.execution.current;
        if !self.checker().sees_latest_spawn(thread) {
            self.exploration.left_out.add(Reason::ThreadIds);
        }
    }

    /// The number of the thread that the current one is about to make.
    pub(crate) fn next_child(&mut self) -> ThreadId {
        let parent = self.execution.current;
        let before = self.current().children;
        self.current().children += 1;
        self.checker().child_id(parent, before)
    }

    /// The current thread has just made another, of the kind that it makes.
    pub(crate) fn note_kind_of(&mut self, child: ThreadId) {
        let kind = self.current().makes;
        let Engine { exploration: Exploration { checker, .. }, threads, .. } = self;
        let alike = |sibling: ThreadId| kind.is_some() && threads[usize::from(sibling)].kind == kind;
        checker.as_mut().expect("the execution follows a graph").spawned(child, alike);
    }

    /// The next of those who left a scope that the current thread ends, and the event by which it did. While the execution follows
    /// the graph, that says which it is.
    pub(crate) fn next_to_have_left(&mut self, scope: usize) -> Option<(ThreadId, EventId)> {
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
    pub(crate) fn last_event_of(&mut self, thread: ThreadId) -> EventId {
        self.checker().last_of(thread)
    }

    /// The event that was made last.
    pub(crate) fn latest_event(&mut self) -> EventId {
        self.checker().made() as EventId - 1
    }
}
