//! `cargo xtask fuzz [MINUTES] [TARGET …]`: everything that reads text from outside, under libFuzzer.
//!
//! The fuzzer is coverage-guided: the compiler counts the edges that are taken, by the passes of LLVM that `cargo fuzz` asks for too, but
//! without the sanitizers, for which a nightly compiler would be needed. Inputs that reach new code are kept in
//! `target/fuzz/corpus`, and are the start of the next run; an input that fails is written to `target/fuzz/failures`, and belongs into
//! `suite/fuzz/corpus` when the failure is fixed.

use std::fs;
use std::path::{Path, PathBuf};

use super::{cargo, run};

/// What makes the compiler count edges and tell the fuzzer about comparisons.
const FLAGS: &str = "--cfg fuzzing -C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=4 \
                     -C llvm-args=-sanitizer-coverage-inline-8bit-counters -C llvm-args=-sanitizer-coverage-pc-table \
                     -C llvm-args=-sanitizer-coverage-trace-compares -C codegen-units=1";

/// The target, by name: the directories of the corpus.
const CORPUS: &str = "suite/fuzz/corpus";

/// Minutes for all targets together, unless others are asked for.
const MINUTES: f64 = 6.0;

/// Runs the fuzzers. Fails with the input that a target failed on.
pub(super) fn main(arguments: &[String]) -> bool {
    let (minutes, chosen) = match arguments.split_first().map(|(first, rest)| (first.parse(), rest)) {
        Some((Ok(minutes), rest)) => (minutes, rest),
        Some((Err(_), _)) => (MINUTES, arguments),
        None => (MINUTES, arguments),
    };
    let Some(targets) = targets(chosen) else { return false };
    let Some(program) = build() else { return false };
    let seconds = (minutes * 60.0 / targets.len() as f64).max(1.0) as u64;
    let mut passed = true;
    for target in targets {
        passed &= fuzz(&program, &target, seconds);
    }
    passed
}

fn targets(chosen: &[String]) -> Option<Vec<String>> {
    let entries = fs::read_dir(CORPUS).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut all: Vec<String> = entries.collect();
    all.sort();
    match chosen.iter().find(|name| !all.contains(name)) {
        Some(unknown) => {
            eprintln!("there is no target `{unknown}`: there are {}", all.join(", "));
            None
        }
        None if chosen.is_empty() => Some(all),
        None => Some(chosen.to_vec()),
    }
}

/// Compiles the fuzzer. With a target triple, build scripts and macros are compiled without the flags.
fn build() -> Option<PathBuf> {
    const TRIPLE: &str = "x86_64-unknown-linux-gnu";
    let mut command = cargo();
    command.args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", TRIPLE]);
    command.args(["--target-dir", "target/fuzz"]).env("RUSTFLAGS", FLAGS);
    run(&mut command).then(|| Path::new("target/fuzz").join(TRIPLE).join("release/raddle-fuzz"))
}

fn fuzz(program: &Path, target: &str, seconds: u64) -> bool {
    let corpus = Path::new("target/fuzz/corpus").join(target);
    let failures = Path::new("target/fuzz/failures").join(target);
    for directory in [&corpus, &failures] {
        if let Err(error) = fs::create_dir_all(directory) {
            eprintln!("cannot create {}: {error}", directory.display());
            return false;
        }
    }
    let mut command = std::process::Command::new(program);
    command.arg(&corpus).arg(Path::new(CORPUS).join(target)).env("FUZZ_TARGET", target);
    command.arg(format!("-artifact_prefix={}/", failures.display()));
    command.arg(format!("-max_total_time={seconds}"));
    command.args([
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-max_len=16384",
        "-print_final_stats=1",
        "-verbosity=0",
    ]);
    run(&mut command)
}
