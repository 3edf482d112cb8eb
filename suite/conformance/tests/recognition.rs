//! Sampled executions that are recognised, and not made.

use std::arch::asm;
use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread;

use conformance::BUGS;
use raddle::{Explorer, Report};
use support::sampling;

/// What a program returns.
type Outcome = Vec<usize>;

/// A program and its name.
type Program = (&'static str, fn() -> Outcome);

/// Enough executions that those of small programs repeat themselves.
const MANY: u64 = 6_000;

/// Programs whose executions are recognised.
const RECOGNISED: &[Program] = &[
    ("nothing", Vec::new),
    ("increments", increments),
    ("lost updates", lost_updates),
    ("locks", locks),
    ("locks that are tried", try_locks),
    ("references", references),
    ("phases", phases),
    ("one after the other", one_after_the_other),
    ("threads that end first", || threads_that_end(4)),
    ("exchanges", exchanges),
    ("words of several sizes", sizes),
];

/// Programs with steps that no order of events shows, so that their executions are made.
const MADE: &[Program] =
    &[("threads of threads", threads_of_threads), ("waits", waits), ("yields", yields), ("scopes", scopes)];

/// Programs whose executions are recognised or not: the compiler decides which of std's accesses can be told from the program's, or
/// samples decide when an unseen step shows.
const PERHAPS: &[Program] = &[
    ("weak references", weak_references),
    ("threads that outlive the first", threads_that_outlive),
    ("unseen steps", unseen),
];

fn explore(strategy: &raddle::Strategy, recognise: bool, program: fn() -> Outcome) -> Report<Outcome> {
    let explorer = Explorer::new().strategy(strategy.clone()).seed(7).recognise(recognise);
    explorer.executions(MANY).allow_one_thread(true).run(program)
}

/// What must not depend on recognition.
fn result(report: &Report<Outcome>) -> (u64, u64, u64, &BTreeMap<Outcome, u64>, &[&'static str]) {
    (report.executions, report.events, report.switches, &report.outcomes, &report.left_out)
}

#[test]
fn the_result_is_the_same_without_it() {
    for strategy in sampling() {
        for &(name, program) in RECOGNISED.iter().chain(MADE).chain(PERHAPS) {
            // Each execution has an outcome, also if it begins when the closure has returned.
            let [with, without] = [true, false].map(|recognise| explore(&strategy, recognise, program));
            assert_eq!(without.recognised, 0);
            assert_eq!(without.outcomes.values().sum::<u64>(), without.executions, "{name}, {strategy}");
            // Which executions are checked changes how often each outcome of an unseen step is seen, not which are.
            if name == "unseen steps" {
                assert!(with.outcomes.keys().eq(without.outcomes.keys()), "{strategy}: {with:?}");
            } else {
                assert_eq!(result(&with), result(&without), "{name}, {strategy}");
            }
        }
    }
}

#[test]
fn most_executions_of_small_programs_are_recognised() {
    for strategy in sampling() {
        for &(name, program) in RECOGNISED {
            let report = explore(&strategy, true, program);
            assert!(report.recognised > report.executions / 2, "{name}, {strategy}: {}", report.recognised);
        }
        for &(name, program) in MADE {
            assert_eq!(explore(&strategy, true, program).recognised, 0, "{name}, {strategy}");
        }
    }
}

#[test]
fn bugs_are_found_by_the_same_execution() {
    for strategy in sampling() {
        for bug in BUGS {
            let found_by = |recognise: bool| {
                let explorer = Explorer::new().strategy(strategy.clone()).recognise(recognise);
                let failure = explorer.executions(MANY).try_run(|| (bug.program)(false)).err();
                failure.map(|failure| (failure.kind, failure.found_by.execution))
            };
            assert_eq!(found_by(true), found_by(false), "{}, {strategy}", bug.name);
        }
    }
}

/// Two bugs that hardly any execution shows: the ends of a long run of one thread.
#[test]
fn rare_bugs_are_found_by_the_same_execution() {
    for strategy in sampling() {
        for seed in 0..4 {
            let found_by = |recognise: bool| {
                let explorer = Explorer::new().strategy(strategy.clone()).recognise(recognise).seed(seed);
                let failure = explorer.executions(30_000).try_run(|| {
                    let x = Arc::new(AtomicUsize::new(0));
                    let threads = [0, 1].map(|thread| {
                        let x = Arc::clone(&x);
                        thread::spawn(move || (0..6).for_each(|time| x.store(2 * time + thread, SeqCst)))
                    });
                    let seen: Vec<_> = (0..6).map(|_| x.load(SeqCst)).collect();
                    threads.into_iter().for_each(|thread| thread.join().unwrap());
                    assert_ne!(seen, [0, 1, 2, 3, 4, 5]);
                });
                failure.err().map(|failure| failure.found_by.execution)
            };
            assert_eq!(found_by(true), found_by(false), "{strategy}, seed {seed}");
        }
    }
}

fn spawn_each<const N: usize>(body: impl Fn(usize) -> usize + Send + Sync + 'static) -> Outcome {
    let body = Arc::new(body);
    let mut number = 0;
    let threads = [(); N].map(|()| {
        let (body, thread) = (Arc::clone(&body), number);
        number += 1;
        thread::spawn(move || body(thread))
    });
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn increments() -> Outcome {
    let x = AtomicUsize::new(0);
    spawn_each::<4>(move |_| x.fetch_add(1, SeqCst))
}

fn lost_updates() -> Outcome {
    let x = AtomicUsize::new(0);
    spawn_each::<3>(move |_| {
        let value = x.load(SeqCst);
        x.store(value + 1, SeqCst);
        value
    })
}

fn locks() -> Outcome {
    let (a, b) = (Mutex::new(0), Mutex::new(0));
    spawn_each::<3>(move |thread| {
        let (first, second) = if thread == 1 { (&b, &a) } else { (&a, &b) };
        *first.lock().unwrap() += 1;
        let mut guard = second.lock().unwrap();
        *guard += 10 * thread;
        *guard
    })
}

fn try_locks() -> Outcome {
    let lock = Mutex::new(0);
    spawn_each::<3>(move |thread| match thread {
        0 => *lock.lock().unwrap(),
        _ => lock.try_lock().map_or(usize::MAX, |mut value| {
            *value += thread;
            *value
        }),
    })
}

/// The last owner of a value sees what the others did.
fn references() -> Outcome {
    struct Last(Arc<AtomicUsize>, usize);
    impl Drop for Last {
        fn drop(&mut self) {
            let seen = self.0.load(SeqCst);
            self.0.store(100 + seen + self.1, SeqCst);
        }
    }
    let x = Arc::new(AtomicUsize::new(0));
    let shared = Arc::new(Last(Arc::clone(&x), 1000));
    let threads = [1, 2, 3].map(|thread| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            shared.0.fetch_add(thread, SeqCst);
            drop(shared);
        })
    });
    drop(shared);
    let seen = x.load(SeqCst);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    vec![seen, x.load(SeqCst)]
}

