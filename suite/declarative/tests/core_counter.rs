//! The whole way, from operations to the smallest failure, on counters.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use raddle::{Kind, Test};

#[derive(Default)]
struct Racy(AtomicUsize);

impl Racy {
    fn inc(&self) -> usize {
        let value = self.0.load(SeqCst);
        self.0.store(value + 1, SeqCst);
        value + 1
    }

    fn get(&self) -> usize {
        self.0.load(SeqCst)
    }
}

fn racy() -> Test<Racy> {
    Test::new(Racy::default)
        .operation("inc", |counter: &Racy| counter.inc())
        .operation("get", |counter: &Racy| counter.get())
}

#[test]
fn a_lost_update_is_found_and_made_small() {
    let failure = racy().fails(Kind::IncorrectResults);
    let scenario = failure.scenario.as_ref().unwrap();
    assert!(scenario.init.is_empty() && scenario.post.is_empty(), "{scenario:?}");
    let calls: Vec<Vec<&str>> =
        scenario.parallel.iter().map(|thread| thread.iter().map(|op| op.call.as_str()).collect()).collect();
    assert_eq!(calls, [["inc()"], ["inc()"]]);
    let results: Vec<Option<&str>> =
        scenario.parallel.iter().flatten().map(|op| op.result.as_deref()).collect();
    assert_eq!(results, [Some("1"), Some("1")]);
    assert!(!failure.reasons.is_empty());
    assert!(failure.file.is_some());
}

#[test]
fn an_atomic_counter_passes() {
    let coverage = Test::new(AtomicUsize::default)
        .operation("inc", |counter: &AtomicUsize| counter.fetch_add(1, SeqCst) + 1)
        .operation("get", |counter: &AtomicUsize| counter.load(SeqCst))
        .iterations(20)
        .run();
    assert_eq!(coverage.scenarios.len(), 20);
    assert!(coverage.complete() > 0, "{coverage}");
}
