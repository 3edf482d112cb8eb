//! `cargo xtask regression`: what every search of the suites comes to, for comparing two versions of the engine.
//!
//! ```text
//! cargo xtask regression record              # before a change: writes target/regression.txt
//! cargo xtask regression compare             # after it: runs the suites again and prints every line that differs
//! cargo xtask regression compare exhaustive  # only the searches of the strategies that are named
//! ```
//!
//! The tests of [`PACKAGES`] run once for each search that the list of strategies (`suite/strategies`) asks to record, with a fixed
//! seed, one worker and a number of executions, whatever they ask for themselves. So their own assertions do not count here:
//! `cargo xtask test` is there for those. A line of the record has the results of one search: executions, events, outcomes, and
//! the schedule of the failure (`raddle/src/search/record.rs`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{cargo, run};

/// Packages whose searches are recorded.
const PACKAGES: [&str; 4] = ["broken", "litmus", "declarative", "examples"];

/// Programs that are drawn anew in each run, so that their searches cannot be compared.
const RANDOM: [&str; 1] = ["litmus@test:random/"];

/// Tests that never end with a strategy that they did not ask for.
const ENDLESS: [&str; 1] = ["waits_when_it_is_alone"];

/// At most this many differences are printed.
const MOST: usize = 40;

pub(crate) fn main(arguments: &[String]) -> bool {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let known = target.join("regression.txt");
    let (what, strategies) = match arguments {
        [what, strategies @ ..] => (what.as_str(), strategies),
        [] => ("", arguments),
    };
    if let Some(unknown) = strategies.iter().find(|&name| searches().all(|(known, ..)| known != *name)) {
        let mut known: Vec<_> = searches().map(|(name, ..)| name).collect();
        known.dedup();
        eprintln!("no searches of `{unknown}` are recorded; there are {}", known.join(", "));
        return false;
    }
    match what {
        "record" => record(&known, strategies),
        "compare" => {
            let now = target.join("regression.new.txt");
            if !known.exists() {
                eprintln!("there is no `{}`: `cargo xtask regression record` writes it", known.display());
                return false;
            }
            record(&now, strategies) && compare(&known, &now, strategies)
        }
        _ => {
            eprintln!("use `cargo xtask regression record` or `cargo xtask regression compare`");
            false
        }
    }
}

/// Whether searches of a strategy are wanted: all are, if none are named.
fn is_wanted(strategy: &str, strategies: &[String]) -> bool {
    strategies.is_empty() || strategies.iter().any(|wanted| wanted == strategy)
}

fn record(path: &Path, strategies: &[String]) -> bool {
    let lines = path.with_extension("lines");
    let _ = std::fs::remove_file(&lines);
    if !run(tests().arg("--no-run")) {
        return false;
    }
    for (strategy, memory, executions) in searches().filter(|(name, ..)| is_wanted(name, strategies)) {
        eprintln!("+ {strategy} {memory}");
        let mut tests = tests();
        tests.arg("--no-fail-fast").args(["--strategy", &strategy, "--memory", &memory]);
        tests.args(["--executions", &executions, "--budget", "30s", "--seed", "0", "--workers", "1"]);
        tests.arg("--").args(ENDLESS.iter().flat_map(|name| ["--skip", name]));
        tests.env("RADDLE_RECORD", std::path::absolute(&lines).expect("there is a current directory"));
        // Tests fail here: they do not get the search that they ask for.
        let _ = tests.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
    let Ok(text) = std::fs::read_to_string(&lines) else {
        eprintln!("no search was recorded");
        return false;
    };
    let is_fixed = |line: &&str| !RANDOM.iter().any(|name| line.starts_with(name));
    let mut all: Vec<&str> = text.lines().filter(is_fixed).collect();
    all.sort_unstable();
    eprintln!("{} searches in `{}`", all.len(), path.display());
    std::fs::write(path, all.join("\n") + "\n").is_ok() && std::fs::remove_file(&lines).is_ok()
}

/// Strategy, memory model and number of executions of each search that the list of strategies asks to record.
fn searches() -> impl Iterator<Item = (String, String, String)> {
    strategies::list().into_iter().flat_map(|entry| {
        let recorded = entry.recorded.iter();
        recorded.map(move |(memory, executions)| {
            (entry.strategy.to_string(), memory.to_string(), executions.to_string())
        })
    })
}

/// The tests, as the command line of `cargo raddle` has them.
fn tests() -> Command {
    let mut tests = cargo();
    tests.args(["run", "--quiet", "--package", "cargo-raddle", "--", "test"]);
    for package in PACKAGES {
        tests.args(["--package", package]);
    }
    tests
}

/// Prints what differs between two records. Searches that ran out of time in either say nothing.
fn compare(known: &Path, now: &Path, strategies: &[String]) -> bool {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let (known, now) = (read(known), read(now));
    let (known, now) = (by_search(&known, strategies), by_search(&now, strategies));
    let is_cut = |came_to: Option<&&str>| came_to.is_some_and(|came_to| came_to.starts_with("out of time"));
    let (mut cut, mut differ) = (0, 0);
    for search in known.keys().chain(now.keys().filter(|search| !known.contains_key(*search))) {
        let (before, after) = (known.get(search), now.get(search));
        if is_cut(before) || is_cut(after) {
            cut += 1;
        } else if before != after {
            differ += 1;
            if differ <= MOST {
                let or_none =
                    |came_to: Option<&&str>| came_to.map_or("no such search", |came_to| *came_to).to_owned();
                eprintln!("{search}\n  before: {}\n  after:  {}", or_none(before), or_none(after));
            }
        }
    }
    eprintln!("{} searches, {differ} differ, {cut} ran out of time and were not compared", known.len());
    differ == 0
}

/// The result of each search of the strategies that are wanted. A search is named by its test, its number, its strategy and its
/// memory model.
fn by_search<'a>(record: &'a str, strategies: &[String]) -> BTreeMap<&'a str, &'a str> {
    let strategy = |search: &'a str| search.rsplit(' ').nth(1).unwrap_or_default();
    let searches = record.lines().filter_map(|line| line.split_once(": "));
    searches.filter(|(search, _)| is_wanted(strategy(search), strategies)).collect()
}
