//! What real programs do with threads, atomics, memory and std, beside what litmus tests are made of: each execution once,
//! under either model, wherever memory comes from.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize,
};
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, Condvar, LazyLock, Mutex, Once, OnceLock};
use std::thread;

use litmus::Model;
use litmus::check::explorer;
use raddle::Allocation;

/// What the closure returns in all executions, and how often.
#[track_caller]
fn outcomes<T: Ord + Clone + Debug>(model: Model, body: impl Fn() -> T) -> BTreeMap<T, u64> {
    let [one, other] = [Allocation::Quarantine, Allocation::Reuse].map(|allocation| {
        let report = explorer(model).allocation(allocation).run(&body as &dyn Fn() -> T);
        assert!(report.exhausted, "{model:?}, {allocation:?}: not exhausted after {}", report.executions);
        let by_default = |left_out: &&str| left_out.contains("wake-ups") || left_out.starts_with("spurious");
        assert!(report.left_out.iter().all(by_default), "{:?}", report.left_out);
        report.outcomes
    });
    assert_eq!(one, other, "{model:?}: what comes of it depends on where memory comes from");
    one
}

/// Each of these is what the closure returns in one execution under either model, and there are no others.
#[track_caller]
fn returns<T: Ord + Clone + Debug>(expected: &[T], body: impl Fn() -> T) {
    let mut times = BTreeMap::new();
    expected.iter().for_each(|value| *times.entry(value.clone()).or_default() += 1);
    for model in Model::ALL {
        assert_eq!(outcomes(model, &body), times, "{model:?}");
    }
}

/// These are what the closure returns under either model, each in one execution or more: threads share references, and it is also
/// explored who has the last one.
#[track_caller]
fn comes_to<T: Ord + Clone + Debug>(expected: &[T], body: impl Fn() -> T) {
    for model in Model::ALL {
        let outcomes = outcomes(model, &body);
        assert!(outcomes.keys().eq(expected), "{model:?}: {outcomes:?}");
    }
}

mod threads {
    use super::*;

    /// Three levels deep, each increments a counter: 3! orders.
    #[test]
    fn nested() {
        let body = || {
            let counter = &AtomicU32::new(0);
            let increment = || counter.fetch_add(1, Relaxed);
            thread::scope(|scope| {
                let outer = scope.spawn(move || {
                    thread::scope(|scope| {
                        let middle = scope.spawn(move || {
                            thread::scope(|scope| {
                                let inner = scope.spawn(increment);
                                [increment(), inner.join().unwrap()]
                            })
                        });
                        let mine = increment();
                        let [theirs, innermost] = middle.join().unwrap();
                        [mine, theirs, innermost]
                    })
                });
                outer.join().unwrap()
            })
        };
        returns(&[[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]], body);
    }

    #[test]
    fn nobody_waits_for() {
        comes_to(&[0, 1], || {
            let flag = Arc::new(AtomicU32::new(0));
            let theirs = Arc::clone(&flag);
            thread::spawn(move || theirs.store(1, Relaxed));
            flag.load(Relaxed)
        });
    }

    /// What goes on after the closure has returned is explored, too.
    #[test]
    fn outlive_the_closure() {
        comes_to(&[()], || {
            let counter = Arc::new(AtomicU32::new(0));
            for _ in 0..2 {
                let counter = Arc::clone(&counter);
                thread::spawn(move || counter.fetch_add(1, Relaxed));
            }
        });
    }

    #[test]
    fn panic() {
        comes_to(&[(0, true), (1, true)], || {
            let flag = Arc::new(AtomicU32::new(0));
            let theirs = Arc::clone(&flag);
            let thread = thread::spawn(move || {
                theirs.store(1, Relaxed);
                panic!("on purpose")
            });
            (flag.load(Relaxed), thread.join().is_err())
        });
    }

    /// The lock is taken before it is poisoned, or after.
    #[test]
    fn poison_locks() {
        comes_to(&[(false, 0), (true, 42)], || {
            let lock = Arc::new(Mutex::new(0));
            let theirs = Arc::clone(&lock);
            let thread = thread::spawn(move || {
                let mut held = theirs.lock().unwrap();
                *held = 42;
                panic!("on purpose")
            });
            let seen =
                lock.lock().map_or_else(|poisoned| (true, **poisoned.get_ref()), |value| (false, *value));
            assert!(thread.join().is_err() && lock.is_poisoned());
            seen
        });
    }
}

