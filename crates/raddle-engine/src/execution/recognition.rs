//! Recognition of sampled executions that are equal to earlier ones, without making them.
//!
//! Samples of a small program repeat themselves: after some thousand executions, most are linear extensions of partial orders that earlier
//! ones had. Such an execution need not be made. Threads are simulated instead: the next step of each depends on its own past alone, and
//! is known if some execution had the thread in that past. The strategy is asked for its choices along the simulation. If all threads end,
//! and the partial order is that of an earlier execution, the execution is *recognised*: it counts, with that one's outcome, and with its
//! own events and switches.
//!
//! ```text
//!   pasts of T1:  begin ── load x ─┬─ (read 0) ── store x ── end        pasts of T2:  begin ── store x ── end
//!                                  └─ (read T2's) ── end
//! ```
//!
//! **Only an execution that the race detector has followed makes others recognisable.** Without a race all linear extensions of a partial
//! order do the same. With one, or with memory that is freed while another thread may access it, they need not.
//!
//! **The first [`race_sampling::FIRST`] executions are made, all of them, and one in [`CHECKED`] of those that are recognised.** What
//! threads do in code that is not instrumented (inline assembly, say) is no part of an order: then executions of one order may end otherwise,
//! which ends recognition.
//!
//! **Invariants:** The strategy is asked the same questions in the same order as if the execution was made, so that the result of a search
//! is the same with and without recognition. Executions that are made are compared with their simulation. A difference ends recognition, and the execution is made again. What a simulation takes for granted
//! and is not so leads to an order that no execution had, so that the execution is made.

use super::order_hash::{Done, Kind, OrderHash, Step, ThreadHash};
use super::race_sampling;
use super::simulation::{Simulated, Simulator};
use crate::op::ThreadId;
use crate::strategy::Strategy;

/// Largest number of steps, of 24 bytes each.
const MOST_STEPS: usize = 1 << 18;

/// Largest number of partial orders, of 32 bytes each.
const MOST_ORDERS: usize = 1 << 16;

/// The number of executions after which recognition goes on only if enough of them were recognised.
const TRIAL: u32 = 1 << 14;

/// The same, if no more steps or orders can be recorded.
const TRIAL_WHEN_FULL: u32 = 1 << 9;

/// One in this many executions must be recognised.
const WORTH: u32 = 6;

/// If one in this many executions is recognised, the race detector follows those that take unknown steps, too.
const LEARNS: u32 = 16;

/// One in this many recognised executions is made, to compare it with its simulation.
const CHECKED: u64 = 128;

/// The steps and orders of a search.
#[derive(Debug)]
pub(crate) struct Recognition {
    steps: Table<RecordedStep>,
    orders: Table<Order>,
    simulator: Simulator,
    /// Whether a thread that was left alone has spawned others.
    has_phases: bool,
    /// The number of choices that are made, of those that the strategy was asked for.
    made: usize,
    /// Recognised and all executions of the present trial.
    recognised: u32,
    executions: u32,
    /// Whether the next execution is recorded.
    is_next: bool,
}

/// A step that a thread took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordedStep {
    /// The past of the thread.
    pub(super) past: u64,
    of: u64,
    kind: Kind,
    /// What the step before did.
    pub(super) done: Done,
    /// What was learned since.
    learned: u16,
    /// A step after this one: the only one, unless it depends on other threads.
    then: u32,
}

/// The partial order of executions, up to the moment from which only one thread is left. What follows depends on nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    hash: u64,
    outcome_class: Option<u32>,
    /// What follows.
    rest: Counts,
}

/// Numbers of events, switches and choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) steps: u32,
    pub(crate) switches: u32,
    pub(crate) choices: u32,
}

/// The number of no entry.
const NONE: u32 = u32::MAX;

/// Records, which are found by their hashes.
#[derive(Debug)]
pub(super) struct Table<T> {
    records: Vec<T>,
    /// The numbers of records, in a hash table.
    numbers: Vec<u32>,
}

/// A record with a hash.
pub(super) trait Hashed {
    fn hash(&self) -> u64;
}

