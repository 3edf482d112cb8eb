//! What a thread may do next.

use super::Freedom;
use super::code::{Code, code};
use super::state::{Clock, Once, Phase, State, Thread};
use crate::program::{OnceKind, Op, Program, ThreadId};

/// A program on the model.
#[derive(Debug)]
pub struct Model<'a> {
    pub(super) program: &'a Program,
    pub(super) freedom: Freedom,
    code: Vec<Vec<Code>>,
    /// Whether it matters what comes before what: only plain data can race.
    tracks: bool,
}

impl<'a> Model<'a> {
    /// A program with so much freedom.
    pub fn new(program: &'a Program, freedom: Freedom) -> Model<'a> {
        let code = (0..program.threads.len()).map(|thread| code(program, thread)).collect();
        Model { program, freedom, code, tracks: program.cells() > 0 }
    }

    /// How everything is at first.
    pub fn first(&self) -> State {
        let program = self.program;
        let count = program.threads.len();
        let mut state = State::default();
        for thread in 0..count {
            let arcs = u8::from(program.has_arc(thread));
            let has_sender = program.has_sender(thread);
            state.arc.strong += arcs;
            state.channel.senders += u8::from(has_sender);
            let mut clock = Clock::default();
            clock.tick(thread);
            state.threads.push(Thread { started: thread == 0, arcs, has_sender, clock, ..Thread::default() });
        }
        state.channel.has_receiver = program.receiver().is_some();
        state.atomics.resize(program.atomics.len(), Default::default());
        state.cells.resize(program.cells(), Default::default());
        state.mutexes.resize(program.locks(true), Default::default());
        state.rwlocks.resize(program.locks(false), Default::default());
        for (kind, onces) in OnceKind::ALL.iter().zip(&mut state.onces) {
            onces.resize(program.onces(*kind), Once::default());
        }
        state
    }

    /// Whether the main thread has come to its end. Nobody is waited for then but destructors, which change nothing that is seen.
    pub fn is_over(&self, state: &State) -> bool {
        self.code_of(state, 0).is_none()
    }

    fn code_of(&self, state: &State, thread: ThreadId) -> Option<&Code> {
        self.code[thread].get(state.threads[thread].at)
    }

    fn goes_on<'s>(&'s self, state: &'s State) -> impl Iterator<Item = (ThreadId, &'s Code)> {
        (0..state.threads.len())
            .filter(|&thread| state.threads[thread].started)
            .filter_map(|thread| Some((thread, self.code_of(state, thread)?)))
    }

    /// All that may be next.
    pub fn steps(&self, state: &State, next: &mut Vec<State>) {
        for (thread, code) in self.goes_on(state) {
            let mut changed = state.clone();
            if self.step(&mut changed, thread, code) {
                next.push(changed);
            }
            if self.freedom == Freedom::Most && can_time_out(code) {
                self.time_out(state, thread, code, next);
            }
        }
    }

    /// If nobody can go on, whoever waits for the shortest time does.
    ///
    /// Tells whether there are several of them.
    pub fn pass_time(&self, state: &State, next: &mut Vec<State>) -> bool {
        let waits = |thread: &Thread| thread.deadline.filter(|_| thread.phase == Phase::Asleep);
        let Some(first) = state.threads.iter().filter_map(waits).min() else { return false };
        for (thread, code) in self.goes_on(state) {
            if waits(&state.threads[thread]) == Some(first) {
                let before = next.len();
                self.time_out(state, thread, code, next);
                next[before..].iter_mut().for_each(|state| state.now = first);
            }
        }
        next.len() > 1
    }

    fn time_out(&self, state: &State, thread: ThreadId, code: &Code, next: &mut Vec<State>) {
        if !matches!(state.threads[thread].phase, Phase::Asleep | Phase::Woken) {
            return;
        }
        let mut state = state.clone();
        for mutex in &mut state.mutexes {
            mutex.waiting.retain(|waiting| *waiting != thread);
        }
        if matches!(code, Code::Do(Op::ReceiveTimeout(_))) {
            if state.threads[thread].phase == Phase::Woken {
                // It was handed something already.
                return;
            }
            state.channel.waits = None;
        }
        state.threads[thread].phase = Phase::TimedOut;
        next.push(state);
    }

