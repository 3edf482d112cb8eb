//! Blocked threads: how threads block and unblock, and the outcome when no thread is runnable.

use std::mem;
use std::ops::Range;

use super::{Engine, Outcome};
use crate::isolate::borrowed::Borrowed;
use crate::isolate::heap;
use crate::isolate::pages::Pages;
use crate::left_out::Reason;
use crate::op::{Pending, ThreadId};
use crate::platform::words;
use crate::thread::{ThreadStatus, Wake};
use crate::trace::{Action, Event, Links, MonitorAct, SwitchReason};

impl Engine {
    /// Blocks the current thread until another thread or the clock unblocks it.
    pub(crate) fn block(&mut self, status: ThreadStatus, reason: SwitchReason) {
        let me = self.execution.current;
        self.save_pause_stack();
        self.current().status = status;
        // The pending step has been taken, and the step after the wake-up is not known yet.
        let is_at_futex = matches!(status, ThreadStatus::Futex { .. }) && !self.current().in_monitor;
        self.current().pending = if is_at_futex { Pending::WOKEN } else { Pending::NOTHING };
        if matches!(status, ThreadStatus::Lock { .. } | ThreadStatus::Futex { .. } | ThreadStatus::Spinning) {
            self.execution.waited.get_or_insert(me);
        }
        self.execution.runnable.retain(|&thread| thread != me);
        let next = self.decide();
        self.switch_to(next, reason);
    }

    /// Unblocks a thread.
    pub(crate) fn unblock(&mut self, thread: ThreadId, wake: Wake) {
        let waiting = &mut self.threads[thread as usize];
        waiting.wake = wake;
        if waiting.status == ThreadStatus::Spinning {
            self.execution.spinners.retain(|&spinner| spinner != thread);
        }
        self.make_runnable(thread);
    }

    /// Records that timeouts are left out, if the current thread begins a wait with a deadline that is only explored to
    /// expire when no other thread can go on.
    pub(crate) fn leave_out_unexplored_timeout(&mut self, is_explored: bool) {
        let me = self.execution.current;
        let mut others = self.threads[..self.execution.alive].iter().filter(|thread| thread.id != me);
        if !is_explored && others.any(|thread| thread.status != ThreadStatus::Finished) {
            self.exploration.left_out.add(Reason::Timeouts);
        }
    }

    /// Marks a panicked thread of a scope as joined, because the end of the scope panics in its place. The thread is
    /// the current one, or the one whose handle it dropped.
    pub(crate) fn propagate_panic_to_scope(&mut self) {
        let me = self.execution.current;
        let dropped = self.current().dropped_handle.take().filter(|_| !self.current().panicked);
        let thread = &mut self.threads[usize::from(dropped.unwrap_or(me))];
        thread.joined |= thread.panicked;
    }

    /// Wakes up to `count` threads that wait at a futex. Returns them.
    pub(crate) fn wake_waiters(&mut self, address: usize, count: u32, mask: u32) -> Vec<ThreadId> {
        let mut woken = Vec::new();
        let waiting = self.execution.futexes.waiters(address, mask);
        if waiting > count as usize {
            self.choose_order_of_wake_ups(address, count, mask, waiting);
        }
        self.execution.futexes.wake(address, count, mask, |thread| woken.push(thread));
        let waker = self.current().woken_by;
        for &thread in &woken {
            self.threads[usize::from(thread)].woken_by = waker;
            self.threads[usize::from(thread)].woken = true;
            self.execution.clock.cancel(thread);
            self.unblock(thread, Wake::Woken);
        }
        self.current().spin.reset();
        woken
    }

    /// Chooses which thread is woken, if wake-ups of others than the longest waiting one are explored.
    #[cold]
    fn choose_order_of_wake_ups(&mut self, address: usize, count: u32, mask: u32, waiting: usize) {
        if !self.exploration.limits.also.wake_orders || count != 1 {
            self.exploration.left_out.add(Reason::WakeOrders);
            return;
        }
        let chosen = self.choose_waiter(address, mask, waiting as u16);
        self.execution.futexes.prefer(address, mask, chosen.into());
    }

    /// Whether a wait of the current thread ends spuriously.
    pub(crate) fn wakes_spuriously(&mut self) -> bool {
        if !self.exploration.limits.also.spurious_wake_ups {
            self.exploration.left_out.add(Reason::SpuriousWakeUps);
            return false;
        }
        if self.current().woken_spuriously {
            return false;
        }
        let wakes = self.choose(2) == 1;
        self.current().woken_spuriously = wakes;
        wakes
    }

    /// Whether a weak compare-exchange of the current thread fails spuriously. `can_be_told` says whether a failure can
    /// be passed to the code.
    pub(crate) fn fails_spuriously(&mut self, can_be_told: impl FnOnce() -> bool) -> bool {
        if !self.exploration.limits.also.spurious_failures || !can_be_told() {
            self.exploration.left_out.add(Reason::SpuriousFailures);
            return false;
        }
        if self.current().failed_spuriously {
            return false;
        }
        let fails = self.choose(2) == 1;
        self.current().failed_spuriously = fails;
        fails
    }

    /// Unblocks the threads that wait for the end of a scope, to check again whether its threads have left it.
    pub(crate) fn unblock_scopes(&mut self) {
        for index in 0..self.execution.alive {
            if self.threads[index].status == ThreadStatus::JoinScope {
                self.unblock(index as ThreadId, Wake::Woken);
            }
        }
    }

    /// Lets the deadline of a thread expire while others could go on: they are delayed.
    #[cold]
    pub(crate) fn end_sleep(&mut self, thread: ThreadId) {
        self.execution.clock.delay_others(thread);
        self.execution.futexes.cancel(thread);
        self.unblock(thread, Wake::TimedOut);
    }

