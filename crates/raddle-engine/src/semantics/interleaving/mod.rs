//! Executions as interleavings: the strategy chooses the thread at every scheduling point, and memory holds the newest
//! values.
//!
//! Every operation begins with a scheduling point, [`Engine::point`]. The order of the steps that follow is that of [`access`](mod@access).

mod access;
mod eager_start;
mod futex;
mod monitor;
mod mutex;
mod prefixes;
mod recognition;
mod scheduling;
mod spin;
mod std_calls;

use std::ops::Range;

use self::access::access;
use super::unobserved::{self, with_clocks};
use super::{AtomicKind, AtomicOp, MonitorCall, Semantics, StdCall, begin_entry, end_entry, enter};
use crate::execution::Engine;
use crate::execution::order_hash::{Kind, Step};
use crate::execution::prefixes::Prefix;
use crate::happens_before::clock::Time;
use crate::left_out::Reason;
use crate::op::{Caller, Int, Order, Pending, Rmw, ThreadId};
use crate::outcome::Outcome;
use crate::schedule::{ALL_POINTS, Schedule};
use crate::site::Site;
use crate::spinloop::watch::{CLOCK, Read, YIELD};
use crate::thread::{Start, ThreadStatus, Wake};
use crate::trace::{Action, Links, SwitchReason};

/// Interleavings that a strategy chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interleaving;

impl Semantics for Interleaving {
    #[inline(always)]
    unsafe fn atomic<T: Int>(engine: *mut Engine, op: AtomicOp<T>) -> T {
        // SAFETY: the caller's.
        unsafe {
            if op.is_finished_load(&*engine) {
                (*engine).exploration.left_out.add(Reason::IsFinished);
                enter(engine, Engine::recognise_no_more);
            }
            if is_unobserved(&*engine, &op) {
                if op.is_scope_end() {
                    unobserved::reach(engine, op.location);
                    let running = op.location.read_volatile();
                    let scope = std_calls::scope_of(op.address());
                    enter(engine, |engine| {
                        engine.recognise_no_more();
                        engine.acquire_from_scope(scope);
                    });
                    return running;
                }
                if matches!(op.kind, AtomicKind::Rmw(Rmw::Add, _)) && op.site == Site::ThreadBookkeeping {
                    enter(engine, |engine| engine.add_handle_count(op.address()));
                }
                let read = unobserved::access(engine, op);
                if (*engine).execution.order_hash.is_some() {
                    enter(engine, |engine| engine.hash_unobserved(&op, read));
                }
                return read;
            }
            if let Some([unlocked, locked]) = op.locks_mutex() {
                let word = op.location.cast();
                enter(engine, |engine| mutex::lock(engine, word, locked.widen() as u32, op.order));
                return unlocked;
            }
            if op.site == Site::ExpandedRmw && matches!(op.kind, AtomicKind::Load) {
                unobserved::reach(engine, op.location);
                return op.location.read_volatile();
            }
            let read = access(begin_entry(engine), op);
            end_entry();
            read
        }
    }

    /// A failing compare-exchange is sequentially consistent if a successful one is, because compilers implement it so
    /// on every machine.
    #[inline]
    fn exchange_orders(_: &Engine, [success, failure]: [Order; 2]) -> [Order; 2] {
        [success, if success == Order::SeqCst { success } else { failure }]
    }

    /// Under sequential consistency a fence has no effect and is no scheduling point. Under RC11 a sequentially
    /// consistent fence is one, because the order of such fences matters.
    #[inline(always)]
    unsafe fn fence(engine: *mut Engine, _: Caller, order: Order) {
        // SAFETY: the caller's.
        unsafe {
            with_clocks(engine, |engine| {
                if order == Order::SeqCst && engine.is_weak() {
                    engine.point(Pending::NOTHING);
                }
                engine.synchronise_fence(order);
            });
        }
    }

    #[inline(always)]
    unsafe fn compiler_fence(engine: *mut Engine, order: Order) {
        // SAFETY: the caller's.
        unsafe {
            if (*engine).keeps_clocks() && order == Order::SeqCst && (*engine).current().last_was_sc_rmw {
                enter(engine, |engine| engine.synchronise_fence(Order::SeqCst));
            }
        }
    }

    fn membarrier(engine: &mut Engine) {
        engine.synchronise_fences_of_all();
    }

    fn spawn(engine: &mut Engine, start: Start, made: impl FnOnce(ThreadId)) -> ThreadId {
        let thread = engine.make_thread(start);
        made(thread);
        engine.hash_spawn(thread);
        engine.synchronise_spawn(thread);
        engine.record(|| Action::Spawn { thread });
        engine.current().spin.reset();
        engine.start_eagerly(thread);
        engine.comes_to(Step::new(Kind::Pass, 0));
        engine.point(Pending::NOTHING);
        engine.hash_step(Step::new(Kind::Pass, 0));
        thread
    }

