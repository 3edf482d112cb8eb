//! `cargo raddle litmus`: graded tests in three columns.
//!
//! Instrumentation is in the way of the compiler: it must not reorder accesses that are calls. So the tests are built twice. An optimised
//! build without instrumentation runs them on real threads, all in the order in which `cargo test` has them, one at a time. An
//! instrumented build explores them under both models, each in a process of its own. Both write reports, which are joined here.

mod read;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use raddle_options::{Values, find};
use raddle_report::file;
use raddle_stress::Report;
use raddle_stress::report::{html::html, json::json, junit::junit, table::table};

use crate::binary::{TestBinary, build_tests};
use crate::cargo::CargoOptions;
use crate::error::{Error, Result, exit};
use crate::libtest::{HarnessOptions, strip_harness};
use crate::options::RaddleOptions;
use crate::run::Contract;
use crate::session::Session;
use crate::terminal::{Style, Terminal};

/// `cargo raddle litmus`
#[derive(Args, Debug)]
pub(crate) struct LitmusArgs {
    /// Files of tests (tests/sb.rs), or texts that the names of tests contain; all tests if left out
    #[arg(value_name = "FILE|NAME")]
    what: Vec<String>,
    /// The time of each test on real threads: 500ms, 10s; what the test says if left out
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Write the results to this file as JSON, in place of an older one
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the results to this file as JUnit XML, in place of an older one
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the results to this file as a page for browsers, in place of an older one
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    cargo: CargoOptions,
}

/// Runs the tests in both builds and shows what they found.
pub(crate) fn litmus(mut args: LitmusArgs) -> Result<u8> {
    RaddleOptions::default().check()?;
    let milliseconds = args.time.as_deref().map(milliseconds).transpose()?;
    let names = select_files(&args.what, &mut args.cargo)?;
    let terminal = Terminal::new(&args.cargo.output);
    let session = Session::open(args.cargo.clone())?;
    let reports = Scratch::new(session.directory.join(format!("litmus-{}", std::process::id())))?;

    let say = |verb: &str, text: &str| {
        if !args.cargo.output.quiet {
            eprintln!("{}", terminal.status(verb, text));
        }
    };
    build_for_threads(&session, &args.cargo)?;
    say("Running", "on real threads, one test at a time");
    run_on_threads(&session, &args.cargo, &names, &reports.hardware(), milliseconds)?;
    let mut found = read::reports(&reports.hardware())?;
    if found.is_empty() {
        return Err(Error::usage(
            "there are no litmus tests here: mark an impl block with `#[raddle::litmus]`, or name another file",
        ));
    }
    let binaries = build_tests(&session)?;
    say("Exploring", &format!("{} tests under SC and RC11", found.len()));
    let failed = explore(&session, &terminal, &binaries, &found, &reports.models())?;
    let models = read::reports(&reports.models())?;
    for report in &mut found {
        if let Some(model) = models.iter().find(|model| model.name == report.name) {
            report.join(model.clone());
        }
        if failed.contains_key(&report.name) {
            report.problems.push("its exploration failed".to_owned());
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));

    for report in &found {
        match failed.get(&report.name) {
            Some(output) => {
                let how = terminal.paint(Style::Bad, "FAILED while it was explored");
                println!("{}  {how}\n{output}", report.name);
            }
            None => println!("{}", table(report)),
        }
    }
    write(args.json.as_deref(), || json(&found))?;
    write(args.junit.as_deref(), || junit("litmus", &found))?;
    write(args.html.as_deref(), || html("Litmus tests", &found))?;
    let failures: Vec<_> = found.iter().filter(|report| !report.verdict().passes()).collect();
    // Tables are long, and failures may be far above.
    if !failures.is_empty() {
        println!("failures:");
    }
    for report in &failures {
        println!("  {}: {}", report.name, report.verdict().reasons().join("; "));
    }
    let bad = failures.len();
    let good = found.len() - bad;
    let style = if bad == 0 { Style::Good } else { Style::Bad };
    println!("{}", terminal.paint(style, &format!("litmus result: {good} passed, {bad} failed")));
    Ok(if bad == 0 { exit::PASSED } else { exit::FAILED })
}

/// Selects the test targets and the package of files among the arguments. The others are names.
fn select_files(what: &[String], cargo: &mut CargoOptions) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for text in what {
        let path = Path::new(text);
        if path.extension().is_none_or(|extension| extension != "rs") {
            names.push(text.clone());
            continue;
        }
        if !path.is_file() {
            return Err(Error::usage(format_args!("there is no file {text}")));
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // `tests/sb/main.rs` is a target of the folder's name.
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        cargo.targets.test.push(if stem == "main" { folder.into_owned() } else { stem.into_owned() });
        if cargo.manifest.manifest_path.is_none() && cargo.packages.is_default() {
            let path = std::path::absolute(path).map_err(Error::file("find", path))?;
            let manifest =
                path.ancestors().map(|folder| folder.join("Cargo.toml")).find(|file| file.is_file());
            cargo.manifest.manifest_path = manifest;
        }
    }
    Ok(names)
}

