//! Programs over std that are right, or wrong in the way that std is said to behave: every strategy must say the same of them.

use std::fmt::Debug;

use broken::all;
use raddle::{Explorer, Failure, Memory, Strategy};
use support::{Finds, entry};

/// Searches by all strategies: those that sample or bound, and the exhaustive search under both memory models.
fn explorers() -> Vec<(Strategy, Explorer)> {
    // Some programs are about one thread.
    let by = |strategy: &Strategy| Explorer::new().strategy(strategy.clone()).allow_one_thread(true);
    let basic = all().into_iter().map(|strategy| (strategy.clone(), by(&strategy).executions(300)));
    let exhaustive = [Memory::Sc, Memory::Rc11].map(|memory| {
        let explorer = by(&Strategy::Exhaustive).memory(memory).executions(u64::MAX);
        (Strategy::Exhaustive, explorer)
    });
    basic.chain(exhaustive).collect()
}

/// Whether a strategy finds bugs of nearly every schedule only.
fn finds_obvious_only(strategy: &Strategy) -> bool {
    entry(strategy).finds < Finds::Hidden
}

/// Checks that each search passes and shows exactly these outcomes; strategies that find obvious bugs only may show fewer.
#[track_caller]
fn comes_to<T: Ord + Clone + Debug>(expected: &[T], body: impl Fn() -> T) {
    for (strategy, explorer) in explorers() {
        let report =
            explorer.try_run(&body).unwrap_or_else(|failure| panic!("{strategy}: {}", failure.message));
        let outcomes: Vec<T> = report.outcomes.into_keys().collect();
        if finds_obvious_only(&strategy) {
            assert!(outcomes.iter().all(|one| expected.contains(one)), "{strategy}: {outcomes:?}");
        } else {
            assert_eq!(outcomes, expected, "{strategy}");
        }
    }
}

/// Checks that each search finds a failure, unless its strategy finds obvious bugs only.
#[track_caller]
fn all_fail(body: impl Fn(), look: impl Fn(&Failure)) {
    for (strategy, explorer) in explorers() {
        match explorer.executions(u64::MAX).try_run(&body) {
            Ok(_) if finds_obvious_only(&strategy) => {}
            Ok(report) => panic!("{strategy}: no failure in {} executions", report.executions),
            Err(failure) => look(&failure),
        }
    }
}

/// A panic leaves std by way of the functions that Raddle puts around it, and poisons what std poisons.
mod panics_in_initialisation {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::{LazyLock, Once, OnceLock};
    use std::thread;

    use super::*;

    fn panics<T>(body: impl FnOnce() -> T) -> bool {
        catch_unwind(AssertUnwindSafe(body)).is_err()
    }

    #[test]
    fn once_is_poisoned() {
        comes_to(&[(true, true, false)], || {
            let once = Once::new();
            let first = panics(|| once.call_once(|| panic!("on purpose")));
            let second = panics(|| once.call_once(|| ()));
            let third = panics(|| once.call_once_force(|state| assert!(state.is_poisoned())));
            assert!(once.is_completed());
            (first, second, third)
        });
    }

    #[test]
    fn once_lock_is_not() {
        comes_to(&[(true, 5, 5)], || {
            let lock = OnceLock::new();
            let first = panics(|| lock.get_or_init(|| panic!("on purpose")));
            let second = *lock.get_or_init(|| 5);
            (first, second, *lock.get_or_init(|| 6))
        });
    }

    #[test]
    fn lazy_lock_is() {
        comes_to(&[(true, true)], || {
            let lock: LazyLock<u32> = LazyLock::new(|| panic!("on purpose"));
            let first = panics(|| *lock);
            (first, panics(|| *lock))
        });
    }

