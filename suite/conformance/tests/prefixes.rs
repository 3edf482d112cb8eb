//! Executions of a sampling strategy begin at checkpoints of prefixes that they share with earlier ones. On OS threads there are no
//! checkpoints: every execution begins at the beginning. Both must make the same executions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use std::thread;
use std::time::Duration;

use raddle::{Backend, Explorer, Memory, Strategy};

type Outcome = Vec<usize>;

/// Checks that searches with and without checkpoints are the same, by every strategy that samples.
#[track_caller]
fn check(program: fn() -> Outcome) {
    for strategy in [Strategy::Random, Strategy::Pos, Strategy::Pct(3)] {
        for (memory, races) in [(Memory::Sc, true), (Memory::Sc, false), (Memory::Rc11, false)] {
            let search = |backend| -> (u64, u64, u64, BTreeMap<Outcome, u64>) {
                let explorer = Explorer::new().strategy(strategy.clone()).memory(memory).races(races);
                let report = explorer.executions(150).backend(backend).run(program);
                (report.executions, report.events, report.switches, report.outcomes)
            };
            let (prefixes, whole) = (search(Backend::Coroutines), search(Backend::Threads));
            assert_eq!(prefixes, whole, "{strategy}, {memory}, races {races}");
        }
    }
}

mod executions_that_begin_at_prefixes_are_the_same {
    use super::*;

    #[test]
    fn with_atomics_and_scopes() {
        check(|| {
            let counter = AtomicUsize::new(0);
            thread::scope(|scope| {
                let threads = [1, 2, 4].map(|step| {
                    let counter = &counter;
                    scope.spawn(move || {
                        let seen = counter.load(Relaxed);
                        counter.store(seen + step, Relaxed);
                        counter.fetch_add(1, SeqCst)
                    })
                });
                threads.map(|thread| thread.join().unwrap()).to_vec()
            })
        });
    }

    #[test]
    fn with_locks_conditions_and_timeouts() {
        check(|| {
            let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
            let consumer = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (queue, changed) = &*shared;
                    let mut queue = queue.lock().unwrap();
                    while queue.len() < 2 {
                        let timeout = Duration::from_micros(10);
                        queue = changed.wait_timeout(queue, timeout).unwrap().0;
                    }
                    queue.clone()
                })
            };
            for item in 0..2 {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.0.lock().unwrap().push(item);
                    shared.1.notify_one();
                });
            }
            consumer.join().unwrap()
        });
    }

    #[test]
    fn with_channels_and_nested_threads() {
        check(|| {
            let (sender, receiver) = mpsc::channel();
            let outer = thread::spawn(move || {
                let inner = {
                    let sender = sender.clone();
                    thread::spawn(move || sender.send(1).unwrap())
                };
                sender.send(2).unwrap();
                inner.join().unwrap();
            });
            let received = receiver.iter().collect();
            outer.join().unwrap();
            received
        });
    }

    #[test]
    fn with_loops_that_wait() {
        check(|| {
            let (ready, order) = (AtomicBool::new(false), AtomicUsize::new(0));
            thread::scope(|scope| {
                let spins = scope.spawn(|| {
                    while !ready.load(Acquire) {
                        std::hint::spin_loop();
                    }
                    order.fetch_add(1, Relaxed)
                });
                let yields = scope.spawn(|| {
                    while !ready.load(Acquire) {
                        thread::yield_now();
                    }
                    order.fetch_add(1, Relaxed)
                });
                thread::sleep(Duration::from_micros(1));
                ready.store(true, Release);
                vec![spins.join().unwrap(), yields.join().unwrap()]
            })
        });
    }

    #[test]
    fn with_statics_thread_locals_and_freed_memory() {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        static FIRST: OnceLock<usize> = OnceLock::new();
        static DROPPED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
        struct Last(usize);
        impl Drop for Last {
            fn drop(&mut self) {
                DROPPED.lock().unwrap().push(self.0);
            }
        }
        thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });
        check(|| {
            let threads = [1, 2, 3].map(|number| {
                thread::spawn(move || {
                    LAST.set(Some(Last(number)));
                    let boxes: Vec<Box<usize>> = (0..number).map(Box::new).collect();
                    let started = STARTED.fetch_add(1, SeqCst);
                    drop(boxes);
                    started + *FIRST.get_or_init(|| 10 * number)
                })
            });
            let mut seen = threads.map(|thread| thread.join().unwrap()).to_vec();
            seen.append(&mut DROPPED.lock().unwrap());
            seen
        });
    }

    #[test]
    fn with_panics_parking_and_barriers() {
        check(|| {
            let (lock, barrier) = (Arc::new(RwLock::new(0)), Arc::new(Barrier::new(2)));
            let panics = {
                let lock = Arc::clone(&lock);
                thread::spawn(move || {
                    let before = *lock.read().unwrap();
                    std::panic::catch_unwind(|| assert_eq!(before, 0)).is_err()
                })
            };
            let parks = {
                let (lock, barrier) = (Arc::clone(&lock), Arc::clone(&barrier));
                thread::spawn(move || {
                    thread::park();
                    *lock.write().unwrap() += 1;
                    barrier.wait().is_leader()
                })
            };
            parks.thread().unpark();
            *lock.write().unwrap() += 2;
            let leads = barrier.wait().is_leader();
            let joined = [panics.join().unwrap(), parks.join().unwrap(), leads];
            joined.into_iter().map(usize::from).chain([*lock.read().unwrap()]).collect()
        });
    }
}
