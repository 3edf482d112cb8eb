//! Bugs that only weak memory shows, and the programs that do without them.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize, fence};
use std::thread;

use broken::{all, finds_with, passes_with, searching};
use raddle::{Explorer, Failure, Isolation, Kind, Memory};
use raddle_report::failure::{Action, Event, Value};

/// Checks that every strategy finds the bug under RC11, with a trace that shows what went wrong, and that sequential consistency
/// hides it.
#[track_caller]
fn only_weak(body: impl Fn(), look: impl Fn(&Failure)) {
    // That nothing orders the accesses is a data race already, in every execution; here it is what reads see that counts.
    finds_with(&weak().races(false).executions(20_000), &searching(), Kind::Panic, &body, |failure| {
        assert_eq!(failure.found_by.memory.as_deref(), Some("rc11"));
        assert!(failure.look_back.0.iter().any(|&back| back > 0), "{:?}", failure.look_back);
        look(failure);
    });
    passes_with(&Explorer::new().races(false).memory(Memory::Sc).executions(5_000), &body);
}

/// Checks that 100,000 executions under RC11 find nothing.
#[track_caller]
fn right(body: impl Fn()) {
    passes_with(&weak().executions(100_000 / all().len() as u64), body);
}

fn weak() -> Explorer {
    Explorer::new().memory(Memory::Rc11)
}

/// The values that loads read although there were newer ones, with those.
fn older(failure: &Failure) -> Vec<(u128, u128)> {
    let events = failure.trace.events.iter();
    let older = events.filter_map(|event| match event.action {
        Action::Load { value: Value(value), newest: Some(Value(newest)), .. } => Some((value, newest)),
        _ => None,
    });
    older.collect()
}

/// The stores of a failure that came to stand before earlier ones.
fn overtaken(failure: &Failure) -> impl Iterator<Item = &Event> {
    let events = failure.trace.events.iter();
    events.filter(|event| matches!(event.action, Action::Store { newest: Some(_), .. }))
}

/// Runs both at once, and returns what they return.
fn both<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = scope.spawn(second);
        (first.join().unwrap(), second.join().unwrap())
    })
}

/// Each thread says that it comes and looks whether the other does: both must not miss each other.
fn store_buffering(write: Ordering, between: Option<Ordering>, read: Ordering) {
    let [x, y] = [AtomicBool::new(false), AtomicBool::new(false)];
    let come = |mine: &AtomicBool, other: &AtomicBool| {
        mine.store(true, write);
        if let Some(order) = between {
            fence(order);
        }
        other.load(read)
    };
    let seen = both(|| come(&x, &y), || come(&y, &x));
    assert_ne!(seen, (false, false), "neither saw the other");
}

#[test]
fn store_buffering_with_acquire_and_release() {
    only_weak(
        || store_buffering(Release, None, Acquire),
        |failure| assert!(older(failure).contains(&(0, 1))),
    );
}

#[test]
fn processes_find_the_same() {
    for strategy in searching() {
        let find = |explorer: Explorer| {
            let found =
                explorer.strategy(strategy.clone()).try_run(|| store_buffering(Release, None, Acquire));
            let failure = found.expect_err("the bug is there");
            (failure.found_by.execution, failure.schedule.clone(), failure.look_back.clone())
        };
        let found = find(weak());
        assert_eq!(find(weak().workers(2)), found, "{strategy}");
        assert_eq!(find(weak().isolation(Isolation::Fork)), found, "{strategy}");
    }
}

#[test]
fn store_buffering_with_a_fence_that_is_too_weak() {
    only_weak(|| store_buffering(Relaxed, Some(AcqRel), Relaxed), |_| ());
}

#[test]
fn store_buffering_with_sequential_consistency() {
    right(|| store_buffering(SeqCst, None, SeqCst));
    right(|| store_buffering(Relaxed, Some(SeqCst), Relaxed));
}

/// A value is passed by a flag.
fn message_passing(write: Ordering, read: Ordering) {
    let [data, ready] = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let send = || {
        data.store(42, Relaxed);
        ready.store(1, write);
    };
    let receive = || {
        if ready.load(read) == 1 {
            assert_eq!(data.load(Relaxed), 42, "received before it was sent");
        }
    };
    both(send, receive);
}

#[test]
fn message_passing_without_acquire_or_release() {
    only_weak(
        || message_passing(Relaxed, Acquire),
        |failure| assert_eq!(older(failure).last(), Some(&(0, 42))),
    );
    only_weak(
        || message_passing(Release, Relaxed),
        |failure| assert_eq!(older(failure).last(), Some(&(0, 42))),
    );
}

#[test]
fn message_passing_with_acquire_and_release() {
    right(|| message_passing(Release, Acquire));
}

/// A value is passed by waiting for a flag: what is old becomes visible in the end.
#[test]
fn waiting_for_a_relaxed_flag_ends() {
    let wait = |order| {
        move || {
            let [data, ready] = [AtomicUsize::new(0), AtomicUsize::new(0)];
            let send = || {
                data.store(42, Relaxed);
                ready.store(1, Release);
            };
            let receive = || {
                while ready.load(order) == 0 {
                    std::hint::spin_loop();
                }
                data.load(Relaxed)
            };
            assert_eq!(both(send, receive).1, 42);
        }
    };
    right(wait(Acquire));
    only_weak(wait(Relaxed), |_| ());
}