    /// What is dropped while the panic unwinds makes events of its own.
    #[test]
    fn others_see_what_is_dropped_meanwhile() {
        struct Adds<'a>(&'a AtomicUsize);
        impl Drop for Adds<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, Relaxed);
            }
        }
        comes_to(&[0, 1, 2], || {
            let (once, count) = (&Once::new(), &AtomicUsize::new(0));
            thread::scope(|scope| {
                scope.spawn(move || {
                    panics(|| {
                        let _outer = Adds(count);
                        once.call_once(|| {
                            let _inner = Adds(count);
                            panic!("on purpose")
                        });
                    })
                });
                count.load(Relaxed)
            })
        });
    }

    /// Whoever waits for the one that panics finds the once poisoned.
    #[test]
    fn waiting_threads_find_it_poisoned() {
        comes_to(&[[true, true]], || {
            let once = &Once::new();
            thread::scope(|scope| {
                let call = move || panics(|| once.call_once(|| panic!("on purpose")));
                let other = scope.spawn(call);
                [call(), other.join().unwrap()]
            })
        });
    }

    /// One of two panics; whoever comes after that one may try again.
    #[test]
    fn waiting_threads_try_again() {
        comes_to(&[([false, false], 2), ([false, true], 1)], || {
            let lock = &OnceLock::new();
            thread::scope(|scope| {
                let other = scope.spawn(move || panics(|| _ = lock.get_or_init(|| panic!("on purpose"))));
                let mine = panics(|| _ = lock.get_or_init(|| 1));
                let theirs = other.join().unwrap();
                ([mine, theirs], if theirs { *lock.get().unwrap() } else { 1 + *lock.get().unwrap() })
            })
        });
    }

    /// It ends the thread like any other panic, and is reported like any other.
    #[test]
    fn nobody_catches() {
        all_fail(
            || Once::new().call_once(|| panic!("on purpose")),
            |failure| assert!(failure.message.contains("on purpose"), "{}", failure.message),
        );
    }
}

mod initialisation {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::{LazyLock, Once, OnceLock};
    use std::thread;

    use super::*;

    #[test]
    fn one_of_two_initialises() {
        comes_to(&[1, 2], || {
            let lock = &OnceLock::new();
            thread::scope(|scope| {
                let other = scope.spawn(move || *lock.get_or_init(|| 1));
                let mine = *lock.get_or_init(|| 2);
                assert_eq!(other.join().unwrap(), mine);
                mine
            })
        });
    }

    #[test]
    fn lazily_once() {
        comes_to(&[[7, 7, 1]], || {
            let count = AtomicUsize::new(0);
            let lock = LazyLock::new(|| 7 + count.fetch_add(1, Relaxed));
            let [mine, theirs] = thread::scope(|scope| {
                let other = scope.spawn(|| *lock);
                [*lock, other.join().unwrap()]
            });
            [mine, theirs, count.load(Relaxed)]
        });
    }

    #[test]
    fn waiting_for_it() {
        comes_to(&[3], || {
            let lock = &OnceLock::new();
            thread::scope(|scope| {
                scope.spawn(move || lock.set(3));
                *lock.wait()
            })
        });
    }

    #[test]
    fn waiting_finds_it_poisoned() {
        comes_to(&[true], || {
            let once = &Once::new();
            thread::scope(|scope| {
                let other = scope.spawn(move || once.call_once(|| panic!("on purpose")));
                let waits = scope.spawn(move || once.wait());
                let poisoned = waits.join().is_err();
                assert!(other.join().is_err());
                poisoned
            })
        });
    }

    #[test]
    fn within_itself_never_ends() {
        all_fail(
            || {
                let once = &Once::new();
                once.call_once(|| once.call_once(|| ()));
            },
            |failure| assert!(failure.message.contains("wait"), "{}", failure.message),
        );
    }

    #[test]
    fn waiting_for_nobody_never_ends() {
        all_fail(
            || Once::new().wait(),
            |failure| assert!(failure.message.contains("wait"), "{}", failure.message),
        );
    }
}

mod barriers {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;
    use std::thread;

    use super::*;

