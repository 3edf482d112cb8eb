//! A bounded queue with a monitor, and the mistakes that students make with it.

use std::cell::RefCell;
use std::collections::VecDeque;

use raddle_monitor::{Field, Monitor};

/// How threads that wait are woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// All of them: right.
    All,
    /// One of them: the one may be the wrong one.
    One,
}

/// A queue with room for so many values.
#[derive(Debug)]
pub struct Queue {
    capacity: usize,
    wake: Wake,
    monitor: Monitor<State>,
}

#[derive(Debug)]
struct State {
    count: Field<usize>,
    values: RefCell<VecDeque<u32>>,
}

impl Queue {
    /// An empty queue.
    pub fn new(capacity: usize, wake: Wake) -> Queue {
        let state = State { count: Field::new("count", 0), values: RefCell::default() };
        Queue { capacity, wake, monitor: Monitor::new(state) }
    }

    /// Adds a value when there is room.
    pub fn put(&self, value: u32) {
        self.monitor.synchronized(|state| {
            while state.count.get() == self.capacity {
                self.monitor.wait();
            }
            self.add(state, value);
        });
    }

    /// Adds a value when there is room, or so it seems: after the wait, nobody looks again.
    pub fn put_without_loop(&self, value: u32) {
        self.monitor.synchronized(|state| {
            if state.count.get() == self.capacity {
                self.monitor.wait();
            }
            self.add(state, value);
        });
    }

    /// Adds a value when there was room: another thread may have come between the look and the change.
    pub fn put_in_two_parts(&self, value: u32) {
        self.monitor.synchronized(|state| {
            while state.count.get() == self.capacity {
                self.monitor.wait();
            }
        });
        self.monitor.synchronized(|state| self.add(state, value));
    }

    /// Removes the oldest value when there is one.
    pub fn take(&self) -> u32 {
        self.monitor.synchronized(|state| {
            while state.count.get() == 0 {
                self.monitor.wait();
            }
            self.remove(state)
        })
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        self.monitor.synchronized(|state| state.values.borrow().len())
    }

    fn add(&self, state: &State, value: u32) {
        state.count.update(|count| count + 1);
        state.values.borrow_mut().push_back(value);
        self.wake();
    }

    fn remove(&self, state: &State) -> u32 {
        state.count.update(|count| count - 1);
        let value = state.values.borrow_mut().pop_front().expect("the count says that there is one");
        self.wake();
        value
    }

    fn wake(&self) {
        match self.wake {
            Wake::All => self.monitor.notify_all(),
            Wake::One => self.monitor.notify(),
        }
    }
}
