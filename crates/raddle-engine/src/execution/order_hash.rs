//! Hashes of the order of events, by which executions recognise others that are equal to them.
//!
//! Each thread has a hash of its past: of its events, and of the events of others that they depend on. An access depends on the latest write
//! to its location, so the hashes of all threads together are those of a reads-from relation and of a coherence order. Equal hashes of two
//! complete executions say that both are linear extensions of one partial order; equal hashes of a thread say that the thread is in the
//! same local state. The events with their pasts are those of the program's *unfolding* (McMillan, CAV 1992; Rodríguez, Sousa, Sharma and
//! Kroening, CONCUR 2015), with these differences:
//!
//! - A read is no event that later writes depend on.
//! - Changes of a reference count commute, apart from the one that drops the value.
//! - Locations share [`LOCATIONS`] entries. Two locations with one entry seem to depend on each other, so that equal orders may have
//!   different hashes; different orders have different ones all the same.
//!
//! **Invariant:** whatever a thread learns from others is hashed before the thread's next scheduling point, and so is its passing of a
//! scheduling point. What cannot be hashed ends recognition (`Engine::recognise_no_more`).

use super::recognition::Counts;
use crate::in_place::in_place;
use crate::op::{Effect, Pending, ThreadId};

/// The number of entries of locations. A power of two.
const LOCATIONS: usize = 64;

/// The next step of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    /// The address of an access, or the number of a thread.
    pub(crate) of: u64,
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A load.
    #[default]
    Load,
    /// Another access: a store, a read-modify-write, or a compare-exchange.
    Access,
    /// An access that is no scheduling point.
    Unobserved,
    /// The decrement of a reference count.
    CountDown,
    /// The increment of a reference count. No scheduling point.
    CountUp,
    /// The lock of a mutex.
    Lock,
    /// A spawn. The scheduling point behind it is a step of its own.
    Spawn,
    /// A scheduling point without an access.
    Pass,
    /// A join.
    Join,
    /// The thread ends.
    End,
}

/// What an access did, as far as the order of events depends on it: bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done(u8);

impl Done {
    /// It has written.
    pub(crate) const WROTE: Done = Done(1);
    /// It has written four bytes, which may be the word of a mutex.
    pub(crate) const WORD: Done = Done(2);
    /// These are zero: the mutex is not locked.
    pub(crate) const ZERO: Done = Done(4);
    /// It has decremented a reference count to zero.
    pub(crate) const LAST: Done = Done(8);
    /// The step after it has decremented a reference count to zero in some execution.
    pub(crate) const MAY_BE_LAST: Done = Done(16);

    pub(crate) fn has(self, other: Done) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn without(self, other: Done) -> Done {
        Done(self.0 & !other.0)
    }

    pub(crate) fn and(self, other: Done, condition: bool) -> Done {
        Done(self.0 | if condition { other.0 } else { 0 })
    }
}

impl Step {
    pub(crate) fn new(kind: Kind, of: u64) -> Step {
        Step { kind, of }
    }

    /// What strategies know of the step.
    pub(crate) fn pending(self) -> Pending {
        let effect = match self.kind {
            Kind::Load => Effect::Read,
            Kind::Access | Kind::CountDown => Effect::Write,
            Kind::Lock => Effect::Lock,
            _ => return Pending::NOTHING,
        };
        Pending { address: self.of as usize, effect }
    }
}

in_place! {
    /// The hashes of an execution.
    #[derive(Debug)]
    pub(crate) struct OrderHash {
        threads: Vec<ThreadHash>,
        /// The sum of the threads' hashes.
        sum: u64,
        locations: [u64; LOCATIONS],
        /// The number of threads that have ended.
        ended: usize,
        /// The hash when only one thread was left, and the numbers of events, switches and choices.
        pub(crate) alone: Option<(u64, Counts)>,
        /// Whether the rest of the execution is decided by more than the order of events.
        pub(crate) is_void: bool,
    }
}