    /// Wake-ups for no reason, and in another order than that in which threads began to wait.
    pub fn unasked(&self, state: &State, next: &mut Vec<State>) {
        if self.freedom == Freedom::Least {
            return;
        }
        for (thread, code) in self.goes_on(state) {
            self.drop_handles(state, thread, next);
            match code {
                Code::Do(Op::Park) => next.push(self.moved(state, thread)),
                Code::Do(Op::WaitWhileZero { mutex, .. }) if state.threads[thread].phase == Phase::Asleep => {
                    let mut woken = state.clone();
                    woken.mutexes[*mutex].waiting.retain(|waiting| *waiting != thread);
                    woken.threads[thread].phase = Phase::Woken;
                    next.push(woken);
                }
                Code::Do(Op::Notify(mutex, false)) => {
                    for index in 1..state.mutexes[*mutex].waiting.len() {
                        let mut woken = self.moved(state, thread);
                        let waiting = woken.mutexes[*mutex].waiting.remove(index);
                        woken.threads[waiting].phase = Phase::Woken;
                        next.push(woken);
                    }
                }
                // The end of a scope parks, and the end of its last thread unparks.
                Code::EndScope(_) => {
                    for token in [false, true] {
                        let mut moved = state.clone();
                        if moved.threads[thread].token != token && self.step(&mut moved, thread, code) {
                            moved.threads[thread].token = token;
                            next.push(moved);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Whoever drops the handle of a thread that has ended comes after the thread, which dropped the other handle of its result. It is
    /// not said when that is.
    fn drop_handles(&self, state: &State, thread: ThreadId, next: &mut Vec<State>) {
        for child in 0..state.threads.len() {
            let ended = &state.threads[child];
            if self.tracks
                && ended.done
                && self.program.started_by(child).is_some_and(|(by, _)| by == thread)
                && !ended.clock.is_before(&state.threads[thread].clock)
            {
                let mut dropped = state.clone();
                self.acquire(&mut dropped, thread, &ended.clock);
                next.push(dropped);
            }
        }
    }

    fn moved(&self, state: &State, thread: ThreadId) -> State {
        let mut state = state.clone();
        state.next(thread);
        state
    }

    /// Changes the state as the next step of a thread does; tells whether there is one.
    fn step(&self, state: &mut State, thread: ThreadId, code: &Code) -> bool {
        match code {
            Code::Take(mode, lock, skip) => return self.take(state, thread, *mode, *lock, *skip),
            Code::Give(mode, lock) => self.give(state, thread, *mode, *lock),
            Code::Begin(kind, number, skip) => return self.begin(state, thread, *kind, *number, *skip),
            Code::Finish(kind, number, value) => self.finish(state, thread, *kind, *number, *value),
            Code::See(OnceKind::Once, _) => state.next(thread),
            Code::See(kind, number) => {
                let value = state.onces[*kind as usize][*number].value;
                state.see(thread, value);
            }
            Code::EndScope(threads) => {
                if !threads.iter().all(|&ended| state.threads[ended].done) {
                    return false;
                }
                for &ended in threads {
                    let clock = state.threads[ended].clock;
                    self.acquire(state, thread, &clock);
                }
                state.next(thread);
            }
            Code::DropArcs => self.drop_arcs(state, thread),
            Code::Done => {
                state.threads[thread].done = true;
                state.next(thread);
            }
            Code::Destroy => {
                if state.threads[thread].has_local {
                    self.add_one(state, thread, crate::program::DESTRUCTOR_ADDS_TO);
                }
                state.next(thread);
            }
            Code::Finally(atomic) => {
                let value = state.atomics[*atomic].value;
                state.see(thread, value);
            }
            Code::Do(op) => return self.do_op(state, thread, op),
        }
        true
    }

    fn do_op(&self, state: &mut State, thread: ThreadId, op: &Op) -> bool {
        match op {
            Op::Load(..) | Op::Store(..) | Op::Fetch(..) | Op::CompareExchange(_) | Op::Fence(_) => {
                self.atomic(state, thread, op);
            }
            Op::SpinUntil(at, value, order, _) => {
                if state.atomics[*at].value != *value {
                    return false;
                }
                self.load(state, thread, *at, *order);
                state.next(thread);
            }
            Op::Read(cell) => self.read(state, thread, *cell),
            Op::Write(cell, value) => self.write(state, thread, *cell, *value),
            Op::Replace(mode, lock, value) => self.replace(state, thread, *mode, *lock, *value),
            Op::WaitWhileZero { mutex, timeout } => {
                return self.wait_while_zero(state, thread, *mutex, *timeout);
            }
            Op::Notify(mutex, all) => self.notify(state, thread, *mutex, *all),
            Op::Send(value) => return self.send(state, thread, *value),
            Op::Receive | Op::TryReceive | Op::ReceiveTimeout(_) => return self.receive(state, thread, op),
            Op::DropSender => self.drop_sender(state, thread),
            Op::DropReceiver => self.drop_receiver(state, thread),
            Op::Park | Op::ParkTimeout(_) => return self.park(state, thread, op),
            Op::Unpark(target) => self.unpark(state, thread, *target),
            Op::Barrier => return self.barrier(state, thread),
            Op::IsInitialised(kind, number) => {
                let once = &state.onces[*kind as usize][*number];
                let (complete, clock) = (once.complete, once.clock);
                if complete {
                    self.acquire(state, thread, &clock);
                }
                state.see(thread, u64::from(complete));
            }
            Op::Arc(op) => return self.arc(state, thread, *op),
            Op::Spawn(started) => {
                let clock = self.release(state, thread);
                state.threads[*started].started = true;
                self.acquire(state, *started, &clock);
                state.next(thread);
            }
            Op::Join(joined) => {
                if self.code_of(state, *joined).is_some() {
                    return false;
                }
                let clock = state.threads[*joined].clock;
                self.acquire(state, thread, &clock);
                state.next(thread);
            }
            Op::IsFinished(asked) => {
                let done = state.threads[*asked].done;
                state.see(thread, u64::from(done));
            }
            Op::Sleep(time) => match state.threads[thread].phase {
                Phase::TimedOut => state.next(thread),
                Phase::Ready => state.sleep(thread, Some(*time)),
                _ => return false,
            },
            Op::ThreadLocal => {
                state.threads[thread].has_local = true;
                state.next(thread);
            }
            Op::Yield | Op::Locked { .. } | Op::Initialise(..) | Op::Scope(..) => {
                unreachable!("flat code has no bodies")
            }
        }
        true
    }

    /// What a thread hands on.
    pub(super) fn release(&self, state: &mut State, thread: ThreadId) -> Clock {
        if !self.tracks {
            return Clock::default();
        }
        state.threads[thread].handed_on = true;
        state.threads[thread].clock
    }

    /// The time of an access to plain data.
    pub(super) fn access(&self, state: &mut State, thread: ThreadId) -> Clock {
        let thread_state = &mut state.threads[thread];
        if std::mem::take(&mut thread_state.handed_on) {
            thread_state.clock.tick(thread);
        }
        thread_state.clock
    }

    /// Takes over what another thread has handed on.
    pub(super) fn acquire(&self, state: &mut State, thread: ThreadId, clock: &Clock) {
        if self.tracks {
            state.threads[thread].clock.join(clock);
        }
    }
}

impl State {
    /// The thread has done its instruction.
    pub(super) fn next(&mut self, thread: ThreadId) {
        let thread = &mut self.threads[thread];
        (thread.at, thread.phase, thread.deadline, thread.note) = (thread.at + 1, Phase::Ready, None, 0);
    }

    /// The thread has done its instruction, which told it this.
    pub(super) fn see(&mut self, thread: ThreadId, value: u64) {
        self.threads[thread].seen.push(value);
        self.next(thread);
    }

    /// The thread waits to be woken, for at most so long from when it began.
    pub(super) fn sleep(&mut self, thread: ThreadId, time: Option<u64>) {
        let now = self.now;
        let thread = &mut self.threads[thread];
        thread.phase = Phase::Asleep;
        thread.deadline = thread.deadline.or(time.map(|time| now + time));
    }
}

fn can_time_out(code: &Code) -> bool {
    matches!(
        code,
        Code::Do(
            Op::Sleep(_)
                | Op::ParkTimeout(_)
                | Op::ReceiveTimeout(_)
                | Op::WaitWhileZero { timeout: Some(_), .. }
        )
    )
}
