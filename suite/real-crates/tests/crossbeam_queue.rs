//! crossbeam-queue: a bounded and an unbounded queue.

use std::thread;

use crossbeam_queue::{ArrayQueue, SegQueue};
use real_crates::{passes, repeats};

/// Each of two producers pushes two values; a consumer takes what it can, the rest is taken at the end.
#[test]
fn seg_queue_loses_nothing_and_keeps_each_producers_order() {
    passes(2000, || {
        let queue = SegQueue::new();
        let mut taken = Vec::new();
        thread::scope(|scope| {
            for producer in 0..2 {
                let queue = &queue;
                scope.spawn(move || (0..2).for_each(|i| queue.push((producer, i))));
            }
            taken.extend((0..2).filter_map(|_| queue.pop()));
        });
        taken.extend(std::iter::from_fn(|| queue.pop()));
        for producer in 0..2 {
            let own: Vec<i32> = taken.iter().filter(|(by, _)| *by == producer).map(|(_, i)| *i).collect();
            assert_eq!(own, [0, 1]);
        }
    });
}

#[test]
fn array_queue_refuses_when_full_and_loses_nothing() {
    passes(2000, || {
        let queue = ArrayQueue::new(1);
        let (pushed, popped) = thread::scope(|scope| {
            let producers = [1, 2].map(|value| {
                let queue = &queue;
                scope.spawn(move || queue.push(value).is_ok())
            });
            let popped = queue.pop();
            (producers.map(|producer| producer.join().unwrap()), popped)
        });
        let left: Vec<i32> = std::iter::from_fn(|| queue.pop()).collect();
        let accepted = pushed.iter().filter(|&&ok| ok).count();
        assert_eq!(accepted, left.len() + usize::from(popped.is_some()));
        assert!((1..=2).contains(&accepted) && left.len() <= 1);
    });
}

#[test]
fn array_queue_push_overwrites_the_oldest_when_forced() {
    passes(2000, || {
        let queue = ArrayQueue::new(1);
        let dropped: Vec<i32> = thread::scope(|scope| {
            let pushers = [1, 2].map(|value| {
                let queue = &queue;
                scope.spawn(move || queue.force_push(value))
            });
            pushers.into_iter().filter_map(|pusher| pusher.join().unwrap()).collect()
        });
        let mut all = dropped;
        all.extend(queue.pop());
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn crossbeam_queue_failures_repeat() {
    repeats(5000, || {
        let queue = SegQueue::new();
        let first = thread::scope(|scope| {
            scope.spawn(|| queue.push(1));
            scope.spawn(|| queue.push(2));
            queue.pop()
        });
        assert_ne!(first, Some(2), "the second thread came first");
    });
}
