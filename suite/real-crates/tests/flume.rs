//! flume: channels on a mutex and hand-written signals.

use std::thread;
use std::time::{Duration, Instant};

use flume::{Receiver, RecvTimeoutError, Selector, Sender, bounded, unbounded};
use real_crates::{passes, repeats};

type Channel = (Sender<(u32, u32)>, Receiver<(u32, u32)>);

#[track_caller]
fn keeps_each_senders_order(channel: fn() -> Channel) {
    passes(1000, || {
        let (sender, receiver) = channel();
        for by in 0..2 {
            let sender = sender.clone();
            thread::spawn(move || (0..2).for_each(|i| sender.send((by, i)).unwrap()));
        }
        drop(sender);
        let received: Vec<(u32, u32)> = receiver.iter().collect();
        for by in 0..2 {
            let own: Vec<u32> = received.iter().filter(|(from, _)| *from == by).map(|(_, i)| *i).collect();
            assert_eq!(own, [0, 1]);
        }
    });
}

#[test]
fn unbounded_flume_channel_keeps_each_senders_order() {
    keeps_each_senders_order(unbounded);
}

#[test]
fn bounded_flume_channel_keeps_each_senders_order() {
    keeps_each_senders_order(|| bounded(1));
}

#[test]
fn rendezvous_flume_channel_keeps_each_senders_order() {
    keeps_each_senders_order(|| bounded(0));
}

#[test]
fn a_selector_takes_from_whoever_is_ready() {
    passes(500, || {
        let ((a, from_a), (b, from_b)) = (unbounded(), unbounded());
        let (keep_a, keep_b) = (a.clone(), b.clone());
        thread::spawn(move || a.send(1).unwrap());
        thread::spawn(move || b.send(2).unwrap());
        let mut sum = 0;
        for _ in 0..2 {
            sum += Selector::new()
                .recv(&from_a, |value| value.unwrap())
                .recv(&from_b, |value| value.unwrap())
                .wait();
        }
        assert_eq!(sum, 3);
        drop((keep_a, keep_b));
    });
}

#[test]
fn timeouts_are_virtual() {
    passes(500, || {
        let (sender, receiver) = bounded::<()>(1);
        let (begin, minute) = (Instant::now(), Duration::from_secs(60));
        assert_eq!(receiver.recv_timeout(minute), Err(RecvTimeoutError::Timeout));
        assert!(begin.elapsed() >= minute);
        thread::spawn(move || {
            thread::sleep(minute);
            sender.send(()).unwrap();
        });
        assert_eq!(receiver.recv_timeout(minute * 2), Ok(()));
    });
}

#[test]
fn flume_failures_repeat() {
    repeats(5000, || {
        let (sender, receiver) = bounded(0);
        let other = sender.clone();
        thread::spawn(move || sender.send(1));
        thread::spawn(move || other.send(2));
        let received: Vec<i32> = receiver.iter().collect();
        assert_ne!(received, [2, 1]);
    });
}
