//! The tests that students do not have.

use std::collections::VecDeque;
use std::thread;

use bounded_buffer::BoundedBuffer;

/// Explores executions, always the same number of them: points must not depend on how fast a machine is.
fn explore(program: impl Fn()) {
    raddle::Explorer::new().executions(3000).allow_one_thread(true).run(program);
}

/// Producers and consumers of one number each; returns the numbers that were taken, sorted.
fn market(capacity: usize, producers: u32, consumers: u32) -> Vec<u32> {
    let buffer = BoundedBuffer::new(capacity);
    let mut taken = thread::scope(|scope| {
        let consumers: Vec<_> = (0..consumers).map(|_| scope.spawn(|| buffer.take())).collect();
        for number in 0..producers {
            let buffer = &buffer;
            scope.spawn(move || buffer.put(number));
        }
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(buffer.is_empty(), "numbers are left");
    taken.sort_unstable();
    taken
}

#[test]
fn two_consumers_get_two_numbers() {
    explore(|| assert_eq!(market(2, 2, 2), [0, 1]));
}

#[test]
fn two_producers_share_one_slot() {
    explore(|| assert_eq!(market(1, 2, 2), [0, 1]));
}

/// The queue of one slot with more threads than it can serve at once: whoever is woken must be able to go on.
#[test]
fn nobody_waits_forever() {
    explore(|| {
        let buffer = BoundedBuffer::new(1);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| buffer.take());
            }
            for number in 0..2 {
                let buffer = &buffer;
                scope.spawn(move || buffer.put(number));
            }
            scope.spawn(|| {
                buffer.put(9);
                buffer.take();
            });
        });
        assert!(buffer.is_empty());
    });
}

#[test]
fn the_buffer_is_never_too_full() {
    explore(|| {
        let buffer = BoundedBuffer::new(1);
        thread::scope(|scope| {
            scope.spawn(|| buffer.put(1));
            scope.spawn(|| buffer.put(2));
            assert!(buffer.len() <= 1, "the buffer has more numbers than it may");
            let (first, second) = (buffer.take(), buffer.take());
            assert_eq!(first + second, 3);
        });
    });
}

#[test]
fn one_producer_keeps_its_order() {
    explore(|| {
        let buffer = BoundedBuffer::new(2);
        thread::scope(|scope| {
            scope.spawn(|| (1..=3).for_each(|number| buffer.put(number)));
            assert_eq!([buffer.take(), buffer.take(), buffer.take()], [1, 2, 3]);
        });
    });
}

/// What a buffer of one number is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct OneNumber(VecDeque<u32>);

impl OneNumber {
    fn put(&mut self, number: u32) -> Option<()> {
        if self.0.len() == 1 {
            return None;
        }
        self.0.push_back(number);
        Some(())
    }

    fn take(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

struct BufferTest(BoundedBuffer);

impl Default for BufferTest {
    fn default() -> BufferTest {
        BufferTest(BoundedBuffer::new(1))
    }
}

#[raddle::test(iterations = 10, executions = 500, threads = 3, operations = 2, spec = OneNumber)]
impl BufferTest {
    #[operation(blocking)]
    fn put(&self, #[arg(1..=2)] number: u32) {
        self.0.put(number);
    }

    #[operation(blocking)]
    fn take(&self) -> u32 {
        self.0.take()
    }
}
