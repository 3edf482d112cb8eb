//! The canary: a bug that is known to be there, by which `cargo raddle test` sees whether a build like that of the tests explores.

use std::panic::{Location, catch_unwind};

use raddle_engine::execution::as_it_ended;
use raddle_engine::exploration::turn;
use raddle_options::{Explored, Memory, Strategy, Values};
use raddle_report::Kind;

use crate::closure::{self, Plain};
use crate::options::Options;
use crate::search::exploration::probe;

/// The search for a bug of the canary, which `cargo raddle test` compiles like a test to see whether the bug is found: what was seen
/// instead, if it is not.
///
/// Compiled with the canary is only what finds out how the canary is compiled. [`Explorer::try_run`](crate::Explorer::try_run) is generic: to
/// compile an instance of it would take longer than all the rest, while somebody waits for tests.
#[doc(hidden)]
#[inline(always)]
pub fn look_for_canary(kind: Kind, body: fn()) -> Option<String> {
    let frame_pointer: usize;
    // SAFETY: only reads a register.
    unsafe {
        std::arch::asm!("mov {}, rbp", out(reg) frame_pointer, options(nomem, nostack, preserves_flags))
    };
    probe();
    explore_canary(kind, body, frame_pointer)
}

#[inline(never)]
fn explore_canary(kind: Kind, body: fn(), frame_pointer: usize) -> Option<String> {
    let _turn = turn::take();
    let values = Values {
        strategy: Strategy::Exhaustive,
        memory: Some(Memory::Sc),
        explored: Some(Explored::Optional),
        executions: Some(1000),
        ..Values::default()
    };
    let (at, options) = (Location::caller(), Options::from(values));
    let mut run = || _ = catch_unwind(body);
    match closure::explore(options, at, frame_pointer, true, &mut run, &mut as_it_ended, &Plain) {
        Err(failure) if failure.kind == kind => None,
        Err(failure) => Some(format!("{:?} was found instead: {}", failure.kind, failure.message)),
        Ok(passed) => {
            let (events, executions) = (passed.report.steps, passed.report.executions);
            Some(format!("{events} events in {executions} executions"))
        }
    }
}
