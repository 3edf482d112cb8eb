//! What threads wait for in turn: mutexes, condition variables, `RwLock`, the barrier, and what is initialised once.

use super::Freedom;
use super::state::{Phase, State};
use super::step::Model;
use crate::program::{Mode, OnceKind, ThreadId};

impl Model<'_> {
    pub(super) fn take(
        &self,
        state: &mut State,
        thread: ThreadId,
        mode: Mode,
        lock: usize,
        skip: Option<usize>,
    ) -> bool {
        let taken = match mode {
            Mode::Mutex => self.take_mutex(state, thread, lock),
            Mode::Read => self.take_to_read(state, thread, lock),
            Mode::Write => self.take_to_write(state, thread, lock),
        };
        match (taken, skip) {
            (true, None) => state.next(thread),
            (true, Some(_)) => state.see(thread, 1),
            (false, Some(end)) => {
                state.see(thread, 0);
                state.threads[thread].at = end;
            }
            (false, None) => return mode != Mode::Mutex && fall_asleep(state, thread, mode, lock),
        }
        true
    }

    fn take_mutex(&self, state: &mut State, thread: ThreadId, mutex: usize) -> bool {
        if state.mutexes[mutex].held {
            return false;
        }
        state.mutexes[mutex].held = true;
        let clock = state.mutexes[mutex].clock;
        self.acquire(state, thread, &clock);
        true
    }

    /// Not while anyone waits, so that writers get their turn.
    fn take_to_read(&self, state: &mut State, thread: ThreadId, lock: usize) -> bool {
        let rwlock = &mut state.rwlocks[lock];
        if rwlock.writer || rwlock.readers_wait || rwlock.writers_wait || rwlock.reading.contains(&thread) {
            return false;
        }
        rwlock.readers += 1;
        let (written, read) = (rwlock.written, rwlock.read);
        self.acquire(state, thread, &written);
        if self.freedom == Freedom::Least {
            self.acquire(state, thread, &read);
        }
        true
    }

    fn take_to_write(&self, state: &mut State, thread: ThreadId, lock: usize) -> bool {
        let slept = state.threads[thread].phase == Phase::Woken;
        let rwlock = &mut state.rwlocks[lock];
        if rwlock.writer || rwlock.readers > 0 || rwlock.writing.contains(&thread) {
            return false;
        }
        rwlock.writer = true;
        // There may be others that sleep.
        rwlock.writers_wait |= slept;
        let (written, read) = (rwlock.written, rwlock.read);
        self.acquire(state, thread, &written);
        self.acquire(state, thread, &read);
        true
    }

    pub(super) fn give(&self, state: &mut State, thread: ThreadId, mode: Mode, lock: usize) {
        let clock = self.release(state, thread);
        match mode {
            Mode::Mutex => {
                state.mutexes[lock].held = false;
                state.mutexes[lock].clock.join(&clock);
            }
            Mode::Read => {
                let rwlock = &mut state.rwlocks[lock];
                rwlock.read.join(&clock);
                rwlock.readers -= 1;
                if rwlock.readers == 0 && rwlock.writers_wait {
                    wake(state, lock);
                }
            }
            Mode::Write => {
                state.rwlocks[lock].written.join(&clock);
                state.rwlocks[lock].writer = false;
                wake(state, lock);
            }
        }
        state.next(thread);
    }

    pub(super) fn replace(&self, state: &mut State, thread: ThreadId, mode: Mode, lock: usize, value: u64) {
        let place = match mode {
            Mode::Mutex => &mut state.mutexes[lock].value,
            Mode::Read | Mode::Write => &mut state.rwlocks[lock].value,
        };
        let old = *place;
        if mode != Mode::Read {
            *place = value;
        }
        state.see(thread, old);
    }

    /// The thread holds the mutex when it comes here and when it goes on.
    pub(super) fn wait_while_zero(
        &self,
        state: &mut State,
        thread: ThreadId,
        mutex: usize,
        timeout: Option<u64>,
    ) -> bool {
        let phase = state.threads[thread].phase;
        if phase == Phase::Asleep || (phase != Phase::Ready && !self.take_mutex(state, thread, mutex)) {
            return false;
        }
        let value = state.mutexes[mutex].value;
        if value != 0 || phase == Phase::TimedOut {
            if timeout.is_some() {
                state.threads[thread].seen.push(u64::from(value == 0));
            }
            state.see(thread, value);
        } else {
            let clock = self.release(state, thread);
            state.mutexes[mutex].clock.join(&clock);
            state.mutexes[mutex].held = false;
            state.mutexes[mutex].waiting.push(thread);
            state.sleep(thread, timeout);
        }
        true
    }

    pub(super) fn notify(&self, state: &mut State, thread: ThreadId, mutex: usize, all: bool) {
        let waiting = &mut state.mutexes[mutex].waiting;
        let count = if all { waiting.len() } else { waiting.len().min(1) };
        for woken in waiting.drain(..count).collect::<Vec<_>>() {
            state.threads[woken].phase = Phase::Woken;
        }
        state.next(thread);
    }

    pub(super) fn barrier(&self, state: &mut State, thread: ThreadId) -> bool {
        if state.threads[thread].phase == Phase::Asleep {
            if state.barrier.generation == state.threads[thread].note {
                return false;
            }
            let clock = state.barrier.clock;
            self.acquire(state, thread, &clock);
            state.see(thread, 0);
            return true;
        }
        let clock = self.release(state, thread);
        state.barrier.clock.join(&clock);
        state.barrier.count += 1;
        if state.barrier.count < self.program.barrier {
            state.threads[thread].note = state.barrier.generation;
            state.sleep(thread, None);
        } else {
            state.barrier.count = 0;
            state.barrier.generation += 1;
            let clock = state.barrier.clock;
            self.acquire(state, thread, &clock);
            state.see(thread, 1);
        }
        true
    }

    pub(super) fn begin(
        &self,
        state: &mut State,
        thread: ThreadId,
        kind: OnceKind,
        number: usize,
        skip: usize,
    ) -> bool {
        let once = &mut state.onces[kind as usize][number];
        if once.complete {
            let clock = once.clock;
            self.acquire(state, thread, &clock);
            state.next(thread);
            state.threads[thread].at = skip;
        } else if once.running {
            return false;
        } else {
            once.running = true;
            state.next(thread);
        }
        true
    }

    /// A `LazyLock` first does what its closure does.
    pub(super) fn finish(
        &self,
        state: &mut State,
        thread: ThreadId,
        kind: OnceKind,
        number: usize,
        value: u64,
    ) {
        if kind == OnceKind::LazyLock && state.threads[thread].phase == Phase::Ready {
            state.threads[thread].note = self.add_one(state, thread, 0);
            state.threads[thread].phase = Phase::Last;
            return;
        }
        let value = if kind == OnceKind::LazyLock { state.threads[thread].note } else { value };
        let clock = self.release(state, thread);
        let once = &mut state.onces[kind as usize][number];
        (once.complete, once.value, once.clock) = (true, value, clock);
        state.next(thread);
    }
}

/// A thread that cannot get the lock says that it waits, and waits.
fn fall_asleep(state: &mut State, thread: ThreadId, mode: Mode, lock: usize) -> bool {
    let rwlock = &mut state.rwlocks[lock];
    let (waits, asleep) = match mode {
        Mode::Read => (&mut rwlock.readers_wait, &mut rwlock.reading),
        _ => (&mut rwlock.writers_wait, &mut rwlock.writing),
    };
    if asleep.contains(&thread) {
        return false;
    }
    *waits = true;
    asleep.push(thread);
    state.sleep(thread, None);
    true
}

/// Wakes a writer, or else all readers.
fn wake(state: &mut State, lock: usize) {
    let rwlock = &mut state.rwlocks[lock];
    if std::mem::take(&mut rwlock.writers_wait) && !rwlock.writing.is_empty() {
        let woken = rwlock.writing.remove(0);
        state.threads[woken].phase = Phase::Woken;
    } else if std::mem::take(&mut rwlock.readers_wait) {
        for woken in std::mem::take(&mut rwlock.reading) {
            state.threads[woken].phase = Phase::Woken;
        }
    }
}
