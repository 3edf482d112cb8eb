//! The run of a test under many schedules.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::Location;

use raddle_engine::execution::as_it_ended;
use raddle_engine::exploration::turn;
use raddle_engine::platform::global::GLOBAL;
use raddle_engine::{EndedExecution, Outcome};
use raddle_report::Failure;

use super::run::{self, Source, TurnClient};
use super::scheduler::Scheduler;
use super::space::ScheduleSpace;
use super::test::{ScheduleTest, TURNS_PER_THREAD, TestReport};
use crate::closure::{Passed, catch};
use crate::monitor::{self, Calls};
use crate::options::Strategy;
use crate::search::exploration::probe;

impl ScheduleTest {
    /// Runs the test and returns the failure, if there is one. Its file is written in either case.
    ///
    /// # Errors
    /// The failure, if a schedule fails.
    ///
    /// # Panics
    /// If an option in the environment is wrong, or a [strict](Self::strict) schedule cannot be followed.
    // Not inlined: the frame of this function separates what the test may borrow from what the exploration keeps.
    #[inline(never)]
    #[track_caller]
    pub fn try_run(mut self, test: impl Fn(&Scheduler)) -> Result<TestReport, Box<Failure>> {
        let frame_pointer: usize;
        // SAFETY: only reads a register.
        unsafe {
            std::arch::asm!("mov {}, rbp", out(reg) frame_pointer, options(nomem, nostack, preserves_flags))
        };
        probe();
        let _turn = turn::take();
        if self.options.strategy == Strategy::Exhaustive && !GLOBAL.instrumented.get() {
            self.options.strategy = Strategy::Bounded(usize::MAX);
        }
        // What is wrong with the results lies in the heap of the execution: it is cloned while that is whole, and then forgotten.
        let verdict = Cell::new(None);
        let rejected = RefCell::new(String::new());
        let calls = Cell::new(Calls::default());
        let mut run = || {
            std::mem::forget(verdict.take());
            monitor::count_from_zero();
            let made = catch(|| {
                let scheduler = Scheduler::default();
                test(&scheduler);
                scheduler.finish(self.threads)
            });
            verdict.set(made.flatten());
        };
        let mut judge = |ended: &EndedExecution<'_>| {
            if ended.counts() {
                calls.set(calls.get() + monitor::calls());
            }
            let wrong = ManuallyDrop::new(verdict.take());
            match wrong.as_ref() {
                Some(wrong) if *ended.outcome == Outcome::Passed => {
                    rejected.borrow_mut().clone_from(wrong);
                    Outcome::Rejected
                }
                _ => as_it_ended(ended),
            }
        };
        let client = TurnClient::new(self.source(), self.strict, &rejected);
        let result =
            run::run(self.options.clone(), Location::caller(), frame_pointer, &mut run, &mut judge, &client);
        std::mem::forget(verdict.take());
        let Passed { report, seed, left_out, .. } = result?;
        Ok(TestReport {
            schedules: report.executions,
            complete: report.complete,
            left_out,
            calls: calls.get(),
            events: report.steps,
            switches: report.switches,
            elapsed: report.elapsed,
            seed,
        })
    }

    /// The schedules of the test.
    fn source(&self) -> Source {
        if let Some(schedules) = &self.schedules {
            return Source::Given(schedules.clone());
        }
        let length = self.length.unwrap_or(TURNS_PER_THREAD * self.threads);
        let space = ScheduleSpace::new(self.threads.max(1) as u16, length, self.switches);
        if self.enumerated { Source::All(space) } else { Source::Sampled(space) }
    }
}
