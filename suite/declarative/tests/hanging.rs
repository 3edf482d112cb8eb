//! Operations that do not come back: deadlocks, livelocks and loops without end.
#![allow(clippy::missing_spin_loop, reason = "programs under test spin in every way there is")]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, RwLock};
use std::thread;

mod operation {
    use super::*;

    /// Two locks, taken in either order.
    #[derive(Default)]
    struct LocksInEitherOrder(Mutex<u32>, Mutex<u32>);

    #[raddle::test(fails = Deadlock)]
    impl LocksInEitherOrder {
        #[operation]
        fn add_to_second(&self) {
            let first = self.0.lock().unwrap();
            *self.1.lock().unwrap() += *first;
        }

        #[operation]
        fn add_to_first(&self) {
            let second = self.1.lock().unwrap();
            *self.0.lock().unwrap() += *second;
        }
    }

    /// Nobody notifies.
    #[derive(Default)]
    struct WaitsForNobody(Mutex<bool>, Condvar);

    #[raddle::test(fails = Deadlock)]
    impl WaitsForNobody {
        #[operation]
        fn wait(&self) {
            let open = self.0.lock().unwrap();
            let open = self.1.wait_while(open, |open| *open);
            drop(open);
        }

        #[operation]
        fn close(&self) {
            *self.0.lock().unwrap() = true;
        }

        #[operation]
        fn open_silently(&self) {
            *self.0.lock().unwrap() = false;
        }
    }

    /// Asks for a read lock that it has already, which waits if a writer has come in between.
    #[derive(Default)]
    struct ReadsTwice(RwLock<u32>);

    #[raddle::test(fails = Deadlock)]
    impl ReadsTwice {
        #[operation]
        fn read_twice(&self) -> bool {
            let value = self.0.read().unwrap();
            *value == *self.0.read().unwrap()
        }

        #[operation]
        fn write(&self, value: u32) {
            *self.0.write().unwrap() = value;
        }
    }

    /// A lock that spins.
    #[derive(Default)]
    struct SpinLock(AtomicBool);

    impl SpinLock {
        fn lock(&self) {
            while self.0.compare_exchange(false, true, SeqCst, SeqCst).is_err() {}
        }

        fn unlock(&self) {
            self.0.store(false, SeqCst);
        }
    }

    /// Two locks that spin, taken in either order.
    #[derive(Default)]
    struct SpinsInEitherOrder(SpinLock, SpinLock);

    #[raddle::test(fails = Livelock)]
    impl SpinsInEitherOrder {
        #[operation]
        fn one_way(&self) {
            self.0.lock();
            self.1.lock();
            self.1.unlock();
            self.0.unlock();
        }

        #[operation]
        fn the_other_way(&self) {
            self.1.lock();
            self.0.lock();
            self.0.unlock();
            self.1.unlock();
        }
    }

    /// The lock is not given back if two come at once.
    #[derive(Default)]
    struct ForgetsToUnlock(SpinLock, AtomicU32);

    #[raddle::test(fails = Livelock)]
    impl ForgetsToUnlock {
        #[operation]
        fn count(&self) {
            let before = self.1.load(SeqCst);
            self.0.lock();
            self.1.fetch_add(1, SeqCst);
            if self.1.load(SeqCst) == before + 1 {
                self.0.unlock();
            }
        }
    }

    /// Each says that it wants to enter, and waits for the other to go first.
    #[derive(Default)]
    struct AfterYou([AtomicBool; 2]);

    impl AfterYou {
        fn enter(&self, side: usize) {
            self.0[side].store(true, SeqCst);
            while self.0[1 - side].load(SeqCst) {}
            self.0[side].store(false, SeqCst);
        }
    }

    #[raddle::test(fails = Livelock)]
    impl AfterYou {
        #[operation(group = "left")]
        fn enter_left(&self) {
            self.enter(0);
        }