/// Something that threads take turns with.
struct Shared {
    value: UnsafeCell<usize>,
    inside: AtomicUsize,
}

// SAFETY: the locks under test guard it; what they let through is seen by `inside`.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Shared {
        Shared { value: UnsafeCell::new(0), inside: AtomicUsize::new(0) }
    }

    fn use_alone(&self) {
        assert_eq!(self.inside.fetch_add(1, Relaxed), 0, "two threads inside");
        // SAFETY: checked above.
        unsafe { *self.value.get() += 1 };
        self.inside.fetch_sub(1, Relaxed);
    }
}

/// Peterson's lock for two threads.
fn peterson(write: Ordering, turn_order: Ordering, read: Ordering) {
    let wants = [AtomicBool::new(false), AtomicBool::new(false)];
    let turn = AtomicUsize::new(0);
    let shared = Shared::new();
    let enter = |me: usize| {
        wants[me].store(true, write);
        turn.store(1 - me, turn_order);
        while wants[1 - me].load(read) && turn.load(read) == 1 - me {
            std::hint::spin_loop();
        }
        shared.use_alone();
        wants[me].store(false, Release);
    };
    both(|| enter(0), || enter(1));
}

#[test]
fn peterson_with_acquire_and_release() {
    only_weak(
        || peterson(Release, Release, Acquire),
        |failure| assert!(!older(failure).is_empty() || overtaken(failure).count() > 0),
    );
    only_weak(|| peterson(Relaxed, Relaxed, Relaxed), |_| ());
}

#[test]
fn peterson_with_sequential_consistency() {
    right(|| peterson(SeqCst, SeqCst, SeqCst));
}

/// Dekker's lock for two threads.
fn dekker(order: [Ordering; 2]) {
    let [write, read] = order;
    let wants = [AtomicBool::new(false), AtomicBool::new(false)];
    let turn = AtomicUsize::new(0);
    let shared = Shared::new();
    let enter = |me: usize| {
        wants[me].store(true, write);
        while wants[1 - me].load(read) {
            if turn.load(read) != me {
                wants[me].store(false, write);
                while turn.load(read) != me {
                    thread::yield_now();
                }
                wants[me].store(true, write);
            }
        }
        shared.use_alone();
        turn.store(1 - me, write);
        wants[me].store(false, write);
    };
    both(|| enter(0), || enter(1));
}

#[test]
fn dekker_with_acquire_and_release() {
    only_weak(|| dekker([Release, Acquire]), |failure| assert!(!older(failure).is_empty()));
}

#[test]
fn dekker_with_sequential_consistency() {
    right(|| dekker([SeqCst, SeqCst]));
}

/// Stores of two threads that overtake each other.
#[test]
fn stores_in_two_orders() {
    let run = |order| {
        move || {
            let [x, y] = [AtomicUsize::new(0), AtomicUsize::new(0)];
            let store = |first: &AtomicUsize, second: &AtomicUsize| {
                first.store(1, order);
                second.store(2, order);
            };
            both(|| store(&x, &y), || store(&y, &x));
            assert_ne!((x.into_inner(), y.into_inner()), (1, 1), "both second stores were first");
        }
    };
    right(run(SeqCst));
    only_weak(run(Release), |failure| assert!(overtaken(failure).count() > 0));
}

/// Lazy initialisation by a flag that is checked twice.
fn double_checked(write: Ordering, read: Ordering) {
    let ready = AtomicBool::new(false);
    let lock = std::sync::Mutex::new(());
    let value = AtomicUsize::new(0);
    let get = || {
        if !ready.load(read) {
            let _guard = lock.lock().unwrap();
            if !ready.load(Relaxed) {
                value.store(7, Relaxed);
                ready.store(true, write);
            }
        }
        value.load(Relaxed)
    };
    assert_eq!(both(get, get), (7, 7), "seen before it was initialised");
}

#[test]
fn double_checked_initialisation() {
    only_weak(|| double_checked(Relaxed, Relaxed), |_| ());
    right(|| double_checked(Release, Acquire));
}

/// Two words that change together, read without a lock (Boehm, MSPC 2012).
fn seqlock(fences: bool) {
    let version = AtomicUsize::new(0);
    let words = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let fence = |order| {
        if fences {
            fence(order);
        }
    };
    let write = || {
        version.store(1, Relaxed);
        fence(Release);
        words.iter().for_each(|word| word.store(1, Relaxed));
        version.store(2, Release);
    };
    let read = || {
        let before = version.load(Acquire);
        if before % 2 == 1 {
            return;
        }
        let seen = words.each_ref().map(|word| word.load(Relaxed));
        fence(Acquire);
        if version.load(Relaxed) == before {
            assert_eq!(seen[0], seen[1], "torn");
        }
    };
    both(write, read);
}

