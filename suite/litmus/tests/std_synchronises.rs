//! What std promises to order is ordered under RC11: relaxed writes on one side are seen on the other. Anything else would be
//! a false alarm.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};
use std::thread;
use std::time::Duration;

use litmus::Model;
use litmus::check::explorer;

/// Passes in all executions, of which there are so many.
#[track_caller]
fn counts(executions: u64, body: impl Fn()) {
    for model in Model::ALL {
        let report = explorer(model).run(&body as &dyn Fn());
        assert!(report.complete, "{model:?}: not complete after {} executions", report.executions);
        assert_eq!(report.executions, executions, "{model:?}");
    }
}

/// Passes in all executions, however many there are. Nothing is left out but wake-ups without a cause and what depends on time.
#[track_caller]
fn is_ordered(body: impl Fn()) {
    for model in Model::ALL {
        let report = explorer(model).run(&body as &dyn Fn());
        assert!(report.exhausted, "{model:?}: not exhausted after {} executions", report.executions);
        let may_be = |left_out: &&str| {
            ["spurious wake-ups", "timeouts", "other times"].iter().any(|&begin| left_out.starts_with(begin))
        };
        assert!(report.left_out.iter().all(may_be), "{:?}", report.left_out);
    }
}

/// As [`is_ordered`], for code that counts how often it yields: no search says then that it is complete.
#[track_caller]
fn is_ordered_though_it_yields(body: impl Fn()) {
    for model in Model::ALL {
        let report = explorer(model).run(&body as &dyn Fn());
        assert!(report.executions > 1, "{model:?}");
    }
}

/// Data that somebody writes, and somebody else must see.
#[derive(Clone, Default)]
struct Data(Arc<AtomicU32>);

impl Data {
    fn write(&self) {
        self.0.store(1, Relaxed);
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(self.0.load(Relaxed), 1, "what was written is not seen");
    }
}

mod synchronises {
    use super::*;

    #[test]
    fn spawn_and_join() {
        counts(1, || {
            let (before, after) = (Data::default(), Data::default());
            before.write();
            let thread = thread::spawn({
                let (before, after) = (before.clone(), after.clone());
                move || {
                    before.check();
                    after.write();
                }
            });
            thread.join().unwrap();
            after.check();
        });
    }

    #[test]
    fn end_of_scope() {
        counts(1, || {
            let data = [AtomicU32::new(0), AtomicU32::new(0)];
            thread::scope(|scope| {
                scope.spawn(|| data[0].store(1, Relaxed));
                scope.spawn(|| data[1].store(1, Relaxed));
            });
            assert_eq!(data.map(AtomicU32::into_inner), [1, 1]);
        });
        counts(1, || {
            let data = [AtomicU32::new(0), AtomicU32::new(0)];
            thread::scope(|scope| {
                scope.spawn(|| data[0].store(1, Relaxed));
                scope.spawn(|| data[1].store(1, Relaxed));
            });
            assert_eq!([&data[0], &data[1]].map(|data| data.load(Relaxed)), [1, 1]);
        });
    }

    #[test]
    fn join_inside_of_scope() {
        counts(1, || {
            let data = AtomicU32::new(0);
            thread::scope(|scope| {
                scope.spawn(|| data.store(1, Relaxed)).join().unwrap();
                assert_eq!(data.load(Relaxed), 1);
            });
        });
    }

