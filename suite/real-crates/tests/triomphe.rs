//! `triomphe::Arc`, whose counts are the library's own atomics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

use raddle::{Explorer, Memory, Strategy};
use triomphe::Arc;

/// What the end of a value sees, and in which thread it comes.
struct Loud<'a>(&'a AtomicU32, &'a AtomicU32);

impl Drop for Loud<'_> {
    fn drop(&mut self) {
        let thread = thread::current().name().map_or(9, |name| name.parse::<u32>().unwrap_or(9));
        self.1.store(100 * (1 + thread) + self.0.load(Relaxed), Relaxed);
    }
}

fn explore<T: Ord + Clone>(marks: &[&str], memory: Memory, body: impl Fn() -> T) -> (u64, BTreeMap<T, u64>) {
    let explorer = Explorer::new().strategy(Strategy::Exhaustive).memory(memory).executions(u64::MAX);
    let report = explorer.reference_counts(marks.iter().copied()).run(body);
    assert!(report.complete);
    (report.executions, report.outcomes)
}

#[track_caller]
fn reduced<T: Ord + Clone + std::fmt::Debug>(executions: u64, body: impl Fn() -> T) {
    for memory in [Memory::Sc, Memory::Rc11] {
        let (all, outcomes) = explore(&[], memory, &body);
        let (few, same) = explore(&["triomphe::arc::Arc"], memory, &body);
        println!("{memory}: {few} executions instead of {all}");
        assert!(outcomes.keys().eq(same.keys()), "{memory}: {outcomes:?}, {same:?}");
        assert!(few == executions && few < all, "{memory}: {few} of {all}");
    }
}

/// Four threads may be, whatever the order in which the others give up theirs.
#[test]
fn any_thread_may_be_the_last() {
    reduced(4, || {
        let (place, end) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            let own = Arc::new(Loud(&place, &end));
            for name in ["0", "1", "2"] {
                let handle = Arc::clone(&own);
                let work = move || {
                    let other = Arc::clone(&handle);
                    drop(handle);
                    drop(other);
                };
                thread::Builder::new().name(name.into()).spawn_scoped(scope, work).unwrap();
            }
            drop(own);
        });
        end.into_inner()
    });
}

#[test]
fn ends_that_nobody_notices_are_one_execution() {
    reduced(1, || {
        let own = Arc::new(vec![1, 2, 3]);
        let handles: Vec<_> = (0..3).map(|_| Arc::clone(&own)).collect();
        let sum = |handle: Arc<Vec<i32>>| thread::spawn(move || handle.iter().sum::<i32>());
        let threads: Vec<_> = handles.into_iter().map(sum).collect();
        drop(own);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
}

/// Whoever looks at the count sees all that it can be.
#[test]
fn a_count_that_is_looked_at_is_exact() {
    for memory in [Memory::Sc, Memory::Rc11] {
        let body = || {
            let own = Arc::new(7);
            let handle = Arc::clone(&own);
            let other = thread::spawn(move || drop(handle));
            let seen = (Arc::count(&own), Arc::is_unique(&own));
            other.join().unwrap();
            seen
        };
        let (all, outcomes) = explore(&[], memory, body);
        assert_eq!(explore(&["triomphe::arc::Arc"], memory, body), (all, outcomes.clone()));
        assert_eq!(outcomes.len(), 3, "{outcomes:?}");
    }
}
