//! Simulation of an execution by the recorded steps of its threads: see [`super::recognition`].
//!
//! The scheduling is that of `semantics::interleaving`, for threads that make atomic accesses, lock mutexes, spawn and join.

use super::order_hash::{Done, Kind, OrderHash, Step};
use super::recognition::{Counts, Order, RecordedStep, Table};
use crate::in_place::in_place;
use crate::op::{Effect, Pending, ThreadId};
use crate::strategy::{Point, Steps, Strategy};

/// The number of consecutive choices of one thread from which an execution is made: fair scheduling is near.
const LONG_RUN: u32 = 500;

/// Simulations.
#[derive(Debug, Default)]
pub(super) struct Simulator {
    /// The choices that the strategy was asked for: the thread that it chose, and the hash of the choice.
    pub(super) choices: Vec<(ThreadId, u64)>,
    state: State,
    /// The state at the first choice, by whether threads start eagerly.
    beginnings: [Option<Box<State>>; 2],
}

in_place! {
    /// The state of a simulated execution.
    #[derive(Debug, Default)]
    struct State {
        hash: OrderHash,
        threads: Vec<Thread>,
        pending: Vec<Pending>,
        runnable: Vec<ThreadId>,
        /// The threads that wait for a mutex, and its word.
        lockers: Vec<(ThreadId, u64)>,
        /// The words that were written, and whether they are zero. Some are those of mutexes.
        words: Vec<(u64, bool)>,
        current: ThreadId,
        /// The thread that was just spawned, and runs next.
        starting: Option<ThreadId>,
        /// The number of consecutive choices of the current thread.
        run: u32,
        counts: Counts,
        /// The counts when the latest thread ended.
        counts_at_end: Counts,
    }
}

/// A simulated thread.
#[derive(Clone, Copy, Debug)]
struct Thread {
    /// The next step.
    step: u32,
    /// Whether it takes the step as soon as it is chosen.
    is_at_point: bool,
    has_ended: bool,
    /// The thread that it waits for.
    joins: Option<ThreadId>,
    /// The thread that goes on when this one, which started eagerly, comes to its first event.
    returns_to: Option<ThreadId>,
}

/// The result of a simulation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Simulated {
    /// A step is not known, or threads cannot go on.
    Unknown,
    /// The partial order is not known.
    New,
    /// The partial order is known. The counts are those up to its end.
    Recognised { order: Order, counts: Counts },
}

/// How a thread goes on.
enum Then {
    /// Another thread may run now.
    Another,
    /// The strategy chooses.
    Choice,
    /// Only one thread is left, or none.
    Alone,
}

impl Simulator {
    /// Simulates an execution.
    pub(super) fn run(
        &mut self,
        strategy: &mut dyn Strategy,
        steps: &Table<RecordedStep>,
        orders: &Table<Order>,
    ) -> Simulated {
        self.choices.clear();
        self.simulate(strategy, steps, orders).unwrap_or(Simulated::Unknown)
    }

    fn simulate(
        &mut self,
        strategy: &mut dyn Strategy,
        steps: &Table<RecordedStep>,
        orders: &Table<Order>,
    ) -> Option<Simulated> {
        let Simulator { choices, state, beginnings } = self;
        let eager = strategy.starts_threads_eagerly();
        let beginning = &mut beginnings[usize::from(eager)];
        let mut then = Then::Choice;
        match beginning {
            Some(beginning) => state.clone_from(beginning),
            None => {
                state.begin(steps)?;
                then = state.go_on(eager, steps)?;
                if let Then::Choice = then {
                    *beginning = Some(Box::new(state.clone()));
                }
            }
        }
        loop {
            if let Then::Choice = then {
                state.choose(strategy, choices)?;
            } else if let Some(order) = orders.find(state.hash.sum_when_alone()) {
                return Some(Simulated::Recognised {
                    order: *orders.get(order),
                    counts: state.counts_at_end,
                });
            } else if state.runnable.is_empty() {
                let have_all_ended = state.threads.iter().all(|thread| thread.has_ended);
                return have_all_ended.then_some(Simulated::New);
            }
            then = match state.go_on(eager, steps) {
                Some(then) => then,
                // The steps of a thread that is left alone are not recorded.
                None if state.hash.is_alone() => return Some(Simulated::New),
                None => return None,
            };
        }
    }
}

