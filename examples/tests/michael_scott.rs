//! A specification of its own: a queue is what `VecDeque` is, whatever happens inside.

use std::collections::VecDeque;

use examples::michael_scott::MsQueue;

#[derive(Default)]
struct MsQueueTest(MsQueue<u32>);

#[raddle::test(iterations = 20, executions = 5000, spec = VecDeque<u32>)]
impl MsQueueTest {
    #[operation(spec = |queue, value| queue.push_back(value))]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation(spec = |queue| queue.pop_front())]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

#[derive(Default)]
struct TailFirstQueueTest(MsQueue<u32>);

#[raddle::test(spec = VecDeque<u32>, fails = IncorrectResults)]
impl TailFirstQueueTest {
    #[operation(spec = |queue, value| queue.push_back(value))]
    fn push(&self, value: u32) {
        self.0.push_tail_first(value);
    }

    #[operation(spec = |queue| queue.pop_front())]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}
