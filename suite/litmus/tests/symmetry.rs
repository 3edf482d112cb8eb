//! Threads that are alike: one execution of those in which they are exchanged.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU32};
use std::sync::{Condvar, Mutex};
use std::thread;

use litmus::Model;
use litmus::check::explorer;
use raddle::symmetric;

/// Runs threads that do the same, alike or not, beside another. Returns what they did, in ascending order.
fn run<T: Ord + Send>(
    alike: bool,
    threads: usize,
    body: impl Fn() -> T + Copy + Send,
    other: impl FnOnce() + Send,
) -> Vec<T> {
    let mut seen: Vec<T> = thread::scope(|scope| {
        let make = || (0..threads).map(|_| scope.spawn(body)).collect::<Vec<_>>();
        let threads = if alike { symmetric(make) } else { make() };
        scope.spawn(other);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    seen.sort_unstable();
    seen
}

/// Runs a program whose threads are alike (`true`) or not, and holds the outcomes against each other. Returns how many executions
/// each way takes.
#[track_caller]
fn compare<T: Ord + Clone + std::fmt::Debug>(model: Model, program: impl Fn(bool) -> T) -> (u64, u64) {
    let explore = |alike| {
        let report = explorer(model).run(&(|| program(alike)) as &dyn Fn() -> T);
        assert!(report.exhausted);
        (report.executions, report.outcomes.into_keys().collect::<BTreeSet<T>>())
    };
    let ((all, outcomes), (some, same)) = (explore(false), explore(true));
    assert_eq!(outcomes, same, "{model:?}");
    (all, some)
}

mod symmetry {
    use super::*;

    #[test]
    fn only_what_cannot_be_exchanged_counts() {
        for model in Model::ALL {
            let increments = |alike| {
                let x = AtomicU32::new(0);
                run(alike, 4, || x.fetch_add(1, Relaxed), || ())
            };
            assert_eq!(compare(model, increments), (24, 1), "{model:?}");
            let readers = |alike| {
                let x = AtomicU32::new(0);
                run(alike, 6, || x.load(Acquire), || x.store(1, Release))
            };
            assert_eq!(compare(model, readers), (64, 7), "{model:?}");
            let locks = |alike| {
                let x = Mutex::new(0);
                let increment = || {
                    *x.lock().unwrap() += 1;
                    *x.lock().unwrap() += 1;
                };
                run(alike, 3, increment, || ())
            };
            assert_eq!(compare(model, locks), (90, 15), "{model:?}");
        }
    }

    /// Each thread has a node of its own, at an address of its own.
    #[test]
    fn memory_of_their_own_tells_threads_not_apart() {
        struct Node {
            next: *mut Node,
        }
        let push = |head: &AtomicPtr<Node>| {
            let node = Box::into_raw(Box::new(Node { next: ptr::null_mut() }));
            let mut tries = 0;
            loop {
                tries += 1;
                let next = head.load(Relaxed);
                // SAFETY: it is not published yet.
                unsafe { (*node).next = next };
                if head.compare_exchange(next, node, Release, Relaxed).is_ok() {
                    return tries;
                }
            }
        };
        for model in Model::ALL {
            let (all, some) = compare(model, |alike| {
                let head = AtomicPtr::new(ptr::null_mut());
                let tries = run(alike, 3, || push(&head), || ());
                let (mut node, mut nodes) = (head.into_inner(), 0);
                while !node.is_null() {
                    // SAFETY: all threads have ended, and left nodes that are linked.
                    node = unsafe { Box::from_raw(node).next };
                    nodes += 1;
                }
                (tries, nodes)
            });
            assert_eq!(all, some * 6, "{model:?}");
        }
    }

    #[test]
    fn threads_that_wait() {
        for model in Model::ALL {
            let (all, some) = compare(model, |alike| {
                let (lock, counter) = (AtomicU32::new(0), AtomicU32::new(0));
                let increment = || {
                    while lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                        std::hint::spin_loop();
                    }
                    let before = counter.load(Relaxed);
                    counter.store(before + 1, Relaxed);
                    lock.store(0, Release);
                    before
                };
                run(alike, 3, increment, || ())
            });
            assert!(some < all, "{model:?}: {some} of {all}");
            let (all, some) = compare(model, |alike| {
                let flag = AtomicU32::new(0);
                let wait = || {
                    while flag.load(Acquire) == 0 {
                        std::hint::spin_loop();
                    }
                    flag.fetch_add(1, AcqRel)
                };
                run(alike, 3, wait, || flag.store(1, Release))
            });
            assert!(some < all, "{model:?}: {some} of {all}");
            let (all, some) = compare(model, |alike| {
                let (tokens, more) = (Mutex::new(0), Condvar::new());
                let take = || {
                    let mut tokens = more.wait_while(tokens.lock().unwrap(), |tokens| *tokens == 0).unwrap();
                    *tokens -= 1;
                    *tokens
                };
                let put = || {
                    *tokens.lock().unwrap() += 2;
                    more.notify_all();
                };
                run(alike, 2, take, put)
            });
            assert!(some < all, "{model:?}: {some} of {all}");
        }
    }

    #[test]
    fn within_a_bound_too() {
        for most in 0..3 {
            let outcomes = |alike| {
                let report = explorer(Model::Sc).preemptions(most).run(|| {
                    let (x, y) = (AtomicU32::new(0), AtomicU32::new(0));
                    let both = || {
                        let seen = x.load(SeqCst);
                        y.store(seen + 1, SeqCst);
                        (seen, x.fetch_add(y.load(SeqCst), SeqCst))
                    };
                    run(alike, 2, both, || y.store(3, SeqCst))
                });
                assert!(report.complete);
                (report.executions, report.outcomes.into_keys().collect::<Vec<_>>())
            };
            let ((all, expected), (some, found)) = (outcomes(false), outcomes(true));
            assert_eq!(expected, found, "{most} preemptions");
            assert_eq!(all, 2 * some, "{most} preemptions");
        }
    }

    #[test]
    fn failures_are_found() {
        let lost_update = || {
            let x = AtomicU32::new(0);
            run(true, 3, || x.store(x.load(SeqCst) + 1, SeqCst), || ());
            assert_ne!(x.into_inner(), 1);
        };
        for model in Model::ALL {
            assert!(explorer(model).try_run(lost_update).is_err(), "{model:?}");
        }
    }

    /// What the exploration of a program complains about.
    #[track_caller]
    fn complaint(program: impl Fn()) -> String {
        let complaint =
            catch_unwind(AssertUnwindSafe(|| explorer(Model::Sc).run(program))).expect_err("complains");
        complaint
            .downcast_ref::<String>()
            .cloned()
            .or(complaint.downcast_ref::<&str>().map(|&text| text.into()))
            .unwrap()
    }

    #[test]
    fn threads_that_are_told_apart() {
        let complaint_about = |body: fn(&AtomicU32, u32)| {
            complaint(move || {
                let x = AtomicU32::new(0);
                thread::scope(|scope| {
                    let x = &x;
                    symmetric(|| (0..2).for_each(|index| _ = scope.spawn(move || body(x, index))));
                });
            })
        };
        let different = |x: &AtomicU32, index: u32| match index {
            0 => _ = x.load(SeqCst),
            _ => x.store(1, SeqCst),
        };
        let longer = |x: &AtomicU32, index: u32| (0..=index).for_each(|_| _ = x.load(SeqCst));
        let shorter = |x: &AtomicU32, index: u32| (0..2 - index).for_each(|_| _ = x.load(SeqCst));
        for body in [different, longer, shorter] {
            let complaint = complaint_about(body);
            assert!(complaint.contains("`symmetric`"), "{complaint}");
        }
        let complaint = complaint(|| {
            let x = AtomicU32::new(0);
            thread::scope(|scope| {
                let [one, other] =
                    symmetric(|| [scope.spawn(|| x.load(SeqCst)), scope.spawn(|| x.load(SeqCst))]);
                one.join().unwrap();
                x.store(1, SeqCst);
                other.join().unwrap();
            });
        });
        assert!(complaint.contains("joined"), "{complaint}");
    }

    /// What happens between them is seen by one and perhaps not by the other.
    #[test]
    fn threads_with_something_in_between_are_not_alike() {
        let outcomes = |between: fn(&AtomicU32)| {
            let report = explorer(Model::Sc).run(move || {
                let x = AtomicU32::new(0);
                thread::scope(|scope| {
                    symmetric(|| {
                        let one = scope.spawn(|| x.load(SeqCst));
                        between(&x);
                        let other = scope.spawn(|| x.load(SeqCst));
                        (one.join().unwrap(), other.join().unwrap())
                    })
                })
            });
            report.outcomes.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(outcomes(|_| ()), [(0, 0)]);
        assert_eq!(outcomes(|x| x.store(1, SeqCst)), [(0, 1), (1, 1)]);
    }
}
