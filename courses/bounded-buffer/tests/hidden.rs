//! The tests that students do not have.

use std::collections::VecDeque;

use bounded_buffer::BoundedBuffer;
use raddle::teach::{ScheduleTest, Scheduler, test_many_schedules};

/// Producers and consumers of one number each: what is put is taken.
fn market(sched: &Scheduler, capacity: usize, producers: u32, consumers: u32) {
    let buffer = sched.share(BoundedBuffer::new(capacity));
    for number in 0..producers {
        sched.thread(move || buffer.put(number));
    }
    for _ in 0..consumers {
        sched.thread(|| buffer.take());
    }
    sched.validate(move |results| {
        let mut taken: Vec<u32> = results.all().copied().collect();
        taken.sort_unstable();
        let right = taken == (0..producers).collect::<Vec<_>>() && buffer.is_empty();
        (right, format!("{taken:?} were taken of {producers} numbers, and {} are left", buffer.len()))
    });
}

#[test]
fn two_consumers_get_two_numbers() {
    test_many_schedules(4, |sched| market(sched, 2, 2, 2));
}

#[test]
fn two_producers_share_one_slot() {
    test_many_schedules(4, |sched| market(sched, 1, 2, 2));
}

/// The queue of one slot with more threads than it can serve at once: whoever is woken must be able to go on.
#[test]
fn nobody_waits_forever() {
    test_many_schedules(5, |sched| {
        let buffer = sched.share(BoundedBuffer::new(1));
        for number in [1, 2, 3] {
            sched.thread(move || buffer.put(number));
        }
        let takers = [0; 2].map(|_| sched.thread(|| buffer.take()));
        sched.validate(move |results| {
            let [first, second] = takers.map(|taker| results[taker]);
            let right = first != second && buffer.len() == 1;
            (right, format!("{first} and {second} were taken of 1, 2 and 3, and {} are left", buffer.len()))
        });
    });
}

#[test]
fn the_buffer_is_never_too_full() {
    test_many_schedules(3, |sched| {
        let buffer = sched.share(BoundedBuffer::new(1));
        for number in [1, 2] {
            sched.thread(move || buffer.put(number));
        }
        let taken = sched.thread(|| {
            let count = buffer.len();
            (count, buffer.take() + buffer.take())
        });
        sched.validate(move |results| {
            let (count, sum) = results[taken];
            (
                count <= 1 && sum == 3,
                format!("a buffer of one number had {count}; those taken add up to {sum}"),
            )
        });
    });
}

/// Every interleaving of a producer and a consumer.
#[test]
fn one_producer_keeps_its_order() {
    ScheduleTest::new(2).exhaustively().run(|sched| {
        let buffer = sched.share(BoundedBuffer::new(2));
        sched.thread(|| (1..=3).for_each(|number| buffer.put(number)));
        let taken = sched.thread(|| [buffer.take(), buffer.take(), buffer.take()]);
        sched.validate(move |results| {
            (results[taken] == [1, 2, 3], format!("{:?} were taken of [1, 2, 3]", results[taken]))
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
