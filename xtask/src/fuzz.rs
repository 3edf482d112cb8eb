//! `cargo xtask fuzz [MINUTES] [TARGET …]`: everything that reads text from outside, under libFuzzer.
//!
//! The fuzzer is coverage-guided: the compiler counts the edges that are taken, by the passes of LLVM that `cargo fuzz` asks for too, but
//! without the sanitizers, for which a nightly compiler would be needed. Inputs that reach new code are kept in
//! `target/fuzz/corpus`, and are the start of the next run; an input that fails is written to `target/fuzz/failures`, and belongs into
//! `suite/fuzz/corpus` when the failure is fixed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    if let Some(sentence) = missing(std::env::var_os("CXX")) {
        eprintln!("{sentence}");
        return false;
    }
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

/// What is missing on this machine, and what to do about it.
fn missing(compiler: Option<OsString>) -> Option<String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some("the fuzzers run on x86-64 Linux only, because Raddle does".to_owned());
    }
    let compiler = compiler.unwrap_or_else(|| "c++".into());
    let mut command = Command::new(&compiler);
    let found = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return None;
    }
    Some(format!(
        "libFuzzer is written in C++ and `{}` does not run: install a C++ compiler (`apt-get install g++`), or name one in the variable `CXX`",
        compiler.display()
    ))
}

/// Compiles the fuzzer. With a target triple, build scripts and macros are compiled without the flags.
fn build() -> Option<PathBuf> {
    const TRIPLE: &str = "x86_64-unknown-linux-gnu";
    let mut command = cargo();
    command.args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", TRIPLE]);
    command.args(["--target-dir", "target/fuzz"]).env("RUSTFLAGS", FLAGS);
    run(&mut command).then(|| Path::new("target/fuzz").join(TRIPLE).join("release/raddle-fuzz"))
}

/// Fuzzes one target, and prints one line about it; more if it failed.
fn fuzz(program: &Path, target: &str, seconds: u64) -> bool {
    let corpus = Path::new("target/fuzz/corpus").join(target);
    let failures = Path::new("target/fuzz/failures").join(target);
    let log = Path::new("target/fuzz").join(format!("{target}.log"));
    let command = || -> std::io::Result<Command> {
        fs::create_dir_all(&corpus)?;
        fs::create_dir_all(&failures)?;
        let mut command = Command::new(program);
        command.stdout(Stdio::null()).stderr(File::create(&log)?);
        Ok(command)
    };
    let mut command = match command() {
        Ok(command) => command,
        Err(error) => {
            eprintln!("cannot write to target/fuzz: {error}");
            return false;
        }
    };
    command.arg(&corpus).arg(Path::new(CORPUS).join(target)).env("FUZZ_TARGET", target);
    command.arg(format!("-artifact_prefix={}/", failures.display()));
    command.arg(format!("-max_total_time={seconds}"));
    command.args([
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-max_len=16384",
        "-print_final_stats=1",
        "-verbosity=0",
        "-print_funcs=0",
    ]);
    let passed = command.status().is_ok_and(|status| status.success());
    let said = fs::read_to_string(&log).unwrap_or_default();
    let inputs = fs::read_dir(&corpus).map_or(0, Iterator::count);
    let executions =
        executions(&said).map_or_else(|| "an unknown number of".to_owned(), |count| count.to_string());
    println!("{target}: {executions} executions in {seconds} s, {inputs} inputs in {}", corpus.display());
    if !passed {
        println!("{}", excerpt(&said));
        println!(
            "{target} failed: {} has all that was said; mend it, and move the input from {} to {CORPUS}/{target}",
            log.display(),
            failures.display()
        );
    }
    passed
}

/// How often libFuzzer called the target, by what it said at the end.
fn executions(said: &str) -> Option<u64> {
    let line = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

/// What is worth reading of the log of a failure: from the panic on, or else the end.
fn excerpt(said: &str) -> String {
    const LINES: usize = 30;
    let lines: Vec<&str> = said.lines().collect();
    let panic =
        lines.iter().position(|line| line.contains("panicked at") || line.contains("ERROR: libFuzzer"));
    let begin = panic.unwrap_or_else(|| lines.len().saturating_sub(LINES));
    lines[begin..].iter().take(LINES).copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_one_sentence() {
        let sentence = missing(Some("no-such-compiler".into())).unwrap();
        assert!(
            sentence.contains("`no-such-compiler`") && sentence.contains("apt-get install g++"),
            "{sentence}"
        );
        assert_eq!(sentence.lines().count(), 1);
        assert_eq!(missing(Some("true".into())), None);
    }

    #[test]
    fn the_log_of_the_fuzzer_is_read() {
        let said = "INFO: seed\nthread '<unnamed>' panicked at a.rs:1:2:\nboom\nstat::number_of_executed_units: 42\n";
        assert_eq!(executions(said), Some(42));
        assert_eq!(executions("nothing"), None);
        assert!(excerpt(said).starts_with("thread '<unnamed>' panicked at a.rs:1:2:\nboom"));
        assert_eq!(excerpt("a\nb"), "a\nb");
    }

    #[test]
    fn every_target_of_the_corpus_is_known() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(CORPUS);
        let main = fs::read_to_string(corpus.join("../src/lib.rs")).unwrap();
        for entry in fs::read_dir(corpus).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name == "regressions" || main.contains(&format!("(\"{name}\", ")), "{name}");
        }
    }
}
