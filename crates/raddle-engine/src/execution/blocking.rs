//! Threads that do not go on: blocked, giving way, locking, spinning, and what happens when that is all of them.

use std::mem;
use std::ops::Range;

use super::{Engine, Outcome};
use crate::isolate::borrowed::Borrowed;
use crate::isolate::heap;
use crate::isolate::pages::Pages;
use crate::left_out::Reason;
use crate::op::{Effect, Pending, ThreadId};
use crate::platform::words;
use crate::spinloop::watch::{Read, YIELD};
use crate::thread::{State, Wake};
use crate::trace::{Action, Links, SwitchReason};

impl Engine {
    /// The current thread gives way: it asks to go on later than the others.
    pub(crate) fn yield_now(&mut self, pc: usize) {
        self.count_step();
        self.has_read(Read { pc, address: YIELD, value: 0 });
        self.current().rounds.yielded();
        if self.limits.prove_spins {
            // Whoever gives way may be waiting for those who then go on: that is to be seen.
            return self.point(Pending::NOTHING);
        }
        if !self.follows_graph() && (self.runnable.len() > 1 || self.clock.may_wake_somebody()) {
            self.note_pause();
            self.current().pending = Pending::NOTHING;
            self.giving_way = true;
            let next = self.decide();
            self.giving_way = false;
            self.switch_to(next, SwitchReason::Yielded);
        }
    }

    /// The current thread cannot go on until another (or the clock) makes it runnable.
    pub(crate) fn block(&mut self, state: State, reason: SwitchReason) {
        let me = self.current;
        self.note_pause();
        self.current().state = state;
        // What it was about to do, it has done. Who is woken wants something else, and nobody knows what.
        self.current().pending = Pending::NOTHING;
        if matches!(state, State::Lock { .. } | State::Futex { .. } | State::Spinning) {
            self.waited.get_or_insert(me);
        }
        self.runnable.retain(|&thread| thread != me);
        let next = self.decide();
        self.switch_to(next, reason);
    }

    /// A blocked thread can go on.
    pub(crate) fn unblock(&mut self, thread: ThreadId, wake: Wake) {
        let waiting = &mut self.threads[thread as usize];
        waiting.wake = wake;
        if waiting.state == State::Spinning {
            self.spinners.retain(|&spinner| spinner != thread);
        }
        self.make_runnable(thread);
    }

    /// The current thread begins to wait until it is woken, or until the deadline. Where the deadline is far, it comes only when no
    /// other thread can go on.
    pub(crate) fn note_timeout(&mut self, deadline: Option<u64>) {
        let me = self.current;
        let others = || self.threads[..self.alive].iter().any(|t| t.id != me && t.state != State::Finished);
        if let Some(deadline) = deadline
            && (self.follows_graph() || !self.clock.is_nearly(deadline))
            && others()
        {
            self.left_out.add(Reason::Timeouts);
        }
    }

