//! The canary: three bugs that every exploration of instrumented code finds.
//!
//! Compiled in place of a test, by the same command line. Prints a line for each bug that was missed, and nothing else.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread;

use raddle::{Explored, Explorer, Kind, Memory, Strategy};

fn main() {
    expect("a racy counter", Kind::Panic, racy_counter);
    expect("a lost wake-up", Kind::Deadlock, lost_wake_up);
    if cfg!(raddle_canary_races) {
        expect("a data race", Kind::DataRace, data_race);
    }
}

fn expect(what: &str, kind: Kind, body: fn()) {
    let explorer =
        Explorer::new().strategy(Strategy::Exhaustive).memory(Memory::Sc).explored(Explored::Optional);
    match explorer.executions(1000).try_run(body) {
        Err(failure) if failure.kind == kind => {}
        Err(failure) => println!("missed: {what}: {:?} was found instead: {}", failure.kind, failure.message),
        Ok(report) => {
            println!("missed: {what}: {} events in {} executions", report.events, report.executions)
        }
    }
}

/// Two increments, each a load and a store: one may be lost.
fn racy_counter() {
    let counter = AtomicU32::new(0);
    let increment = || counter.store(counter.load(SeqCst) + 1, SeqCst);
    thread::scope(|scope| {
        scope.spawn(increment);
        scope.spawn(increment);
    });
    assert_eq!(counter.load(SeqCst), 2);
}

/// A thread that looks, lets go of the lock, and then waits: it may be woken in between, and wait for ever.
fn lost_wake_up() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let is_ready = *ready.lock().unwrap();
            if !is_ready {
                drop(changed.wait(ready.lock().unwrap()));
            }
        });
        *ready.lock().unwrap() = true;
        changed.notify_one();
    });
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
    thread::scope(|scope| {
        scope.spawn(write);
        scope.spawn(write);
    });
}
