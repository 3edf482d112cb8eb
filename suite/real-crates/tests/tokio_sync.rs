//! tokio::sync, driven by a hand-written executor on park and unpark: one task a thread, no runtime.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use real_crates::{passes, repeats};
use tokio::sync::{Mutex, Notify, OnceCell, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn tokio_mutex_excludes() {
    passes(1000, || {
        let counter = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| block_on(async { *counter.lock().await += 1 }));
            }
        });
        assert_eq!(counter.into_inner(), 2);
    });
}

#[test]
fn rw_lock_excludes_writers() {
    passes(1000, || {
        let pair = RwLock::new((0, 0));
        thread::scope(|scope| {
            scope.spawn(|| {
                block_on(async {
                    let mut pair = pair.write().await;
                    pair.0 += 1;
                    pair.1 += 1;
                });
            });
            block_on(async {
                let pair = pair.read().await;
                assert_eq!(pair.0, pair.1);
            });
        });
    });
}

#[test]
fn semaphore_gives_out_its_permits() {
    passes(1000, || {
        let semaphore = Semaphore::new(1);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let permit = block_on(semaphore.acquire()).unwrap();
                    assert_eq!(semaphore.available_permits(), 0);
                    drop(permit);
                });
            }
        });
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn a_future_that_is_dropped_gives_its_permit_back() {
    passes(1000, || {
        let semaphore = Semaphore::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                // Polled once and dropped: it may have been given the permit in between.
                let mut acquire = Box::pin(semaphore.acquire());
                let polled = acquire.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                drop((polled, acquire));
            });
            semaphore.add_permits(1);
            drop(block_on(semaphore.acquire()).unwrap());
        });
    });
}

#[test]
fn mpsc_keeps_order_and_ends() {
    passes(1000, || {
        let (sender, mut receiver) = mpsc::channel(1);
        thread::spawn(move || {
            block_on(async {
                for i in 0..3 {
                    sender.send(i).await.unwrap();
                }
            });
        });
        let received = block_on(async {
            let mut received = Vec::new();
            while let Some(i) = receiver.recv().await {
                received.push(i);
            }
            received
        });
        assert_eq!(received, [0, 1, 2]);
    });
}

#[test]
fn unbounded_mpsc_loses_nothing() {
    passes(1000, || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        for i in [1, 10] {
            let sender = sender.clone();
            thread::spawn(move || sender.send(i).unwrap());
        }
        drop(sender);
        let sum = block_on(async {
            let mut sum = 0;
            while let Some(i) = receiver.recv().await {
                sum += i;
            }
            sum
        });
        assert_eq!(sum, 11);
    });
}

#[test]
fn oneshot_sends_or_closes() {
    passes(2000, || {
        let (sender, receiver) = oneshot::channel();
        thread::spawn(move || sender.send(1));
        assert_eq!(block_on(receiver), Ok(1));
        let (sender, mut receiver) = oneshot::channel();
        let sent = thread::spawn(move || sender.send(2));
        receiver.close();
        let received = receiver.try_recv().ok();
        assert_eq!(sent.join().unwrap().is_ok(), received == Some(2));
    });
}

#[test]
fn notify_keeps_one_permit() {
    passes(1000, || {
        let notify = Notify::new();
        thread::scope(|scope| {
            scope.spawn(|| notify.notify_one());
            block_on(notify.notified());
        });
    });
}

#[test]
fn broadcast_reaches_every_receiver() {
    passes(1000, || {
        let (sender, first) = broadcast::channel(2);
        let receivers = [sender.subscribe(), first].map(|mut receiver| {
            thread::spawn(move || {
                block_on(async { [receiver.recv().await.unwrap(), receiver.recv().await.unwrap()] })
            })
        });
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        for receiver in receivers {
            assert_eq!(receiver.join().unwrap(), [1, 2]);
        }
    });
}

#[test]
fn watch_shows_the_latest_value() {
    passes(1000, || {
        let (sender, mut receiver) = watch::channel(0);
        let seen = thread::spawn(move || {
            block_on(async {
                let mut seen = vec![*receiver.borrow_and_update()];
                while receiver.changed().await.is_ok() {
                    seen.push(*receiver.borrow_and_update());
                }
                seen
            })
        });
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        drop(sender);
        let seen = seen.join().unwrap();
        assert!(seen.is_sorted() && seen.last() == Some(&2), "{seen:?}");
    });
}

#[test]
fn once_cell_is_initialised_once() {
    passes(1000, || {
        let cell = OnceCell::new();
        let seen = thread::scope(|scope| {
            let threads = [1, 2].map(|i| {
                let cell = &cell;
                scope.spawn(move || *block_on(cell.get_or_init(async || i)))
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(seen[0], seen[1]);
    });
}

#[test]
fn tokio_sync_failures_repeat() {
    repeats(5000, || {
        let (sender, mut receiver) = mpsc::channel(1);
        for i in [1, 2] {
            let sender = sender.clone();
            thread::spawn(move || block_on(sender.send(i)));
        }
        let first = block_on(receiver.recv());
        let second = block_on(receiver.recv());
        assert_ne!((first, second), (Some(2), Some(1)));
    });
}