mod storage {
    use std::cell::{Cell, RefCell};

    use super::*;

    struct IncrementsOnDrop(Arc<AtomicU32>);

    impl Drop for IncrementsOnDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    thread_local! {
        static DESTROYED: RefCell<Option<IncrementsOnDrop>> = const { RefCell::new(None) };
        static COUNT: Cell<u32> = const { Cell::new(0) };
    }

    /// Destructors race, and have run when threads are joined.
    #[test]
    fn thread_locals() {
        comes_to(&[(vec![1, 1], 2)], || {
            let counter = Arc::new(AtomicU32::new(0));
            let spawn = |_| {
                let counter = Arc::clone(&counter);
                thread::spawn(|| {
                    DESTROYED.with_borrow_mut(|local| *local = Some(IncrementsOnDrop(counter)));
                    COUNT.set(COUNT.get() + 1);
                    COUNT.get()
                })
            };
            let threads: Vec<_> = (0..2).map(spawn).collect();
            let seen = threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>();
            (seen, counter.load(Relaxed))
        });
    }

    static COUNTER: AtomicU32 = AtomicU32::new(7);

    #[test]
    fn statics() {
        returns(&[9, 9], || {
            thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(|| COUNTER.fetch_add(1, Relaxed))));
            COUNTER.load(Relaxed)
        });
    }

    #[test]
    fn boxes_that_change_hands() {
        returns(&[[0, 10], [11, 0]], || {
            let slot = &AtomicPtr::<u32>::default();
            let seen = thread::scope(|scope| {
                let swap = |mine: u32| {
                    let _other_addresses = vec![mine; mine as usize];
                    let before = slot.swap(Box::into_raw(Box::new(mine)), AcqRel);
                    // SAFETY: who takes a box out of the slot has it alone.
                    if before.is_null() { 0 } else { *unsafe { Box::from_raw(before) } }
                };
                let threads = [10, 11].map(|mine| scope.spawn(move || swap(mine)));
                threads.map(|thread| thread.join().unwrap())
            });
            // SAFETY: nobody else is there any more.
            drop(unsafe { Box::from_raw(slot.load(Acquire)) });
            seen
        });
    }

    /// Each box is another object, even where another one was.
    #[test]
    fn boxes_one_after_another() {
        let all: Vec<Vec<u32>> =
            (0..8u32).map(|bits| (0..3).map(|i| i + (bits >> i & 1) * 10).collect()).collect();
        returns(&all, || {
            let race = |i: u32| {
                let place = Box::new(AtomicU32::new(i));
                thread::scope(|scope| {
                    scope.spawn(|| place.store(i + 10, Relaxed));
                    place.load(Relaxed)
                })
            };
            (0..3).map(race).collect()
        });
    }

    /// The same bytes are used as atomics of another size, in another object.
    #[test]
    fn boxes_of_other_sizes_one_after_another() {
        returns(&[(0, 0), (0, 2), (1, 0), (1, 2)], || {
            let byte = Box::new(AtomicU8::new(0));
            let first = thread::scope(|scope| {
                scope.spawn(|| byte.store(1, Relaxed));
                byte.load(Relaxed)
            });
            drop(byte);
            let word = Box::new(AtomicU64::new(0));
            let second = thread::scope(|scope| {
                scope.spawn(|| word.store(2, Relaxed));
                word.load(Relaxed)
            });
            (first, second)
        });
    }

    /// Whoever owns an atomic may change it without being atomic.
    #[test]
    fn plain_writes_between() {
        returns(&[(5, 16), (6, 16)], || {
            let mut place = AtomicU32::new(0);
            *place.get_mut() = 5;
            let seen = thread::scope(|scope| {
                scope.spawn(|| place.fetch_add(1, Relaxed));
                place.load(Relaxed)
            });
            *place.get_mut() += 10;
            (seen, place.load(Relaxed))
        });
    }
}