    /// Whether a wait of the current thread ends although nobody ends it.
    pub(crate) fn wakes_spuriously(&mut self) -> bool {
        if !self.limits.also.spurious_wake_ups {
            self.left_out.add(Reason::SpuriousWakeUps);
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
        if !self.limits.also.spurious_failures || !can_be_told() {
            self.left_out.add(Reason::SpuriousFailures);
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
        for index in 0..self.alive {
            if self.threads[index].state == State::JoinScope {
                self.unblock(index as ThreadId, Wake::Woken);
            }
        }
    }

    /// Before the current thread locks the mutex at `place`: waits until that is unlocked and the thread is chosen.
    #[inline]
    pub(crate) fn point_of_lock(&mut self, place: *const u32) {
        let address = place.addr();
        // SAFETY: the mutex of the current thread's call; one OS thread runs all virtual threads.
        let locked = || unsafe { place.read_volatile() } != 0;
        if locked() {
            self.count_step();
            self.wait_for_lock(address);
        } else {
            self.point(Pending { address, effect: Effect::Lock });
        }
        // The C library and std's own compiled code lock without asking.
        while locked() {
            self.wait_for_lock(address);
        }
        self.current().spin.reset();
        if self.runnable.len() > 1 {
            self.hold_back_lockers(address);
        }
    }

    /// The current thread has read something without effect: it may be going in circles.
    #[inline]
    pub(crate) fn has_read(&mut self, read: Read) {
        if !self.follows_graph() && self.current().spin.read(read) {
            self.spin(read);
        }
    }

    /// The current thread has changed the value at `address`.
    #[inline]
    pub(crate) fn has_written(&mut self, address: usize) {
        self.current().spin.reset();
        if !self.spinners.is_empty() {
            self.release_spinners_of(address);
        }
    }

    /// Finds out who could go on, and who of them does not ask to go later.
    #[cold]
    pub(super) fn ask_who_goes_later(&mut self) {
        let Engine { willing, eager, runnable, clock, .. } = self;
        eager.clear();
        eager.extend(runnable.iter().filter(|&&thread| !self.giving_way || thread != self.current));
        willing.clear();
        willing.extend(runnable.iter().copied().chain(clock.nearly_due()));
        willing.sort_unstable();
    }

    /// The thread's deadline comes while others could go on: they are held up.
    #[cold]
    pub(super) fn end_sleep(&mut self, thread: ThreadId) {
        self.clock.hold_up(thread);
        self.futexes.cancel(thread);
        self.unblock(thread, Wake::TimedOut);
    }

    /// Lets another thread go on, if one can.
    pub(super) fn stand_back(&mut self) {
        let me = self.current;
        self.left_out.add(Reason::LongExecutions);
        self.strategy.demote(me);
        self.runnable.retain(|&thread| thread != me);
        let next = self.decide();
        self.make_runnable(me);
        self.switch_to(next, SwitchReason::Yielded);
    }

    /// Ends the wait of a thread that has a deadline, as if that had come. False if it has none.
    pub(super) fn time_out(&mut self, thread: ThreadId) -> bool {
        let has_deadline = self.clock.deadline(thread).is_some();
        if has_deadline {
            self.end_sleep(thread);
        }
        has_deadline
    }

    /// Nobody can run. Lets the clock move, then spinners go on; false (and an outcome) if neither helps.
    #[cold]
    pub(super) fn pass_time(&mut self) -> bool {
        let mut clock = mem::take(&mut self.clock);
        let moved = clock.jump(|thread| {
            self.futexes.cancel(thread);
            self.unblock(thread, Wake::TimedOut);
        });
        self.clock = clock;
        if moved {
            return true;
        }
        if !self.spinners.is_empty() {
            let stuck = |&spinner: &ThreadId| self.threads[spinner as usize].spin.stuck;
            let memory = self.memory();
            if self.memory_of_round.replace(memory) == Some(memory) && self.spinners.iter().all(stuck) {
                self.outcome = Some(Outcome::Livelock);
                return false;
            }
            self.clock.drift();
            self.release_all_spinners();
            return true;
        }
        self.outcome = Some(self.outcome_at_rest());
        self.record_last_waits();
        false
    }

    /// Threads that spin go round once more.
    pub(super) fn release_all_spinners(&mut self) {
        for spinner in mem::take(&mut self.spinners) {
            self.threads[spinner as usize].spin.next_iteration();
            self.make_runnable(spinner);
        }
    }

    /// Lets the trace end with what the threads wait for: one that was about to lock a mutex when another locked it has
    /// made no event since.
    pub(super) fn record_last_waits(&mut self) {
        let Some(trace) = &mut self.trace else { return };
        for thread in &self.threads[..self.alive] {
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
    pub(super) fn outcome_at_rest(&self) -> Outcome {
        let threads = &self.threads[..self.alive];
        if let Some(panicked) = threads.iter().find(|thread| thread.panicked && !thread.joined) {
            return Outcome::Panic { thread: panicked.id };
        }
        let root_returned = threads[0].state == State::Finished;
        match threads.iter().all(|thread| thread.state == State::Finished) {
            true => Outcome::Passed,
            false if root_returned && self.limits.report_leaks && self.has_leaked_threads() => {
                Outcome::ThreadLeak
            }
            false if root_returned => Outcome::Passed,
            false => Outcome::Deadlock,
        }
    }

    pub(super) fn wait_for_lock(&mut self, address: usize) {
        let me = self.current;
        // SAFETY: the mutex is locked, so it exists.
        let held = unsafe { *(address as *const u32) };
        self.record(|| Action::Wait { address, expected: held, blocks: true, timeout: None });
        self.locking.push(me);
        self.block(State::Lock { address }, SwitchReason::Blocked);
    }

    /// The current thread is about to lock the mutex: others that were about to, wait from now on.
    pub(super) fn hold_back_lockers(&mut self, address: usize) {
        let me = self.current;
        let Engine { runnable, threads, locking, .. } = self;
        runnable.retain(|&id| {
            let thread = &mut threads[id as usize];
            let waits =
                id != me && thread.pending.effect == Effect::Lock && thread.pending.address == address;
            if waits {
                thread.state = State::Lock { address };
                locking.push(id);
            }
            !waits
        });
    }

    /// Lets those go on whose mutex is unlocked. It is looked at rather than noted, because std's own compiled code
    /// unlocks too, in `Condvar::wait`.
    pub(super) fn release_lockers(&mut self) {
        for index in (0..self.locking.len()).rev() {
            let id = self.locking[index];
            let State::Lock { address } = self.threads[id as usize].state else { continue };
            // SAFETY: a thread is about to lock the mutex, so it exists.
            if unsafe { (address as *const u32).read_volatile() } == 0 {
                self.locking.swap_remove(index);
                // What it does next is lock.
                self.threads[id as usize].pending = Pending { address, effect: Effect::Lock };
                self.make_runnable(id);
            }
        }
    }

    /// A hash of all memory that an execution can change besides the stacks of its threads.
    pub(super) fn memory(&self) -> u64 {
        let memory = memory_of(&self.borrowed, self.pages.as_ref(), self.alive);
        memory.map(words::hash_memory).fold(0, u64::wrapping_add)
    }

    #[cold]
    pub(super) fn spin(&mut self, read: Read) {
        if self.memory_of_round.is_some() || self.limits.prove_spins || self.limits.claims_all {
            let top = self.current().stack.top();
            let state = crate::platform::unwind::machine_state(read.pc, top);
            self.current().spin.iteration_ended(state);
        }
        if self.limits.prove_spins && !self.current().spin.stuck {
            return;
        }
        if self.limits.claims_all && !self.current().spin.is_proven() {
            if self.current().spin.may_be_proven() {
                return;
            }
            self.left_out.add(Reason::LongExecutions);
        }
        let me = self.current;
        self.spinners.push(me);
        self.block(State::Spinning, SwitchReason::Spinning);
    }

    #[cold]
    pub(super) fn release_spinners_of(&mut self, address: usize) {
        for index in (0..self.spinners.len()).rev() {
            let spinner = self.spinners[index];
            if self.threads[spinner as usize].spin.watched().any(|read| read.address == address) {
                self.threads[spinner as usize].spin.reset();
                self.unblock(spinner, Wake::Woken);
            }
        }
    }
}

/// All memory that an execution of so many threads can change besides their stacks.
pub(super) fn memory_of<'a>(
    borrowed: &Borrowed,
    pages: Option<&'a Pages>,
    threads: usize,
) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let blocks = heap::live(threads).map(|block| block.start..block.start + block.size.next_multiple_of(8));
    [borrowed.memory()].into_iter().chain(blocks).chain(pages.into_iter().flat_map(Pages::changed))
}
