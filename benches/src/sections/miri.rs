//! The same programs under Miri's many seeds, where Miri is installed.
//!
//! Miri interprets a program once for each seed. The time of a single seed is subtracted, because most of it is the start.

use std::fs;
use std::process::{Command, Stdio};

use super::exploration::{self, PROGRAMS};
use crate::build;
use crate::cell::{Bench, Side, command};
use crate::table::{Table, count, none, times};

/// The seeds of a run, besides the first.
const SEEDS: u32 = 64;

/// The toolchains that may have Miri: the usual one, and the one that Miri comes with.
const TOOLCHAINS: [&[&str]; 2] = [&[], &["+nightly"]];

pub(crate) fn print(bench: &Bench) {
    let Some(toolchain) = TOOLCHAINS.into_iter().find(|toolchain| is_installed(toolchain)) else {
        println!("\nMiri is not installed: its figures are left out (`rustup +nightly component add miri`)");
        return;
    };
    let title = "executions per second of CPU time beside Miri's many seeds";
    let table = Table::new(title, &[("program", 0), ("raddle random", 13), ("miri", 9), ("/ miri", 8)]);
    for program in PROGRAMS.into_iter().filter(|&program| program != exploration::ONLY_RADDLE) {
        let raddle = command(Side::Engine, &["explore", program, "random"], bench.seconds);
        let raddle = bench.medians(&[raddle], |values| values.rate("executions"));
        let raddle = raddle[0].as_ref().and_then(|values| values.rate("executions"));
        let miri = executions_per_second(toolchain, program);
        let rate = miri.map_or_else(none, |miri| format!("{miri:.1}"));
        table.row(&[program.to_owned(), count(raddle), rate, times(raddle.zip(miri).map(|(a, b)| a / b))]);
    }
}

fn is_installed(toolchain: &[&str]) -> bool {
    let mut version = miri(toolchain, &["--version"]);
    version.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// None if Miri does not run the program.
fn executions_per_second(toolchain: &[&str], program: &str) -> Option<f64> {
    // The first run also compiles.
    seconds(toolchain, program, 1)?;
    let more = seconds(toolchain, program, SEEDS + 1)? - seconds(toolchain, program, 1)?;
    Some(f64::from(SEEDS) / more.max(f64::MIN_POSITIVE))
}

/// The CPU time of a program under so many seeds. None if Miri does not run it.
fn seconds(toolchain: &[&str], program: &str, seeds: u32) -> Option<f64> {
    let before = cpu_seconds_of_children();
    let mut run = miri(toolchain, &["run", "--quiet", "--manifest-path", "benches/miri/Cargo.toml"]);
    run.args(["--target-dir", "target/benches-miri", "--", program]);
    run.env("MIRIFLAGS", format!("-Zmiri-many-seeds=0..{seeds} -Zmiri-disable-isolation"));
    let output = run.output().ok()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        eprintln!(
            "error: miri, {program}: {}",
            text.lines().find(|line| !line.is_empty()).unwrap_or_default()
        );
        return None;
    }
    Some(cpu_seconds_of_children() - before)
}

fn miri(toolchain: &[&str], args: &[&str]) -> Command {
    // The proxy of rustup knows `+nightly`; the cargo that runs this does not.
    let mut cargo = Command::new("cargo");
    cargo.current_dir(build::root()).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    cargo.args(toolchain).arg("miri").args(args);
    cargo
}

/// The CPU time of the processes that this one has waited for, and theirs.
fn cpu_seconds_of_children() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is a name in brackets, which may have spaces in it.
    let fields = text.rsplit(") ").next().unwrap_or_default();
    let ticks = fields.split(' ').skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_PER_SECOND
}
