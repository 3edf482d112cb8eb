//! Threads of the operating system instead of coroutines: slower, and otherwise the same.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_queue::SegQueue;
use raddle::{Backend, Explorer, Kind, Strategy};
use real_crates::{assert_same, fails, strategies};

/// The same search on either back end: the same executions, events, switches and outcomes.
#[track_caller]
fn agree<T: Ord + Clone + std::fmt::Debug>(executions: u64, body: impl Fn() -> T) {
    for strategy in strategies() {
        let explore = |backend| {
            let explorer = Explorer::new().strategy(strategy.clone()).executions(executions);
            let report = explorer.backend(backend).run(&body);
            (report.executions, report.complete, report.events, report.switches, report.outcomes)
        };
        assert_eq!(explore(Backend::Threads), explore(Backend::Coroutines), "{strategy}");
    }
}

/// A failure found on one back end is the same on the other, to the event.
#[track_caller]
fn agree_on_failure(kind: Kind, body: impl Fn()) {
    let found = fails(Explorer::new().executions(5_000), &body);
    assert_eq!(found.kind, kind);
    for backend in [Backend::Coroutines, Backend::Threads] {
        let schedule = Strategy::Schedule(found.schedule.0.clone());
        let again = fails(Explorer::new().strategy(schedule).backend(backend).executions(1), &body);
        assert_same(&format!("{backend:?}"), &found, &again);
    }
}

mod backends_agree_on {
    use super::*;

    #[test]
    fn locks_and_channels() {
        agree(100, || {
            let (sender, receiver) = mpsc::channel();
            let order = Arc::new(Mutex::new(Vec::new()));
            for i in 0..2 {
                let (sender, order) = (sender.clone(), Arc::clone(&order));
                thread::spawn(move || {
                    order.lock().unwrap().push(i);
                    sender.send(i).unwrap();
                });
            }
            drop(sender);
            (receiver.iter().collect::<Vec<i32>>(), order.lock().unwrap().clone())
        });
    }

    #[test]
    fn lock_free_code() {
        agree(100, || {
            let queue = SegQueue::new();
            thread::scope(|scope| {
                scope.spawn(|| queue.push(1));
                scope.spawn(|| queue.push(2));
            });
            (queue.pop(), queue.pop(), queue.pop())
        });
    }

    #[test]
    fn thread_locals_statics_and_time() {
        thread_local!(static LOCAL: Cell<u32> = const { Cell::new(5) });
        static GLOBAL: AtomicU32 = AtomicU32::new(5);
        agree(100, || {
            let begin = Instant::now();
            let threads = [1, 2].map(|i| {
                thread::spawn(move || {
                    thread::sleep(Duration::from_secs(i.into()));
                    LOCAL.set(LOCAL.get() + i);
                    GLOBAL.fetch_add(LOCAL.get(), SeqCst)
                })
            });
            let seen = threads.map(|thread| thread.join().unwrap());
            (seen, LOCAL.get(), GLOBAL.load(SeqCst), begin.elapsed())
        });
    }

    #[test]
    fn panics() {
        agree_on_failure(Kind::Panic, || {
            // On the heap: the stacks of OS threads lie elsewhere.
            let counter = Arc::new(AtomicU32::new(0));
            let threads = [(); 2].map(|()| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || counter.store(counter.load(SeqCst) + 1, SeqCst))
            });
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(counter.load(SeqCst), 2);
        });
    }

    #[test]
    fn deadlocks() {
        agree_on_failure(Kind::Deadlock, || {
            let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
            let (a2, b2) = (Arc::clone(&a), Arc::clone(&b));
            let one = thread::spawn(move || {
                let _a = a.lock().unwrap();
                drop(b.lock().unwrap());
            });
            let _b = b2.lock().unwrap();
            drop(a2.lock().unwrap());
            one.join().unwrap();
        });
    }
}