impl State {
    fn begin(&mut self, steps: &Table<RecordedStep>) -> Option<()> {
        let State { hash, threads, pending, runnable, lockers, words, .. } = self;
        hash.begin();
        threads.clear();
        pending.clear();
        runnable.clear();
        lockers.clear();
        words.clear();
        (self.current, self.starting, self.run, self.counts) = (0, None, 0, Counts::default());
        self.add_thread(0, None, steps)
    }

    fn add_thread(
        &mut self,
        thread: ThreadId,
        returns_to: Option<ThreadId>,
        steps: &Table<RecordedStep>,
    ) -> Option<()> {
        let step = steps.find(self.hash.past(thread))?;
        self.threads.push(Thread { step, is_at_point: false, has_ended: false, joins: None, returns_to });
        self.pending.push(Pending::NOTHING);
        self.make_runnable(thread);
        Some(())
    }

    /// Threads take their steps up to the next choice, or until one or none is left.
    fn go_on(&mut self, eager: bool, steps: &Table<RecordedStep>) -> Option<Then> {
        loop {
            let thread = &mut self.threads[usize::from(self.current)];
            let step = steps.get(thread.step).step();
            let is_chosen = std::mem::take(&mut thread.is_at_point);
            if (is_chosen || self.comes_to(step)) && self.take(step, eager, steps)? {
                continue;
            }
            let has_ended = self.threads[usize::from(self.current)].has_ended;
            let then = self.next_thread()?;
            if has_ended && (self.hash.is_alone() || self.runnable.is_empty()) {
                return Some(Then::Alone);
            }
            if let Then::Choice = then {
                return Some(then);
            }
        }
    }

    /// The current thread comes to its next step. False if others may run before it takes that.
    #[inline]
    fn comes_to(&mut self, step: Step) -> bool {
        let me = self.current;
        match step.kind {
            Kind::Lock if self.is_locked(step.of) => {
                self.counts.steps += 1;
                self.wait_for_lock(step.of);
                return false;
            }
            Kind::Load | Kind::Access | Kind::CountDown | Kind::Pass | Kind::Lock => {}
            Kind::Join if !self.threads[step.of as usize].has_ended => {
                self.threads[usize::from(me)].joins = Some(step.of as ThreadId);
                self.block();
                return false;
            }
            _ => return true,
        }
        self.counts.steps += 1;
        if self.runnable.len() == 1 && self.lockers.is_empty() {
            return true;
        }
        self.pending[usize::from(me)] = step.pending();
        self.threads[usize::from(me)].is_at_point = true;
        if !self.lockers.is_empty() {
            self.release_lockers();
        }
        self.run += u32::from(self.runnable.len() > 1);
        false
    }

    /// The current thread takes its next step. Returns whether it goes on.
    #[inline]
    fn take(&mut self, step: Step, eager: bool, steps: &Table<RecordedStep>) -> Option<bool> {
        let me = self.current;
        let number = self.threads[usize::from(me)].step;
        let next = match step.kind {
            Kind::Lock if self.is_locked(step.of) => {
                self.wait_for_lock(step.of);
                return Some(false);
            }
            Kind::Lock => {
                self.hold_back_lockers(step.of);
                self.access(step.of, steps.after(number, self.hash.after_access(me, step.of))?, steps)
            }
            Kind::Load | Kind::Access | Kind::Unobserved => {
                self.access(step.of, steps.after(number, self.hash.after_access(me, step.of))?, steps)
            }
            Kind::CountDown => {
                let may_be_last = steps.get(number).done.has(Done::MAY_BE_LAST);
                let last =
                    may_be_last.then(|| steps.after(number, self.hash.after_access(me, step.of))).flatten();
                match last.filter(|&last| steps.get(last).done.has(Done::LAST)) {
                    Some(last) => self.access(step.of, last, steps),
                    None => {
                        let next = steps.after(number, self.hash.after_count(me))?;
                        self.hash.come_to_count(me, steps.get(next).past, step.of);
                        next
                    }
                }
            }
            Kind::CountUp => {
                let next = steps.get(number).then()?;
                self.hash.come_to_count(me, steps.get(next).past, step.of);
                next
            }
            Kind::Join => {
                let next = steps.after(number, self.hash.after_step(me, step))?;
                self.hash.join(me, steps.get(next).past);
                next
            }
            Kind::End => {
                self.hash.step(me, step);
                self.end();
                return Some(false);
            }
            Kind::Pass | Kind::Spawn => {
                let next = steps.get(number).then()?;
                let past = steps.get(next).past;
                self.hash.set(me, past, Done::default());
                if step.kind == Kind::Spawn {
                    let child = step.of as ThreadId;
                    self.hash.add_thread(child, past);
                    self.add_thread(child, eager.then_some(me), steps)?;
                    self.starting = eager.then_some(child);
                }
                next
            }
        };
        self.threads[usize::from(me)].step = next;
        Some(true)
    }