mod sizes {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    macro_rules! store_buffering {
        ($($atomic:ty: $zero:expr => $other:expr),* $(,)?) => {$(
            let body = || {
                let [x, y] = &[<$atomic>::new($zero), <$atomic>::new($zero)];
                let run = |mine: &$atomic, theirs: &$atomic| {
                    mine.store($other, Release);
                    [$other].contains(&theirs.load(Acquire))
                };
                thread::scope(|scope| {
                    let threads = [scope.spawn(|| run(x, y)), scope.spawn(|| run(y, x))];
                    threads.map(|thread| thread.join().unwrap())
                })
            };
            let seen = |model| outcomes(model, body).into_keys().collect::<Vec<_>>();
            let strong = [[false, true], [true, false], [true, true]];
            assert_eq!(seen(Model::Sc), strong, stringify!($atomic));
            assert_eq!(seen(Model::Rc11), [&[[false, false]][..], &strong].concat(), stringify!($atomic));
        )*};
    }

    #[test]
    fn all_are_followed() {
        store_buffering! {
            AtomicBool: false => true,
            AtomicU8: 0 => 200,
            AtomicU16: 0 => 60_000,
            AtomicU32: 0 => u32::MAX,
            AtomicI32: 0 => -1,
            AtomicU64: 0 => 1 << 60,
            AtomicUsize: 0 => usize::MAX,
            AtomicPtr<u8>: std::ptr::null_mut() => std::ptr::dangling_mut(),
        }
    }

    #[test]
    fn neighbours_are_apart() {
        returns(&[[1, 2, 3, 4]], || {
            let cells = [0; 4].map(AtomicU8::new);
            thread::scope(|scope| {
                for (cell, value) in cells.iter().zip(1..) {
                    scope.spawn(move || cell.store(value, Relaxed));
                }
            });
            cells.map(AtomicU8::into_inner)
        });
    }

    /// Not silently wrong: the search says that it cannot follow.
    #[track_caller]
    fn is_refused(body: impl Fn() -> u32) {
        let refused = catch_unwind(AssertUnwindSafe(|| explorer(Model::Rc11).run(&body))).unwrap_err();
        let message = refused.downcast_ref::<&str>().expect("it says why in a constant");
        assert!(message.contains("atomics of different sizes"), "{message}");
    }

    #[test]
    fn do_not_mix() {
        let race = |word: &AtomicU32, offset: usize| {
            // SAFETY: the byte is one of the word's, and nobody uses it otherwise than atomically.
            let byte = unsafe { AtomicU8::from_ptr(word.as_ptr().cast::<u8>().add(offset)) };
            thread::scope(|scope| {
                scope.spawn(|| byte.store(1, Relaxed));
                word.load(Relaxed)
            })
        };
        is_refused(|| race(&AtomicU32::new(0), 0));
        is_refused(|| race(&AtomicU32::new(0), 3));
    }

    /// Also if there are executions with the one, executions with the other, and only at last executions with both.
    #[test]
    fn do_not_mix_in_any_execution() {
        is_refused(|| {
            let (word, turns) = (&AtomicU32::new(0), &[AtomicU32::new(0), AtomicU32::new(0)]);
            // SAFETY: as above.
            let byte = unsafe { AtomicU8::from_ptr(word.as_ptr().cast::<u8>().add(1)) };
            thread::scope(|scope| {
                scope.spawn(|| turns[0].store(1, Relaxed));
                scope.spawn(|| turns[1].store(1, Relaxed));
                let [first, second] = [0, 1].map(|i| turns[i].load(Relaxed) == 1);
                if first {
                    byte.store(1, Relaxed);
                }
                if second { word.load(Relaxed) } else { 0 }
            })
        });
    }
}

mod operations {
    use super::*;

    /// Two threads apply an operation at once: two orders.
    macro_rules! two_orders {
        ($atomic:ty, $initial:expr, $operation:ident, $one:expr, $other:expr) => {
            let orders = [[0, 1], [1, 0]].map(|order| {
                let place = <$atomic>::new($initial);
                let mut seen = [$initial; 2];
                for i in order {
                    seen[i] = place.$operation([$one, $other][i], Relaxed);
                }
                (seen, place.into_inner())
            });
            returns(&orders, || {
                let place = &<$atomic>::new($initial);
                let seen = thread::scope(|scope| {
                    let threads =
                        [$one, $other].map(|operand| scope.spawn(move || place.$operation(operand, Relaxed)));
                    threads.map(|thread| thread.join().unwrap())
                });
                (seen, place.load(Relaxed))
            });
        };
    }