#[test]
fn seqlock_without_fences() {
    only_weak(|| seqlock(false), |_| ());
    right(|| seqlock(true));
}

/// A reader announces what it uses; whoever takes that away looks for it before freeing.
fn hazard_pointer(order: Option<Ordering>) {
    let current = AtomicUsize::new(1);
    let hazard = AtomicUsize::new(0);
    let freed = AtomicBool::new(false);
    let fence = || {
        if let Some(order) = order {
            fence(order);
        }
    };
    let read = || {
        hazard.store(1, Relaxed);
        fence();
        if current.load(Acquire) == 1 {
            assert!(!freed.load(Relaxed), "used after it was freed");
        }
        hazard.store(0, Release);
    };
    let retire = || {
        current.store(2, Release);
        fence();
        if hazard.load(Acquire) != 1 {
            freed.store(true, Relaxed);
        }
    };
    both(read, retire);
}

#[test]
fn hazard_pointers_without_a_fence() {
    only_weak(|| hazard_pointer(None), |_| ());
    only_weak(|| hazard_pointer(Some(AcqRel)), |_| ());
    right(|| hazard_pointer(Some(SeqCst)));
}

/// The standard library's own synchronisation, which is not instrumented, orders what it should.
mod std_orders {
    use super::*;
    use std::sync::{Barrier, Condvar, Mutex, Once, OnceLock, RwLock, mpsc};

    /// A relaxed variable that must be seen: what `pass` does to it in one thread, the other must read after `take`.
    #[track_caller]
    fn check<S: Sync>(make: impl Fn() -> S, pass: impl Fn(&S) + Sync, take: impl Fn(&S) -> bool + Sync) {
        right(|| {
            let shared = make();
            let data = AtomicUsize::new(0);
            both(
                || {
                    data.store(1, Relaxed);
                    pass(&shared);
                },
                || {
                    if take(&shared) {
                        assert_eq!(data.load(Relaxed), 1, "not ordered");
                    }
                },
            );
        });
    }

    #[test]
    fn mutex() {
        check(|| Mutex::new(false), |lock| *lock.lock().unwrap() = true, |lock| *lock.lock().unwrap());
    }

    #[test]
    fn rwlock() {
        check(|| RwLock::new(false), |lock| *lock.write().unwrap() = true, |lock| *lock.read().unwrap());
    }

    #[test]
    fn condvar() {
        check(
            || (Mutex::new(false), Condvar::new()),
            |(lock, condition)| {
                *lock.lock().unwrap() = true;
                condition.notify_one();
            },
            |(lock, condition)| {
                let mut ready = lock.lock().unwrap();
                while !*ready {
                    ready = condition.wait(ready).unwrap();
                }
                true
            },
        );
    }

    #[test]
    fn once() {
        check(Once::new, |once| once.call_once(|| ()), Once::is_completed);
    }

    #[test]
    fn once_lock() {
        check(OnceLock::new, |cell| cell.set(1).unwrap(), |cell| cell.get().is_some());
    }

    #[test]
    fn barrier() {
        let wait = |barrier: &Barrier| {
            barrier.wait();
            true
        };
        check(|| Barrier::new(2), |barrier| _ = wait(barrier), wait);
    }

    #[test]
    fn channels() {
        type Ends = (Mutex<mpsc::SyncSender<()>>, Mutex<mpsc::Receiver<()>>);
        for capacity in [0, 1] {
            check(
                || -> Ends {
                    let (sender, receiver) = mpsc::sync_channel(capacity);
                    (Mutex::new(sender), Mutex::new(receiver))
                },
                |(sender, _)| sender.lock().unwrap().send(()).unwrap(),
                |(_, receiver)| receiver.lock().unwrap().recv().is_ok(),
            );
        }
    }

    #[test]
    fn park_and_join() {
        right(|| {
            let data = Arc::new(AtomicUsize::new(0));
            let parked = {
                let data = data.clone();
                thread::spawn(move || {
                    thread::park();
                    assert_eq!(data.load(Relaxed), 1);
                    data.store(3, Relaxed);
                })
            };
            data.store(1, Relaxed);
            parked.thread().unpark();
            parked.join().unwrap();
            assert_eq!(data.load(Relaxed), 3);
        });
    }

    #[test]
    fn scopes() {
        right(|| {
            let data = AtomicUsize::new(0);
            thread::scope(|scope| {
                scope.spawn(|| data.store(1, Relaxed));
            });
            assert_eq!(data.load(Relaxed), 1);
        });
    }

    #[test]
    fn the_last_handle_knows_what_the_others_did() {
        struct Last(Arc<AtomicUsize>);
        impl Drop for Last {
            fn drop(&mut self) {
                assert_eq!(self.0.load(Relaxed), 2);
            }
        }
        right(|| {
            let count = Arc::new(AtomicUsize::new(0));
            let last = Arc::new(Last(count));
            let use_it = |last: Arc<Last>| move || _ = last.0.fetch_add(1, Relaxed);
            let threads = [last.clone(), last.clone()].map(|last| thread::spawn(use_it(last)));
            drop(last);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}
