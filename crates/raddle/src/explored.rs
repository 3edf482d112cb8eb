//! Explorations in programs that were built without instrumentation.
//!
//! Such an exploration sees hardly anything, and passes. Where nobody would read a line that says so, it fails.

use std::panic::{Location, catch_unwind};
use std::path::Path;

use raddle_engine::execution::as_it_ended;
use raddle_engine::exploration::turn;
use raddle_engine::platform::global::GLOBAL;
use raddle_options::{Explored, Memory, Strategy, Values, setting};
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

/// Whether the program is instrumented; otherwise the exploration may go on without.
///
/// # Panics
/// If the program must be instrumented and is not: with a sentence that says how to run it.
pub(crate) fn is_instrumented(options: &Options) -> bool {
    if GLOBAL.instrumented.get() {
        return true;
    }
    let by_command = std::env::var_os("RADDLE_CARGO_ARGS").is_some();
    let explored = decide(options.explored, by_command, manifest, is_ci());
    match explored {
        Explored::Optional => false,
        _ if by_command => panic!(
            "raddle: nothing would be explored: `cargo raddle` runs this test, but its code is not instrumented; is its package \
             listed as uninstrumented, or does another compiler wrapper take flags away? (`--explored optional` runs it as it is)"
        ),
        _ => panic!(
            "raddle: nothing would be explored, because this test was built without instrumentation: run `cargo raddle test`, \
             or accept that with `explored = \"optional\"` in [package.metadata.raddle] or `RADDLE_EXPLORED=optional`"
        ),
    }
}

/// What holds: what was chosen by code or environment, else what the circumstances say. The manifest is about tests that cargo runs by
/// itself; whoever calls `cargo raddle` wants explorations.
fn decide(
    chosen: Option<Explored>,
    by_command: bool,
    manifest: impl Fn() -> Option<Explored>,
    is_ci: bool,
) -> Explored {
    match chosen {
        Some(chosen) => chosen,
        None if by_command => Explored::Required,
        None => manifest().unwrap_or(if is_ci { Explored::Required } else { Explored::Optional }),
    }
}

/// Whether a CI service runs this.
fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(&*value, "" | "0" | "false"))
}

/// What the manifest of the package says, or that of a workspace above it.
fn manifest() -> Option<Explored> {
    let directory = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let tables = ["package.metadata.raddle", "workspace.metadata.raddle"];
    for (number, directory) in Path::new(&directory).ancestors().enumerate() {
        let Ok(text) = std::fs::read_to_string(directory.join("Cargo.toml")) else { continue };
        let mut tables = tables.iter().skip(usize::from(number > 0));
        if let Some(text) = tables.find_map(|table| setting(&text, table, "explored")) {
            let parsed = text.parse();
            return Some(parsed.unwrap_or_else(|instead| {
                panic!(
                    "raddle: `explored` in {} cannot be `{text}`; {instead}",
                    directory.join("Cargo.toml").display()
                )
            }));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use Explored::{Optional, Required};

    #[test]
    fn the_first_who_says_something_decides() {
        let check = |chosen, by_command, manifest: Option<Explored>, is_ci, expected| {
            assert_eq!(decide(chosen, by_command, || manifest, is_ci), expected);
        };
        check(None, false, None, false, Optional);
        check(None, false, None, true, Required);
        check(None, false, Some(Optional), true, Optional);
        check(None, false, Some(Required), false, Required);
        check(None, true, Some(Optional), false, Required);
        check(Some(Optional), true, Some(Required), true, Optional);
        check(Some(Required), false, Some(Optional), false, Required);
    }

    #[test]
    fn this_crates_own_tests_are_ordinary_ones() {
        assert_eq!(manifest(), Some(Optional));
    }
}