    /// How many of the threads that come once lead, whoever they are.
    fn leaders(size: usize, threads: usize) -> usize {
        let barrier = Box::new(Barrier::new(size));
        thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| barrier.wait().is_leader())).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
        })
    }

    /// Threads of the next generation come before those of this one have gone.
    #[test]
    fn generations_overlap() {
        comes_to(&[2], || leaders(2, 4));
    }

    #[test]
    fn nobody_waits_for_nobody() {
        comes_to(&[2], || leaders(0, 2));
        comes_to(&[2], || leaders(1, 2));
    }

    /// The same two meet again and again: each time one of them leads.
    #[test]
    fn generations_follow_each_other() {
        comes_to(&[3], || {
            let barrier = &Barrier::new(2);
            let meet = || (0..3).filter(|_| barrier.wait().is_leader()).count();
            thread::scope(|scope| {
                let other = scope.spawn(meet);
                meet() + other.join().unwrap()
            })
        });
    }

    /// The leader is the last to come: it has seen all others come.
    #[test]
    fn the_last_one_leads() {
        comes_to(&[[false, true], [true, false]], || {
            let (barrier, before) = (&Barrier::new(2), &AtomicUsize::new(0));
            let meet = || {
                before.fetch_add(1, Relaxed);
                let leads = barrier.wait().is_leader();
                assert_eq!(before.load(Relaxed), 2);
                leads
            };
            thread::scope(|scope| {
                let other = scope.spawn(meet);
                [meet(), other.join().unwrap()]
            })
        });
    }

    /// Another barrier where one was knows nothing of that.
    #[test]
    fn barriers_follow_each_other() {
        comes_to(&[3], || leaders(2, 4) + leaders(2, 2));
    }

    #[test]
    fn three_are_no_two_pairs() {
        all_fail(
            || _ = leaders(2, 3),
            |failure| assert!(failure.message.contains("wait"), "{}", failure.message),
        );
    }
}

mod read_write_locks {
    use std::sync::RwLock;
    use std::thread;

    use super::*;

    /// A writer that waits keeps those out who try to read, also one who reads already.
    #[test]
    fn trying_to_read_while_a_writer_waits() {
        comes_to(&[false, true], || {
            let lock = &RwLock::new(());
            thread::scope(|scope| {
                scope.spawn(|| drop(lock.write().unwrap()));
                let _held = lock.read().unwrap();
                lock.try_read().is_ok()
            })
        });
    }

    #[test]
    fn trying_to_read_beside_a_reader_and_a_writer() {
        comes_to(&[false, true], || {
            let lock = &RwLock::new(());
            thread::scope(|scope| {
                scope.spawn(|| drop(lock.write().unwrap()));
                let _held = lock.read().unwrap();
                scope.spawn(|| lock.try_read().is_ok()).join().unwrap()
            })
        });
    }

    /// One who tries to write waits for nobody, so nobody is kept out by it.
    #[test]
    fn trying_to_write_keeps_nobody_out() {
        comes_to(&[true], || {
            let lock = &RwLock::new(());
            thread::scope(|scope| {
                let _held = lock.read().unwrap();
                let other = scope.spawn(|| lock.try_write().is_err());
                let tried = lock.try_read().is_ok();
                other.join().unwrap() && tried
            })
        });
    }

    /// After the writer has written, the lock is as before.
    #[test]
    fn a_writer_that_waited_leaves_the_lock_free() {
        comes_to(&[(false, 5), (true, 5)], || {
            let lock = RwLock::new(0);
            let tried = thread::scope(|scope| {
                scope.spawn(|| *lock.write().unwrap() = 5);
                let _held = lock.read().unwrap();
                lock.try_read().is_ok()
            });
            let value = *lock.try_read().unwrap();
            assert!(lock.try_write().is_ok());
            (tried, value)
        });
    }

    /// Two that wait: the second is not forgotten when the first has written.
    #[test]
    fn two_writers_wait() {
        comes_to(&[(false, 2), (true, 2)], || {
            let lock = RwLock::new(0);
            let tried = thread::scope(|scope| {
                scope.spawn(|| *lock.write().unwrap() += 1);
                scope.spawn(|| *lock.write().unwrap() += 1);
                let _held = lock.read().unwrap();
                lock.try_read().is_ok()
            });
            (tried, *lock.try_read().unwrap())
        });
    }

