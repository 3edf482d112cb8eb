//! Executions driven by an execution graph: the exhaustive search.
//!
//! An execution follows the graph that the [model checker](crate::model_checker) gives it. Beyond the end of the graph,
//! each event is added as a maximal extension, and the model checker pushes its alternatives on the work list. Threads
//! pause before each event, but the graph determines the next thread and the write that a read reads from. Memory holds
//! the newest value of each location, for plain accesses and uninstrumented code.
//!
//! | module | operations |
//! |---|---|
//! | [`by_site`] | atomic operations, by the class of their code |
//! | [`access`] | atomic accesses: the order of their steps |
//! | [`step`] | one event: waiting for its turn, spinloops, the request to the model checker |
//! | [`scheduling`] | who goes on |
//! | [`checkpoints`] | where executions begin |
//! | [`clocks`] | happens-before beside the graph, for the race detector |
//! | [`refcounts`], [`rwlocks`] | objects whose accesses commute |
//! | [`expanded_rmw`] | read-modify-writes that the compiler has expanded |
//! | [`threads`], [`futex`], [`std_calls`] | threads, scopes, and functions of std that block |
//! | [`monitor`] | monitors |
//! | [`real_time`] | operations of a scenario |
//! | [`synthetic`] | locations of the graph that are not in memory |

mod access;
mod by_site;
mod checkpoints;
mod clocks;
mod expanded_rmw;
mod futex;
mod monitor;
mod real_time;
mod refcounts;
mod rwlocks;
mod scheduling;
mod std_calls;
mod step;
mod synthetic;
mod threads;

use std::ops::Range;

use super::{AtomicKind, AtomicOp, MonitorCall, Semantics, StdCall, enter, unobserved};
use crate::execution::Engine;
use crate::graph::Model;
use crate::graph::event::{Access, NONE};
use crate::model_checker::ModelChecker;
use crate::op::{Caller, Int, Order, Rmw, ThreadId};
use crate::outcome::{Discarded, Outcome};
use crate::schedule::Schedule;
use crate::thread::{Start, ThreadStatus, Wake};
use crate::trace::{Action, Links};

/// Graph-driven executions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraphDriven;

impl Semantics for GraphDriven {
    #[inline(always)]
    unsafe fn atomic<T: Int>(engine: *mut Engine, op: AtomicOp<T>) -> T {
        // SAFETY: the caller's.
        unsafe {
            match op.kind {
                AtomicKind::Load => by_site::load(engine, op),
                AtomicKind::Store(_) => by_site::store(engine, op),
                AtomicKind::Rmw(rmw, _) => by_site::read_modify_write(engine, op, rmw),
                AtomicKind::Cas { expected, new, .. } => by_site::compare_exchange(engine, op, expected, new),
            }
        }
    }

    /// The orders in the program, if the memory model is followed strictly. Otherwise a failure is sequentially
    /// consistent if the success is, because compilers implement it so on every machine.
    #[inline]
    fn exchange_orders(engine: &Engine, [success, failure]: [Order; 2]) -> [Order; 2] {
        match success == Order::SeqCst && !engine.exploration.limits.strict_cas_failure_order {
            true => [success; 2],
            false => [success, failure],
        }
    }

    #[inline(always)]
    unsafe fn fence(engine: *mut Engine, caller: Caller, order: Order) {
        // SAFETY: the caller's.
        unsafe {
            if !refcounts::is_part_of_drop(engine, caller, order) {
                enter(engine, |engine| take_fence(engine, order));
            }
            unobserved::with_clocks(engine, |engine| engine.synchronise_fence(order));
        }
    }

    #[inline(always)]
    unsafe fn compiler_fence(engine: *mut Engine, order: Order) {
        // SAFETY: the caller's.
        unsafe {
            if order == Order::SeqCst {
                enter(engine, |engine| take_fence(engine, order));
            }
            if (*engine).keeps_clocks() && order == Order::SeqCst && (*engine).current().last_was_sc_rmw {
                enter(engine, |engine| engine.synchronise_fence(Order::SeqCst));
            }
        }
    }

    fn membarrier(engine: &mut Engine) {
        let thread = engine.current_id();
        engine.stop(Outcome::Unsupported { thread });
    }

    fn spawn(engine: &mut Engine, start: Start, made: impl FnOnce(ThreadId)) -> ThreadId {
        let thread = threads::spawn(engine, start);
        made(thread);
        engine.record(|| Action::Spawn { thread });
        thread
    }

