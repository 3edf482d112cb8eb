//! Limits of time: each search keeps its own, also where one check of consistency is long or where nothing is left to find.
//!
//! The limits are on the clock. What is compared with them is the processor time of the test's own thread, in which an exploration runs: on
//! a quiet machine both are the same, and a busy machine cannot make it more.

use std::collections::VecDeque;
use std::fs;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_epoch::{Atomic, Guard, Owned, Shared, pin, unprotected};
use crossbeam_queue::SegQueue;
use raddle::{Explorer, Memory, Report, Spec, Strategy, Test};

/// What `auto` takes by default, at most.
const DEFAULT: Duration = Duration::from_secs(10);

/// The processor time that this thread has taken.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// Checks that the exploration takes no more than the limit and a tenth of it.
#[track_caller]
fn keeps(limit: Duration, explorer: Explorer, body: impl Fn()) -> Report<()> {
    let begin = processor_time();
    let report = explorer.run(body);
    let taken = processor_time() - begin;
    assert!(taken <= limit + limit / 10, "{taken:?} of processor time for a limit of {limit:?}");
    report
}

/// Producers that push so many values each, while the main thread pops twice.
fn seg_queue(producers: usize, values: usize) {
    let queue = SegQueue::new();
    thread::scope(|scope| {
        for producer in 0..producers {
            let queue = &queue;
            scope.spawn(move || (0..values).for_each(|i| queue.push((producer, i))));
        }
        (0..2).for_each(|_| _ = queue.pop());
    });
    while queue.pop().is_some() {}
}

fn exhaustive(limit: Duration) -> Explorer {
    Explorer::new().strategy(Strategy::Exhaustive).memory(Memory::Rc11).budget(limit)
}

#[test]
fn an_exhaustive_search_of_a_queue_with_two_producers() {
    let limit = Duration::from_secs(2);
    keeps(limit, exhaustive(limit), || seg_queue(2, 2));
}

/// Its threads wait for each other in loops, some of which are found to be spinloops only when later events have alternatives already. What
/// was left to do after those events was done in another graph once.
#[test]
fn a_spinloop_that_is_found_late() {
    let explorer = exhaustive(Duration::from_secs(60)).executions(12_000);
    let report = keeps(Duration::from_secs(60), explorer, || seg_queue(2, 2));
    assert!(report.executions > 1000, "{report:?}");
}

/// Graphs of some hundred events, most of which are not consistent.
#[test]
fn an_exhaustive_search_of_long_executions() {
    let limit = Duration::from_secs(2);
    let report = keeps(limit, exhaustive(limit), || seg_queue(3, 12));
    assert!(!report.exhausted, "{report:?}");
}

#[test]
fn a_budget_of_auto() {
    let limit = Duration::from_secs(2);
    let report = keeps(limit, Explorer::new().budget(limit), || seg_queue(3, 12));
    assert!(!report.exhausted, "{report:?}");
}

#[test]
fn a_number_of_executions_has_a_limit_too() {
    keeps(Duration::from_secs(60), Explorer::new().executions(2000), || seg_queue(2, 2));
}

#[test]
fn the_default_of_a_queue_with_two_producers() {
    keeps(DEFAULT, Explorer::new(), || seg_queue(2, 2));
}

/// There is nothing to find but other times, which every strategy shows at once.
#[test]
fn a_loop_that_only_looks_at_the_clock() {
    keeps(DEFAULT / 5, Explorer::new().allow_one_thread(true), || {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(5) {
            std::hint::spin_loop();
        }
    });
}

#[test]
fn three_messages_through_a_channel_with_room_for_one() {
    keeps(DEFAULT, Explorer::new(), || {
        let (sender, receiver) = mpsc::sync_channel(1);
        let producer = thread::spawn(move || (0..3).for_each(|i| sender.send(i).unwrap()));
        assert_eq!(receiver.iter().collect::<Vec<i32>>(), [0, 1, 2]);
        producer.join().unwrap();
    });
}

struct Node {
    value: Option<u32>,
    next: Atomic<Node>,
}

/// The queue of Michael and Scott, with memory that is reclaimed by epochs.
struct Queue {
    head: Atomic<Node>,
    tail: Atomic<Node>,
}

impl Default for Queue {
    fn default() -> Queue {
        let sentinel = Atomic::new(Node { value: None, next: Atomic::null() });
        Queue { tail: sentinel.clone(), head: sentinel }
    }
}

impl Queue {
    fn push(&self, value: u32) {
        let guard = &pin();
        let new = Owned::new(Node { value: Some(value), next: Atomic::null() }).into_shared(guard);
        loop {
            let tail = self.tail.load(Acquire, guard);
            // SAFETY: the tail is never null, and nothing is freed while the thread is pinned.
            let next = unsafe { &tail.deref().next };
            let after = next.load(Acquire, guard);
            if !after.is_null() {
                self.advance_tail(tail, after, guard);
            } else if next.compare_exchange(after, new, Release, Relaxed, guard).is_ok() {
                self.advance_tail(tail, new, guard);
                return;
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let guard = &pin();
        loop {
            let head = self.head.load(Acquire, guard);
            // SAFETY: the head is never null, and nothing is freed while the thread is pinned.
            let next = unsafe { head.deref() }.next.load(Acquire, guard);
            // SAFETY: as above.
            let node = unsafe { next.as_ref() }?;
            let tail = self.tail.load(Acquire, guard);
            if tail == head {
                // The tail must not fall behind the head: its node would be freed.
                self.advance_tail(tail, next, guard);
            } else if self.head.compare_exchange(head, next, Release, Relaxed, guard).is_ok() {
                // SAFETY: the old sentinel is out of the queue.
                unsafe { guard.defer_destroy(head) };
                return node.value;
            }
        }
    }

    fn advance_tail(&self, tail: Shared<'_, Node>, to: Shared<'_, Node>, guard: &Guard) {
        _ = self.tail.compare_exchange(tail, to, Release, Relaxed, guard);
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        while self.pop().is_some() {}
        // SAFETY: only the sentinel is left, and no other thread knows of it.
        drop(unsafe { self.head.load(Relaxed, unprotected()).into_owned() });
    }
}

/// Scenarios share the time of a test whose author chooses nothing.
#[test]
fn the_default_of_a_declarative_test() {
    let spec = Spec::new(VecDeque::new)
        .operation("push", |queue: &mut VecDeque<u32>, value: u32| queue.push_back(value))
        .operation("pop", |queue: &mut VecDeque<u32>| queue.pop_front());
    let test = Test::new(Queue::default)
        .operation("push", |queue: &Queue, value: u32| queue.push(value))
        .operation("pop", |queue: &Queue| queue.pop())
        .spec(spec);
    let begin = processor_time();
    let coverage = test.run();
    let taken = processor_time() - begin;
    assert!(taken <= DEFAULT + DEFAULT / 10, "{taken:?} of processor time: {coverage:?}");
}
