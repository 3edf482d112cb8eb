//! Threads that ask to go later need not: giving way is a hint, and a short sleep may end before the others have come far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use broken::{finds, passes, searching};
use raddle::{Kind, Strategy};
use support::sampling;

/// Looks for the flag so many times, and gives way in between.
fn looks_in_vain(flag: &AtomicBool, patience: u32) -> bool {
    (0..patience).all(|_| {
        thread::yield_now();
        !flag.load(SeqCst)
    })
}

fn waits_for_a_flag(patience: u32) -> impl Fn() {
    move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = thread::spawn({
            let flag = Arc::clone(&flag);
            move || flag.store(true, SeqCst)
        });
        assert!(!looks_in_vain(&flag, patience), "out of patience");
        other.join().unwrap();
    }
}

#[test]
fn giving_way_a_few_times_is_no_way_to_wait() {
    finds(&sampling(), Kind::Panic, waits_for_a_flag(4), |failure| {
        assert!(failure.message.contains("out of patience"), "{}", failure.message);
    });
    finds(&[Strategy::Bounded(2)], Kind::Panic, waits_for_a_flag(2), |_| ());
}

#[test]
fn giving_way_until_it_is_so_is_a_way_to_wait() {
    passes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = thread::spawn({
            let flag = Arc::clone(&flag);
            move || flag.store(true, SeqCst)
        });
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
        other.join().unwrap();
    });
}

/// One thread sleeps and then sets the flag; the other looks twice.
fn sees_the_flag_change(sleep: Duration) {
    let flag = Arc::new(AtomicU32::new(0));
    let sleeper = thread::spawn({
        let flag = Arc::clone(&flag);
        move || {
            thread::sleep(sleep);
            flag.store(1, SeqCst);
        }
    });
    let (before, after) = (flag.load(SeqCst), flag.load(SeqCst));
    assert!(before == after, "the flag has changed");
    sleeper.join().unwrap();
}

#[test]
fn a_short_sleep_ends_while_others_are_busy() {
    finds(
        &searching(),
        Kind::Panic,
        || sees_the_flag_change(Duration::from_micros(100)),
        |failure| {
            assert!(failure.message.contains("changed"), "{}", failure.message);
        },
    );
}

#[test]
fn a_long_sleep_ends_when_the_others_wait() {
    passes(|| sees_the_flag_change(Duration::from_millis(5)));
}

#[test]
fn a_short_timeout_comes_although_the_answer_is_on_its_way() {
    let asks = |timeout: Duration| {
        let (sender, receiver) = mpsc::channel();
        let answers = thread::spawn(move || sender.send(1));
        let answer = receiver.recv_timeout(timeout);
        assert_ne!(answer, Err(RecvTimeoutError::Timeout));
        drop(receiver);
        let _ = answers.join().unwrap();
    };
    finds(&searching(), Kind::Panic, || asks(Duration::from_micros(10)), |_| ());
    passes(|| asks(Duration::from_secs(1)));
}
