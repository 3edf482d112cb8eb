//! event-listener: notifications for threads, on atomics and a list of waiters.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use event_listener::{Event, Listener};
use real_crates::{passes, repeats};

/// The way the crate's documentation says to wait: check, listen, check again, wait.
fn wait_for(flag: &AtomicBool, event: &Event) {
    while !flag.load(SeqCst) {
        let listener = event.listen();
        if flag.load(SeqCst) {
            return;
        }
        listener.wait();
    }
}

#[test]
fn nobody_misses_the_notification() {
    passes(1000, || {
        let (flag, event) = (AtomicBool::new(false), Event::new());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| wait_for(&flag, &event));
            }
            flag.store(true, SeqCst);
            event.notify(usize::MAX);
        });
    });
}

#[test]
fn one_notification_wakes_one_listener() {
    passes(1000, || {
        let (woken, event) = (AtomicUsize::new(0), Event::new());
        let listeners = [event.listen(), event.listen()];
        thread::scope(|scope| {
            for listener in listeners {
                let woken = &woken;
                scope.spawn(move || {
                    if listener.wait_timeout(Duration::from_secs(1)).is_some() {
                        woken.fetch_add(1, SeqCst);
                    }
                });
            }
            event.notify(1);
        });
        assert_eq!(woken.load(SeqCst), 1);
    });
}

#[test]
fn a_listener_that_gives_up_passes_its_notification_on() {
    passes(1000, || {
        let event = Event::new();
        let (first, second) = (event.listen(), event.listen());
        thread::scope(|scope| {
            scope.spawn(|| {
                event.notify(1);
                drop(first);
            });
            second.wait();
        });
    });
}

#[test]
fn event_listener_failures_repeat() {
    repeats(5000, || {
        let event = Event::new();
        let first = AtomicUsize::new(0);
        let listeners = [event.listen(), event.listen()];
        thread::scope(|scope| {
            for (i, listener) in listeners.into_iter().enumerate() {
                let first = &first;
                scope.spawn(move || {
                    listener.wait();
                    first.compare_exchange(0, i + 1, SeqCst, SeqCst)
                });
            }
            event.notify(2);
        });
        assert_ne!(first.load(SeqCst), 2, "the second came first");
    });
}
