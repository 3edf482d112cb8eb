//! A failure of many events about many objects: what it takes to find it, and to record it.

use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::thread;

use raddle::{Explorer, Failure, Strategy};

use crate::measure::{cpu_seconds, peak_rss, print};

/// The nodes of the list.
const NODES: usize = 200;

struct Node {
    value: AtomicUsize,
    next: AtomicPtr<Node>,
}

/// A list of counters that two threads go through and count up.
struct List {
    head: AtomicPtr<Node>,
}

impl List {
    fn new() -> List {
        let list = List { head: AtomicPtr::new(ptr::null_mut()) };
        for _ in 0..NODES {
            let next = AtomicPtr::new(list.head.load(Ordering::Relaxed));
            let node = Box::into_raw(Box::new(Node { value: AtomicUsize::new(0), next }));
            list.head.store(node, Ordering::Relaxed);
        }
        list
    }

    /// Counts nodes up until so many events were made: three for each node.
    fn count_up(&self, events: usize) {
        let mut at = ptr::null_mut::<Node>();
        for _ in 0..events / 3 {
            if at.is_null() {
                at = self.head.load(Ordering::SeqCst);
            }
            // SAFETY: nodes live as long as the list.
            let node = unsafe { &*at };
            let old = node.value.load(Ordering::SeqCst);
            node.value.store(old + 1, Ordering::SeqCst);
            at = node.next.load(Ordering::SeqCst);
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        let mut at = *self.head.get_mut();
        while !at.is_null() {
            // SAFETY: nodes were boxes, and nobody else has them any more.
            let mut node = unsafe { Box::from_raw(at) };
            at = *node.next.get_mut();
        }
    }
}

/// Makes a failure of so many events and writes it to a directory. Prints the times: of the same search if nothing fails, and of
/// everything.
pub(crate) fn failure(events: usize, directory: &str) {
    let begin = cpu_seconds();
    assert!(search(events, false).is_none(), "nothing fails yet");
    let passed = cpu_seconds();
    let rss = peak_rss();
    let failure = search(events, true).expect("the assertion fails");
    let recorded = cpu_seconds();
    let path = failure.write_new(Path::new(directory)).expect("the directory can be written to");
    let written = cpu_seconds();
    print("passing", passed - begin);
    print("failing", recorded - passed);
    print("writing", written - recorded);
    print("rss", peak_rss() - rss);
    print("events", failure.trace.events.len());
    print("objects", failure.objects.as_ref().map_or(0, |objects| objects.list.len()));
    print("bytes", path.metadata().map_or(0, |file| file.len()));
}

fn search(events: usize, fails: bool) -> Option<Box<Failure>> {
    let explorer = Explorer::new().strategy(Strategy::Random).executions(1).max_steps(1_000_000);
    let explored = explorer.try_run(|| {
        let list = List::new();
        thread::scope(|scope| {
            scope.spawn(|| list.count_up(events / 2));
            scope.spawn(|| list.count_up(events / 2));
        });
        assert!(!fails, "the list has been counted up");
    });
    explored.err()
}
