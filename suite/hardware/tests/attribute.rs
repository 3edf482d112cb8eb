//! Graded tests as users write them, with the attribute.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::time::Duration;

use raddle::stress::{Expect, Litmus};

#[derive(Default)]
struct StoreBuffering {
    x: AtomicU32,
    y: AtomicU32,
}

/// Each thread stores to one location and loads the other.
#[raddle::litmus(time = "150ms")]
#[outcome("0, 1", "1, 0", "1, 1", acceptable, "an interleaving")]
#[outcome("0, 0", interesting, "both stores were still in their buffers")]
impl StoreBuffering {
    #[actor]
    fn left(&self) -> u32 {
        self.x.store(1, Relaxed);
        self.y.load(Relaxed)
    }

    #[actor]
    fn right(&self) -> u32 {
        self.y.store(1, Relaxed);
        self.x.load(Relaxed)
    }
}

/// Results of different types.
#[derive(Default)]
struct Mixed(AtomicU32);

#[raddle::litmus(time = "50ms")]
#[outcome("Some(0), (1, true)", "None, (1, true)", acceptable)]
#[outcome("panic: *, *", forbidden)]
impl Mixed {
    #[actor]
    fn option(&self) -> Option<u32> {
        self.0.compare_exchange(1, 2, AcqRel, Acquire).ok().map(|read| read - 1)
    }

    #[actor]
    fn nothing(&self) {
        self.0.store(1, Release);
    }

    #[arbiter]
    fn last(&self) -> (u32, bool) {
        let last = self.0.load(Acquire);
        (last.min(1), last > 0)
    }
}

#[derive(Default)]
struct Flag(AtomicBool);

/// A loop that looks at a flag sees it in the end.
#[raddle::litmus(time = "50ms")]
#[outcome("TERMINATED", acceptable, "the store arrives")]
#[outcome("STALE", forbidden, "the store never arrives")]
impl Flag {
    #[actor]
    fn wait(&self) {
        while !self.0.load(Relaxed) {
            std::hint::spin_loop();
        }
    }

    #[signal]
    fn signal(&self) {
        self.0.store(true, Relaxed);
    }
}

/// The builder returns what it found, so that a test can expect a failure. A machine may never lose an update in the time; the models do.
#[test]
fn an_update_that_is_lost_is_found() {
    let add = |n: &AtomicU32| n.store(n.load(Relaxed) + 1, Relaxed);
    let report = Litmus::new("lost_update", || AtomicU32::new(0))
        .actor(move |n| {
            add(n);
            String::new()
        })
        .actor(move |n| {
            add(n);
            String::new()
        })
        .arbiter(|n| n.load(Relaxed).to_string())
        .outcome("2", Expect::Acceptable, "")
        .outcome("1", Expect::Forbidden, "an update is lost")
        .time(Duration::from_millis(50))
        .report();
    if !report.models.is_empty() {
        let reasons = report.verdict().reasons();
        assert!(reasons[0].contains("is possible under SC and RC11"), "{reasons:?}");
    }
    assert!(report.seen.unwrap().outcomes.keys().all(|outcome| ["1", "2"].contains(&outcome.as_str())));
}
