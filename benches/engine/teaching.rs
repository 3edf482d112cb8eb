//! Explicit schedules: the bounded-buffer test of a course.

use std::cell::Cell;

use raddle::monitor::{Field, Monitor};
use raddle::teach::{ScheduleTest, Scheduler};

use crate::measure::{cpu_seconds, print};

/// A buffer with room for one value.
struct Buffer {
    monitor: Monitor<State>,
}

struct State {
    count: Field<usize>,
    value: Cell<u32>,
}

impl Buffer {
    fn put(&self, value: u32) {
        self.monitor.synchronized(|state| {
            while state.count.get() == 1 {
                self.monitor.wait();
            }
            state.value.set(value);
            state.count.set(1);
            self.monitor.notify_all();
        });
    }

    fn take(&self) -> u32 {
        self.monitor.synchronized(|state| {
            while state.count.get() == 0 {
                self.monitor.wait();
            }
            state.count.set(0);
            self.monitor.notify_all();
            state.value.get()
        })
    }
}

/// Two threads put a value each, one takes both.
fn bounded_buffer(sched: &Scheduler) {
    let state = State { count: Field::new("count", 0), value: Cell::new(0) };
    let buffer = sched.share(Buffer { monitor: Monitor::new(state) });
    for value in [1, 2] {
        sched.thread(move || buffer.put(value));
    }
    let taken = sched.thread(|| buffer.take() + buffer.take());
    sched.validate(move |results| results[taken] == 3);
}

/// Makes so many schedules of the test, with the numbers of the published evaluation otherwise, with or without a look for data races.
pub(crate) fn schedules(races: bool, schedules: u64) {
    let make =
        |schedules| ScheduleTest::new(3).as_evaluated().schedules(schedules).races(races).run(bounded_buffer);
    // What is not done for each execution.
    let begin = cpu_seconds();
    make(1);
    let between = cpu_seconds();
    let report = make(schedules);
    print("cpu", (cpu_seconds() - between) - (between - begin));
    print("executions", report.schedules);
    print("events", report.events);
}
