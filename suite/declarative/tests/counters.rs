//! Counters, right and wrong.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

mod counter {
    use super::*;

    #[derive(Default)]
    struct CorrectByAtomic(AtomicUsize);

    #[raddle::test(iterations = 20, executions = 2000)]
    impl CorrectByAtomic {
        #[operation]
        fn increment_and_get(&self) -> usize {
            self.0.fetch_add(1, SeqCst) + 1
        }

        #[operation]
        fn get(&self) -> usize {
            self.0.load(SeqCst)
        }
    }

    #[derive(Default)]
    struct CorrectByLock(Mutex<usize>);

    #[raddle::test(iterations = 20, executions = 2000)]
    impl CorrectByLock {
        #[operation]
        fn increment_and_get(&self) -> usize {
            let mut value = self.0.lock().unwrap();
            *value += 1;
            *value
        }

        #[operation]
        fn get(&self) -> usize {
            *self.0.lock().unwrap()
        }
    }

    /// Reads and writes apart.
    #[derive(Default)]
    struct LosesUpdates(AtomicUsize);

    #[raddle::test(fails = IncorrectResults)]
    impl LosesUpdates {
        #[operation]
        fn increment_and_get(&self) -> usize {
            let value = self.0.load(SeqCst) + 1;
            self.0.store(value, SeqCst);
            value
        }

        #[operation]
        fn get(&self) -> usize {
            self.0.load(SeqCst)
        }
    }

    /// Counts right, but returns what it reads afterwards.
    #[derive(Default)]
    struct ReturnsALaterValue(AtomicUsize);

    #[raddle::test(fails = IncorrectResults)]
    impl ReturnsALaterValue {
        #[operation]
        fn increment_and_get(&self) -> usize {
            self.0.fetch_add(1, SeqCst);
            self.0.load(SeqCst)
        }

        #[operation]
        fn get(&self) -> usize {
            self.0.load(SeqCst)
        }
    }

    /// Loses updates without saying so: only a later read shows it.
    #[derive(Default)]
    struct LosesUpdatesSilently(AtomicUsize);

    #[raddle::test(fails = IncorrectResults)]
    impl LosesUpdatesSilently {
        #[operation]
        fn increment(&self) {
            self.0.store(self.0.load(SeqCst) + 1, SeqCst);
        }

        #[operation]
        fn get(&self) -> usize {
            self.0.load(SeqCst)
        }
    }

    /// The counter is a cell of an array.
    #[derive(Default)]
    struct LosesUpdatesOfAnArray([AtomicUsize; 4]);

    #[raddle::test(fails = IncorrectResults)]
    impl LosesUpdatesOfAnArray {
        #[operation]
        fn increment_and_get(&self) -> usize {
            let value = self.0[0].load(SeqCst) + 1;
            self.0[0].store(value, SeqCst);
            value
        }

        #[operation]
        fn get(&self) -> usize {
            self.0[0].load(SeqCst)
        }
    }

    /// The lock is given back between reading and writing.
    #[derive(Default)]
    struct LosesUpdatesUnderALock(Mutex<usize>);

    #[raddle::test(fails = IncorrectResults)]
    impl LosesUpdatesUnderALock {
        #[operation]
        fn increment_and_get(&self) -> usize {
            let value = *self.0.lock().unwrap() + 1;
            *self.0.lock().unwrap() = value;
            value
        }
    }

    /// A model off by one: wrong even with one thread.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct FromOne(usize);

    impl FromOne {
        fn get(&mut self) -> usize {
            self.0 + 1
        }

        fn increment_and_get(&mut self) -> usize {
            self.0 += 1;
            self.0 + 1
        }
    }

    #[derive(Default)]
    struct UnlikeItsSpecification(AtomicUsize);

    #[raddle::test(fails = IncorrectResults, spec = FromOne)]
    impl UnlikeItsSpecification {
        #[operation]
        fn increment_and_get(&self) -> usize {
            self.0.fetch_add(1, SeqCst) + 1
        }

        #[operation]
        fn get(&self) -> usize {
            self.0.load(SeqCst)
        }
    }

    /// Five windows, each open for a moment only, and each opened by one who looks through the one before: with one operation
    /// a thread, threads have to change five times.
    #[derive(Default)]
    struct ManySwitches([AtomicBool; 5]);

    impl ManySwitches {
        fn open_for_a_moment(&self, window: usize) {
            self.0[window].store(true, SeqCst);
            self.0[window].store(false, SeqCst);
        }

        fn is_open(&self, window: usize) -> bool {
            self.0[window].load(SeqCst)
        }
    }

    #[raddle::test(fails = IncorrectResults, operations = 1, before = 0, after = 0)]
    impl ManySwitches {
        #[operation]
        fn odd(&self) {
            self.open_for_a_moment(0);
            if self.is_open(1) {
                self.open_for_a_moment(2);
                if self.is_open(3) {
                    self.open_for_a_moment(4);
                }
            }
        }

        #[operation]
        fn even(&self) -> bool {
            if !self.is_open(0) {
                return false;
            }
            self.open_for_a_moment(1);
            if !self.is_open(2) {
                return false;
            }
            self.open_for_a_moment(3);
            self.is_open(4)
        }
    }

    /// Between taking money here and bringing it there, it is nowhere.
    struct TransfersInTwoSteps([AtomicUsize; 2]);

    #[raddle::test(fails = IncorrectResults)]
    impl TransfersInTwoSteps {
        #[init]
        fn new() -> Self {
            TransfersInTwoSteps([AtomicUsize::new(10), AtomicUsize::new(10)])
        }

        #[operation]
        fn transfer(&self, #[arg(1..=3)] amount: usize) {
            self.0[0].fetch_sub(amount, SeqCst);
            self.0[1].fetch_add(amount, SeqCst);
        }

        #[operation]
        fn total(&self) -> usize {
            self.0[0].load(SeqCst) + self.0[1].load(SeqCst)
        }
    }

    /// Each account has its lock, but a transfer never holds both.
    #[derive(Default)]
    struct LocksOneAtATime([Mutex<usize>; 2]);

    #[raddle::test(fails = IncorrectResults)]
    impl LocksOneAtATime {
        #[operation]
        fn deposit(&self, #[arg(0..=1)] account: usize, #[arg(1..=2)] amount: usize) {
            *self.0[account].lock().unwrap() += amount;
        }

        #[operation]
        fn move_all(&self) {
            let amount = std::mem::take(&mut *self.0[0].lock().unwrap());
            *self.0[1].lock().unwrap() += amount;
        }

        #[operation]
        fn total(&self) -> usize {
            *self.0[0].lock().unwrap() + *self.0[1].lock().unwrap()
        }
    }

    /// Both locks are held, in the same order everywhere.
    #[derive(Default)]
    struct LocksBoth([Mutex<usize>; 2]);

    #[raddle::test(iterations = 20, executions = 1000)]
    impl LocksBoth {
        #[operation]
        fn deposit(&self, #[arg(0..=1)] account: usize, #[arg(1..=2)] amount: usize) {
            *self.0[account].lock().unwrap() += amount;
        }

        #[operation]
        fn move_all(&self) {
            let (mut from, mut to) = (self.0[0].lock().unwrap(), self.0[1].lock().unwrap());
            *to += std::mem::take(&mut *from);
        }

        #[operation]
        fn total(&self) -> usize {
            let (first, second) = (self.0[0].lock().unwrap(), self.0[1].lock().unwrap());
            *first + *second
        }
    }
}
