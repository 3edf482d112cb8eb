//! Monitors, named fields and marked operations, which production code may use without Raddle: they are those of `raddle-monitor`.
//!
//! In an exploration they are controlled: entering a monitor, waiting there, notifying and beginning a marked operation are points at
//! which threads may change, instrumented or not, and failures show them by name.

use std::cell::Cell;
use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign};

use crate::engine::Engine;
use crate::engine::execution::engine_of_virtual_thread;
use crate::engine::interface::{self, MonitorCall};
use crate::engine::trace::{Action, StepEnd};
use raddle_monitor::tester::{self, Tester, Words};

#[doc(inline)]
pub use raddle_monitor::{Field, Monitor};

/// How often operations of monitors were called, and marked operations were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Calls {
    /// How often a monitor was entered, but for entering it again.
    pub synchronized: u64,
    /// Calls of [`Monitor::wait`].
    pub wait: u64,
    /// Calls of [`Monitor::notify`].
    pub notify: u64,
    /// Calls of [`Monitor::notify_all`].
    pub notify_all: u64,
    /// Marked operations, reads and writes of fields included.
    pub steps: u64,
}

impl Calls {
    const NONE: Calls = Calls { synchronized: 0, wait: 0, notify: 0, notify_all: 0, steps: 0 };
}

impl Add for Calls {
    type Output = Calls;

    fn add(self, other: Calls) -> Calls {
        Calls {
            synchronized: self.synchronized + other.synchronized,
            wait: self.wait + other.wait,
            notify: self.notify + other.notify,
            notify_all: self.notify_all + other.notify_all,
            steps: self.steps + other.steps,
        }
    }
}

impl AddAssign for Calls {
    fn add_assign(&mut self, other: Calls) {
        *self = *self + other;
    }
}

/// Makes monitors and marked operations known to the engine.
pub(crate) fn install() {
    tester::install(&Controlled);
}

/// The calls of the current execution so far.
pub(crate) fn calls() -> Calls {
    COUNTS.0.get()
}

/// Begins to count, at the beginning of an execution.
pub(crate) fn count_from_zero() {
    COUNTS.0.set(Calls::NONE);
}

/// The calls of the current execution.
struct Counts(Cell<Calls>);

// SAFETY: only virtual threads of the one exploration use it, and they take turns.
unsafe impl Sync for Counts {}

static COUNTS: Counts = Counts(Cell::new(Calls::NONE));

fn count(change: impl FnOnce(&mut Calls)) {
    let mut calls = COUNTS.0.get();
    change(&mut calls);
    COUNTS.0.set(calls);
}

/// The monitors and marked operations of virtual threads.
struct Controlled;

impl Controlled {
    fn call(&self, monitor: &Words, call: MonitorCall) {
        let words = [monitor.lock.as_ptr(), monitor.condition.as_ptr()];
        // SAFETY: the engine runs and this is a virtual thread.
        unsafe { interface::monitor(engine(), words, call) };
    }
}

impl Tester for Controlled {
    fn is_testing(&self) -> bool {
        engine_of_virtual_thread().is_some()
    }

    fn enter(&self, monitor: &Words) {
        count(|calls| calls.synchronized += 1);
        self.call(monitor, MonitorCall::Enter);
    }

    fn exit(&self, monitor: &Words) {
        self.call(monitor, MonitorCall::Exit);
    }

    fn wait(&self, monitor: &Words) {
        count(|calls| calls.wait += 1);
        self.call(monitor, MonitorCall::Wait);
    }

    fn notify(&self, monitor: &Words, all: bool) {
        count(|calls| if all { calls.notify_all += 1 } else { calls.notify += 1 });
        self.call(monitor, if all { MonitorCall::NotifyAll } else { MonitorCall::Notify });
    }

    fn begin_step(&self, name: &dyn Display) {
        count(|calls| calls.steps += 1);
        // SAFETY: the engine runs and this is a virtual thread. Nothing is formatted unless a trace is recorded.
        unsafe {
            interface::step_begins(engine());
            interface::note(engine(), || Action::Step { name: name.to_string(), ended: None });
        }
    }

    fn end_step(&self, name: &dyn Display, result: Option<&dyn Debug>) {
        let ended = || Some(StepEnd(result.map(|result| format!("{result:?}"))));
        // SAFETY: as above.
        unsafe { interface::note(engine(), || Action::Step { name: name.to_string(), ended: ended() }) };
    }
}

fn engine() -> *mut Engine {
    engine_of_virtual_thread().expect("monitors ask first whether the thread is under test")
}
