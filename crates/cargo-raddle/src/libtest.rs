//! The arguments after `--`, which a test binary of the standard harness would get, and asking such a binary for its
//! tests.

use std::collections::HashSet;
use std::process::Stdio;

use clap::Parser;

use crate::binary::TestBinary;
use crate::error::{Error, Result};

/// The options of the standard test harness that make sense when each test is a process.
#[derive(Parser, Clone, Debug, Default, PartialEq)]
#[command(
    name = "cargo raddle test",
    no_binary_name = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub(crate) struct HarnessOptions {
    /// Tests whose names contain one of these.
    pub(crate) filters: Vec<String>,
    #[arg(long)]
    pub(crate) skip: Vec<String>,
    /// Names must match in full.
    #[arg(long)]
    pub(crate) exact: bool,
    #[arg(long, conflicts_with = "include_ignored")]
    pub(crate) ignored: bool,
    #[arg(long)]
    pub(crate) include_ignored: bool,
    #[arg(long, alias = "no-capture")]
    pub(crate) nocapture: bool,
    #[arg(long)]
    pub(crate) show_output: bool,
    #[arg(long)]
    pub(crate) test_threads: Option<usize>,
    #[arg(long)]
    pub(crate) list: bool,
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[arg(long)]
    pub(crate) color: Option<String>,
    /// Benchmarks are run once, as tests.
    #[arg(long, hide = true)]
    pub(crate) test: bool,
}

impl HarnessOptions {
    /// Reads the name before `--` and the arguments after it.
    pub(crate) fn parse(name: Option<&str>, args: &[String]) -> Result<HarnessOptions> {
        let mut options = HarnessOptions::try_parse_from(args).map_err(|error| {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Error::usage(format_args!(
                "{line} after `--`; known there are test names, --skip, --exact, --ignored, --include-ignored, \
                 --nocapture, --show-output, --test-threads, --list, --color and --quiet"
            ))
        })?;
        if options.test_threads == Some(0) {
            return Err(Error::usage("`--test-threads` must be at least 1"));
        }
        if let Some(name) = name {
            options.filters.insert(0, name.to_owned());
        }
        Ok(options)
    }

    /// Asks a binary which of its tests the options select.
    pub(crate) fn select(&self, binary: &TestBinary) -> Result<Selected> {
        let all = list(binary, &[])?;
        let mut chosen = all.clone();
        if !self.filters.is_empty() || !self.skip.is_empty() {
            chosen = list(binary, &self.filter_args())?;
        }
        let ignored: HashSet<String> = list(binary, &["--ignored".to_owned()])?.into_iter().collect();
        if self.ignored {
            chosen.retain(|name| ignored.contains(name));
        }
        let filtered_out = all.len() - chosen.len();
        let runs_ignored = self.ignored || self.include_ignored;
        let tests = chosen
            .into_iter()
            .map(|name| ListedTest { ignored: !runs_ignored && ignored.contains(&name), name })
            .collect();
        Ok(Selected { tests, filtered_out })
    }

    /// The arguments with which a binary runs one test.
    pub(crate) fn run_args(name: &str) -> [&str; 5] {
        // Whether an ignored test runs was decided when it was selected.
        [name, "--exact", "--test-threads=1", "--nocapture", "--include-ignored"]
    }

    fn filter_args(&self) -> Vec<String> {
        let mut args = self.filters.clone();
        for skip in &self.skip {
            args.extend(["--skip".to_owned(), skip.clone()]);
        }
        if self.exact {
            args.push("--exact".to_owned());
        }
        args
    }
}

/// The tests of a binary that are to be run or reported as ignored.
#[derive(Debug, Default)]
pub(crate) struct Selected {
    pub(crate) tests: Vec<ListedTest>,
    pub(crate) filtered_out: usize,
}

/// A test as a binary lists it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListedTest {
    pub(crate) name: String,
    /// It is marked `#[ignore]` and ignored tests are not asked for.
    pub(crate) ignored: bool,
}

fn list(binary: &TestBinary, args: &[String]) -> Result<Vec<String>> {
    let mut command = binary.command();
    command.args(["--list", "--format", "terse"]).args(args);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(Error::start(&binary.executable))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        print!("{text}");
        let how = crate::run::describe_status(output.status);
        return Err(Error::usage(format_args!(
            "`{}` could not list its tests: it {how}; run it by hand with `--list` to see why",
            binary.executable.display()
        )));
    }
    Ok(parse_list(&text))
}

/// Reads `name: test` and `name: benchmark` (which `cargo test` runs as tests).
fn parse_list(text: &str) -> Vec<String> {
    let name = |line: &str| {
        line.strip_suffix(": test").or_else(|| line.strip_suffix(": benchmark")).map(str::to_owned)
    };
    text.lines().filter_map(name).collect()
}

/// Takes the harness's own lines from around the output of a single test.
pub(crate) fn strip_harness<'a>(output: &'a str, name: &str) -> &'a str {
    let mut output = output;
    if let Some(rest) = output.strip_prefix("\nrunning 1 test\n") {
        output = rest;
    }
    let announcement = format!("test {name} ... ");
    let should_panic = format!("test {name} - should panic ... ");
    output =
        output.strip_prefix(&announcement).or_else(|| output.strip_prefix(&should_panic)).unwrap_or(output);
    for verdict in ["FAILED\n\nfailures:\n", "ok\n\ntest result: ", "ignored\n\ntest result: "] {
        if let Some(end) = output.rfind(verdict) {
            return &output[..end];
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: Option<&str>, args: &str) -> Result<HarnessOptions> {
        let args: Vec<String> = args.split_ascii_whitespace().map(str::to_owned).collect();
        HarnessOptions::parse(name, &args)
    }

    #[test]
    fn the_name_before_the_dashes_is_a_filter() {
        let options = parse(Some("one"), "two --skip three --exact --test-threads=3 --nocapture").unwrap();
        assert_eq!(options.filters, ["one", "two"]);
        assert_eq!(options.skip, ["three"]);
        assert!(options.exact && options.nocapture && !options.ignored);
        assert_eq!(options.test_threads, Some(3));
    }

    #[test]
    fn unknown_arguments_are_one_sentence() {
        for args in
            ["--format json", "--test-threads many", "--ignored --include-ignored", "--test-threads 0"]
        {
            let message = parse(None, args).unwrap_err().to_string();
            assert!(!message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn lists_are_read() {
        let text = "a::b: test\nc: benchmark\nnoise\nodd: name: test\n\n3 tests, 0 benchmarks\n";
        assert_eq!(parse_list(text), ["a::b", "c", "odd: name"]);
    }

    #[test]
    fn only_the_tests_output_is_left() {
        let failed =
            "\nrunning 1 test\ntest f ... out\nFAILED\n\nfailures:\n\nfailures:\n    f\n\ntest result: ..\n";
        assert_eq!(strip_harness(failed, "f"), "out\n");
        let passed = "\nrunning 1 test\ntest f ... ok\n\ntest result: ok. 1 passed; 0 failed\n\n";
        assert_eq!(strip_harness(passed, "f"), "");
        let killed = "\nrunning 1 test\ntest m::f ... half a line";
        assert_eq!(strip_harness(killed, "m::f"), "half a line");
        let panics = "\nrunning 1 test\ntest p - should panic ... FAILED\n\nfailures:\n\nfailures:\n    p\n";
        assert_eq!(strip_harness(panics, "p"), "");
    }
}
