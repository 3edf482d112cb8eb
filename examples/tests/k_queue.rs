//! Specifications with a choice: a queue that may be out of order by a little.

use std::collections::VecDeque;

use examples::k_queue::KQueue;

/// It is no queue.
#[derive(Default)]
struct StrictTest(KQueue<2>);

#[raddle::test(spec = VecDeque<u32>, fails = IncorrectResults)]
impl StrictTest {
    #[operation(spec = |queue, value| queue.push_back(value))]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation(spec = |queue| queue.pop_front())]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

/// A specification with a choice: pop returns one of the two oldest.
#[derive(Default)]
struct TwoOldestTest(KQueue<2>);

#[raddle::test(iterations = 20, executions = 2000, spec = VecDeque<u32>)]
impl TwoOldestTest {
    #[operation(spec = |queue, value| queue.push_back(value))]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation(choices = |queue| one_of_the_oldest(queue, 2))]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

/// The values that pop may return, each with the queue after that.
fn one_of_the_oldest(queue: &VecDeque<u32>, k: usize) -> Vec<(Option<u32>, VecDeque<u32>)> {
    if queue.is_empty() {
        return vec![(None, VecDeque::new())];
    }
    let pop = |place| {
        let mut rest = queue.clone();
        (rest.remove(place), rest)
    };
    (0..queue.len().min(k)).map(pop).collect()
}