    fn begin_thread(engine: &mut Engine) {
        let me = engine.current_id();
        let spawn = engine.checker().spawn_of(me);
        engine.take_other_step(Access::Begin, Order::Relaxed, spawn);
    }

    fn end_thread(engine: &mut Engine) {
        engine.leave_scope();
    }

    fn join(engine: &mut Engine, thread: ThreadId) {
        threads::joined(engine, thread);
    }

    fn detach(engine: &mut Engine, thread: ThreadId) {
        threads::drop_result_handle(engine, thread);
    }

    fn panics(engine: &mut Engine) {
        engine.observe_drop();
    }

    unsafe fn futex_wait(
        engine: &mut Engine,
        word: *const u32,
        expected: u32,
        mask: u32,
        deadline: Option<u64>,
    ) -> Option<Wake> {
        futex::futex_wait(engine, word, expected, mask, deadline)
    }

    fn futex_wake(engine: &mut Engine, address: usize, count: u32, mask: u32) -> u32 {
        futex::wake(engine, address, count, mask)
    }

    fn futex_requeue(engine: &mut Engine, _: usize, _: usize, _: u32, _: u32) -> (u32, u32) {
        let thread = engine.current_id();
        engine.stop(Outcome::Unsupported { thread })
    }

    unsafe fn std_call(engine: &mut Engine, call: StdCall) -> Option<u64> {
        // SAFETY: the caller's.
        unsafe { std_calls::std_call(engine, call) }
    }

    unsafe fn monitor(engine: &mut Engine, words: [*mut u32; 2], call: MonitorCall) {
        // SAFETY: the caller's.
        unsafe { monitor::call(engine, words, call) };
    }

    /// What the operation does is made of events.
    fn begin_step(_: &mut Engine) {}

    unsafe fn begin_once(engine: &mut Engine, once: *mut u32, copy: *mut u32) -> *mut u32 {
        // SAFETY: the caller's. Nothing changes the once but events.
        unsafe { copy.write(std_calls::once_begins(engine, once)) };
        copy
    }

    unsafe fn end_once(engine: &mut Engine, once: *mut u32, called: *mut u32) {
        // SAFETY: the caller's.
        unsafe { std_calls::once_ends(engine, once, called.read()) };
    }

    unsafe fn wait_once(
        engine: &mut Engine,
        once: *mut u32,
        copy: *mut u32,
        force: bool,
        states: [u32; 2],
    ) -> *mut u32 {
        // SAFETY: the caller's.
        unsafe { copy.write(std_calls::once_waits(engine, once, force, states)) };
        copy
    }

    fn yield_now(engine: &mut Engine, _: usize) {
        engine.count_step();
        engine.current().spin_detector.yielded();
        if engine.exploration.limits.prove_spins {
            // A thread that yields may wait for the threads that then run: rescheduling shows that.
            engine.reschedule();
        }
    }

    /// A sleep orders nothing: the thread may be late, and so may the others. But programmers expect that after a long
    /// sleep the others have done what they could: where other strategies follow, such programs are left to them.
    fn sleep_until(engine: &mut Engine, deadline: u64) {
        let me = engine.current_id();
        let ns = deadline.saturating_sub(engine.time());
        let is_long = !engine.execution.clock.may_delay_for(ns);
        if !engine.exploration.limits.sleeps_order_nothing && engine.execution.alive > 1 && is_long {
            engine.stop(Outcome::Unsupported { thread: me });
        }
        engine.execution.clock.has_waited(me, deadline);
    }

    fn read_clock(engine: &mut Engine, _: usize) {
        engine.poll_clock();
    }

    fn choose(engine: &mut Engine, alternatives: u16) -> u16 {
        engine.take_choice(alternatives)
    }

    fn choose_waiter(engine: &mut Engine, _: usize, _: u32, waiting: u16) -> u16 {
        engine.take_choice(waiting)
    }

    fn begin_operation(engine: &mut Engine, me: usize, threads: usize, _: bool) -> Option<u32> {
        if engine.explores_time() {
            return engine.read_completions(me, threads);
        }
        // A thread that begins the same operation again does not spin.
        engine.current().spin_detector.reset();
        None
    }

    fn end_operation(engine: &mut Engine, me: usize, threads: usize, completed: u32) -> Option<u32> {
        let is_event = engine.explores_time() && threads > 1;
        is_event.then(|| engine.complete_operation(me, completed))
    }

