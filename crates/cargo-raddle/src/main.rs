//! The `cargo raddle` command: builds tests with instrumentation, runs them, replays and shows their failures.
//!
//! | file | idea |
//! |---|---|
//! | `instrument` | which compiler flags, which crates |
//! | `wrapper` | being the `RUSTC_WRAPPER` that adds them |
//! | `passthrough` | what instrumented code calls in programs that do not link Raddle |
//! | `allocator` | what keeps Raddle's own allocations from the program's global allocator |
//! | `cargo` | calling cargo: options, metadata, configuration, the build |
//! | `canary` | bugs that must be found before tests that pass mean anything |
//! | `session` | what a command knows about workspace, target and directories |
//! | `setup` | set-ups in which nothing could be explored |
//! | `binary` | a test binary and its environment |
//! | `libtest` | the arguments after `--`, the list of tests |
//! | `run` | tests as processes, their results on the terminal |
//! | `options` | flags made of the table of options (`raddle-options`) |
//! | `search_profile` | named sets of options |
//! | `report`, `page` | failure files as text and as pages |
//! | `ci` | results for CI services: JUnit, annotations |
//! | `coverage` | the code that explorations without failure reached |
//! | `debug` | a debug adapter that goes through failing executions |
//! | `refine` | tests of refinement: specifications, generated projects, verdicts |
//! | `commands` | what each command does |
//! | `quick` | a command made without the feature `all`: what it hands over to the whole one |
//!
//! **Invariant:** this program knows nothing of the engine. It talks to tests through variables and files only.
#![deny(unsafe_code)]
// Commands that are left out share code with each other.
#![cfg_attr(not(feature = "all"), allow(dead_code, unused_imports))]

mod allocator;
mod announce;
mod binary;
mod canary;
mod cargo;
mod ci;
mod cli;
mod commands;
#[cfg(feature = "all")]
mod coverage;
#[cfg(feature = "all")]
mod debug;
mod doctests;
mod error;
mod instrument;
mod library_cache;
mod libtest;
mod options;
mod page;
mod passthrough;
#[cfg(any(test, not(feature = "all")))]
mod quick;
#[cfg(feature = "all")]
mod refine;
mod report;
mod run;
mod search_profile;
mod session;
mod setup;
mod terminal;
mod wrapper;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

#[cfg(feature = "all")]
fn checker_args(command: &str, rest: cli::CheckerArgs) -> impl Iterator<Item = OsString> {
    ["cargo-raddle", command].map(OsString::from).into_iter().chain(rest.args)
}

fn main() -> ExitCode {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    #[cfg(feature = "all")]
    if raddle_grade::sandbox::is_supervisor(&args) {
        return raddle_grade::sandbox::supervise();
    }
    if wrapper::is_wrapper(&args) {
        return wrapper::run(&args);
    }
    // As a subcommand of cargo, the first argument is the subcommand's name.
    if args.get(1).is_some_and(|arg| arg == "raddle") {
        args.remove(1);
    }
    #[cfg(not(feature = "all"))]
    if !quick::knows(&args) {
        return quick::hand_over(&args);
    }
    let cli = Cli::parse_from(args);
    let result = match cli.command {
        Command::Test(args) => commands::test(args),
        Command::Build(args) => commands::build(args),
        Command::Nextest(args) => commands::nextest(args),
        Command::Replay(args) => commands::replay(args),
        #[cfg(feature = "all")]
        Command::Debug(args) => commands::debug(args),
        #[cfg(feature = "all")]
        Command::Show(args) => commands::show(args),
        #[cfg(feature = "all")]
        Command::Why(args) => commands::why(args),
        #[cfg(feature = "all")]
        Command::Query(args) => commands::query(args),
        #[cfg(feature = "all")]
        Command::Grade(args) => commands::grade(args),
        #[cfg(feature = "all")]
        Command::Litmus(args) => commands::litmus(args),
        Command::Demo(args) => commands::demo(args),
        #[cfg(feature = "all")]
        Command::Validate(args) => commands::validate(args),
        #[cfg(feature = "all")]
        Command::Spec(args) => commands::spec(args),
        #[cfg(feature = "all")]
        Command::Generate(args) => commands::generate(args),
        // The checker has a command line of its own, with exit codes that mean the same.
        #[cfg(feature = "all")]
        Command::Verify(args) => return raddle_check::cli::run(checker_args("verify", args)),
        #[cfg(feature = "all")]
        Command::Models(args) => return raddle_check::cli::run(checker_args("models", args)),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            if !error.already_reported() {
                eprintln!("error: {error}");
            }
            ExitCode::from(error.exit_code())
        }
    }
}
