//! Threads that do not go on: blocked, giving way, locking, spinning, and what happens when that is all of them.

use std::mem;
use std::ops::Range;

use super::{Engine, Outcome};
use crate::isolate::borrowed::Borrowed;
use crate::isolate::heap;
use crate::isolate::pages::Pages;
use crate::left_out::Reason;
use crate::op::{Pending, ThreadId};
use crate::platform::words;
use crate::thread::{State, Wake};
use crate::trace::{Action, Links, SwitchReason};

impl Engine {
    /// The current thread cannot go on until another (or the clock) makes it runnable.
    pub(crate) fn block(&mut self, state: State, reason: SwitchReason) {
        let me = self.execution.current;
        self.note_pause();
        self.current().state = state;
        // What it was about to do, it has done. Who is woken wants something else, and nobody knows what.
        self.current().pending = Pending::NOTHING;
        if matches!(state, State::Lock { .. } | State::Futex { .. } | State::Spinning) {
            self.execution.waited.get_or_insert(me);
        }
        self.execution.runnable.retain(|&thread| thread != me);
        let next = self.decide();
        self.switch_to(next, reason);
    }

    /// A blocked thread can go on.
    pub(crate) fn unblock(&mut self, thread: ThreadId, wake: Wake) {
        let waiting = &mut self.threads[thread as usize];
        waiting.wake = wake;
        if waiting.state == State::Spinning {
            self.execution.spinners.retain(|&spinner| spinner != thread);
        }
        self.make_runnable(thread);
    }

    /// The current thread begins to wait until a deadline. Unless the search explores that the deadline comes while others could go on, it
    /// comes only when no other thread can, which leaves behaviour out.
    pub(crate) fn note_timeout(&mut self, is_explored: bool) {
        let me = self.execution.current;
        let mut others = self.threads[..self.execution.alive].iter().filter(|thread| thread.id != me);
        if !is_explored && others.any(|thread| thread.state != State::Finished) {
            self.exploration.left_out.add(Reason::Timeouts);
        }
    }

    /// A thread of a scope has done all that the scope waits for: the current thread, or the one whose handle it dropped. If that
    /// thread has panicked, the end of the scope panics in its place.
    pub(crate) fn note_left(&mut self) {
        let me = self.execution.current;
        let dropped = self.current().dropped_handle.take().filter(|_| !self.current().panicked);
        let thread = &mut self.threads[usize::from(dropped.unwrap_or(me))];
        thread.joined |= thread.panicked;
    }

    /// Wakes up to `count` threads that wait at an address.
    pub(crate) fn wake_waiters(&mut self, address: usize, count: u32, mask: u32) -> Vec<ThreadId> {
        let mut woken = Vec::new();
        if self.execution.futexes.waiters(address, mask) > count as usize {
            self.exploration.left_out.add(Reason::WakeOrders);
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

    /// Whether a wait of the current thread ends although nobody ends it.
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

    /// Whether a compare-exchange of the current thread that may do so fails although the place may hold what is expected.
    /// `can_be_told` says whether the code would notice.
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

    /// Those who wait for the end of a scope look again whether all of its threads have left it.
    pub(crate) fn unblock_scopes(&mut self) {
        for index in 0..self.execution.alive {
            if self.threads[index].state == State::JoinScope {
                self.unblock(index as ThreadId, Wake::Woken);
            }
        }
    }

    /// The thread's deadline comes while others could go on: they are held up.
    #[cold]
    pub(crate) fn end_sleep(&mut self, thread: ThreadId) {
        self.execution.clock.hold_up(thread);
        self.execution.futexes.cancel(thread);
        self.unblock(thread, Wake::TimedOut);
    }

    /// Ends the wait of a thread that has a deadline, as if that had come. False if it has none.
    pub(crate) fn time_out(&mut self, thread: ThreadId) -> bool {
        let has_deadline = self.execution.clock.deadline(thread).is_some();
        if has_deadline {
            self.end_sleep(thread);
        }
        has_deadline
    }

    /// Nobody can run. Lets the clock move, then spinners go on; false (and an outcome) if neither helps.
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
            let memory = self.memory();
            if self.execution.memory_of_round.replace(memory) == Some(memory)
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

    /// Threads that spin go round once more.
    pub(crate) fn release_all_spinners(&mut self) {
        for spinner in mem::take(&mut self.execution.spinners) {
            self.threads[spinner as usize].spin.next_iteration();
            self.make_runnable(spinner);
        }
    }

    /// Lets the trace end with what the threads wait for: one that was about to lock a mutex when another locked it has
    /// made no event since.
    pub(crate) fn record_last_waits(&mut self) {
        let Some(trace) = &mut self.exploration.trace else { return };
        for thread in &self.threads[..self.execution.alive] {
            let State::Lock { address } = thread.state else { continue };
            let last = trace.events.iter().rev().find(|event| event.thread == thread.id);
            if !last.is_some_and(
                |event| matches!(event.action, Action::Wait { address: at, .. } if at == address),
            ) {
                // SAFETY: whatever a thread waits for exists, be it a mutex or an atomic of any size; no page ends within four bytes of it
                // that are read beyond, because statics, stacks and blocks of the heap are padded.
                let expected = unsafe { (address as *const u32).read_unaligned() };
                let name = trace.events.iter().rev().find(|event| event.action.address() == Some(address));
                let name = name.and_then(|event| event.name.clone());
                let wait = Action::Wait { address, expected, blocks: true, timeout: None };
                trace.switch(SwitchReason::Blocked);
                trace.record(thread.id, wait, thread.paused_at.clone(), name, Links::default(), false);
            }
        }
    }

    /// The outcome when nothing will ever happen again.
    pub(crate) fn outcome_at_rest(&self) -> Outcome {
        let threads = &self.threads[..self.execution.alive];
        if let Some(panicked) = threads.iter().find(|thread| thread.panicked && !thread.joined) {
            return Outcome::Panic { thread: panicked.id };
        }
        let root_returned = threads[0].state == State::Finished;
        match threads.iter().all(|thread| thread.state == State::Finished) {
            true => Outcome::Passed,
            false if root_returned && self.exploration.limits.report_leaks && self.has_leaked_threads() => {
                Outcome::ThreadLeak
            }
            false if root_returned => Outcome::Passed,
            false => Outcome::Deadlock,
        }
    }

    /// A hash of all memory that an execution can change besides the stacks of its threads.
    pub(crate) fn memory(&self) -> u64 {
        let memory =
            memory_of(&self.exploration.borrowed, self.exploration.pages.as_ref(), self.execution.alive);
        memory.map(words::hash_memory).fold(0, u64::wrapping_add)
    }
}

/// All memory that an execution of so many threads can change besides their stacks.
pub(crate) fn memory_of<'a>(
    borrowed: &Borrowed,
    pages: Option<&'a Pages>,
    threads: usize,
) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let blocks = heap::live(threads).map(|block| block.start..block.start + block.size.next_multiple_of(8));
    [borrowed.memory()].into_iter().chain(blocks).chain(pages.into_iter().flat_map(Pages::changed))
}