    /// Reading twice at once is for ever if a writer comes between.
    #[test]
    fn reading_twice_at_once() {
        for tried in [false, true] {
            all_fail(
                || {
                    let lock = &RwLock::new(());
                    if tried {
                        drop(lock.try_read());
                    }
                    thread::scope(|scope| {
                        scope.spawn(|| drop(lock.write().unwrap()));
                        let _held = lock.read().unwrap();
                        drop(lock.read().unwrap());
                    });
                },
                |failure| assert!(failure.message.contains("wait"), "{}", failure.message),
            );
        }
    }
}

mod channels {
    use std::sync::mpsc::sync_channel;
    use std::thread;

    use raddle::{Allocation, Backend, Isolation};

    use super::*;

    /// Strategies that sample, with all that may matter to memory that is freed while others wait.
    #[track_caller]
    fn passes_on_every_backend(body: impl Fn()) {
        for strategy in all() {
            for allocation in [Allocation::Quarantine, Allocation::Reuse] {
                for (backend, isolation) in [
                    (Backend::Coroutines, Isolation::Rollback),
                    (Backend::Threads, Isolation::Rollback),
                    (Backend::Coroutines, Isolation::Fork),
                ] {
                    let name = format!("{strategy}, {allocation:?}, {backend:?}, {isolation:?}");
                    let explorer = Explorer::new().strategy(strategy.clone()).allocation(allocation);
                    let found = explorer.backend(backend).isolation(isolation).executions(100).try_run(&body);
                    found.map_err(|failure| format!("{name}: {}", failure.message)).unwrap();
                }
            }
        }
    }

    /// The channel is freed by the one who was woken at it.
    #[test]
    fn without_room() {
        passes_on_every_backend(|| {
            let (sender, receiver) = sync_channel::<i32>(0);
            let (total_sender, total) = sync_channel::<i32>(0);
            let adds = thread::spawn(move || total_sender.send(receiver.iter().sum()).unwrap());
            (1..4).for_each(|value| sender.send(value).unwrap());
            drop(sender);
            assert_eq!(total.recv().unwrap(), 6);
            adds.join().unwrap();
        });
    }

    #[test]
    fn nobody_joins() {
        passes_on_every_backend(|| {
            let (sender, receiver) = sync_channel::<i32>(0);
            let (total_sender, total) = sync_channel::<i32>(0);
            thread::spawn(move || total_sender.send(receiver.iter().sum()).unwrap());
            (1..4).for_each(|value| sender.send(value).unwrap());
            drop(sender);
            assert_eq!(total.recv().unwrap(), 6);
        });
    }

    #[test]
    fn the_receiver_goes_first() {
        passes_on_every_backend(|| {
            let (sender, receiver) = sync_channel::<i32>(2);
            for value in 0..4 {
                let sender = sender.clone();
                thread::spawn(move || _ = sender.send(value));
            }
            drop(sender);
            assert!(receiver.recv().is_ok());
        });
    }
}

mod parking {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::SeqCst;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A thread that has locked a mutex, and parked, does not lock it when it is woken: it goes on while another has the mutex.
    #[test]
    fn who_is_woken_wants_no_mutex() {
        comes_to(&[()], || {
            let (mutex, main) = (&Mutex::new(()), &thread::current());
            let [had, done] = &[(); 2].map(|()| AtomicBool::new(false));
            thread::scope(|scope| {
                let other = scope.spawn(|| {
                    thread::sleep(Duration::from_secs(1));
                    main.unpark();
                    if had.load(SeqCst) {
                        let _held = mutex.lock().unwrap();
                        while !done.load(SeqCst) {
                            thread::park();
                        }
                    }
                });
                let held = mutex.lock().unwrap();
                had.store(true, SeqCst);
                drop(held);
                thread::park();
                done.store(true, SeqCst);
                other.thread().unpark();
            });
        });
    }

    /// The token is there before or after: two of them are one.
    #[test]
    fn two_tokens_are_one() {
        comes_to(&[()], || {
            let main = thread::current();
            thread::scope(|scope| {
                scope.spawn(move || main.unpark());
                thread::park();
            });
        });
        all_fail(
            || {
                let main = thread::current();
                main.unpark();
                main.unpark();
                thread::park();
                thread::park();
            },
            |failure| assert!(failure.message.contains("wait"), "{}", failure.message),
        );
    }