/// The hash of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadHash {
    /// The past.
    pub(crate) past: u64,
    /// The latest step, if it is recorded.
    pub(crate) latest: Option<u32>,
    /// What the latest step did.
    pub(crate) done: Done,
    /// The past before the joins that were the latest steps, if they were.
    before_joins: Option<u64>,
    has_ended: bool,
    /// A hash of what trusted code has learned since the latest step. It is no part of the past: the past decides it, or recognition ends.
    pub(crate) learned: u16,
}

impl Default for OrderHash {
    fn default() -> OrderHash {
        let (threads, locations) = (Vec::new(), [0; LOCATIONS]);
        OrderHash { threads, sum: 0, locations, ended: 0, alone: None, is_void: false }
    }
}

impl OrderHash {
    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        self.threads.clear();
        (self.sum, self.locations, self.is_void) = (0, [0; LOCATIONS], false);
        (self.ended, self.alone) = (0, None);
        self.add_thread(0, 1);
    }

    /// The hash of all events so far.
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    /// The hash of a choice among these threads. They are a function of the events, so that their number is enough.
    #[inline]
    pub(crate) fn choice(&self, threads: &[ThreadId]) -> u64 {
        self.sum.wrapping_add(threads.len() as u64)
    }

    /// The past of a thread.
    #[inline]
    pub(crate) fn past(&self, thread: ThreadId) -> u64 {
        self.threads[usize::from(thread)].past
    }

    #[inline]
    pub(crate) fn thread(&mut self, thread: ThreadId) -> &mut ThreadHash {
        &mut self.threads[usize::from(thread)]
    }

    /// Trusted code of the thread has learned a value.
    pub(crate) fn learn(&mut self, thread: ThreadId, value: u64) {
        let learned = &mut self.thread(thread).learned;
        *learned = mix(u64::from(*learned) + 1, value) as u16;
    }

    /// The past of a thread after an access to this address.
    #[inline]
    pub(crate) fn after_access(&self, thread: ThreadId, address: u64) -> u64 {
        mix(self.past(thread), self.locations[location(address)])
    }

    /// The past of a thread after a change of a reference count that is not the last.
    #[inline]
    pub(crate) fn after_count(&self, thread: ThreadId) -> u64 {
        mix(self.past(thread), u64::MAX)
    }

    /// The thread has made an access.
    #[inline]
    pub(crate) fn access(&mut self, thread: ThreadId, address: u64, done: Done) {
        let now = self.after_access(thread, address);
        self.come_to(thread, now, address, done);
    }

    /// The thread has changed a reference count, and is not the last.
    #[inline]
    pub(crate) fn count(&mut self, thread: ThreadId, address: u64) {
        let now = self.after_count(thread);
        self.come_to_count(thread, now, address);
    }

    /// The past of a thread after a step that is no access.
    pub(crate) fn after_step(&self, thread: ThreadId, step: Step) -> u64 {
        let what = match step.kind {
            Kind::Join => self.past(step.of as ThreadId),
            kind => mix(kind as u64, step.of),
        };
        mix(self.past(thread), what)
    }

    /// The thread has made a step that is no access.
    #[inline]
    pub(crate) fn step(&mut self, thread: ThreadId, step: Step) {
        let now = self.after_step(thread, step);
        if step.kind == Kind::Join {
            return self.join(thread, now);
        }
        self.set(thread, now, Done::default());
        match step.kind {
            Kind::Spawn => self.add_thread(step.of as ThreadId, now),
            Kind::End => {
                self.thread(thread).has_ended = true;
                self.ended += 1;
            }
            _ => {}
        }
    }

    /// The thread has joined another, after which it has this past.
    #[inline]
    pub(crate) fn join(&mut self, thread: ThreadId, now: u64) {
        let ThreadHash { past, before_joins, .. } = *self.thread(thread);
        self.set(thread, now, Done::default());
        self.thread(thread).before_joins = before_joins.or(Some(past));
    }

    /// Whether only one thread is left of several.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.ended > 0 && self.ended + 1 == self.threads.len()
    }

    /// The hash of all events so far, when only one thread is left of several. Which of them that thread has joined by now makes no
    /// difference.
    pub(crate) fn sum_when_alone(&self) -> u64 {
        let left = self.threads.iter().find(|thread| !thread.has_ended);
        let joins = left.and_then(|left| Some((left.past, left.before_joins?)));
        joins.map_or(self.sum, |(past, before)| self.sum.wrapping_sub(past).wrapping_add(before))
    }

    /// Adds a thread, which was spawned by one with this past.
    pub(crate) fn add_thread(&mut self, thread: ThreadId, past: u64) {
        let index = usize::from(thread);
        if self.threads.len() <= index {
            self.threads.resize(index + 1, ThreadHash::default());
        }
        self.set(thread, mix(past, thread.into()), Done::default());
    }

    /// The thread has made an access, after which it has this past. The same as [`OrderHash::access`].
    #[inline]
    pub(crate) fn come_to(&mut self, thread: ThreadId, now: u64, address: u64, done: Done) {
        if done.has(Done::WROTE) {
            self.locations[location(address)] = now;
        }
        self.set(thread, now, done);
    }

    /// The thread has changed a reference count, after which it has this past. The same as [`OrderHash::count`].
    #[inline]
    pub(crate) fn come_to_count(&mut self, thread: ThreadId, now: u64, address: u64) {
        let location = &mut self.locations[location(address)];
        *location = location.wrapping_add(now);
        self.set(thread, now, Done::default());
    }

    #[inline]
    pub(crate) fn set(&mut self, thread: ThreadId, now: u64, done: Done) {
        let thread = &mut self.threads[usize::from(thread)];
        self.sum = self.sum.wrapping_sub(thread.past).wrapping_add(now);
        (thread.past, thread.done, thread.learned) = (now, done, 0);
        thread.before_joins = None;
    }
}