    fn begin_thread(_: &mut Engine) {}

    fn end_thread(_: &mut Engine) {}

    fn join(engine: &mut Engine, thread: ThreadId) {
        engine.synchronise_join(thread);
        engine.hash_step(Step::new(Kind::Join, thread.into()));
    }

    fn detach(_: &mut Engine, _: ThreadId) {}

    fn panics(engine: &mut Engine) {
        engine.recognise_no_more();
    }

    unsafe fn futex_wait(
        engine: &mut Engine,
        word: *const u32,
        expected: u32,
        mask: u32,
        deadline: Option<u64>,
    ) -> Option<Wake> {
        // SAFETY: the caller's.
        unsafe { futex::wait(engine, word, expected, mask, deadline) }
    }

    fn futex_wake(engine: &mut Engine, address: usize, count: u32, mask: u32) -> u32 {
        futex::wake(engine, address, count, mask)
    }

    fn futex_requeue(engine: &mut Engine, from: usize, to: usize, wake: u32, requeue: u32) -> (u32, u32) {
        futex::requeue(engine, from, to, wake, requeue)
    }

    unsafe fn std_call(engine: &mut Engine, call: StdCall) -> Option<u64> {
        // SAFETY: the caller's.
        unsafe { std_calls::std_call(engine, call) }
    }

    unsafe fn monitor(engine: &mut Engine, words: [*mut u32; 2], call: MonitorCall) {
        engine.recognise_no_more();
        // SAFETY: the caller's.
        unsafe { monitor::call(engine, words, call) };
    }

    fn begin_step(engine: &mut Engine) {
        engine.recognise_no_more();
        engine.point(Pending::MARKED);
        engine.current().spin.reset();
    }

    unsafe fn begin_once(engine: &mut Engine, once: *mut u32, _: *mut u32) -> *mut u32 {
        engine.recognise_no_more();
        engine.point(Pending::NOTHING);
        engine.acquire_uninstrumented();
        once
    }

    unsafe fn end_once(_: &mut Engine, _: *mut u32, _: *mut u32) {}

    unsafe fn wait_once(engine: &mut Engine, once: *mut u32, _: *mut u32, _: bool, _: [u32; 2]) -> *mut u32 {
        engine.recognise_no_more();
        engine.point(Pending::NOTHING);
        engine.acquire_uninstrumented();
        once
    }

    fn yield_now(engine: &mut Engine, pc: usize) {
        engine.recognise_no_more();
        engine.count_step();
        engine.has_read(Read { pc, address: YIELD, value: 0 });
        if engine.exploration.limits.prove_spins {
            // A thread that yields may wait for the threads that then run: a scheduling point shows that.
            return engine.point(Pending::NOTHING);
        }
        if engine.execution.runnable.len() > 1 || engine.execution.clock.may_wake_early() {
            engine.save_pause_stack();
            engine.current().pending = Pending::NOTHING;
            engine.execution.is_yielding = true;
            let next = engine.decide();
            engine.execution.is_yielding = false;
            engine.switch_to(next, SwitchReason::Yielded);
        }
    }

    fn sleep_until(engine: &mut Engine, deadline: u64) {
        engine.recognise_no_more();
        let me = engine.current_id();
        let is_explored = engine.execution.clock.may_delay_until(deadline);
        engine.leave_out_unexplored_timeout(is_explored);
        engine.execution.clock.sleep(me, deadline);
        engine.block(ThreadStatus::Sleeping, SwitchReason::Sleeping);
    }

    /// Polling the clock is a spinloop, so the result counts as a read of a location that only time changes.
    fn read_clock(engine: &mut Engine, pc: usize) {
        engine.recognise_no_more();
        let now = engine.time();
        engine.has_read(Read { pc, address: CLOCK, value: now });
    }

    fn choose(engine: &mut Engine, alternatives: u16) -> u16 {
        engine.recognise_no_more();
        engine.execution.prefix = Prefix::Left;
        let made = engine.execution.mo_offsets.len();
        let choice = engine.exploration.strategy.choose_reads_from(alternatives.into(), made);
        engine.has_chosen(choice, alternatives)
    }

    fn choose_waiter(engine: &mut Engine, address: usize, mask: u32, waiting: u16) -> u16 {
        engine.recognise_no_more();
        engine.execution.prefix = Prefix::Left;
        let waiters: Vec<ThreadId> = engine.execution.futexes.waiting(address, mask).collect();
        let made = engine.execution.mo_offsets.len();
        let choice = engine.exploration.strategy.choose_waiter(&waiters, made);
        // The choice may end the execution.
        drop(waiters);
        engine.has_chosen(choice, waiting)
    }

