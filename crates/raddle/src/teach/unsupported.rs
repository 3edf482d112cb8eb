//! The run of a test where nothing can be explored: none.

use std::time::Duration;

use raddle_report::Failure;

use super::scheduler::Scheduler;
use super::test::{ScheduleTest, TestReport};
use crate::monitor::Calls;
use crate::unsupported;

impl ScheduleTest {
    /// Says that schedules cannot be followed here.
    ///
    /// # Errors
    /// None.
    ///
    /// # Panics
    /// If the exploration must not be missing ([`explored`](crate::Explorer::explored)).
    pub fn try_run(self, _: impl Fn(&Scheduler)) -> Result<TestReport, Box<Failure>> {
        unsupported::tell(&self.options);
        Ok(TestReport {
            schedules: 0,
            complete: false,
            left_out: vec!["every schedule: exploring needs Linux on x86-64"],
            calls: Calls::default(),
            events: 0,
            switches: 0,
            elapsed: Duration::ZERO,
            seed: self.options.seed,
        })
    }
}
