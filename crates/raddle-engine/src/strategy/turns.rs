//! Schedules as lists of threads that take turns.
//!
//! A *turn* is a step before which threads may change: an atomic access, a lock, an operation of a monitor, a marked operation. Where
//! several threads are at turns, the first entry of the list that names one of them is taken and removed; entries before it stay for
//! later. If no entry does, the threads take turns in order. A thread that is the only one goes on without an entry, and so does a thread
//! that is not at a turn. These are the rules of Muscat's scheduler (EPFL, Scala 2016), by which a schedule that cannot be followed is
//! followed out of turn.
//!
//! A strict list must be followed as it stands: the first entry of a thread that has not ended must be one that can go on.
//!
//! The first thread of the execution only makes the others: it runs before them and when they have ended, without entries.

use std::cell::RefCell;
use std::rc::Rc;

use super::only_marked::TurnDetector;
use super::stale_reads::StaleReadPolicy;
use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::rng::Rng;
use crate::thread::ThreadStatus;

/// Fills in the schedule of the execution with this number. False if there is none.
pub type TurnSource = Box<dyn FnMut(u64, &mut Vec<ThreadId>) -> bool>;

/// A strategy that lets threads take turns by lists: see the [module](self).
#[allow(missing_debug_implementations, reason = "holds a closure")]
pub struct Turns {
    source: TurnSource,
    list: TurnList,
    detector: TurnDetector,
    log: Rc<RefCell<TurnLog>>,
    candidates: Vec<ThreadId>,
    /// What a sampled execution does apart from turns: which stale values it reads.
    seed: Option<u64>,
    rng: Rng,
    stale_reads: StaleReadPolicy,
}

/// What became of the schedule of the latest execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnLog {
    /// The threads that took turns while others could have. As a strict list, they make the execution again.
    pub made: Vec<ThreadId>,
    /// Where a strict list could not be followed.
    pub infeasible: Option<Infeasible>,
}

/// The entry of a strict list that could not be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Infeasible {
    /// Its position, from 0.
    pub entry: usize,
    /// Its thread.
    pub thread: ThreadId,
    /// What the thread does instead.
    pub why: Why,
}

/// Why a thread cannot take its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no such thread.
    Missing,
    /// It waits for something.
    Waits(ThreadStatus),
}

impl Turns {
    /// The strategy with these lists. The log tells what became of each. A seed makes executions read stale values and wake up
    /// spuriously, where that is explored.
    pub fn new(source: TurnSource, log: Rc<RefCell<TurnLog>>, seed: Option<u64>) -> Turns {
        Turns {
            source,
            list: TurnList::default(),
            detector: TurnDetector::new(false),
            log,
            candidates: Vec::new(),
            seed,
            rng: Rng::default(),
            stale_reads: StaleReadPolicy::default(),
        }
    }

    /// The strategy with one list.
    pub fn of(list: &[ThreadId], log: Rc<RefCell<TurnLog>>) -> Turns {
        let list = list.to_vec();
        let source = move |execution, to: &mut Vec<ThreadId>| {
            to.clone_from(&list);
            execution == 0
        };
        Turns::new(Box::new(source), log, None)
    }

    /// Whether lists must be followed as they stand.
    pub fn strict(mut self, strict: bool) -> Turns {
        self.list.strict = strict;
        self
    }

    /// Whether atomic accesses that are not marked are no turns.
    pub fn only_marked(mut self, only_marked: bool) -> Turns {
        self.detector = TurnDetector::new(only_marked);
        self
    }
}

/// The number of the thread that makes the others.
const FIRST: ThreadId = 0;

impl Strategy for Turns {
    fn begin(&mut self, execution: u64) -> bool {
        self.detector.begin();
        self.list.begin();
        self.stale_reads.begin();
        self.rng = Rng::of_execution(self.seed.unwrap_or_default(), execution);
        let mut log = self.log.borrow_mut();
        log.made.clear();
        log.infeasible = None;
        (self.source)(execution, &mut self.list.entries)
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        if point.current == FIRST && point.current_goes_on() {
            return FIRST;
        }
        let others =
            Point { active: without_first(point.active), runnable: without_first(point.runnable), ..*point };
        if others.runnable.is_empty() {
            return FIRST;
        }
        if let Some(thread) = self.detector.between_turns(&others) {
            return thread;
        }
        self.candidates.clear();
        self.candidates.extend_from_slice(others.preferred());
        let status = |thread: ThreadId| point.status(thread);
        let mut log = self.log.borrow_mut();
        self.list.choose(&self.candidates, point.current, status, &mut log)
    }

