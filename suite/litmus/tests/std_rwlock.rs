//! `std::sync::RwLock`: readers have no order among themselves, only one with writers.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, RwLock, RwLockWriteGuard};
use std::thread;

use litmus::Model;
use litmus::check::explorer;
use raddle::Report;

#[track_caller]
fn explore<T: Ord + Clone>(model: Model, body: impl Fn() -> T) -> Report<T> {
    let report = explorer(model).allow_one_thread(true).run(&body as &dyn Fn() -> T);
    assert!(report.complete, "{model:?}: not complete after {}", report.executions);
    report
}

/// How many executions there are under either model.
#[track_caller]
fn has_executions<T: Ord + Clone>(expected: u64, body: impl Fn() -> T) {
    for model in Model::ALL {
        let report = explore(model, &body);
        assert_eq!((report.executions, report.blocked), (expected, 0), "{model:?}");
    }
}

/// Threads that read once, and others that write once.
fn readers_and_writers(readers: usize, writers: usize) -> impl Fn() {
    move || {
        let lock = &RwLock::new(0);
        thread::scope(|scope| {
            (0..readers).for_each(|_| _ = scope.spawn(|| *lock.read().unwrap()));
            (0..writers).for_each(|i| _ = scope.spawn(move || *lock.write().unwrap() += i));
        });
    }
}

#[test]
fn readers_commute() {
    (1..=5).for_each(|readers| has_executions(1, readers_and_writers(readers, 0)));
}

#[test]
fn writers_do_not_commute() {
    has_executions(2, readers_and_writers(0, 2));
    has_executions(24, readers_and_writers(0, 4));
}

/// The writers have an order, and each reader is in one of the gaps.
#[test]
fn each_reader_has_its_place_among_writers() {
    for (readers, writers, expected) in
        [(1, 1, 2), (3, 1, 8), (5, 1, 32), (1, 2, 6), (3, 2, 54), (2, 3, 96), (3, 3, 384)]
    {
        has_executions(expected, readers_and_writers(readers, writers));
    }
}

/// Also if several processes share the work, each of which may find another reader.
#[test]
fn workers_find_as_many_orders_of_readers_and_writers() {
    for model in Model::ALL {
        let report = explorer(model).workers(3).run(readers_and_writers(4, 3));
        assert_eq!((report.complete, report.executions), (true, 6 * 4u64.pow(4)), "{model:?}");
    }
}

/// A reader sees the lock before the writer, after it, or together with it, which is the same as after it.
#[test]
fn downgraded_locks_are_read() {
    for model in Model::ALL {
        let report = explore(model, || {
            let lock = &RwLock::new(0);
            thread::scope(|scope| {
                let readers = [(); 2].map(|()| scope.spawn(|| *lock.read().unwrap()));
                let mut held = lock.write().unwrap();
                *held = 1;
                let held = RwLockWriteGuard::downgrade(held);
                let seen = *held;
                drop(held);
                *lock.write().unwrap() = 2;
                (seen, readers.map(|reader| reader.join().unwrap()))
            })
        });
        let expected = (0..3).flat_map(|a| (0..3).map(move |b| ((1, [a, b]), 1)));
        assert!(report.outcomes.into_iter().eq(expected), "{model:?}");
    }
}

/// One who tries sees whether somebody else has the lock: then all accesses have an order.
#[test]
fn trying_to_lock_orders_all_accesses() {
    for model in Model::ALL {
        let report = explore(model, || {
            let lock = &RwLock::new(());
            thread::scope(|scope| {
                scope.spawn(|| drop(lock.write().unwrap()));
                lock.try_read().is_ok()
            })
        });
        // Before the writer, after it, or before it when it has begun to wait.
        assert!(report.outcomes.into_iter().eq([(false, 1), (true, 3)]), "{model:?}");
        let report = explore(model, || {
            let lock = &RwLock::new(());
            thread::scope(|scope| {
                scope.spawn(|| drop(lock.read().unwrap()));
                let reads = lock.try_read().is_ok();
                let writes = lock.try_write().is_ok();
                (reads, writes)
            })
        });
        assert!(report.outcomes.keys().eq(&[(true, false), (true, true)]), "{model:?}");
    }
}

/// A writer that waits for one reader keeps out another who tries: before or after it has begun to.
#[test]
fn a_writer_that_waits_keeps_out_a_reader_that_tries() {
    for model in Model::ALL {
        let report = explore(model, || {
            let lock = &RwLock::new(());
            thread::scope(|scope| {
                scope.spawn(|| drop(lock.write().unwrap()));
                let held = lock.read().unwrap();
                let reads = lock.try_read().is_ok();
                drop(held);
                reads
            })
        });
        // The writer is first or last, or begins to wait in one of three moments, of which the first is before the second look.
        assert_eq!(report.outcomes.into_iter().collect::<Vec<_>>(), [(false, 1), (true, 4)], "{model:?}");
    }
}

/// Six steps, each of which changes the word: 6! / 2!^3 orders.
#[test]
fn readers_of_a_lock_that_is_tried_have_an_order() {
    has_executions(90, || {
        let lock = &RwLock::new(());
        drop(lock.try_read());
        thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(|| drop(lock.read().unwrap()))));
    });
}

