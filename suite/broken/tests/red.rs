//! A red that means something: what fails is the code under test, it is blamed on the thread that did it, and a test that
//! cannot go on ends.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use broken::{all, finds};
use raddle::{Explorer, Kind, Strategy};

/// Two increments that may get in each other's way.
fn counts() -> usize {
    let count = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let seen = count.load(SeqCst);
                count.store(seen + 1, SeqCst);
            });
        }
    });
    count.into_inner()
}

#[test]
fn explorations_of_one_process_take_turns() {
    for _ in 0..20 {
        let explorations: Vec<_> =
            (0..2).map(|_| thread::spawn(|| Explorer::new().executions(300).run(counts))).collect();
        for exploration in explorations {
            let report = exploration.join().unwrap();
            assert_eq!(report.outcomes.keys().copied().collect::<Vec<_>>(), [1, 2]);
        }
    }
}

#[test]
fn explorations_by_one_strategy_take_turns() {
    for _ in 0..20 {
        thread::scope(|scope| {
            for strategy in [Strategy::Exhaustive, Strategy::Pos, Strategy::Bounded(2)] {
                scope.spawn(|| Explorer::new().strategy(strategy).executions(50).run(counts));
            }
        });
    }
}

/// What threads without a part in the exploration write meanwhile is not undone.
#[test]
fn bystanders_keep_what_they_write() {
    static WRITTEN: [AtomicUsize; 2048] = [const { AtomicUsize::new(0) }; 2048];
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    let bystander = thread::spawn(|| {
        while BEGUN.load(SeqCst) == 0 {}
        for place in &WRITTEN {
            place.fetch_add(1, SeqCst);
        }
    });
    BEGUN.store(1, SeqCst);
    for _ in 0..5 {
        Explorer::new().executions(200).run(counts);
    }
    bystander.join().unwrap();
    let written = WRITTEN.iter().filter(|place| place.load(SeqCst) == 1).count();
    assert_eq!(written, WRITTEN.len());
}

#[test]
fn an_exploration_inside_another_is_named() {
    finds(
        &all(),
        Kind::Panic,
        || raddle::explore(|| ()),
        |failure| {
            let said = "an exploration cannot be started inside another one";
            assert!(failure.message.contains(said), "{}", failure.message);
        },
    );
}