    /// Lets the deadline of a thread expire. False if the thread has none.
    pub(crate) fn time_out(&mut self, thread: ThreadId) -> bool {
        let has_deadline = self.execution.clock.deadline(thread).is_some();
        if has_deadline {
            self.end_sleep(thread);
        }
        has_deadline
    }

    /// No thread is runnable. Advances the clock to the next deadline, or lets spinning threads make another iteration.
    /// False, with the outcome set, if there are neither.
    #[cold]
    pub(crate) fn pass_time(&mut self) -> bool {
        let mut clock = mem::take(&mut self.execution.clock);
        let moved = clock.jump(|thread| {
            self.execution.futexes.cancel(thread);
            self.unblock(thread, Wake::TimedOut);
        });
        self.execution.clock = clock;
        if moved {
            return true;
        }
        if !self.execution.spinners.is_empty() {
            let stuck = |&spinner: &ThreadId| self.threads[spinner as usize].spin.stuck;
            let memory = self.memory_hash();
            if self.execution.memory_hash_of_round.replace(memory) == Some(memory)
                && self.execution.spinners.iter().all(stuck)
            {
                self.execution.outcome = Some(Outcome::Livelock);
                return false;
            }
            self.execution.clock.drift();
            self.release_all_spinners();
            return true;
        }
        self.execution.outcome = Some(self.outcome_at_rest());
        self.record_last_waits();
        false
    }

    /// Lets all spinning threads make another iteration.
    pub(super) fn release_all_spinners(&mut self) {
        for spinner in mem::take(&mut self.execution.spinners) {
            self.threads[spinner as usize].spin.next_iteration();
            self.make_runnable(spinner);
        }
    }

    /// Ends the trace with the waits of blocked threads. A thread that was about to lock a mutex when another locked it
    /// has no such event yet.
    pub(crate) fn record_last_waits(&mut self) {
        let Some(trace) = &mut self.exploration.trace else { return };
        for thread in &self.threads[..self.execution.alive] {
            let ThreadStatus::Lock { address } = thread.status else { continue };
            let last = trace.events.iter().rev().find(|event| event.thread == thread.id);
            let at_monitor =
                |event: &Event| matches!(event.action, Action::Monitor { address: at, .. } if at == address);
            if trace.events.iter().any(at_monitor) {
                let blocks = Action::Monitor { address, act: MonitorAct::Blocks };
                if last.is_some_and(|event| event.action != blocks) {
                    trace.switch(SwitchReason::Blocked);
                    trace.record(thread.id, blocks, thread.paused_at.clone(), None, Links::default(), false);
                }
                continue;
            }
            if !last.is_some_and(
                |event| matches!(event.action, Action::Wait { address: at, .. } if at == address),
            ) {
                // SAFETY: the mutex or atomic that a thread waits for exists. The four bytes read from it stay within
                // mapped memory even if it is smaller, because statics, stacks and blocks of the heap are padded.
                let expected = unsafe { (address as *const u32).read_unaligned() };
                let name = trace.events.iter().rev().find(|event| event.action.address() == Some(address));
                let name = name.and_then(|event| event.name.clone());
                let wait = Action::Wait { address, expected, blocks: true, timeout: None };
                trace.switch(SwitchReason::Blocked);
                trace.record(thread.id, wait, thread.paused_at.clone(), name, Links::default(), false);
            }
        }
    }

    /// The outcome when no thread will ever run again.
    pub(crate) fn outcome_at_rest(&mut self) -> Outcome {
        let threads = &self.threads[..self.execution.alive];
        if let Some(panicked) = threads.iter().find(|thread| thread.panicked && !thread.joined) {
            return Outcome::Panic { thread: panicked.id };
        }
        if threads.iter().all(|thread| thread.status == ThreadStatus::Finished) {
            return Outcome::Passed;
        }
        if threads[0].status != ThreadStatus::Finished {
            return Outcome::Deadlock;
        }
        if !self.exploration.limits.report_leaks {
            return Outcome::Passed;
        }
        if !self.exploration.clears_stacks {
            // Words of earlier executions would count as references. Most programs leave no threads, so stacks are cleared from
            // the first execution on that does, which is repeated.
            self.exploration.clears_stacks = true;
            self.exploration.left_threads_first = true;
            return Outcome::Passed;
        }
        // On the explorer's stack, because the search for references reads the stacks of threads: what it leaves on a stack of its
        // own would count as references of that thread.
        if self.on_explorer(|engine| engine.has_leaked_threads()) {
            Outcome::ThreadLeak
        } else {
            Outcome::Passed
        }
    }

    /// A hash of all memory that the execution can change besides the stacks of its threads. A change of memory is a difference of hashes.
    pub(crate) fn memory_hash(&self) -> u64 {
        let blocks = live_blocks(self.execution.alive).map(words::hash_memory);
        let statics = self.exploration.pages.as_ref().map_or(0, Pages::hash_of_changes);
        let locals = self.exploration.borrowed.hash_of_changes();
        blocks.fold(locals.wrapping_add(statics), u64::wrapping_add)
    }
}

/// All memory that an execution of `threads` threads can change besides their stacks.
pub(crate) fn memory_of<'a>(
    borrowed: &Borrowed,
    pages: Option<&'a Pages>,
    threads: usize,
) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let memory = [borrowed.memory()].into_iter().chain(live_blocks(threads));
    memory.chain(pages.into_iter().flat_map(Pages::changed))
}

/// The memory of the blocks that the first threads allocated and nothing freed.
fn live_blocks(threads: usize) -> impl Iterator<Item = Range<usize>> {
    heap::live(threads).map(|block| block.start..block.start + block.size.next_multiple_of(8))
}