/// Cargo's command for the tests as `cargo test --release` has them.
fn optimised(session: &Session, options: &CargoOptions) -> Command {
    let mut options = options.clone();
    if options.compilation.profile.is_none() {
        options.compilation.release = true;
    }
    if options.targets.to_args().is_empty() {
        // Not the doctests: they are no litmus tests.
        options.targets.tests = true;
    }
    let mut command = session.cargo.command();
    command.arg("test").args(options.to_args());
    for (name, value) in [
        ("--target-dir", options.compilation.target_dir.as_ref().map(|path| path.display().to_string())),
        ("--target", options.compilation.target.clone()),
    ] {
        command.args(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    }
    command
}

/// Builds the tests without instrumentation.
fn build_for_threads(session: &Session, options: &CargoOptions) -> Result<()> {
    let mut build = optimised(session, options);
    let status = build.arg("--no-run").stdout(Stdio::null()).status().map_err(Error::start("cargo"))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::Build),
    }
}

/// Lets cargo run the tests, one at a time.
fn run_on_threads(
    session: &Session,
    options: &CargoOptions,
    names: &[String],
    reports: &Path,
    milliseconds: Option<u128>,
) -> Result<()> {
    let mut run = optimised(session, options);
    run.args(["--no-fail-fast", "--"]).args(names).arg("--test-threads=1");
    run.env("RADDLE_LITMUS", "hardware").env("RADDLE_LITMUS_REPORTS", reports);
    run.envs(milliseconds.map(|time| ("RADDLE_LITMUS_TIME", time.to_string())));
    let output = run.stdin(Stdio::null()).output().map_err(Error::start("cargo"))?;
    if !output.status.success() {
        // Some test fails that has no report, or could not make one.
        eprint!("{}", String::from_utf8_lossy(&output.stdout));
        eprintln!(
            "warning: some tests failed on real threads before they had a result; their output is above"
        );
    }
    Ok(())
}

/// Explores the tests that have reports. Returns the names of those whose exploration failed, with what they said.
fn explore(
    session: &Session,
    terminal: &Terminal,
    binaries: &[TestBinary],
    found: &[Report],
    reports: &Path,
) -> Result<BTreeMap<String, String>> {
    let contract = Contract::new(session, &RaddleOptions::default(), terminal)?;
    let mut failed = BTreeMap::new();
    for report in found {
        // The path of a test begins with its crate, which is its target.
        let Some((target, test)) = report.name.split_once("::") else { continue };
        let is_target = |binary: &&TestBinary| binary.name.replace('-', "_") == target && !binary.own_main;
        let Some(binary) = binaries.iter().find(is_target) else { continue };
        let mut command: Command = binary.command();
        command.args(HarnessOptions::run_args(test));
        contract.apply_to_test(&mut command, binary, test);
        command.env("RADDLE_LITMUS", "models").env("RADDLE_LITMUS_REPORTS", reports);
        let output = command.stdin(Stdio::null()).output().map_err(Error::start(&binary.executable))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout);
            let text = format!("{}{}", strip_harness(&text, test), String::from_utf8_lossy(&output.stderr));
            failed.insert(report.name.clone(), text);
        }
    }
    Ok(failed)
}

fn milliseconds(text: &str) -> Result<u128> {
    let mut values = Values::default();
    let budget = find("RADDLE_BUDGET").map_err(Error::usage)?;
    budget.set(&mut values, "--time", text).map_err(Error::usage)?;
    Ok(values.budget.map_or(0, |time| time.as_millis()).max(1))
}

fn write(path: Option<&Path>, text: impl FnOnce() -> String) -> Result<()> {
    match path {
        Some(path) => file::replace(path, text()).map_err(Error::file("write", path)),
        None => Ok(()),
    }
}

/// A directory for reports, which is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(directory: PathBuf) -> Result<Scratch> {
        let scratch = Scratch(directory);
        for part in [scratch.hardware(), scratch.models()] {
            fs::create_dir_all(&part).map_err(Error::file("create", &part))?;
        }
        Ok(scratch)
    }

    fn hardware(&self) -> PathBuf {
        self.0.join("hardware")
    }

    fn models(&self) -> PathBuf {
        self.0.join("models")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in the target directory, where it harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
