//! crossbeam-channel: all flavours, and select.

use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, after, bounded, never, select, tick, unbounded};
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
fn unbounded_crossbeam_channel_keeps_each_senders_order() {
    keeps_each_senders_order(unbounded);
}

#[test]
fn bounded_crossbeam_channel_keeps_each_senders_order() {
    keeps_each_senders_order(|| bounded(1));
}

#[test]
fn rendezvous_crossbeam_channel_keeps_each_senders_order() {
    keeps_each_senders_order(|| bounded(0));
}

#[test]
fn two_receivers_share_what_is_sent() {
    passes(1000, || {
        let (sender, receiver) = bounded(2);
        let receivers =
            [receiver.clone(), receiver].map(|receiver| thread::spawn(move || receiver.iter().sum::<u32>()));
        for i in [1, 10, 100] {
            sender.send(i).unwrap();
        }
        drop(sender);
        assert_eq!(receivers.map(|receiver| receiver.join().unwrap()).iter().sum::<u32>(), 111);
    });
}

#[test]
fn select_takes_from_whoever_is_ready() {
    passes(1000, || {
        let ((a, from_a), (b, from_b)) = (bounded(0), unbounded());
        let (keep_a, keep_b) = (a.clone(), b.clone());
        thread::spawn(move || a.send(1).unwrap());
        thread::spawn(move || b.send(2).unwrap());
        let mut sum = 0;
        for _ in 0..2 {
            select! {
                recv(from_a) -> value => sum += value.unwrap(),
                recv(from_b) -> value => sum += value.unwrap(),
                recv(never::<()>()) -> _ => unreachable!("never"),
            }
        }
        assert_eq!(sum, 3);
        drop((keep_a, keep_b));
    });
}

#[test]
fn timeouts_and_timers_are_virtual() {
    passes(300, || {
        let begin = Instant::now();
        let (sender, receiver) = bounded::<()>(0);
        let minute = Duration::from_secs(60);
        assert_eq!(receiver.recv_timeout(minute), Err(RecvTimeoutError::Timeout));
        assert_eq!(begin.elapsed(), minute);
        let timer = after(minute);
        thread::spawn(move || {
            thread::sleep(minute * 3);
            drop(sender);
        });
        select! {
            recv(receiver) -> _ => panic!("nobody sends"),
            recv(timer) -> _ => assert_eq!(begin.elapsed(), minute * 2),
        }
        let ticker = tick(minute);
        ticker.recv().unwrap();
        assert_eq!(begin.elapsed(), minute * 3);
        assert!(receiver.recv().is_err());
        assert_eq!(begin.elapsed(), minute * 4);
    });
}

#[test]
fn crossbeam_channel_failures_repeat() {
    repeats(5000, || {
        let (sender, receiver) = bounded(0);
        let other = sender.clone();
        thread::spawn(move || sender.send(1));
        thread::spawn(move || other.send(2));
        let received: Vec<i32> = receiver.iter().collect();
        assert_ne!(received, [2, 1]);
    });
}