fn weak_references() -> Outcome {
    let shared = Arc::new(AtomicUsize::new(5));
    let weak = Arc::downgrade(&shared);
    let count = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || Arc::strong_count(&shared))
    };
    let upgrade = thread::spawn(move || Weak::upgrade(&weak).map_or(0, |shared| shared.fetch_add(1, SeqCst)));
    drop(shared);
    vec![count.join().unwrap(), upgrade.join().unwrap()]
}

/// Threads are spawned by one that was left alone.
fn phases() -> Outcome {
    let x = Arc::new(AtomicUsize::new(0));
    let mut seen = Vec::new();
    for _ in 0..2 {
        let threads = [1, 2].map(|thread| {
            let x = Arc::clone(&x);
            thread::spawn(move || x.swap(thread, SeqCst))
        });
        seen.extend(threads.map(|thread| thread.join().unwrap()));
        seen.push(x.load(SeqCst));
    }
    seen
}

fn one_after_the_other() -> Outcome {
    let x = Arc::new(AtomicUsize::new(0));
    (0..3)
        .map(|_| {
            let x = Arc::clone(&x);
            thread::spawn(move || x.fetch_add(1, SeqCst)).join().unwrap()
        })
        .collect()
}

fn threads_that_end(threads: usize) -> Outcome {
    let threads: Vec<_> = (0..threads).map(|thread| thread::spawn(move || thread)).collect();
    threads.into_iter().rev().map(|thread| thread.join().unwrap()).collect()
}

fn exchanges() -> Outcome {
    let (x, y) = (AtomicUsize::new(0), AtomicBool::new(false));
    spawn_each::<2>(move |thread| {
        let exchanged = x.compare_exchange(thread, thread + 1, SeqCst, Relaxed);
        let was = y.swap(true, SeqCst);
        match exchanged {
            Ok(value) => 10 + value,
            Err(value) => 20 + value + usize::from(was),
        }
    })
}

fn sizes() -> Outcome {
    use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32};
    let (a, b, c) = (AtomicU8::new(0), AtomicU16::new(0), AtomicU32::new(0));
    spawn_each::<2>(move |thread| {
        let seen = a.fetch_add(1, SeqCst) as usize + b.fetch_or(2 << thread, SeqCst) as usize;
        c.store(0, SeqCst);
        seen + c.swap(7, SeqCst) as usize
    })
}

fn threads_of_threads() -> Outcome {
    let x = Arc::new(AtomicUsize::new(0));
    spawn_each::<2>(move |_| {
        let x = Arc::clone(&x);
        thread::spawn(move || x.fetch_add(1, SeqCst)).join().unwrap()
    })
}

fn waits() -> Outcome {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&pair);
    let thread = thread::spawn(move || {
        let mut is_set = other.0.lock().unwrap();
        while !*is_set {
            is_set = other.1.wait(is_set).unwrap();
        }
        1
    });
    *pair.0.lock().unwrap() = true;
    pair.1.notify_one();
    vec![thread.join().unwrap()]
}

fn yields() -> Outcome {
    let x = AtomicUsize::new(0);
    spawn_each::<2>(move |_| {
        thread::yield_now();
        x.fetch_add(1, SeqCst)
    })
}

fn scopes() -> Outcome {
    let x = AtomicUsize::new(0);
    thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| x.fetch_add(1, SeqCst)));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn threads_that_outlive() -> Outcome {
    let x = Arc::new(AtomicUsize::new(0));
    for _ in 0..2 {
        let x = Arc::clone(&x);
        drop(thread::spawn(move || x.fetch_add(1, SeqCst)));
    }
    vec![x.load(SeqCst)]
}

/// A word that only inline assembly accesses. It tells an order of events that are independent.
fn unseen() -> Outcome {
    #[derive(Default)]
    struct Unseen(UnsafeCell<u64>);
    // SAFETY: one OS thread runs all threads of an exploration.
    unsafe impl Sync for Unseen {}
    impl Unseen {
        fn exchange(&self, value: u64) -> usize {
            let before: u64;
            // SAFETY: the word is there, and nothing but this code accesses it.
            unsafe {
                asm!("xchg qword ptr [{}], {}", in(reg) self.0.get(), inout(reg) value => before, options(nostack));
            }
            before as usize
        }
    }
    let word = Unseen::default();
    let places = [AtomicUsize::new(0), AtomicUsize::new(0)];
    spawn_each::<2>(move |thread| {
        places[thread].store(1, SeqCst);
        word.exchange(1 + thread as u64)
    })
}