    /// The current thread makes an access, and takes the step `next` after it.
    #[inline]
    fn access(&mut self, address: u64, next: u32, steps: &Table<RecordedStep>) -> u32 {
        let recorded = steps.get(next);
        let done = recorded.done;
        self.hash.come_to(self.current, recorded.past, address, done);
        if done.has(Done::WORD) {
            let is_zero = done.has(Done::ZERO);
            match self.words.iter_mut().find(|(word, _)| *word == address) {
                Some(word) => word.1 = is_zero,
                None => self.words.push((address, is_zero)),
            }
        }
        next
    }

    fn end(&mut self) {
        let me = self.current;
        self.threads[usize::from(me)].has_ended = true;
        self.counts_at_end = self.counts;
        self.runnable.retain(|&thread| thread != me);
        for thread in 0..self.threads.len() {
            if self.threads[thread].joins == Some(me) {
                self.threads[thread].joins = None;
                self.make_runnable(thread as ThreadId);
            }
        }
    }

    fn is_locked(&self, word: u64) -> bool {
        self.words.iter().any(|&(known, is_zero)| known == word && !is_zero)
    }

    /// The current thread waits for the mutex that it is about to lock.
    fn wait_for_lock(&mut self, word: u64) {
        self.lockers.push((self.current, word));
        self.threads[usize::from(self.current)].is_at_point = true;
        self.block();
    }

    /// The other threads that are about to lock the mutex wait, because the current one locks it.
    fn hold_back_lockers(&mut self, word: u64) {
        let State { runnable, lockers, pending, current, .. } = self;
        runnable.retain(|&thread| {
            let Pending { address, effect } = pending[usize::from(thread)];
            let waits = thread != *current && effect == Effect::Lock && address as u64 == word;
            if waits {
                lockers.push((thread, word));
            }
            !waits
        });
    }

    /// Makes the threads runnable whose mutex is unlocked.
    fn release_lockers(&mut self) {
        for index in (0..self.lockers.len()).rev() {
            let (thread, word) = self.lockers[index];
            if !self.is_locked(word) {
                self.lockers.swap_remove(index);
                self.pending[usize::from(thread)] = Step::new(Kind::Lock, word).pending();
                self.make_runnable(thread);
            }
        }
    }

    #[inline]
    fn make_runnable(&mut self, thread: ThreadId) {
        if let Err(position) = self.runnable.binary_search(&thread) {
            self.runnable.insert(position, thread);
        }
    }

    /// The current thread blocks.
    fn block(&mut self) {
        let me = self.current;
        self.pending[usize::from(me)] = Pending::NOTHING;
        self.runnable.retain(|&thread| thread != me);
    }

    /// Another thread goes on, or the current one, unless the strategy chooses. None if threads are left that cannot go on.
    #[inline]
    fn next_thread(&mut self) -> Option<Then> {
        let returns_to = &mut self.threads[usize::from(self.current)].returns_to;
        let starting = self.starting.take().or_else(|| returns_to.take());
        if !self.lockers.is_empty() {
            self.release_lockers();
        }
        match self.runnable[..] {
            [] if self.lockers.is_empty() => return Some(Then::Another),
            [] => return None,
            [only] => self.switch_to(only),
            _ => match starting.filter(|thread| self.runnable.contains(thread)) {
                Some(thread) => {
                    self.counts.choices += 1;
                    self.switch_to(thread);
                }
                None => return Some(Then::Choice),
            },
        }
        Some(Then::Another)
    }

    /// The strategy chooses the next thread. None if fair scheduling is near.
    #[inline]
    fn choose(&mut self, strategy: &mut dyn Strategy, choices: &mut Vec<(ThreadId, u64)>) -> Option<()> {
        if self.run > LONG_RUN {
            return None;
        }
        let State { current, runnable, pending, .. } = self;
        let (steps, choice) = (Steps::Saved(pending), self.counts.choices as usize);
        let thread = strategy.choose(&Point { current: *current, runnable, active: runnable, steps, choice });
        choices.push((thread, self.hash.choice(&self.runnable)));
        self.counts.choices += 1;
        self.switch_to(thread);
        Some(())
    }

    #[inline]
    fn switch_to(&mut self, thread: ThreadId) {
        if thread != self.current {
            (self.current, self.run) = (thread, 0);
            self.counts.switches += 1;
        }
    }
}
