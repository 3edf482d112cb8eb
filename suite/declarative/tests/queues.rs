//! Queues and stacks, right and wrong.

use std::array;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

use raddle::{Scenario, call};

mod queue {
    use super::*;

    /// Slots that are claimed by counting, so many that they never run out: pushes and pops may chase each other for long. 0 is
    /// an empty slot.
    struct Slots<const N: usize> {
        slots: [AtomicU32; N],
        head: AtomicUsize,
        tail: AtomicUsize,
    }

    impl<const N: usize> Default for Slots<N> {
        fn default() -> Self {
            let slots = array::from_fn(|_| AtomicU32::new(EMPTY));
            Slots { slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
        }
    }

    const EMPTY: u32 = 0;
    const TAKEN: u32 = u32::MAX;

    /// The queue of "The Art of Multiprocessor Programming" (Herlihy and Shavit) that is there to be criticised: a slot is claimed
    /// before its value is written, so the queue seems to be empty to those who come after a push that has returned.
    #[derive(Default)]
    struct ClaimsBeforeWriting(Slots<32>);

    #[raddle::test(fails = IncorrectResults)]
    impl ClaimsBeforeWriting {
        #[operation]
        fn push(&self, #[arg(1..=9)] value: u32) {
            let slot = self.0.tail.fetch_add(1, SeqCst);
            self.0.slots[slot].store(value, SeqCst);
        }

        #[operation]
        fn pop(&self) -> Option<u32> {
            loop {
                let slot = self.0.head.load(SeqCst);
                let value = self.0.slots[slot].load(SeqCst);
                if value == EMPTY {
                    return None;
                }
                if self.0.head.compare_exchange(slot, slot + 1, SeqCst, SeqCst).is_ok() {
                    return Some(value);
                }
            }
        }
    }

    /// As segment queues do it: who pops makes a slot unusable that its owner has not filled yet, and the owner takes another.
    #[derive(Default)]
    struct BreaksSlots(Slots<512>);

    // Who pushes and who pops may chase each other for ever, by one slot more in each execution: fewer executions than slots.
    #[raddle::test(iterations = 20, executions = 500, spec = VecDeque<u32>)]
    impl BreaksSlots {
        #[operation(spec = |queue, value| queue.push_back(value))]
        fn push(&self, #[arg(1..=9)] value: u32) {
            loop {
                let slot = self.0.tail.fetch_add(1, SeqCst);
                if self.0.slots[slot].compare_exchange(EMPTY, value, SeqCst, SeqCst).is_ok() {
                    return;
                }
            }
        }

        #[operation(spec = |queue| queue.pop_front())]
        fn pop(&self) -> Option<u32> {
            loop {
                if self.0.head.load(SeqCst) >= self.0.tail.load(SeqCst) {
                    return None;
                }
                let slot = self.0.head.fetch_add(1, SeqCst);
                match self.0.slots[slot].swap(TAKEN, SeqCst) {
                    EMPTY => {}
                    value => return Some(value),
                }
            }
        }
    }

    /// The same with the check of emptiness the wrong way round: tail first, so that a queue which was never empty may seem so.
    #[derive(Default)]
    struct LooksAtTheTailFirst(Slots<512>);

    #[raddle::test(fails = IncorrectResults, executions = 500, spec = VecDeque<u32>)]
    impl LooksAtTheTailFirst {
        #[operation(spec = |queue, value| queue.push_back(value))]
        fn push(&self, #[arg(1..=9)] value: u32) {
            loop {
                let slot = self.0.tail.fetch_add(1, SeqCst);
                if self.0.slots[slot].compare_exchange(EMPTY, value, SeqCst, SeqCst).is_ok() {
                    return;
                }
            }
        }

        #[operation(spec = |queue| queue.pop_front())]
        fn pop(&self) -> Option<u32> {
            loop {
                let tail = self.0.tail.load(SeqCst);
                if tail <= self.0.head.load(SeqCst) {
                    return None;
                }
                let slot = self.0.head.fetch_add(1, SeqCst);
                match self.0.slots[slot].swap(TAKEN, SeqCst) {
                    EMPTY => {}
                    value => return Some(value),
                }
            }
        }
    }

    /// Whoever has filled a slot says where the tail is, and so may move it back.
    #[derive(Default)]
    struct TailMovesBack(Slots<32>);

    #[raddle::test(fails = IncorrectResults, spec = VecDeque<u32>)]
    impl TailMovesBack {
        #[operation(spec = |queue, value| queue.push_back(value))]
        fn push(&self, #[arg(1..=9)] value: u32) {
            let mut slot = self.0.tail.load(SeqCst);
            while self.0.slots[slot].compare_exchange(EMPTY, value, SeqCst, SeqCst).is_err() {
                slot += 1;
            }
            self.0.tail.store(slot + 1, SeqCst);
        }

        #[operation(spec = |queue| queue.pop_front())]
        fn pop(&self) -> Option<u32> {
            loop {
                let slot = self.0.head.load(SeqCst);
                if slot >= self.0.tail.load(SeqCst) {
                    return None;
                }
                let value = self.0.slots[slot].load(SeqCst);
                if self.0.head.compare_exchange(slot, slot + 1, SeqCst, SeqCst).is_ok() {
                    return Some(value);
                }
            }
        }
    }