    #[test]
    fn are_atomic() {
        two_orders!(AtomicU32, 6, swap, 1, 2);
        two_orders!(AtomicU32, 6, fetch_sub, 1, 2);
        two_orders!(AtomicU32, 6, fetch_and, 2, 3);
        two_orders!(AtomicU32, 6, fetch_or, 8, 9);
        two_orders!(AtomicU32, 6, fetch_xor, 1, 3);
        two_orders!(AtomicU32, 6, fetch_nand, 3, 4);
        two_orders!(AtomicBool, true, fetch_nand, true, false);
    }

    /// The compiler makes loops of these.
    #[test]
    fn are_atomic_in_loops() {
        two_orders!(AtomicU32, 6, fetch_min, 5, 6);
        two_orders!(AtomicU32, 6, fetch_min, 4, 5);
        two_orders!(AtomicU32, 6, fetch_max, 6, 7);
        two_orders!(AtomicU32, 6, fetch_max, 8, 7);
        two_orders!(AtomicI8, 0, fetch_min, -1, 1);
        two_orders!(AtomicI8, 0, fetch_max, -1, 1);
        two_orders!(AtomicI64, -5, fetch_max, i64::MIN, 3);
        two_orders!(AtomicU16, 0, fetch_max, u16::MAX, 1);
        two_orders!(AtomicU64, 0, fetch_min, u64::MAX, 0);
    }

    /// A load and a compare-exchange each; who loses tries again.
    #[test]
    fn fetch_update() {
        returns(&[[0, 1], [0, 1], [1, 0], [1, 0]], || {
            let place = &AtomicU32::new(0);
            thread::scope(|scope| {
                let increment = || place.fetch_update(Relaxed, Relaxed, |value| Some(value + 1)).unwrap();
                [scope.spawn(increment), scope.spawn(increment)].map(|thread| thread.join().unwrap())
            })
        });
    }

    /// Unless asked for, a weak compare-exchange fails for no other reason than a strong one.
    #[test]
    fn compare_exchange_weak() {
        returns(&[[true, false], [false, true]], || {
            let place = &AtomicU32::new(0);
            thread::scope(|scope| {
                let attempt = |new| move || place.compare_exchange_weak(0, new, Relaxed, Relaxed).is_ok();
                [scope.spawn(attempt(1)), scope.spawn(attempt(2))].map(|thread| thread.join().unwrap())
            })
        });
    }

    /// A compare-exchange that fails has its own order.
    #[test]
    fn order_of_failure() {
        let body = |failure| {
            let (data, flag) = (AtomicU32::new(0), AtomicU32::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    data.store(1, Relaxed);
                    flag.store(1, Release);
                });
                flag.compare_exchange(0, 2, Relaxed, failure).is_err().then(|| data.load(Relaxed))
            })
        };
        returns(&[None, Some(1)], || body(Acquire));
        assert!(outcomes(Model::Rc11, || body(Relaxed)).contains_key(&Some(0)));
    }

    #[test]
    fn hints_add_nothing() {
        returns(&[0, 1], || {
            let place = AtomicU32::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    std::hint::spin_loop();
                    place.store(1, Relaxed);
                    thread::yield_now();
                });
                thread::yield_now();
                place.load(Relaxed)
            })
        });
    }
}

mod std_types {
    use super::*;

    /// Two threads with so many critical sections each. Miri has as many executions.
    #[test]
    fn mutex() {
        for (times, orders) in [(1, 2), (2, 6), (3, 20)] {
            returns(&vec![6 * times; orders], || {
                let lock = &Mutex::new([1234; 32]);
                {
                    let mut held = lock.lock().unwrap();
                    held[0] = 0;
                    assert!(lock.try_lock().is_err());
                }
                assert!(lock.try_lock().is_ok());
                thread::scope(|scope| {
                    for addend in [2, 4] {
                        scope.spawn(move || (0..times).for_each(|_| lock.lock().unwrap()[0] += addend));
                    }
                });
                lock.lock().unwrap()[0]
            });
        }
    }

