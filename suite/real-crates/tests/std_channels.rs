//! Channels of std: unbounded, bounded, rendezvous; disconnection and timeouts.

use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use real_crates::{passes, repeats};

#[test]
fn channel_keeps_each_senders_order_and_ends_when_they_are_gone() {
    passes(1500, || {
        let (sender, receiver) = mpsc::channel();
        for by in 0..2 {
            let sender = sender.clone();
            thread::spawn(move || (0..2).for_each(|i| sender.send((by, i)).unwrap()));
        }
        drop(sender);
        let received: Vec<(i32, i32)> = receiver.iter().collect();
        for by in 0..2 {
            let own: Vec<i32> = received.iter().filter(|(from, _)| *from == by).map(|(_, i)| *i).collect();
            assert_eq!(own, [0, 1]);
        }
    });
}

#[test]
fn sync_channel_holds_no_more_than_its_bound() {
    passes(1500, || {
        let (sender, receiver) = mpsc::sync_channel(1);
        let producer = thread::spawn(move || {
            let sent = (0..3).map(|i| sender.try_send(i)).filter(|sent| sent.is_ok()).count();
            sender.send(9).unwrap();
            sent
        });
        let received: Vec<i32> = receiver.iter().collect();
        let sent = producer.join().unwrap();
        assert_eq!((received.len(), received.last()), (sent + 1, Some(&9)));
        assert!((1..=3).contains(&sent));
    });
}

#[test]
fn a_rendezvous_ends_for_both_sides_together() {
    passes(1500, || {
        let (sender, receiver) = mpsc::sync_channel(0);
        assert!(matches!(sender.try_send(0), Err(TrySendError::Full(0))));
        let producer = thread::spawn(move || (1..3).for_each(|i| sender.send(i).unwrap()));
        assert_eq!(receiver.recv(), Ok(1));
        assert_eq!(receiver.recv(), Ok(2));
        assert!(receiver.recv().is_err());
        producer.join().unwrap();
    });
}

#[test]
fn a_receiver_that_is_gone_makes_send_fail() {
    passes(1500, || {
        let (sender, receiver) = mpsc::channel();
        let receiver = thread::spawn(move || receiver.try_recv());
        let sent = sender.send(1);
        let received = receiver.join().unwrap();
        match received {
            Ok(1) => assert!(sent.is_ok()),
            Err(TryRecvError::Empty) => {}
            other => panic!("{other:?}"),
        }
        assert!(sender.send(2).is_err());
    });
}

#[test]
fn a_timeout_is_virtual_and_exact() {
    passes(500, || {
        let (sender, receiver) = mpsc::channel::<()>();
        let begin = Instant::now();
        let hour = Duration::from_secs(3600);
        assert_eq!(receiver.recv_timeout(hour), Err(RecvTimeoutError::Timeout));
        assert_eq!(begin.elapsed(), hour);
        let late = thread::spawn(move || {
            thread::sleep(hour);
            sender.send(())
        });
        assert_eq!(receiver.recv_timeout(hour / 2), Err(RecvTimeoutError::Timeout));
        assert_eq!(receiver.recv_timeout(hour), Ok(()));
        assert_eq!(begin.elapsed(), hour * 2);
        late.join().unwrap().unwrap();
    });
}

#[test]
fn channel_failures_repeat() {
    repeats(5000, || {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        thread::spawn(move || sender.send(1));
        thread::spawn(move || other.send(2));
        let received: Vec<i32> = receiver.iter().collect();
        assert_ne!(received, [2, 1]);
    });
}

#[test]
fn rendezvous_failures_repeat() {
    repeats(5000, || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let other = sender.clone();
        thread::spawn(move || sender.send(1));
        thread::spawn(move || other.send(2));
        let received: Vec<i32> = receiver.iter().collect();
        assert_ne!(received, [2, 1]);
    });
}