    /// The same bug in a scenario that is given, and no other.
    #[derive(Default)]
    struct TailMovesBackWhereTold(Slots<32>);

    #[raddle::test(
    fails = IncorrectResults, spec = VecDeque<u32>, iterations = 0,
    scenario = Scenario::new()
        .init([call("pop", ())])
        .thread([call("push", (1u32,)), call("pop", ())])
        .thread([call("push", (2u32,)), call("push", (3u32,))])
        .post([call("pop", ()), call("pop", ())])
)]
    impl TailMovesBackWhereTold {
        #[operation(spec = |queue, value| queue.push_back(value))]
        fn push(&self, #[arg(1..=9)] value: u32) {
            let mut slot = self.0.tail.load(SeqCst);
            while self.0.slots[slot].compare_exchange(EMPTY, value, SeqCst, SeqCst).is_err() {
                slot += 1;
            }
            self.0.tail.store(slot + 1, SeqCst);
        }

        #[operation(spec = |queue| queue.pop_front())]
        fn pop(&self) -> Option<u32> {
            let slot = self.0.head.load(SeqCst);
            if slot >= self.0.tail.load(SeqCst) {
                return None;
            }
            self.0.head.store(slot + 1, SeqCst);
            Some(self.0.slots[slot].load(SeqCst))
        }
    }

    /// A ring in which pushing checks that there is room, and then pushes, in two steps.
    #[derive(Default)]
    struct ChecksForRoomTooEarly(Mutex<VecDeque<u32>>);

    #[raddle::test(fails = IncorrectResults)]
    impl ChecksForRoomTooEarly {
        #[operation]
        fn push(&self, value: u32) -> bool {
            if self.0.lock().unwrap().len() >= 2 {
                return false;
            }
            self.0.lock().unwrap().push_back(value);
            true
        }

        #[operation(read_only)]
        fn len(&self) -> usize {
            self.0.lock().unwrap().len()
        }

        #[operation]
        fn pop(&self) -> Option<u32> {
            self.0.lock().unwrap().pop_front()
        }
    }

    /// Looks at the front, and takes it in a second step.
    #[derive(Default)]
    struct PeeksThenPops(Mutex<VecDeque<u32>>);

    #[raddle::test(fails = IncorrectResults)]
    impl PeeksThenPops {
        #[operation]
        fn push(&self, value: u32) {
            self.0.lock().unwrap().push_back(value);
        }

        #[operation]
        fn pop(&self) -> Option<u32> {
            let front = self.0.lock().unwrap().front().copied()?;
            self.0.lock().unwrap().pop_front();
            Some(front)
        }
    }

    /// The last writer of the count wins.
    #[derive(Default)]
    struct CountsApart {
        values: Mutex<VecDeque<u32>>,
        len: AtomicUsize,
    }

    #[raddle::test(fails = IncorrectResults)]
    impl CountsApart {
        #[operation]
        fn push(&self, value: u32) {
            self.values.lock().unwrap().push_back(value);
            self.len.fetch_add(1, SeqCst);
        }

        #[operation]
        fn pop(&self) -> Option<u32> {
            let value = self.values.lock().unwrap().pop_front()?;
            self.len.fetch_sub(1, SeqCst);
            Some(value)
        }

        #[operation(read_only)]
        fn len(&self) -> usize {
            self.len.load(SeqCst)
        }
    }

    /// Removes a value from the middle by marking it, and forgets to count down if two remove the same: the invariant between the
    /// values and their number breaks, though no result ever shows it.
    #[derive(Default)]
    struct ForgetsItsInvariant {
        cells: [AtomicU32; 3],
        len: AtomicUsize,
    }

    #[raddle::test(fails = Validation)]
    impl ForgetsItsInvariant {
        #[operation]
        fn put(&self, #[arg(0..=2)] cell: usize) {
            if self.cells[cell].load(SeqCst) == 0 {
                self.cells[cell].store(1, SeqCst);
                self.len.fetch_add(1, SeqCst);
            }
        }

        #[validate]
        fn the_number_is_right(&self) {
            let full = self.cells.iter().filter(|cell| cell.load(SeqCst) == 1).count();
            assert_eq!(self.len.load(SeqCst), full, "cells that are full");
        }
    }

    /// The same, right.
    #[derive(Default)]
    struct KeepsItsInvariant {
        cells: [AtomicU32; 3],
        len: AtomicUsize,
    }

    #[raddle::test(iterations = 20, executions = 1000)]
    impl KeepsItsInvariant {
        #[operation]
        fn put(&self, #[arg(0..=2)] cell: usize) {
            if self.cells[cell].swap(1, SeqCst) == 0 {
                self.len.fetch_add(1, SeqCst);
            }
        }

        #[validate]
        fn the_number_is_right(&self) {
            let full = self.cells.iter().filter(|cell| cell.load(SeqCst) == 1).count();
            assert_eq!(self.len.load(SeqCst), full, "cells that are full");
        }
    }
}
