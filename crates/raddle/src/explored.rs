//! Explorations in programs that were built without instrumentation.
//!
//! Such an exploration sees hardly anything, and passes. Where nobody would read a line that says so, it fails.

use std::path::Path;

use raddle_options::{Explored, setting};

use crate::engine::platform::global::GLOBAL;
use crate::options::Options;

/// Whether the program is instrumented; otherwise the exploration may go on without.
///
/// # Panics
/// If the program must be instrumented and is not: with a sentence that says how to run it.
pub(crate) fn is_instrumented(options: &Options) -> bool {
    if GLOBAL.instrumented.get() {
        return true;
    }
    match decided(options.explored) {
        Explored::Optional => false,
        _ if is_by_command() => panic!(
            "raddle: nothing would be explored: `cargo raddle` runs this test, but its code is not instrumented; is its package \
             listed as uninstrumented, or does another compiler wrapper take flags away? (`--explored optional` runs it as it is)"
        ),
        _ => panic!(
            "raddle: nothing would be explored, because this test was built without instrumentation: run `cargo raddle test`, \
             or accept that with `explored = \"optional\"` in [package.metadata.raddle] or `RADDLE_EXPLORED=optional`"
        ),
    }
}

/// What holds here for an exploration, for which code or environment may have chosen.
pub(crate) fn decided(chosen: Option<Explored>) -> Explored {
    decide(chosen, is_by_command(), manifest, is_ci())
}

/// Whether `cargo raddle` runs this.
fn is_by_command() -> bool {
    std::env::var_os("RADDLE_CARGO_ARGS").is_some()
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