    /// The token stays, however much else is done before it is taken.
    #[test]
    fn the_token_stays() {
        comes_to(&[true], || {
            let (flag, main) = (&AtomicBool::new(false), &thread::current());
            thread::scope(|scope| {
                scope.spawn(|| {
                    flag.store(true, SeqCst);
                    main.unpark();
                });
                thread::park();
                flag.load(SeqCst)
            })
        });
    }

    /// Without a token the time ends it, with one that does.
    #[test]
    fn for_some_time() {
        comes_to(&[()], || thread::park_timeout(Duration::from_millis(1)));
        comes_to(&[()], || {
            let main = thread::current();
            thread::scope(|scope| {
                scope.spawn(move || main.unpark());
                thread::park_timeout(Duration::from_secs(1));
            });
        });
    }
}

mod conditions {
    use std::sync::{Condvar, Mutex};
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Nobody waits yet: the notification is lost.
    #[test]
    fn notified_too_early() {
        all_fail(
            || {
                let (mutex, condition) = (&Mutex::new(()), &Condvar::new());
                thread::scope(|scope| {
                    scope.spawn(|| condition.notify_one());
                    drop(condition.wait(mutex.lock().unwrap()).unwrap());
                });
            },
            |failure| assert!(failure.message.contains("wait"), "{}", failure.message),
        );
    }

    /// Who changes the state within the mutex and notifies is never missed: waiting gives the mutex back in the same moment.
    #[test]
    fn nothing_comes_between_unlocking_and_waiting() {
        comes_to(&[true], || {
            let (state, condition) = (&Mutex::new(false), &Condvar::new());
            thread::scope(|scope| {
                scope.spawn(|| {
                    *state.lock().unwrap() = true;
                    condition.notify_one();
                });
                *condition.wait_while(state.lock().unwrap(), |state| !*state).unwrap()
            })
        });
    }

    /// The check outside of the mutex is the usual mistake.
    #[test]
    fn checked_before_the_mutex() {
        all_fail(
            || {
                let (state, condition) = (&Mutex::new(false), &Condvar::new());
                thread::scope(|scope| {
                    scope.spawn(|| {
                        *state.lock().unwrap() = true;
                        condition.notify_one();
                    });
                    let is_set = *state.lock().unwrap();
                    if !is_set {
                        drop(condition.wait(state.lock().unwrap()).unwrap());
                    }
                });
            },
            |failure| assert!(failure.message.contains("wait"), "{}", failure.message),
        );
    }

    /// Two wait, and one is woken.
    #[test]
    fn one_is_woken() {
        all_fail(
            || {
                let (waiting, condition) = (&Mutex::new(0), &Condvar::new());
                let wait = || {
                    let mut waiting = waiting.lock().unwrap();
                    *waiting += 1;
                    drop(condition.wait(waiting).unwrap());
                };
                thread::scope(|scope| {
                    scope.spawn(wait);
                    scope.spawn(wait);
                    scope.spawn(|| while *waiting.lock().unwrap() < 2 {});
                    condition.notify_one();
                });
            },
            |failure| assert!(failure.message.contains("wait"), "{}", failure.message),
        );
    }

    #[test]
    fn all_are_woken() {
        comes_to(&[()], || {
            let (state, condition) = (&Mutex::new(false), &Condvar::new());
            let wait = || drop(condition.wait_while(state.lock().unwrap(), |state| !*state).unwrap());
            thread::scope(|scope| {
                scope.spawn(wait);
                scope.spawn(wait);
                *state.lock().unwrap() = true;
                condition.notify_all();
            });
        });
    }

    /// Nobody notifies, but the time ends it; the mutex is held again.
    #[test]
    fn for_some_time() {
        comes_to(&[(true, 1)], || {
            let (state, condition) = (Mutex::new(0), Condvar::new());
            let held = state.lock().unwrap();
            let (mut held, timeout) = condition.wait_timeout(held, Duration::from_millis(1)).unwrap();
            *held += 1;
            assert!(state.try_lock().is_err());
            (timeout.timed_out(), *held)
        });
    }