    fn choose_reads_from(&mut self, alternatives: usize, _choice: usize) -> usize {
        match self.seed {
            Some(_) => self.stale_reads.choose(&mut self.rng, alternatives),
            None => 0,
        }
    }

    fn choose_waiter(&mut self, waiters: &[ThreadId], _choice: usize) -> usize {
        self.list.choose_waiter(waiters, &mut self.log.borrow_mut())
    }

    fn is_indexed(&self) -> bool {
        true
    }
}

/// The threads but the first one of the execution. They are in ascending order.
fn without_first(threads: &[ThreadId]) -> &[ThreadId] {
    match threads {
        [FIRST, rest @ ..] => rest,
        _ => threads,
    }
}

/// A list of turns, and how much of it is left.
#[derive(Debug, Default)]
struct TurnList {
    strict: bool,
    /// The entries; those that were taken are [`TAKEN`].
    entries: Vec<ThreadId>,
    /// All entries before this one were taken.
    next: usize,
}

/// An entry that was taken. No thread has this number.
const TAKEN: ThreadId = ThreadId::MAX;

impl TurnList {
    fn begin(&mut self) {
        self.entries.clear();
        self.next = 0;
    }

    /// The thread that takes its turn: one of the candidates, unless the list is strict and cannot be followed. `status` tells
    /// about all threads.
    fn choose(
        &mut self,
        candidates: &[ThreadId],
        current: ThreadId,
        status: impl Fn(ThreadId) -> Option<ThreadStatus>,
        log: &mut TurnLog,
    ) -> ThreadId {
        if let [only] = *candidates {
            return only;
        }
        let can = |thread: &ThreadId| candidates.contains(thread);
        if self.strict
            && let Some((entry, thread)) =
                self.first(|&thread| status(thread) != Some(ThreadStatus::Finished))
            && !can(&thread)
        {
            let why = status(thread).map_or(Why::Missing, Why::Waits);
            log.infeasible = Some(Infeasible { entry, thread, why });
            return thread;
        }
        let chosen = match self.first(can) {
            Some((entry, thread)) => {
                self.take(entry);
                thread
            }
            // In turn: the next one by number.
            None => *candidates.iter().find(|&&thread| thread > current).unwrap_or(&candidates[0]),
        };
        log.made.push(chosen);
        chosen
    }

    /// The position of the thread that is woken, of several that wait.
    fn choose_waiter(&mut self, waiters: &[ThreadId], log: &mut TurnLog) -> usize {
        let named = self.first(|thread| waiters.contains(thread));
        let named = named.filter(|&(entry, _)| !self.strict || entry == self.next);
        let position = named.map_or(0, |(entry, thread)| {
            self.take(entry);
            waiters.iter().position(|&waiter| waiter == thread).unwrap_or(0)
        });
        log.made.push(waiters[position]);
        position
    }

    /// The first entry that is left and fits, and its thread.
    fn first(&self, fits: impl Fn(&ThreadId) -> bool) -> Option<(usize, ThreadId)> {
        let left = self.entries.iter().enumerate().skip(self.next);
        left.map(|(entry, &thread)| (entry, thread)).find(|(_, thread)| *thread != TAKEN && fits(thread))
    }

