//! The tests that students have.

use bounded_buffer::BoundedBuffer;
use raddle::teach::{test_many_schedules, test_sequential};

#[test]
fn numbers_come_out_in_order() {
    test_sequential(|| {
        let buffer = BoundedBuffer::new(3);
        buffer.put(1);
        buffer.put(2);
        assert_eq!((buffer.take(), buffer.len()), (1, 1));
        buffer.put(3);
        buffer.put(4);
        assert_eq!([buffer.take(), buffer.take(), buffer.take()], [2, 3, 4]);
        assert!(buffer.is_empty());
    });
}

#[test]
fn a_consumer_waits_for_the_producer() {
    test_many_schedules(2, |sched| {
        let buffer = sched.share(BoundedBuffer::new(1));
        sched.thread(|| buffer.put(1));
        let taken = sched.thread(|| buffer.take());
        sched.validate(move |results| (results[taken] == 1, format!("{} was taken", results[taken])));
    });
}

#[test]
fn a_producer_waits_for_room() {
    test_many_schedules(2, |sched| {
        let buffer = sched.share(BoundedBuffer::new(1));
        buffer.put(1);
        sched.thread(|| buffer.put(2));
        let taken = sched.thread(|| [buffer.take(), buffer.take()]);
        sched.validate(move |results| (results[taken] == [1, 2], format!("{:?} were taken", results[taken])));
    });
}