    /// The last strong reference goes while another thread has a weak one. Miri has 4 executions, and 7.
    #[test]
    fn weak_references() {
        let race = |look: fn(std::sync::Weak<u32>) -> usize| {
            let strong = Arc::new(42);
            let weak = Arc::downgrade(&strong);
            let theirs = weak.clone();
            let thread = thread::spawn(move || look(theirs));
            drop(strong);
            let seen = thread.join().unwrap();
            assert!(weak.upgrade().is_none());
            seen
        };
        for model in Model::ALL {
            let counts = outcomes(model, || race(|weak| weak.strong_count()));
            assert!(counts.keys().eq(&[0, 1]) && counts.values().sum::<u64>() <= 4, "{counts:?}");
            let upgrades = outcomes(model, || race(|weak| weak.upgrade().map_or(0, |value| *value as usize)));
            assert!(upgrades.keys().eq(&[0, 42]) && upgrades.values().sum::<u64>() <= 7, "{upgrades:?}");
        }
    }

    /// Some find at once that all is done; the others come one after another, and the first of them does it.
    #[test]
    fn once() {
        for (threads, expected) in [(1, 1), (2, 4), (3, 15), (4, 64)] {
            for model in Model::ALL {
                let outcomes = outcomes(model, || {
                    let (once, done_by) = (&Once::new(), &AtomicU32::new(0));
                    thread::scope(|scope| {
                        for thread in 1..=threads {
                            scope.spawn(move || once.call_once(|| done_by.store(thread, Relaxed)));
                        }
                    });
                    done_by.load(Relaxed)
                });
                assert!(outcomes.keys().copied().eq(1..=threads), "{model:?}: {outcomes:?}");
                assert_eq!(outcomes.values().sum::<u64>(), expected, "{model:?}");
            }
        }
    }

    #[test]
    fn values_that_are_set_once() {
        comes_to(&[(None, 1), (None, 2), (Some(1), 1), (Some(2), 2)], || {
            let value = &OnceLock::new();
            let seen = thread::scope(|scope| {
                for mine in [1, 2] {
                    scope.spawn(move || *value.get_or_init(|| mine));
                }
                value.get().copied()
            });
            (seen, *value.get().unwrap())
        });
    }

    /// Whoever comes first decides for both.
    #[test]
    fn values_that_are_computed_when_needed() {
        comes_to(&[[1, 1], [2, 2]], || {
            let first = &AtomicU32::new(0);
            let value = &LazyLock::new(|| first.load(Relaxed));
            thread::scope(|scope| {
                let threads = [1, 2].map(|mine| {
                    scope.spawn(move || {
                        _ = first.compare_exchange(0, mine, Relaxed, Relaxed);
                        **value
                    })
                });
                threads.map(|thread| thread.join().unwrap())
            })
        });
    }

    /// One of two that wait is woken, either, and wakes the other.
    #[test]
    fn condition_variables() {
        comes_to(&[[0, 1], [1, 0]], || {
            let (turn, change) = (&Mutex::new(0), &Condvar::new());
            thread::scope(|scope| {
                let threads = [(); 2].map(|()| {
                    scope.spawn(|| {
                        let mut turn = change.wait_while(turn.lock().unwrap(), |turn| *turn == 0).unwrap();
                        *turn += 1;
                        change.notify_one();
                        *turn - 2
                    })
                });
                *turn.lock().unwrap() = 1;
                change.notify_one();
                threads.map(|thread| thread.join().unwrap())
            })
        });
    }

    /// A token that is there, or comes while the thread waits; several are one.
    #[test]
    fn parking() {
        comes_to(&[1, 2], || {
            let flag = &AtomicU32::new(0);
            thread::scope(|scope| {
                let parked = scope.spawn(|| {
                    thread::park();
                    flag.load(Relaxed)
                });
                for value in 1..=2 {
                    flag.store(value, Relaxed);
                    parked.thread().unpark();
                }
                parked.join().unwrap()
            })
        });
    }

    /// They count how often they yield, so that no search says that it is complete.
    #[test]
    fn channels() {
        let empty = |seen: Result<u32, TryRecvError>| match seen {
            Ok(value) => value,
            Err(TryRecvError::Empty) => 0,
            Err(TryRecvError::Disconnected) => u32::MAX,
        };
        for model in Model::ALL {
            let report = explorer(model).run(|| {
                let (sender, receiver) = mpsc::channel();
                thread::scope(|scope| {
                    scope.spawn(move || sender.send(1).unwrap());
                    [(); 2].map(|()| empty(receiver.try_recv()))
                })
            });
            assert!(!report.complete);
            assert!(report.outcomes.keys().eq(&[[0, 0], [0, 1], [1, 0], [1, u32::MAX]]), "{model:?}");
        }
    }
}
