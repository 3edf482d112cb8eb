//! Locks of `parking_lot`: who holds them, event by event.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use parking_lot::{Mutex, RwLock, RwLockUpgradableReadGuard};
use raddle::{Explorer, Failure};

fn failure(body: fn()) -> Box<Failure> {
    Explorer::new().try_run(body).expect_err("the closure fails")
}

#[test]
fn a_mutex_has_a_holder() {
    let failure = failure(|| {
        let total = Arc::new(Mutex::new(0_u32));
        let threads = [1, 2].map(|_| {
            let total = total.clone();
            thread::spawn(move || {
                let seen = *total.lock();
                *total.lock() = seen + 1;
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*total.lock(), 2);
    });
    let states = states(&failure, "Mutex#1");
    assert_eq!(states.first().map(String::as_str), Some("Mutex(locked by T2: 0)"), "{states:?}");
    for state in
        ["Mutex(unlocked: 0)", "Mutex(locked by T1: 0)", "Mutex(unlocked: 1)", "Mutex(locked by T0: 1)"]
    {
        assert!(states.contains(&state.to_owned()), "no `{state}` in {states:?}");
    }
}

#[test]
fn a_mutex_that_others_wait_for_has_the_same_holder() {
    let failure = failure(|| {
        let (left, right) = (Arc::new(Mutex::new('l')), Arc::new(Mutex::new('r')));
        let (other_left, other_right) = (left.clone(), right.clone());
        let other = thread::spawn(move || {
            let right = other_right.lock();
            let left = other_left.lock();
            drop((left, right));
        });
        let held = left.lock();
        drop((right.lock(), held));
        other.join().unwrap();
    });
    let end = objects::end(&failure).join("; ");
    assert!(end.contains("Mutex(locked by T0: 'l')") && end.contains("Mutex(locked by T1: 'r')"), "{end}");
}

#[test]
fn a_lock_for_readers_and_writers_has_its_readers_or_its_writer() {
    let failure = failure(|| {
        let table = Arc::new(RwLock::new(vec![1_u32]));
        let seen = Arc::new(AtomicU32::new(0));
        let threads = [1, 2].map(|_| {
            let (table, seen) = (table.clone(), seen.clone());
            thread::spawn(move || {
                let first = table.read();
                seen.fetch_add(first[0], SeqCst);
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let reading = table.upgradable_read();
        let mut writing = RwLockUpgradableReadGuard::upgrade(reading);
        writing.push(2);
        drop(writing);
        assert_eq!(table.read().len(), 1);
    });
    let states = states(&failure, "RwLock#1");
    for state in [
        "RwLock(read-locked by T1: [1])",
        "RwLock(unlocked: [1])",
        "RwLock(read-locked by T0: [1])",
        "RwLock(write-locked by T0: [1])",
        "RwLock(unlocked: [1, 2])",
    ] {
        assert!(states.contains(&state.to_owned()), "no `{state}` in {states:?}");
    }
}

/// The states of an object, one after the other.
fn states(failure: &Failure, name: &str) -> Vec<String> {
    let objects = objects::objects(failure);
    let object = objects.list.iter().position(|object| object.name == name).expect("the object is shown");
    let mut states = Vec::new();
    for event in 0..failure.trace.events.len() {
        if let Some(value) = &objects.at(&failure.trace, Some(event))[object] {
            states.push(value.text(&objects.list).to_string());
        }
    }
    states.dedup();
    states
}
