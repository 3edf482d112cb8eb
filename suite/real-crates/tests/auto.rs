//! The portfolio that people get who choose nothing: it knows when it knows everything, keeps its budget by the clock, and finds
//! what only one of its searches can find.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use raddle::{Explorer, Kind, Strategy};
use real_crates::fails;

#[test]
fn a_small_program_is_exhausted_at_once() {
    let begin = Instant::now();
    let report = Explorer::new().run(|| {
        let (given, arrived) = (Arc::new(Mutex::new(0)), Arc::new(Condvar::new()));
        let other = thread::spawn({
            let (given, arrived) = (Arc::clone(&given), Arc::clone(&arrived));
            move || {
                *given.lock().unwrap() = 1;
                arrived.notify_one();
            }
        });
        let got = *arrived.wait_while(given.lock().unwrap(), |given| *given == 0).unwrap();
        assert_eq!(got, 1);
        other.join().unwrap();
    });
    assert!(
        report.exhausted && report.left_out.iter().all(|text| text.starts_with("spurious")),
        "{report:?}"
    );
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let exhaustive = report.searches.iter().filter(|ran| ran.strategy == Strategy::Exhaustive);
    assert_eq!(exhaustive.count(), 2);
}

#[test]
fn the_budget_is_kept_by_the_clock() {
    let budget = Duration::from_millis(1500);
    let begin = Instant::now();
    let report = Explorer::new().budget(budget).run(|| {
        let counter = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..8).for_each(|_| _ = counter.fetch_add(1, SeqCst)));
            }
        });
        assert_eq!(counter.load(SeqCst), 32);
    });
    assert!(!report.complete);
    assert!(begin.elapsed() < 2 * budget, "{:?}", begin.elapsed());
    assert!(report.elapsed >= budget - Duration::from_millis(100), "{:?}", report.elapsed);
    let kinds = |strategy: Strategy| report.searches.iter().filter(|ran| ran.strategy == strategy).count();
    assert!(kinds(Strategy::Pos) >= 3 && kinds(Strategy::Pct(3)) >= 1, "{:?}", report.searches);
}

/// A loop that gives way is taken to wait by the exhaustive search, but this one loses patience.
#[test]
fn what_the_exhaustive_search_assumes_is_looked_at_by_others() {
    let failure = fails(Explorer::new().budget(Duration::from_secs(20)), || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = thread::spawn({
            let flag = Arc::clone(&flag);
            move || flag.store(true, SeqCst)
        });
        let waited = (0..5).any(|_| {
            thread::yield_now();
            flag.load(SeqCst)
        });
        assert!(waited, "out of patience");
        other.join().unwrap();
    });
    assert_eq!(failure.kind, Kind::Panic);
    assert_ne!(failure.found_by.strategy, "exhaustive");
}

/// Messages that overtake each other.
#[test]
fn what_only_weak_memory_shows_is_found() {
    let failure = fails(Explorer::new().budget(Duration::from_secs(20)), || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                shared.0.store(1, Relaxed);
                shared.1.store(1, Relaxed);
            }
        });
        if shared.1.load(Relaxed) == 1 {
            assert_eq!(shared.0.load(Relaxed), 1);
        }
        other.join().unwrap();
    });
    assert_eq!(failure.found_by.memory.as_deref(), Some("rc11"));
}