    /// The number of executions of threads that race does not depend on how they are started.
    #[test]
    fn scopes_add_no_executions() {
        counts(6, || {
            let counter = AtomicU32::new(0);
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| counter.fetch_add(1, Relaxed));
                }
            });
            assert_eq!(counter.load(Relaxed), 3);
        });
    }

    #[test]
    fn mutex() {
        for threads in 2..=4 {
            counts((1..=threads).product(), || {
                // The counter is an atomic beside the lock: nothing but the lock orders its accesses.
                let (lock, counter) = (Arc::new(Mutex::new(())), Arc::new(AtomicU32::new(0)));
                let increment = || {
                    let (lock, counter) = (lock.clone(), counter.clone());
                    thread::spawn(move || {
                        let _held = lock.lock().unwrap();
                        let value = counter.load(Relaxed);
                        counter.store(value + 1, Relaxed);
                    })
                };
                let handles: Vec<_> = (0..threads).map(|_| increment()).collect();
                handles.into_iter().for_each(|handle| handle.join().unwrap());
                assert_eq!(u64::from(counter.load(Relaxed)), threads);
            });
        }
    }

    #[test]
    fn try_lock() {
        is_ordered(|| {
            let (lock, data) = (Arc::new(Mutex::new(false)), Data::default());
            let writer = thread::spawn({
                let (lock, data) = (lock.clone(), data.clone());
                move || {
                    data.write();
                    *lock.lock().unwrap() = true;
                }
            });
            if lock.try_lock().is_ok_and(|written| *written) {
                data.check();
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn read_write_lock() {
        is_ordered(|| {
            let (lock, data) = (Arc::new(RwLock::new(false)), Data::default());
            let writer = thread::spawn({
                let (lock, data) = (lock.clone(), data.clone());
                move || {
                    let mut written = lock.write().unwrap();
                    data.write();
                    *written = true;
                }
            });
            if *lock.read().unwrap() {
                data.check();
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn condition_variable() {
        is_ordered(|| {
            let (pair, data) = (Arc::new((Mutex::new(false), Condvar::new())), Data::default());
            let writer = thread::spawn({
                let (pair, data) = (pair.clone(), data.clone());
                move || {
                    data.write();
                    *pair.0.lock().unwrap() = true;
                    pair.1.notify_one();
                }
            });
            let _ready = pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap();
            data.check();
            drop(_ready);
            writer.join().unwrap();
        });
    }

    #[test]
    fn park_and_unpark() {
        is_ordered(|| {
            let data = Data::default();
            let waiting = thread::spawn({
                let data = data.clone();
                move || {
                    thread::park();
                    data.check();
                }
            });
            data.write();
            waiting.thread().unpark();
            waiting.join().unwrap();
        });
    }

    /// What was written before something was sent is there once it has been received.
    fn hand_over(send: impl FnOnce() + Send + 'static, receive: impl FnOnce() -> bool) {
        let data = Data::default();
        let writer = thread::spawn({
            let data = data.clone();
            move || {
                data.write();
                send();
            }
        });
        if receive() {
            data.check();
        }
        writer.join().unwrap();
    }

    #[test]
    fn channels() {
        is_ordered_though_it_yields(|| {
            let (sender, receiver) = mpsc::channel();
            hand_over(move || sender.send(()).unwrap(), || receiver.recv().map(|()| true).unwrap());
        });
        is_ordered_though_it_yields(|| {
            let (sender, receiver) = mpsc::sync_channel(0);
            hand_over(move || sender.send(()).unwrap(), || receiver.recv().map(|()| true).unwrap());
        });
    }

    #[test]
    fn a_channel_that_is_waited_for_a_while() {
        is_ordered_though_it_yields(|| {
            let (sender, receiver) = mpsc::channel();
            let receive = || receiver.recv_timeout(Duration::from_secs(1)).is_ok();
            hand_over(move || sender.send(()).unwrap(), receive);
        });
    }

    #[test]
    fn park_and_sleep_with_time() {
        is_ordered(|| {
            let (ready, data) = (Arc::new(AtomicU32::new(0)), Data::default());
            let waiting = thread::spawn({
                let (ready, data) = (ready.clone(), data.clone());
                move || {
                    thread::park_timeout(Duration::from_secs(1));
                    if ready.load(SeqCst) == 1 {
                        data.check();
                    }
                }
            });
            thread::sleep(Duration::from_millis(1));
            data.write();
            ready.store(1, SeqCst);
            waiting.thread().unpark();
            waiting.join().unwrap();
        });
    }

    #[test]
    fn initialisation_once() {
        is_ordered(|| {
            let (once, data) = (Arc::new(Once::new()), Data::default());
            let initialise = || {
                let (once, data) = (once.clone(), data.clone());
                thread::spawn(move || {
                    once.call_once(|| data.write());
                    data.check();
                })
            };
            let handles = [initialise(), initialise()];
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
        is_ordered(|| {
            let cell = Arc::new(OnceLock::new());
            let setter = thread::spawn({
                let cell = cell.clone();
                move || {
                    let data = Data::default();
                    data.write();
                    let _ = cell.set(data);
                }
            });
            cell.get().into_iter().for_each(Data::check);
            setter.join().unwrap();
            cell.get().unwrap().check();
        });
        is_ordered(|| {
            let data = Data::default();
            let lazy = Arc::new(LazyLock::new({
                let data = data.clone();
                move || data.write()
            }));
            let force = || {
                let (lazy, data) = (lazy.clone(), data.clone());
                thread::spawn(move || {
                    LazyLock::force(&lazy);
                    data.check();
                })
            };
            let handles = [force(), force()];
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
    }

    #[test]
    fn barrier() {
        is_ordered(|| {
            let (barrier, data) = (Arc::new(Barrier::new(2)), Data::default());
            let other = thread::spawn({
                let (barrier, data) = (barrier.clone(), data.clone());
                move || {
                    data.write();
                    barrier.wait();
                }
            });
            barrier.wait();
            data.check();
            other.join().unwrap();
        });
    }

    /// The last owner sees what others did before they let go.
    #[test]
    fn reference_counts() {
        struct Owned(Data);
        impl Drop for Owned {
            fn drop(&mut self) {
                self.0.check();
            }
        }
        is_ordered(|| {
            let data = Data::default();
            let owned = Arc::new(Owned(data.clone()));
            let other = thread::spawn({
                let (owned, data) = (owned.clone(), data.clone());
                move || {
                    data.write();
                    drop(owned);
                }
            });
            drop(owned);
            other.join().unwrap();
        });
        // Counting alone makes no difference.
        counts(1, || {
            let owned = Arc::new(1);
            let handles = [(); 3].map(|()| {
                let owned = owned.clone();
                thread::spawn(move || assert_eq!(*owned, 1))
            });
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
    }

    #[test]
    fn threads_that_share_nothing() {
        counts(1, || {
            let handles = [(); 4].map(|()| {
                thread::spawn(|| {
                    let own = AtomicU32::new(0);
                    own.fetch_add(1, SeqCst);
                    own.load(SeqCst)
                })
            });
            handles.into_iter().for_each(|handle| assert_eq!(handle.join().unwrap(), 1));
        });
    }
}
