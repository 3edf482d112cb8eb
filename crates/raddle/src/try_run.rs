//! The run of an exploration: what is generic over the closure.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::panic::Location;

use raddle_engine::execution::as_it_ended;
use raddle_engine::exploration::turn;
use raddle_engine::{EndedExecution, Outcome};
use raddle_report::Failure;

use crate::Explorer;
use crate::closure::{self, Passed, Plain, catch};
use crate::report::Report;
use crate::search::exploration::probe;

impl Explorer {
    /// Explores and returns the failure, if there is one. Its file is written in either case.
    ///
    /// Outcomes must own their data: each is cloned out of its execution, of which nothing remains. With several `workers`, one
    /// execution with each outcome that another process has seen is made again.
    ///
    /// # Errors
    /// The failure, if a schedule was found that fails.
    ///
    /// # Panics
    /// If an option in the environment is wrong, if the program must be instrumented and is not
    /// ([`explored`](Explorer::explored)), or if the execution that failed cannot be repeated.
    // Not inlined: the frame of this function separates what the closure may borrow from what the exploration keeps.
    #[inline(never)]
    #[track_caller]
    pub fn try_run<T: Ord + Clone>(self, body: impl Fn() -> T) -> Result<Report<T>, Box<Failure>> {
        let frame_pointer: usize;
        // SAFETY: only reads a register.
        unsafe {
            std::arch::asm!("mov {}, rbp", out(reg) frame_pointer, options(nomem, nostack, preserves_flags))
        };
        probe();
        let _turn = turn::take();

        // The value that the closure returned lies in the heap of its execution, which is emptied: it is cloned while the heap is
        // whole, and then forgotten, never dropped.
        let value = Cell::new(None);
        let mut classes = BTreeMap::new();
        let mut run = || {
            std::mem::forget(value.take());
            value.set(catch(&body));
        };
        let mut judge = |ended: &EndedExecution<'_>| {
            // The value must be gone when the next execution ends.
            let returned = ManuallyDrop::new(value.take());
            if *ended.outcome == Outcome::Passed
                && let Some(returned) = returned.as_ref()
            {
                let next = classes.len();
                let class = match classes.get(returned) {
                    Some(&class) => class,
                    None => *classes.entry(returned.clone()).or_insert(next),
                };
                ended.set_outcome_class(class);
            }
            as_it_ended(ended)
        };
        let returns_nothing = size_of::<T>() == 0;
        let result = closure::explore(
            self.options,
            Location::caller(),
            frame_pointer,
            returns_nothing,
            &mut run,
            &mut judge,
            &Plain,
        );
        std::mem::forget(value.take());
        let Passed { report, seed, searches, reach, left_out, suppressed } = result?;
        let count = |class: usize| report.outcome_counts.get(class).copied().filter(|&count| count > 0);
        let outcomes =
            classes.into_iter().filter_map(|(outcome, class)| Some((outcome, count(class)?))).collect();
        Ok(Report {
            executions: report.executions,
            recognised: report.recognised,
            blocked: report.blocked,
            exceeded: report.exceeded,
            complete: report.complete,
            exhausted: report.exhausted,
            left_out,
            estimate: report.estimate.filter(|_| !report.complete),
            outcomes,
            events: report.steps,
            switches: report.switches,
            elapsed: report.elapsed,
            seed,
            searches,
            reach,
            suppressed,
        })
    }
}
