//! Two threads poll a queue of two elements: whoever comes first, each element must come out once.

use std::thread;

use demo_queue::Queue;
use raddle::operation;

#[test]
fn every_element_comes_out_once() {
    raddle::explore(|| {
        let queue = Queue::default();
        operation("offer(1)", || queue.offer(1));
        operation("offer(2)", || queue.offer(2));
        let (left, right) = thread::scope(|scope| {
            let left = scope.spawn(|| operation("poll()", || queue.poll()));
            let right = scope.spawn(|| operation("poll()", || queue.poll()));
            (left.join().unwrap(), right.join().unwrap())
        });
        let explained = [(Some(1), Some(2)), (Some(2), Some(1))];
        assert!(
            explained.contains(&(left, right)),
            "the queue held 1 and 2, and the two polls returned {left:?} and {right:?}: no order of them explains that"
        );
    });
}