        #[operation(group = "right")]
        fn enter_right(&self) {
            self.enter(1);
        }
    }

    /// An operation that never ends, whoever calls it.
    #[derive(Default)]
    struct HangsAlways(AtomicBool);

    #[raddle::test(fails = Livelock)]
    impl HangsAlways {
        #[operation]
        fn wait(&self) {
            while !self.0.load(SeqCst) {}
        }
    }

    /// The same with a cycle of several steps, in which it gives way.
    #[derive(Default)]
    struct HangsInALongCycle([AtomicBool; 3]);

    #[raddle::test(fails = Livelock)]
    impl HangsInALongCycle {
        #[operation]
        fn wait(&self) {
            let mut place = 0;
            while !self.0[place].load(SeqCst) {
                place = (place + 1) % 3;
                thread::yield_now();
            }
        }

        #[operation(read_only)]
        fn look(&self) -> bool {
            self.0[0].load(SeqCst)
        }
    }

    /// A condition variable used as a lock, right.
    #[derive(Default)]
    struct WaitNotifyLock(Mutex<bool>, Condvar);

    #[raddle::test(iterations = 20, executions = 1000)]
    impl WaitNotifyLock {
        #[operation]
        fn lock_and_unlock(&self) -> u32 {
            let mut locked = self.1.wait_while(self.0.lock().unwrap(), |locked| *locked).unwrap();
            *locked = true;
            drop(locked);
            *self.0.lock().unwrap() = false;
            self.1.notify_one();
            1
        }
    }

    /// Locks within locks, always in the same order.
    #[derive(Default)]
    struct NestedLocks(Mutex<u32>, Mutex<u32>);

    #[raddle::test(iterations = 20, executions = 1000)]
    impl NestedLocks {
        #[operation]
        fn both(&self) -> u32 {
            let mut outer = self.0.lock().unwrap();
            let mut inner = self.1.lock().unwrap();
            *outer += 1;
            *inner += *outer;
            *inner
        }

        #[operation]
        fn inner(&self) -> u32 {
            *self.1.lock().unwrap()
        }
    }

    /// A long loop that is honest.
    #[derive(Default)]
    struct LongLoop(AtomicU32);

    #[raddle::test(iterations = 3, executions = 20, operations = 1, before = 0, after = 0)]
    impl LongLoop {
        #[operation]
        fn count_to_a_thousand(&self) -> bool {
            for _ in 0..1000 {
                self.0.fetch_add(1, SeqCst);
            }
            true
        }
    }

    /// Nobody said that `receive` waits, so the object itself says what is right, and receives from an empty channel.
    #[test]
    #[ignore = "ends its process: the next test runs it"]
    fn waits_when_it_is_alone() {
        use raddle::{Scenario, Test, call};
        use std::sync::mpsc::{Receiver, Sender, channel};
        type Channel = (Mutex<Sender<u32>>, Mutex<Receiver<u32>>);
        let scenario = Scenario::new().thread([call("send", ())]).thread([call("receive", ())]);
        Test::new(|| -> Channel {
            let (sender, receiver) = channel();
            (Mutex::new(sender), Mutex::new(receiver))
        })
        .operation("send", |channel: &Channel| channel.0.lock().unwrap().send(1).is_ok())
        .operation("receive", |channel: &Channel| channel.1.lock().unwrap().recv().ok())
        .scenario(scenario)
        .iterations(0)
        .explorer(|explorer| explorer.time_limit(std::time::Duration::from_millis(300)))
        .run();
    }

    #[test]
    fn an_operation_that_waits_when_it_is_alone_is_named() {
        let program = std::env::current_exe().unwrap();
        let run = std::process::Command::new(program)
            .args(["operation::waits_when_it_is_alone", "--exact", "--ignored", "--nocapture"])
            .env_remove("RADDLE_PROGRESS")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(!run.status.success() && said.contains("operation `receive` does not return"), "{said}");
    }
}
