//! The tests that students have.

use std::thread;

use bounded_buffer::BoundedBuffer;

/// Explores executions, always the same number of them: points must not depend on how fast a machine is.
fn explore(program: impl Fn()) {
    raddle::Explorer::new().executions(3000).allow_one_thread(true).run(program);
}

#[test]
fn numbers_come_out_in_order() {
    explore(|| {
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
    explore(|| {
        let buffer = BoundedBuffer::new(1);
        thread::scope(|scope| {
            scope.spawn(|| buffer.put(1));
            assert_eq!(buffer.take(), 1);
        });
    });
}

#[test]
fn a_producer_waits_for_room() {
    explore(|| {
        let buffer = BoundedBuffer::new(1);
        buffer.put(1);
        thread::scope(|scope| {
            scope.spawn(|| buffer.put(2));
            assert_eq!([buffer.take(), buffer.take()], [1, 2]);
        });
    });
}