    unsafe fn signal(engine: &mut Engine, waker: *mut u32) -> bool {
        // SAFETY: the caller's.
        unsafe { access::access_within(engine, 0, waker, Access::Rmw(Rmw::Swap, 0), Order::AcqRel) };
        true
    }

    unsafe fn await_signal(engine: &mut Engine, waker: *mut u32) -> bool {
        // SAFETY: the caller's.
        unsafe { access::access_within(engine, 0, waker, Access::Lock(1), Order::AcqRel) };
        true
    }

    fn has_no_real_time(engine: &Engine) -> bool {
        checker(engine).model() == Model::Rc11
    }

    fn seen_of(engine: &Engine, thread: ThreadId) -> Option<u32> {
        Some(checker(engine).hb_entry_of_next(engine.current_id(), thread))
    }

    fn begin(engine: &mut Engine, body: *mut dyn FnMut()) {
        match engine.checker().restore_checkpoint() {
            Some(checkpoint) => engine.restore(checkpoint.machine()),
            None => _ = engine.make_thread(Start::Root(body)),
        }
    }

    fn next_thread(engine: &mut Engine) -> Option<ThreadId> {
        engine.next_along_graph()
    }

    /// Discards an execution that exceeds the preemption bound or breaks a promise of symmetry, and the first one if the search begins anew
    /// in another order. Failures stay failures.
    fn validate(engine: &mut Engine) {
        if engine.execution.outcome != Some(Outcome::Passed) {
            return;
        }
        let Engine { exploration, execution, threads, .. } = engine;
        let Some(checker) = &mut exploration.checker else { return };
        let threads = &threads[..execution.alive];
        let mut dropping = threads.iter().filter_map(|thread| thread.dropping);
        if dropping.any(|dropping| checker.drop_ended(dropping).is_err()) {
            execution.outcome = Some(Outcome::Discarded(Discarded::Restart));
            return;
        }
        let ended = threads.iter().filter(|thread| thread.status == ThreadStatus::Finished);
        if let Some(thread) =
            ended.map(|thread| thread.id).find(|&thread| checker.ended_before_symmetric_predecessor(thread))
        {
            execution.outcome = Some(Outcome::Asymmetric { thread });
        } else if !checker.is_within_bound() {
            execution.outcome = Some(Outcome::Discarded(Discarded::BoundExceeded));
        } else if checker.learn_readers() {
            execution.outcome = Some(Outcome::Discarded(Discarded::Repeat));
        }
    }

    fn schedule(engine: &Engine) -> Schedule {
        checker(engine).schedule()
    }

    fn links(engine: &Engine, action: &Action) -> Links {
        use Action::{Cas, Load, Rmw, Store, Wait};
        let me = engine.current_id();
        let checker = checker(engine);
        let touched = match action {
            Load { address, .. }
            | Store { address, .. }
            | Rmw { address, .. }
            | Cas { address, .. }
            | Wait { address, .. } => checker.rf_and_co(me, *address),
            _ => None,
        };
        // The race detector keeps clocks beside the graph.
        let moment = match engine.exploration.detector {
            None => checker.timestamp(me),
            Some(_) => engine.moment_by_clocks(action),
        };
        Links { touched, moment }
    }

    fn linear_extension(engine: &Engine) -> Option<Vec<u32>> {
        checker(engine).linear_extension()
    }

    fn reach_limit(_: &mut Engine) {}

    #[inline(always)]
    fn tracks_frees(_: &Engine) -> bool {
        true
    }

    fn free(engine: &mut Engine, memory: &Range<usize>) {
        engine.checker().memory_freed(memory);
        engine.current().dropping.take_if(|dropping| dropping.of_thread && memory.contains(&dropping.count));
        engine.end_marked_counts(memory);
    }

    fn forget_checkpoints(engine: &mut Engine) {
        engine.checker().discard_checkpoints();
    }

    fn repeat_at_once(engine: &mut Engine) {
        engine.checker().repeat_graph();
        engine.stop(Outcome::Discarded(Discarded::Repeat));
    }
}

/// Takes the step of a fence. Under sequential consistency a fence orders nothing, and is no event.
fn take_fence(engine: &mut Engine, order: Order) {
    if engine.checker().model() == Model::Rc11 {
        engine.take_other_step(Access::Fence, order, NONE);
    }
}

fn checker(engine: &Engine) -> &ModelChecker {
    engine.exploration.checker.as_ref().expect("the execution follows a graph")
}

impl Engine {
    fn checker(&mut self) -> &mut ModelChecker {
        self.exploration.checker.as_mut().expect("the execution follows a graph")
    }
}