    fn begin_operation(engine: &mut Engine, _: usize, _: usize, first: bool) -> Option<u32> {
        engine.recognise_no_more();
        // The scheduling point at which the thread was first chosen serves its first operation.
        if !first {
            engine.point(Pending::NOTHING);
        }
        None
    }

    fn end_operation(_: &mut Engine, _: usize, _: usize, _: u32) -> Option<u32> {
        None
    }

    unsafe fn signal(_: &mut Engine, _: *mut u32) -> bool {
        false
    }

    unsafe fn await_signal(_: &mut Engine, _: *mut u32) -> bool {
        false
    }

    fn has_no_real_time(engine: &Engine) -> bool {
        engine.is_weak()
    }

    fn seen_of(engine: &Engine, thread: ThreadId) -> Option<u32> {
        let memory = engine.execution.memory.as_ref()?;
        Some(memory.sync.view(engine.current_id()).clock.get(thread))
    }

    fn begin(engine: &mut Engine, body: *mut dyn FnMut()) {
        engine.execution.starts_eagerly = engine.exploration.strategy.starts_threads_eagerly();
        engine.begin_hash();
        if !engine.begin_at_prefix() {
            engine.make_thread(Start::Root(body));
        }
    }

    fn next_thread(engine: &mut Engine) -> Option<ThreadId> {
        engine.next_by_strategy()
    }

    fn validate(_: &mut Engine) {}

    fn schedule(engine: &Engine) -> Schedule {
        let mark = engine.exploration.limits.claims_all.then_some(ALL_POINTS);
        Schedule {
            threads: mark.into_iter().chain(engine.execution.schedule.iter().copied()).collect(),
            mo_offsets: engine.execution.mo_offsets.clone(),
            ..Schedule::default()
        }
    }

    fn links(engine: &Engine, action: &Action) -> Links {
        use Action::{Cas, Load, Rmw, Store};
        let memory = engine.execution.memory.as_ref();
        // A wait reads memory itself, not a store history.
        let is_access = matches!(action, Load { .. } | Store { .. } | Rmw { .. } | Cas { .. });
        let touched = memory.filter(|_| is_access).and_then(|memory| memory.latest());
        Links { touched, moment: engine.moment_by_clocks(action) }
    }

    fn linear_extension(_: &Engine) -> Option<Vec<u32>> {
        panic!("raddle: an interleaving is asked for the order of its graph, which is a bug of Raddle");
    }

    fn reach_limit(engine: &mut Engine) {
        engine.void_hash();
        engine.exploration.left_out.add(Reason::LongExecutions);
    }

    #[inline(always)]
    fn tracks_frees(_: &Engine) -> bool {
        false
    }

    fn free(_: &mut Engine, _: &Range<usize>) {}

    fn forget_checkpoints(engine: &mut Engine) {
        engine.forget_prefixes();
    }

    fn repeat_at_once(_: &mut Engine) {}
}

/// Whether the access is no scheduling point. `Arc::get_mut` locks a count by the highest value, and `Arc::downgrade`
/// waits until it is unlocked: such a load is a scheduling point.
#[inline(always)]
unsafe fn is_unobserved<T: Int>(engine: &Engine, op: &AtomicOp<T>) -> bool {
    let waits = || {
        op.site == Site::RefCountUp
            && matches!(op.kind, AtomicKind::Load)
            // SAFETY: the caller's: the location is valid.
            && unsafe { op.location.read_volatile() }.widen() == usize::MAX as u128
    };
    engine.is_trusted(op.site) && !waits()
}

impl Engine {
    /// Takes note of a choice of the strategy among alternatives.
    fn has_chosen(&mut self, choice: usize, alternatives: u16) -> u16 {
        if choice >= usize::from(alternatives) {
            self.stop(Outcome::Diverged { choice: self.execution.schedule.len() });
        }
        if let Some(log) = &mut self.exploration.choice_log {
            log.record_reads_from(choice, alternatives.into());
        }
        self.execution.mo_offsets.push(choice as u16);
        choice as u16
    }

    /// The time of the current thread's latest event, and its vector clock, if clocks are kept.
    pub(super) fn moment_by_clocks(&self, action: &Action) -> Option<(Time, Vec<Time>)> {
        let me = self.current_id();
        let clock = &self.execution.memory.as_ref()?.sync.view(me).clock;
        let times = (0..self.execution.alive as ThreadId).map(|thread| clock.get(thread)).collect();
        Some((clock.get(me) - Time::from(action.releases()), times))
    }
}
