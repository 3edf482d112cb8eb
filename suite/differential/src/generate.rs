//! Tests whose programs are written as Rust, and a crate of such tests.

use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use crate::random::{Profile, program};
use crate::source::{PRELUDE, function};

/// The seeds of the programs that are kept as Rust in this crate's own tests.
pub const KEPT: std::ops::Range<u64> = 0..2;

/// A file with a test for each profile and seed.
pub fn tests(profiles: &[Profile], seeds: impl Iterator<Item = u64>) -> String {
    let mut text = format!(
        "//! Random programs, by `cargo run -p differential -- generate`.\n\n{PRELUDE}\n\
         use differential::fuzz::generated;\nuse differential::random::Profile;\n"
    );
    for seed in seeds {
        for profile in profiles {
            let program = program(*profile, seed);
            let name = format!("{profile:?}_{seed}").to_lowercase();
            let function = function(&format!("run_{name}"), &program);
            write!(
                text,
                "\n#[test]\nfn {name}() {{\n    generated(Profile::{profile:?}, {seed}, run_{name});\n}}\n\n{function}"
            )
            .expect("strings can be written to");
        }
    }
    text
}

/// Writes a crate of tests for these seeds, all profiles, to be built by `cargo raddle test` with this level of optimisation.
///
/// # Errors
/// If it cannot be written.
pub fn write_crate(to: &Path, seeds: impl Iterator<Item = u64>, opt_level: u8) -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // All but the programs is compiled as in this repository.
    let optimised = ["raddle-engine", "raddle-intercept", "differential"]
        .map(|package| format!("[profile.dev.package.{package}]\nopt-level = 3\n"));
    let manifest = format!(
        "[package]\nname = \"generated\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dev-dependencies]\ndifferential = {{ path = {here:?} }}\n\n[profile.dev]\nopt-level = {opt_level}\n\n\
         [profile.dev.package.\"*\"]\nopt-level = 0\n\n{}",
        optimised.join("\n")
    );
    fs::create_dir_all(to.join("src"))?;
    fs::create_dir_all(to.join("tests"))?;
    fs::write(to.join("Cargo.toml"), manifest)?;
    fs::write(to.join("src/lib.rs"), "")?;
    fs::write(to.join("tests/programs.rs"), tests(&Profile::ALL, seeds))?;
    // The same versions of everything as here.
    fs::copy(here.join("../../Cargo.lock"), to.join("Cargo.lock")).map(drop)
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn tests_that_are_kept_are_those_of_today() {
        let kept = include_str!("../tests/generated.rs");
        let why = "write it anew: cargo run -p differential -- tests > suite/differential/tests/generated.rs";
        assert!(tests(&Profile::ALL, KEPT) == kept, "{why}");
    }
}