/// The entry of an address.
#[inline]
fn location(address: u64) -> usize {
    ((address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - LOCATIONS.ilog2())) as usize
}

/// A hash of two numbers, in this order.
#[inline]
pub(crate) fn mix(first: u64, second: u64) -> u64 {
    let product = u128::from(first ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(second ^ 0x8bb8_4b93_962e_acc9);
    (product as u64 ^ (product >> 64) as u64).wrapping_add(first.rotate_left(32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum How {
        Reads,
        Writes,
        Counts,
    }
    use How::{Counts, Reads, Writes};

    /// The hash after accesses: the thread, the address, the kind.
    fn hash(accesses: &[(ThreadId, u64, How)]) -> u64 {
        let mut hash = OrderHash::default();
        hash.begin();
        (1..4).for_each(|thread| hash.step(0, Step::new(Kind::Spawn, thread)));
        for &(thread, address, how) in accesses {
            match how {
                Reads => hash.access(thread, address, Done::default()),
                Writes => hash.access(thread, address, Done::WROTE),
                Counts => hash.count(thread, address),
            }
        }
        hash.sum()
    }

    #[test]
    fn only_the_order_of_dependent_accesses_counts() {
        let (x, y) = (64, 128);
        let commute = |one, other| hash(&[one, other]) == hash(&[other, one]);
        for (one, other, expected) in
            [(Reads, Reads, true), (Reads, Writes, false), (Writes, Writes, false), (Counts, Counts, true)]
        {
            assert_eq!(commute((1, x, one), (2, x, other)), expected, "{one:?} and {other:?}");
            assert!(commute((1, x, one), (2, y, other)), "{one:?} and {other:?} of two locations");
        }
    }

    #[test]
    fn the_last_change_of_a_count_depends_on_all_others() {
        let dropped_by = |[first, second, last]: [ThreadId; 3]| {
            hash(&[(first, 64, Counts), (second, 64, Counts), (last, 64, Writes)])
        };
        assert_eq!(dropped_by([1, 2, 3]), dropped_by([2, 1, 3]));
        assert_ne!(dropped_by([1, 2, 3]), dropped_by([1, 3, 2]));
    }
}