    /// Who has the mutex while another waits, and panics, poisons it for the one that waits.
    #[test]
    fn poisoned_meanwhile() {
        comes_to(&[true], || {
            let (state, condition) = (&Mutex::new(false), &Condvar::new());
            thread::scope(|scope| {
                let other = scope.spawn(|| {
                    let mut held = state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    *held = true;
                    condition.notify_one();
                    panic!("on purpose")
                });
                let mut held = state.lock();
                while held.as_ref().is_ok_and(|state| !**state) {
                    held = condition.wait(held.unwrap());
                }
                let poisoned = held.is_err();
                drop(held);
                assert!(other.join().is_err());
                poisoned
            })
        });
    }
}

/// Locks that std takes in code that is not instrumented, and whose guards are dropped in code that is.
mod locks_of_standard_streams {
    use std::cell::UnsafeCell;
    use std::io::{Write, stderr, stdin, stdout};
    use std::thread;

    use super::*;

    struct Cell(UnsafeCell<Vec<u32>>);

    // SAFETY: a lock orders all accesses, or not, which is then the bug.
    unsafe impl Sync for Cell {}

    impl Cell {
        fn push(&self, value: u32) {
            // SAFETY: see above.
            unsafe { (*self.0.get()).push(value) }
        }
    }

    /// Two threads push in turns while they hold something.
    #[track_caller]
    fn are_ordered_by<G>(lock: impl Fn() -> G + Sync) {
        comes_to(&[vec![1, 1, 2, 2], vec![2, 2, 1, 1]], || {
            let cell = Cell(UnsafeCell::new(Vec::new()));
            let push_twice = |value| {
                let held = lock();
                cell.push(value);
                cell.push(value);
                drop(held);
            };
            thread::scope(|scope| {
                scope.spawn(|| push_twice(1));
                push_twice(2);
            });
            cell.0.into_inner()
        });
    }

    #[test]
    fn standard_output() {
        are_ordered_by(|| stdout().lock());
    }

    #[test]
    fn standard_error() {
        are_ordered_by(|| stderr().lock());
    }

    #[test]
    fn standard_input() {
        are_ordered_by(|| stdin().lock());
        are_ordered_by(|| stdin().lines());
    }

    /// Who has the lock may take it again.
    #[test]
    fn again_and_again() {
        are_ordered_by(|| (stdout().lock(), stdout().lock(), stdout().lock()));
    }

    #[test]
    fn writing() {
        comes_to(&[()], || {
            thread::scope(|scope| {
                scope.spawn(|| writeln!(stdout().lock(), "a").unwrap());
                writeln!(stdout().lock(), "b").unwrap();
            });
        });
        comes_to(&[()], || {
            thread::scope(|scope| {
                scope.spawn(|| writeln!(stderr().lock(), "a").unwrap());
                let mut held = stderr().lock();
                held.write_all(b"b").unwrap();
                writeln!(held, "c").unwrap();
                eprintln!("d");
            });
        });
    }

    /// Others that print, without a guard of their own, wait too.
    #[test]
    fn printing_meanwhile() {
        for (_, explorer) in explorers() {
            explorer.run(|| {
                thread::scope(|scope| {
                    scope.spawn(|| std::io::stdout().write_all(b"a\n").unwrap());
                    let mut held = stdout().lock();
                    writeln!(held, "b").unwrap();
                    writeln!(held, "c").unwrap();
                });
            });
        }
    }

    #[test]
    fn two_in_two_orders() {
        all_fail(
            || {
                thread::scope(|scope| {
                    scope.spawn(|| drop((stdout().lock(), stderr().lock())));
                    drop((stderr().lock(), stdout().lock()));
                });
            },
            |failure| assert!(failure.message.contains("wait"), "{}", failure.message),
        );
    }

    /// They order what is done while they are held, and nothing else.
    #[test]
    fn races_beside_them_are_found() {
        all_fail(
            || {
                let cell = Box::new(Cell(UnsafeCell::new(Vec::new())));
                thread::scope(|scope| {
                    scope.spawn(|| cell.push(1));
                    let held = stdout().lock();
                    cell.push(2);
                    drop(held);
                });
            },
            |failure| assert_eq!(failure.kind, raddle::Kind::DataRace, "{}", failure.message),
        );
    }
}
