//! Monitors of real threads.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use raddle_monitor::{Field, Monitor, step};

#[test]
fn one_thread_at_a_time_is_inside() {
    let count = Monitor::new(Cell::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    count.synchronized(|cell| cell.set(cell.get() + 1));
                }
            });
        }
    });
    assert_eq!(count.into_inner().get(), 4000);
}

#[test]
fn a_wait_gives_the_monitor_back_however_often_it_was_entered() {
    let slot = Monitor::new(Cell::new(None));
    thread::scope(|scope| {
        let taken = scope.spawn(|| {
            slot.synchronized(|_| {
                slot.synchronized(|cell| {
                    while cell.get().is_none() {
                        slot.wait();
                    }
                });
                // Still inside, once.
                assert!(slot.is_inside());
                slot.synchronized(|cell| cell.take())
            })
        });
        slot.synchronized(|cell| {
            cell.set(Some(7));
            slot.notify();
        });
        assert_eq!(taken.join().unwrap(), Some(7));
    });
    assert!(!slot.is_inside());
}

#[test]
fn a_buffer_hands_everything_over() {
    let buffer = Monitor::new(std::cell::RefCell::new(VecDeque::new()));
    const EACH: u32 = 500;
    let put = |value| {
        buffer.synchronized(|queue| {
            while queue.borrow().len() == 2 {
                buffer.wait();
            }
            queue.borrow_mut().push_back(value);
            buffer.notify_all();
        });
    };
    let take = || {
        buffer.synchronized(|queue| {
            loop {
                if let Some(value) = queue.borrow_mut().pop_front() {
                    buffer.notify_all();
                    return value;
                }
                buffer.wait();
            }
        })
    };
    let sum = thread::scope(|scope| {
        for first in [0, EACH] {
            scope.spawn(move || (first..first + EACH).for_each(put));
        }
        let takers = [0; 2].map(|_| scope.spawn(|| (0..EACH).map(|_| take()).sum::<u32>()));
        takers.into_iter().map(|taker| taker.join().unwrap()).sum::<u32>()
    });
    assert_eq!(sum, (0..2 * EACH).sum());
}

#[test]
fn a_panic_leaves_the_monitor() {
    let monitor = Monitor::new(());
    let left = catch_unwind(AssertUnwindSafe(|| monitor.synchronized(|_| panic!("inside"))));
    assert!(left.is_err() && !monitor.is_inside());
    let entered = AtomicBool::new(false);
    thread::scope(|scope| _ = scope.spawn(|| monitor.synchronized(|_| entered.store(true, SeqCst))));
    assert!(entered.into_inner());
}

#[test]
fn misuse_says_what_to_do() {
    let check = |call: fn(&Monitor), name: &str| {
        let monitor = Monitor::new(());
        let said = catch_unwind(AssertUnwindSafe(|| call(&monitor))).unwrap_err();
        let said = said.downcast_ref::<String>().expect("a panic with a message");
        assert!(
            said.starts_with(&format!("`{name}` was called")) && said.contains("within `synchronized`"),
            "{said}"
        );
    };
    check(Monitor::wait, "wait");
    check(Monitor::notify, "notify");
    check(Monitor::notify_all, "notify_all");
    // Inside of another monitor is outside of this one.
    check(|monitor| Monitor::new(()).synchronized(|_| monitor.notify()), "notify");
}

#[test]
fn steps_and_fields_only_run() {
    let field = Field::new("count", 1);
    field.update(|count| count + 1);
    assert_eq!(step("double", || 2 * field.get()), 4);
}