/// The search finds a deadlock, wherever the one who waits while it reads comes among the readers.
#[track_caller]
fn deadlocks(body: impl Fn(&RwLock<()>)) {
    for model in Model::ALL {
        for tried in [false, true] {
            let found = explorer(model).try_run(|| {
                let lock = RwLock::new(());
                if tried {
                    drop(lock.try_read());
                }
                body(&lock);
            });
            let failure = found.expect_err("there is a deadlock");
            assert!(failure.message.contains("wait"), "{model:?}: {}", failure.message);
        }
    }
}

/// A reader waits for another, and a writer comes between: the other has to wait for it, as in std.
#[test]
fn writers_that_wait_keep_readers_out() {
    for first in [true, false] {
        deadlocks(|lock| {
            let flag = &Mutex::new(false);
            let change = &Condvar::new();
            let (waits, goes) = (
                || {
                    let _held = lock.read().unwrap();
                    drop(change.wait_while(flag.lock().unwrap(), |flag| !*flag).unwrap());
                },
                || {
                    let _held = lock.read().unwrap();
                    *flag.lock().unwrap() = true;
                    change.notify_all();
                },
            );
            thread::scope(|scope| {
                scope.spawn(|| drop(lock.write().unwrap()));
                if first {
                    scope.spawn(waits);
                    scope.spawn(goes);
                } else {
                    scope.spawn(goes);
                    scope.spawn(waits);
                }
            });
        });
    }
}

/// Who reads while it reads waits for a writer that waits for it.
#[test]
fn reading_twice_at_once_may_be_for_ever() {
    deadlocks(|lock| {
        thread::scope(|scope| {
            scope.spawn(|| drop(lock.write().unwrap()));
            let _outer = lock.read().unwrap();
            drop(lock.read().unwrap());
        });
    });
}

/// A guard that is forgotten locks for ever, but not the next lock at the same address.
#[test]
fn forgotten_guards_do_not_outlive_their_lock() {
    has_executions(1, || {
        for _ in 0..2 {
            let lock = Box::new(RwLock::new(0));
            std::mem::forget(lock.read().unwrap());
            assert!(lock.try_write().is_err());
        }
        for _ in 0..2 {
            let lock = RwLock::new(0);
            std::mem::forget(lock.write().unwrap());
        }
    });
}

mod at_random {
    use super::*;

    /// A step of a thread: reads or writes a place, within a lock or not.
    #[derive(Clone, Copy, Debug)]
    struct Step {
        lock: usize,
        access: Access,
    }

    #[derive(Clone, Copy, Debug)]
    enum Access {
        Read(usize),
        Write(usize),
        /// Writes, and reads as a reader.
        Downgrade(usize, usize),
        /// Without a lock.
        Peek(usize),
        Poke(usize),
    }

    const ACCESSES: usize = 12;

    fn step(number: usize) -> Step {
        let (lock, place) = (number & 1, number >> 1 & 1);
        let access = match number >> 2 {
            0..=2 => Access::Read(place),
            3..=5 => Access::Write(place),
            6 | 7 => Access::Downgrade(place, 1 - place),
            8 | 9 => Access::Peek(place),
            _ => Access::Poke(place),
        };
        Step { lock, access }
    }

    /// What all threads see. If the locks are tried first, their accesses all have an order.
    fn run(program: &[Vec<Step>], tried: bool) -> Vec<Vec<u32>> {
        let locks = &[(); 2].map(RwLock::new);
        let places = &[(); 2].map(|()| AtomicU32::new(0));
        if tried {
            locks.iter().for_each(|lock| drop(lock.try_read()));
        }
        thread::scope(|scope| {
            let threads: Vec<_> = program
                .iter()
                .enumerate()
                .map(|(thread, steps)| {
                    scope.spawn(move || {
                        let mut seen = Vec::new();
                        for (number, step) in steps.iter().enumerate() {
                            let lock = &locks[step.lock];
                            let value = (thread * 10 + number + 1) as u32;
                            match step.access {
                                Access::Read(place) => {
                                    let _held = lock.read().unwrap();
                                    seen.push(places[place].load(Relaxed));
                                }
                                Access::Write(place) => {
                                    let _held = lock.write().unwrap();
                                    places[place].store(value, Relaxed);
                                }
                                Access::Downgrade(place, other) => {
                                    let held = lock.write().unwrap();
                                    places[place].store(value, Relaxed);
                                    let _held = RwLockWriteGuard::downgrade(held);
                                    seen.push(places[other].load(Relaxed));
                                }
                                Access::Peek(place) => seen.push(places[place].load(Relaxed)),
                                Access::Poke(place) => places[place].store(value, Relaxed),
                            }
                        }
                        seen
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// Whether readers commute or not, the same can be seen.
    #[test]
    fn readers_that_commute_see_the_same() {
        let mut seed = 0x2545_f491_4f6c_dd1du64;
        let mut random = move |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 33) as usize % below
        };
        let mut fewer = 0;
        for _ in 0..150 {
            let threads = 2 + random(2);
            let program: Vec<Vec<Step>> = (0..threads)
                .map(|_| (0..1 + random(2)).map(|_| step(random(ACCESSES * 4))).collect())
                .collect();
            for model in Model::ALL {
                let apart = explore(model, || run(&program, false));
                let whole = explore(model, || run(&program, true));
                assert!(apart.outcomes.keys().eq(whole.outcomes.keys()), "{model:?}: {program:?}");
                assert!(apart.executions <= whole.executions, "{model:?}: {program:?}");
                fewer += u64::from(apart.executions < whole.executions);
            }
        }
        assert!(fewer > 20, "{fewer}");
    }
}
