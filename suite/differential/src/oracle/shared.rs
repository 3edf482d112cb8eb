//! Shared memory: atomics, fences, plain data, and the counts of the `Arc`.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release, SeqCst};

use super::state::{Phase, State};
use super::step::Model;
use crate::program::{ArcOp, Op, ThreadId};

impl Model<'_> {
    pub(super) fn atomic(&self, state: &mut State, thread: ThreadId, op: &Op) {
        match *op {
            Op::Load(at, order) => {
                let value = self.load(state, thread, at, order);
                state.see(thread, value);
            }
            Op::Store(at, value, order) => {
                state.atomics[at].value = self.program.atomics[at].fit(value);
                state.atomics[at].released = self.released(state, thread, order);
                state.next(thread);
            }
            Op::Fetch(change, at, operand, order) => {
                let width = self.program.atomics[at];
                let old = self
                    .change(state, thread, at, order, |old| width.fit(change.of(old, width.fit(operand))));
                state.see(thread, old);
            }
            Op::CompareExchange(exchange) => {
                let (at, width) = (exchange.at, self.program.atomics[exchange.at]);
                let found = if state.atomics[at].value == width.fit(exchange.current) {
                    self.change(state, thread, at, exchange.success, |_| width.fit(exchange.new))
                } else {
                    self.load(state, thread, at, exchange.failure)
                };
                state.see(thread, found);
            }
            Op::Fence(order) => {
                if acquires(order) {
                    let read = state.threads[thread].read;
                    self.acquire(state, thread, &read);
                }
                if releases(order) {
                    state.threads[thread].fenced = self.release(state, thread);
                }
                state.next(thread);
            }
            _ => unreachable!("not an access to an atomic"),
        }
    }

    pub(super) fn load(&self, state: &mut State, thread: ThreadId, at: usize, order: Ordering) -> u64 {
        let released = state.atomics[at].released;
        if acquires(order) {
            self.acquire(state, thread, &released);
        }
        state.threads[thread].read.join(&released);
        state.atomics[at].value
    }

    fn change(
        &self,
        state: &mut State,
        thread: ThreadId,
        at: usize,
        order: Ordering,
        change: impl Fn(u64) -> u64,
    ) -> u64 {
        let old = self.load(state, thread, at, order);
        let released = self.released(state, thread, order);
        // A change goes on with what those before it have released.
        state.atomics[at].released.join(&released);
        state.atomics[at].value = change(old);
        old
    }

    /// What others take over who read what is written now.
    fn released(&self, state: &mut State, thread: ThreadId, order: Ordering) -> super::state::Clock {
        if releases(order) { self.release(state, thread) } else { state.threads[thread].fenced }
    }

    /// What destructors and initialisers do.
    pub(super) fn add_one(&self, state: &mut State, thread: ThreadId, at: usize) -> u64 {
        let width = self.program.atomics[at];
        self.change(state, thread, at, SeqCst, |old| width.fit(old.wrapping_add(1)))
    }

    pub(super) fn read(&self, state: &mut State, thread: ThreadId, cell: usize) {
        let clock = self.access(state, thread);
        let cell = &mut state.cells[cell];
        state.raced |= !cell.written.is_before(&clock);
        cell.read.set(thread, clock.of(thread));
        let value = cell.value;
        state.see(thread, value);
    }

    pub(super) fn write(&self, state: &mut State, thread: ThreadId, cell: usize, value: u64) {
        let clock = self.access(state, thread);
        let cell = &mut state.cells[cell];
        state.raced |= !cell.written.is_before(&clock) || !cell.read.is_before(&clock);
        cell.written.set(thread, clock.of(thread));
        cell.value = value;
        state.next(thread);
    }

    pub(super) fn arc(&self, state: &mut State, thread: ThreadId, op: ArcOp) -> bool {
        if state.threads[thread].phase == Phase::Last {
            self.add_one(state, thread, 0);
            state.next(thread);
            return true;
        }
        let has = state.threads[thread].arcs > 0;
        match op {
            ArcOp::Upgrade | ArcOp::DropWeak if !state.threads[thread].has_weak => state.next(thread),
            ArcOp::Upgrade => {
                let alive = state.arc.strong > 0;
                if alive {
                    state.arc.strong += 1;
                    state.threads[thread].arcs += 1;
                    let released = state.arc.released;
                    self.acquire(state, thread, &released);
                }
                state.see(thread, u64::from(alive));
            }
            ArcOp::DropWeak => {
                state.threads[thread].has_weak = false;
                state.arc.weak -= 1;
                state.next(thread);
            }
            _ if !has => state.next(thread),
            ArcOp::Clone => {
                state.arc.strong += 1;
                state.threads[thread].arcs += 1;
                state.next(thread);
            }
            ArcOp::Count => {
                let strong = state.arc.strong;
                state.see(thread, u64::from(strong));
            }
            ArcOp::Drop => {
                if !self.give_up_handle(state, thread) {
                    state.next(thread);
                }
            }
            ArcOp::IntoInner => {
                let last = self.give_up_handle(state, thread);
                state.threads[thread].seen.push(u64::from(last));
                if !last {
                    state.next(thread);
                }
            }
            ArcOp::TryUnwrap => {
                let last = state.arc.strong == 1;
                state.threads[thread].seen.push(u64::from(last));
                if last {
                    self.give_up_handle(state, thread);
                } else {
                    state.next(thread);
                }
            }
            // Looks whether there are weak handles, and keeps others from making any until it has looked at the handles.
            ArcOp::GetMut => match state.threads[thread].phase {
                Phase::Ready if state.arc.locked || state.arc.weak > 0 => state.see(thread, 0),
                Phase::Ready => {
                    state.arc.locked = true;
                    state.threads[thread].phase = Phase::Woken;
                }
                _ => {
                    state.arc.locked = false;
                    let released = state.arc.released;
                    self.acquire(state, thread, &released);
                    let only = state.arc.strong == 1;
                    state.see(thread, u64::from(only));
                }
            },
            ArcOp::Downgrade => {
                if state.arc.locked {
                    return false;
                }
                state.arc.weak += u8::from(!state.threads[thread].has_weak);
                state.threads[thread].has_weak = true;
                state.next(thread);
            }
        }
        true
    }

    /// Tells whether it was the last one; then the thread destroys what it held, next.
    fn give_up_handle(&self, state: &mut State, thread: ThreadId) -> bool {
        let clock = self.release(state, thread);
        state.arc.released.join(&clock);
        state.arc.strong -= 1;
        state.threads[thread].arcs -= 1;
        let last = state.arc.strong == 0;
        if last {
            let released = state.arc.released;
            self.acquire(state, thread, &released);
            state.threads[thread].phase = Phase::Last;
        }
        last
    }

    /// One handle after the other; then the weak one.
    pub(super) fn drop_arcs(&self, state: &mut State, thread: ThreadId) {
        if state.threads[thread].phase == Phase::Last {
            self.add_one(state, thread, 0);
            state.threads[thread].phase = Phase::Ready;
        } else if state.threads[thread].arcs > 0 {
            self.give_up_handle(state, thread);
        } else {
            state.arc.weak -= u8::from(state.threads[thread].has_weak);
            state.threads[thread].has_weak = false;
            state.next(thread);
        }
    }
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Acquire | AcqRel | SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Release | AcqRel | SeqCst)
}