/// An execution that was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recognised {
    pub(crate) counts: Counts,
    pub(crate) outcome_class: Option<usize>,
}

/// An execution differs from what is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Differs;

impl Recognition {
    /// Simulates the execution that the strategy has begun. Returns it if it is recognised. Otherwise it must be made, and `follows` is set if
    /// that makes others recognisable.
    pub(crate) fn recognise(
        &mut self,
        strategy: &mut dyn Strategy,
        number: u64,
        follows: &mut bool,
    ) -> Option<Recognised> {
        (self.made, self.is_next) = (0, true);
        if number < race_sampling::FIRST {
            return None;
        }
        self.executions = self.executions.saturating_add(1);
        let simulated = self.simulator.run(strategy, &self.steps, &self.orders);
        // An execution of an order that is not known yet makes the order known if the race detector follows it.
        let (order, counts) = match simulated {
            Simulated::Recognised { order, counts } => (order, counts),
            Simulated::New => {
                *follows = true;
                return None;
            }
            Simulated::Unknown => {
                *follows |= self.recognised > self.executions / LEARNS;
                return None;
            }
        };
        self.recognised += 1;
        let is_checked = number.is_multiple_of(CHECKED);
        let counts = counts.and(order.rest);
        let outcome_class = order.outcome_class.map(|class| class as usize);
        (!is_checked).then_some(Recognised { counts, outcome_class })
    }

    /// Whether too few executions were recognised.
    pub(crate) fn is_in_vain(&mut self) -> bool {
        if self.executions < if self.is_full() { TRIAL_WHEN_FULL } else { TRIAL } {
            return false;
        }
        let is_in_vain = self.recognised < self.executions / WORTH;
        (self.recognised, self.executions) = (0, 0);
        is_in_vain
    }

    fn is_full(&self) -> bool {
        self.steps.is_full() || self.orders.is_full()
    }

    /// An execution begins. Whether it is the one that was not recognised.
    pub(crate) fn begin(&mut self) -> bool {
        let is_next = std::mem::take(&mut self.is_next);
        if !is_next {
            self.simulator.choices.clear();
        }
        is_next
    }

    /// The next choice, if the strategy was asked for it already.
    #[inline]
    pub(crate) fn next_choice(&mut self) -> Option<ThreadId> {
        let &(thread, _) = self.simulator.choices.get(self.made)?;
        self.made += 1;
        Some(thread)
    }

    /// Compares a choice of the execution that is made with that of its simulation.
    #[inline]
    pub(crate) fn compare(&self, choice: u64) -> Result<(), Differs> {
        match self.simulator.choices.get(self.made) {
            Some(&(_, simulated)) if simulated != choice => Err(Differs),
            _ => Ok(()),
        }
    }

    /// Records the next step of a thread, which has come to it.
    #[inline]
    pub(crate) fn record(
        &mut self,
        hash: &mut OrderHash,
        thread: ThreadId,
        step: Step,
    ) -> Result<(), Differs> {
        if hash.is_alone() && !self.has_phases {
            // Threads that are spawned by one that was left alone are rare. Where there are none, its steps are not needed.
            self.has_phases = step.kind == Kind::Spawn;
            hash.thread(thread).latest = None;
            return Ok(());
        }
        let thread = hash.thread(thread);
        let (Step { kind, of }, ThreadHash { past, done, learned, .. }) = (step, *thread);
        let record = RecordedStep { past, of, kind, done, learned, then: NONE };
        let Some(number) = self.steps.add(record) else {
            thread.latest = None;
            return Ok(());
        };
        let known = self.steps.records[number as usize];
        let same = RecordedStep { then: NONE, done: known.done.without(Done::MAY_BE_LAST), ..known };
        if same != record {
            return Err(Differs);
        }
        if let Some(latest) = thread.latest.replace(number) {
            let latest = &mut self.steps.records[latest as usize];
            latest.done = latest.done.and(Done::MAY_BE_LAST, done.has(Done::LAST));
            if latest.then == NONE {
                latest.then = number;
            }
        }
        Ok(())
    }

