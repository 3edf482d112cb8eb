//! How strategies that sample start threads.

use std::arch::asm;
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use raddle::Explorer;
use support::sampling;

/// A word that only inline assembly accesses, unseen by Raddle.
#[derive(Default)]
struct Unseen(UnsafeCell<u64>);

// SAFETY: one OS thread runs all threads of an exploration.
unsafe impl Sync for Unseen {}

impl Unseen {
    fn set(&self) {
        // SAFETY: the word is there, and nothing but this code accesses it.
        unsafe { asm!("mov qword ptr [{}], 1", in(reg) self.0.get(), options(nostack)) };
    }

    fn get(&self) -> u64 {
        let value: u64;
        // SAFETY: as above.
        unsafe { asm!("mov {}, qword ptr [{}]", out(reg) value, in(reg) self.0.get(), options(nostack)) };
        value
    }
}

#[test]
fn steps_that_are_not_seen_come_before_a_thread_begins_and_after() {
    for strategy in sampling() {
        let report = Explorer::new().strategy(strategy.clone()).executions(200).run(|| {
            let word = Arc::new(Unseen::default());
            let child = Arc::clone(&word);
            let thread = thread::spawn(move || child.set());
            let seen = word.get();
            thread.join().unwrap();
            seen
        });
        assert_eq!(report.outcomes.keys().collect::<Vec<_>>(), [&0, &1], "{strategy}");
    }
}

#[test]
fn threads_meet_in_any_order_however_many_there_are() {
    for strategy in sampling() {
        let report = Explorer::new().strategy(strategy.clone()).executions(20_000).run(|| {
            let next = Arc::new(AtomicUsize::new(0));
            let threads = [(); 4].map(|()| {
                let next = Arc::clone(&next);
                thread::spawn(move || next.fetch_add(1, SeqCst))
            });
            let before = next.load(SeqCst);
            (before, threads.map(|thread| thread.join().unwrap()))
        });
        // Each order of the threads, and each place of the first thread's load in it.
        assert_eq!(report.outcomes.len(), 24 * 5, "{strategy}");
    }
}
