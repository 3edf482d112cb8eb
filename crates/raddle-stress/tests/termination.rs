//! Termination tests: actors that see the signal, and actors that do not.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use raddle_stress::{Ending, Termination};

#[test]
fn an_actor_that_looks_terminates() {
    let outcomes = Termination::new(|| AtomicBool::new(false))
        .actor(|flag| while !flag.load(Relaxed) {})
        .signal(|flag| flag.store(true, Relaxed))
        .time(Duration::from_millis(50))
        .run();
    assert_eq!(outcomes.counts, [(vec![Ending::Terminated], outcomes.executions)]);
}

#[test]
fn an_actor_that_looks_once_is_stale_and_ends_the_run() {
    let outcomes = Termination::new(|| AtomicBool::new(false))
        .actor(|flag| {
            // What a compiler makes of a loop over a plain load.
            if !flag.load(Relaxed) {
                loop {
                    std::thread::yield_now();
                }
            }
        })
        .signal(|flag| flag.store(true, Relaxed))
        .patience(Duration::from_millis(100))
        .run();
    assert_eq!(outcomes.count(&[Ending::Stale]), 1);
    assert_eq!(outcomes.labels().last().unwrap(), &("STALE".to_owned(), 1));
}

#[test]
fn an_actor_that_panics_says_why() {
    let outcomes = Termination::new(|| ())
        .actor(|()| panic!("no"))
        .signal(|()| ())
        .time(Duration::from_millis(10))
        .run();
    assert_eq!(outcomes.panics, [(vec![Err("no".to_owned())], outcomes.executions)]);
}
