//! The canary: three bugs that every exploration of instrumented code finds.
//!
//! Compiled in place of a test, by the same command line. Prints a line for each bug that was missed, and nothing else.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread;

use raddle::Kind;

fn main() {
    expect("a racy counter", Kind::Panic, racy_counter);
    expect("a lost wake-up", Kind::Deadlock, lost_wake_up);
    if cfg!(raddle_canary_races) {
        expect("a data race", Kind::DataRace, data_race);
    }
}

fn expect(what: &str, kind: Kind, body: fn()) {
    if let Some(instead) = raddle::look_for_canary(kind, body) {
        println!("missed: {what}: {instead}");
    }
}

/// Two threads. Their functions have one type, because each instance of what starts a thread costs time to compile, and this program
/// is compiled while somebody waits for tests.
fn both(first: &(dyn Fn() + Sync), second: &(dyn Fn() + Sync)) {
    thread::scope(|scope| {
        for thread in [first, second] {
            scope.spawn(thread);
        }
    });
}

/// Two increments, each a load and a store: one may be lost.
fn racy_counter() {
    let counter = AtomicU32::new(0);
    let increment = || counter.store(counter.load(SeqCst) + 1, SeqCst);
    both(&increment, &increment);
    assert!(counter.load(SeqCst) == 2);
}

/// A thread that looks, lets go of the lock, and then waits: it may be woken in between, and wait for ever.
fn lost_wake_up() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    let waits = || {
        let is_ready = ready.lock().is_ok_and(|ready| *ready);
        if let (false, Ok(guard)) = (is_ready, ready.lock()) {
            drop(changed.wait(guard));
        }
    };
    let wakes = || {
        if let Ok(mut ready) = ready.lock() {
            *ready = true;
        }
        changed.notify_one();
    };
    both(&waits, &wakes);
}

struct Cell(UnsafeCell<u32>);

// SAFETY: it is not, which is the point.
unsafe impl Sync for Cell {}

/// Two plain writes to one place, with nothing between them.
fn data_race() {
    let cell = Cell(UnsafeCell::new(0));
    let cell = &cell;
    // SAFETY: it is not, which is the point.
    let write = move || unsafe { *cell.0.get() = 1 };
    both(&write, &write);
}
