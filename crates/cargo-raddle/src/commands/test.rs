//! `cargo raddle test`: build, list, run.

use std::thread;

use crate::binary::{TestBinary, build_tests};
use crate::canary;
use crate::ci;
use crate::cli::{NoTests, TestArgs};
#[cfg(feature = "all")]
use crate::coverage::Coverage;
use crate::doctests;
use crate::error::{Error, Result, exit};
use crate::instrument::uses_raddle;
use crate::libtest::{HarnessOptions, ListedTest, Selected};
use crate::page::{self, Roots};
use crate::run::{self, Contract, Settings, Suite, Totals};
use crate::search_profile;
use crate::session::Session;
use crate::terminal::{Style, Terminal};

/// Why documentation tests are left to cargo.
const NO_DOCTESTS: &str = "rustdoc builds documentation tests without instrumentation";

/// Builds the tests and runs them.
pub(crate) fn test(args: TestArgs) -> Result<u8> {
    run_tests(args, true)
}

/// Builds the tests and runs them; `hint` says whether to say how to run a failed one again.
pub(crate) fn run_tests(args: TestArgs, hint: bool) -> Result<u8> {
    if args.doc {
        return Err(Error::usage(format_args!("{NO_DOCTESTS}: run `cargo test --doc`")));
    }
    let harness = HarnessOptions::parse(args.name.as_deref(), &args.harness)?;
    args.raddle.check()?;
    let mut output = args.cargo.output.clone();
    output.color = harness.color.clone().or(output.color);
    let terminal = Terminal::new(&output);
    refuse_replay()?;
    let session = Session::open(args.cargo)?;
    let options = search_profile::apply(args.search_profile.as_deref(), &session.metadata, args.raddle)?;
    let quiet = harness.quiet || output.quiet;
    if !uses_raddle(&session.metadata) {
        let sentence =
            "nothing is explored, because nothing here depends on Raddle: `cargo add --dev raddle`";
        if !options.is_exploring_optional() && !args.no_run && !harness.list {
            return Err(Error::NotExplored(format!("{sentence}, or accept that with `--explored optional`")));
        }
        if !quiet {
            eprintln!("{}: {sentence}", terminal.paint(Style::Warn, "warning"));
        }
    }
    let (binaries, canaries) = match args.no_run || harness.list {
        true => (build_tests(&session), canary::Compiled::new()),
        false => canary::build_beside(&session, || build_tests(&session)),
    };
    let binaries = binaries?;
    if args.no_run {
        for binary in &binaries {
            let text = format!("{} ({})", binary.source, binary.executable.display());
            eprintln!("{}", terminal.status("Executable", &text));
        }
        return Ok(exit::PASSED);
    }

    if !harness.list {
        canary::check(&session, &binaries, canaries)?;
    }
    let suites = select(binaries, &harness)?;
    if harness.list {
        print_list(&suites);
        return Ok(exit::PASSED);
    }
    let mut contract = Contract::new(&session, &options, &terminal)?;
    let threads = if harness.nocapture { 1 } else { harness.test_threads.unwrap_or_else(cores) };
    let tests: usize = suites.iter().flat_map(|suite| &suite.tests).filter(|test| !test.ignored).count();
    contract.set("RADDLE_CORES", cores().div_euclid(threads.min(tests).max(1)).max(1).to_string());
    if args.coverage || args.coverage_json.is_some() {
        contract.set("RADDLE_COVERAGE", "1".to_owned());
    }
    let settings = Settings {
        threads,
        nocapture: harness.nocapture,
        show_output: harness.show_output,
        no_fail_fast: args.no_fail_fast,
        quiet,
        hint,
        roots: Roots::of_workspace(&session.metadata.workspace_root),
        own_main_args: args.name.into_iter().chain(args.harness).collect(),
    };
    let (totals, results) = run::run(&suites, &settings, &contract, &terminal);
    ci::annotate(&session.metadata.workspace_root, &results);
    if let Some(path) = &args.junit {
        ci::write_junit(path, &suites, &results)?;
    }
    #[cfg(feature = "all")]
    {
        let mut coverage = Coverage::of(&suites, &results);
        if args.coverage || args.coverage_json.is_some() {
            coverage.trace(&session, &suites, &results, &settings, &contract)?;
        }
        if args.coverage {
            print!("{}", coverage.text(&session.metadata.source_roots()));
        }
        if let Some(path) = &args.coverage_json {
            coverage.write(path)?;
        }
    }
    let is_empty = totals.passed + totals.failed + totals.ignored == 0;
    if is_empty {
        println!("{}", nothing_ran(&harness, &totals));
    }
    let documented =
        if quiet || !harness.filters.is_empty() { Vec::new() } else { doctests::packages(&session) };
    if !documented.is_empty() {
        let text =
            format!("of {} are not run: {NO_DOCTESTS}, `cargo test --doc` runs them", documented.join(", "));
        eprintln!("{}", terminal.status("Doc-tests", &text));
    }
    let first_page = results.iter().flat_map(|result| &result.finished.pages).next();
    if let Some(first_page) = first_page.filter(|_| args.open) {
        page::open(first_page)?;
    }
    Ok(match totals.failed {
        0 if is_empty && args.no_tests == NoTests::Fail => exit::NOT_EXPLORED,
        0 => exit::PASSED,
        _ => exit::FAILED,
    })
}

/// A variable that is left over from a replay would make every test one.
fn refuse_replay() -> Result<()> {
    match std::env::var_os("RADDLE_REPLAY") {
        None => Ok(()),
        Some(_) => Err(Error::usage(
            "`RADDLE_REPLAY` is set, so tests would replay a failure instead of exploring: unset it, or use `cargo raddle replay FILE`",
        )),
    }
}

/// Asks every binary for its tests.
pub(crate) fn select(binaries: Vec<TestBinary>, harness: &HarnessOptions) -> Result<Vec<Suite>> {
    let mut suites = Vec::new();
    for binary in binaries {
        let selected = if binary.own_main {
            // It may understand no option at all, so it is not asked.
            let test = ListedTest { name: binary.name.clone(), ignored: false };
            Selected { tests: vec![test], filtered_out: 0 }
        } else {
            harness.select(&binary)?
        };
        suites.push(Suite::new(binary, selected));
    }
    Ok(suites)
}

fn print_list(suites: &[Suite]) {
    for suite in suites.iter().filter(|suite| !suite.binary.own_main) {
        for test in &suite.tests {
            println!("{}: test", test.name);
        }
    }
}

fn nothing_ran(harness: &HarnessOptions, totals: &Totals) -> String {
    match (harness.filters.as_slice(), totals.filtered_out) {
        ([], 0) => "no tests to run: the selected packages have none".to_owned(),
        ([], out) => format!("no tests to run: all {out} are filtered out"),
        (filters, out) => {
            let how = if harness.exact { "is named" } else { "has a name that contains" };
            format!("no tests to run: none of {out} {how} `{}`", filters.join("` or `"))
        }
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