    /// Records the end of an execution that passed: adds its order if it was followed, or compares it.
    pub(crate) fn record_end(
        &mut self,
        hash: u64,
        outcome_class: Option<usize>,
        rest: Counts,
        is_followed: bool,
    ) -> Result<(), Differs> {
        let order = Order { hash, outcome_class: outcome_class.map(|class| class as u32), rest };
        let number = if is_followed { self.orders.add(order) } else { self.orders.find(hash) };
        match number {
            Some(number) if self.orders.records[number as usize] != order => Err(Differs),
            _ => Ok(()),
        }
    }
}

impl RecordedStep {
    #[inline]
    pub(super) fn step(&self) -> Step {
        Step::new(self.kind, self.of)
    }

    /// The step after this one, if it is known. This one must not depend on other threads.
    #[inline]
    pub(super) fn then(&self) -> Option<u32> {
        Some(self.then).filter(|&then| then != NONE)
    }
}

impl Hashed for RecordedStep {
    #[inline]
    fn hash(&self) -> u64 {
        self.past
    }
}

impl Hashed for Order {
    #[inline]
    fn hash(&self) -> u64 {
        self.hash
    }
}

impl Counts {
    pub(crate) fn and(self, other: Counts) -> Counts {
        Counts {
            steps: self.steps + other.steps,
            switches: self.switches + other.switches,
            choices: self.choices + other.choices,
        }
    }

    /// The difference from earlier numbers.
    pub(crate) fn since(self, earlier: Counts) -> Counts {
        Counts {
            steps: self.steps - earlier.steps,
            switches: self.switches - earlier.switches,
            choices: self.choices - earlier.choices,
        }
    }
}

impl Default for Recognition {
    fn default() -> Recognition {
        Recognition {
            steps: Table::with_room(MOST_STEPS),
            orders: Table::with_room(MOST_ORDERS),
            simulator: Simulator::default(),
            has_phases: false,
            made: 0,
            recognised: 0,
            executions: 0,
            is_next: false,
        }
    }
}

impl Table<RecordedStep> {
    /// The step with this past, which is after another one.
    #[inline]
    pub(super) fn after(&self, step: u32, past: u64) -> Option<u32> {
        let then = self.records[step as usize].then;
        match self.records.get(then as usize) {
            Some(known) if known.past == past => Some(then),
            _ => self.find(past),
        }
    }
}

impl<T: Hashed> Table<T> {
    /// An empty table. Memory is taken as records are added; they are never moved.
    fn with_room(most: usize) -> Table<T> {
        Table { records: Vec::with_capacity(most), numbers: vec![NONE; 1 << 8] }
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &T {
        &self.records[number as usize]
    }

    fn is_full(&self) -> bool {
        self.records.len() == self.records.capacity()
    }

    /// The number of the record with this hash.
    #[inline]
    pub(super) fn find(&self, hash: u64) -> Option<u32> {
        Some(self.numbers[self.index(hash)]).filter(|&number| number != NONE)
    }

    /// Adds a record, unless there is one with its hash. Returns its number. None if there are too many.
    #[inline]
    fn add(&mut self, record: T) -> Option<u32> {
        let index = self.index(record.hash());
        match self.numbers[index] {
            NONE if !self.is_full() => Some(self.insert(index, record)),
            NONE => None,
            number => Some(number),
        }
    }

    #[inline(never)]
    fn insert(&mut self, mut index: usize, record: T) -> u32 {
        if self.records.len() >= self.numbers.len() / 4 * 3 {
            self.numbers = vec![NONE; 2 * self.numbers.len()];
            for (number, record) in self.records.iter().enumerate() {
                let index = self.index(record.hash());
                self.numbers[index] = number as u32;
            }
            index = self.index(record.hash());
        }
        let number = self.records.len() as u32;
        self.numbers[index] = number;
        self.records.push(record);
        number
    }

    /// The index of the number of the record with this hash, or of the empty entry for it.
    #[inline]
    fn index(&self, hash: u64) -> usize {
        let last = self.numbers.len() - 1;
        let mut index = hash as usize & last;
        while let Some(record) = self.records.get(self.numbers[index] as usize)
            && record.hash() != hash
        {
            index = (index + 1) & last;
        }
        index
    }
}