    fn take(&mut self, entry: usize) {
        self.entries[entry] = TAKEN;
        while self.entries.get(self.next) == Some(&TAKEN) {
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows a list where these threads can go on, one after the other; returns the turns and the log.
    fn follow(list: &[ThreadId], strict: bool, points: &[&[ThreadId]]) -> (Vec<ThreadId>, TurnLog) {
        let mut turns = TurnList { strict, entries: list.to_vec(), next: 0 };
        let (mut current, mut log) = (0, TurnLog::default());
        let mut made = Vec::new();
        for (index, candidates) in points.iter().enumerate() {
            // A thread that never can go on any more has ended.
            let status = |thread: ThreadId| {
                let all = points.iter().any(|point| point.contains(&thread));
                let later = points[index..].iter().any(|point| point.contains(&thread));
                let waits = if candidates.contains(&thread) {
                    ThreadStatus::Runnable
                } else {
                    ThreadStatus::JoinScope
                };
                all.then_some(if later { waits } else { ThreadStatus::Finished })
            };
            current = turns.choose(candidates, current, status, &mut log);
            made.push(current);
            if log.infeasible.is_some() {
                break;
            }
        }
        (made, log)
    }

    #[test]
    fn entries_are_taken_in_order() {
        let both: &[ThreadId] = &[1, 2];
        let (made, log) = follow(&[1, 2, 2, 1], false, &[both; 4]);
        assert_eq!(made, [1, 2, 2, 1]);
        assert_eq!(log, TurnLog { made, infeasible: None });
    }

    #[test]
    fn an_entry_of_a_thread_that_cannot_go_on_stays_for_later() {
        let (made, _) = follow(&[2, 1, 1, 3], false, &[&[1, 3], &[1, 3], &[2, 3], &[2, 3]]);
        assert_eq!(made, [1, 1, 2, 3]);
    }

    #[test]
    fn without_entries_threads_take_turns() {
        let all: &[ThreadId] = &[1, 2, 3];
        let (made, _) = follow(&[2], false, &[all; 5]);
        assert_eq!(made, [2, 3, 1, 2, 3]);
    }

    #[test]
    fn a_thread_alone_needs_no_entry() {
        let (made, log) = follow(&[2, 1], false, &[&[1], &[1, 2], &[1, 2]]);
        assert_eq!((made, log.made), (vec![1, 2, 1], vec![2, 1]));
    }

    #[test]
    fn a_strict_list_says_where_it_cannot_be_followed() {
        let check = |list: &[ThreadId], points: &[&[ThreadId]], expected: Option<Infeasible>| {
            assert_eq!(follow(list, true, points).1.infeasible, expected);
        };
        let points: [&[ThreadId]; 3] = [&[1, 2], &[1, 3], &[1, 2]];
        check(&[1, 3, 2], &points, None);
        let waits = Why::Waits(ThreadStatus::JoinScope);
        check(&[1, 2, 3], &points, Some(Infeasible { entry: 1, thread: 2, why: waits }));
        check(&[9, 2, 3], &points, Some(Infeasible { entry: 0, thread: 9, why: Why::Missing }));
        // Thread 3 has ended.
        check(&[1, 3, 3, 2], &points, None);
    }

    #[test]
    fn a_list_of_the_turns_made_makes_them_again() {
        let mut rng = Rng::new(11);
        for _ in 0..500 {
            let points: Vec<Vec<ThreadId>> = (0..8)
                .map(|_| (1..=4).filter(|_| rng.below(3) > 0).collect::<Vec<ThreadId>>())
                .filter(|point| !point.is_empty())
                .collect();
            let points: Vec<&[ThreadId]> = points.iter().map(Vec::as_slice).collect();
            let list: Vec<ThreadId> = (0..6).map(|_| 1 + rng.below(5) as ThreadId).collect();
            let (made, log) = follow(&list, false, &points);
            for strict in [false, true] {
                assert_eq!(follow(&log.made, strict, &points), (made.clone(), log.clone()));
            }
        }
    }

    #[test]
    fn a_notification_takes_the_entry_of_a_waiter() {
        let mut turns = TurnList { strict: false, entries: vec![1, 3, 2], next: 0 };
        let mut log = TurnLog::default();
        assert_eq!(turns.choose_waiter(&[2, 3], &mut log), 1);
        assert_eq!(turns.choose_waiter(&[4, 5], &mut log), 0);
        assert_eq!((log.made, turns.entries), (vec![3, 4], vec![1, TAKEN, 2]));
    }
}
