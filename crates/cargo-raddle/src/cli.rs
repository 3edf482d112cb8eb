//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::cargo::CargoOptions;
use crate::error::EXIT_CODES;
use crate::options::{RaddleOptions, entry, help_of};

/// Finds concurrency bugs in unmodified Rust code and shows exactly how they happen
#[derive(Parser, Debug)]
#[command(name = "cargo-raddle", bin_name = "cargo raddle", version, after_help = EXIT_CODES)]
#[command(styles = clap_cargo_styles())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be done.
#[allow(clippy::large_enum_variant, reason = "there is one of it in the process")]
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Build the tests with instrumentation and run each in a process of its own
    #[command(after_help = crate::options::help() + "\n" + EXIT_CODES)]
    Test(TestArgs),
    /// Build the tests with instrumentation and print where they are
    Build(BuildArgs),
    /// Run `cargo nextest` with instrumentation
    Nextest(NextestArgs),
    /// Run the failing execution of a failure file again
    #[command(after_help = EXIT_CODES)]
    Replay(ReplayArgs),
    /// Print the report of a failure file, or draw its execution graph, without running anything
    #[command(after_help = EXIT_CODES)]
    Show(ShowArgs),
    /// See a bug found, in a small queue that comes with Raddle
    Demo(DemoArgs),
    /// Decide whether a recorded history is correct
    #[command(disable_help_flag = true)]
    Verify(CheckerArgs),
    /// List the models that histories can be checked against
    #[command(disable_help_flag = true)]
    Models(CheckerArgs),
}

/// What is handed to the checker as it is
#[derive(Args, Debug)]
pub(crate) struct CheckerArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub(crate) args: Vec<OsString>,
}

/// `cargo raddle test`
#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// Build, but do not run
    #[arg(long)]
    pub(crate) no_run: bool,
    /// Run all tests regardless of failure
    #[arg(long)]
    pub(crate) no_fail_fast: bool,
    /// If specified, only run tests containing this string in their names
    #[arg(value_name = "TESTNAME")]
    pub(crate) name: Option<String>,
    /// Arguments of the test harness: --nocapture, --test-threads N, --skip NAME, --exact, --ignored, ...
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) harness: Vec<String>,
    #[command(flatten)]
    pub(crate) raddle: RaddleOptions,
    #[command(flatten)]
    pub(crate) cargo: CargoOptions,
}

/// `cargo raddle build`
#[derive(Args, Debug)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) cargo: CargoOptions,
}

/// `cargo raddle nextest`
#[derive(Args, Debug)]
pub(crate) struct NextestArgs {
    #[command(flatten)]
    pub(crate) raddle: RaddleOptions,
    /// Arguments of `cargo nextest`, starting with its command: run -p my-crate
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

/// `cargo raddle replay`
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// The failure file
    pub(crate) file: PathBuf,
    /// Replay even if the program has changed since
    #[arg(long)]
    pub(crate) force: bool,
    #[arg(long, value_name = entry("RADDLE_BACKEND").placeholder, help = help_of(entry("RADDLE_BACKEND")))]
    pub(crate) backend: Option<String>,
    #[command(flatten)]
    pub(crate) output: crate::cargo::options::Output,
}

/// `cargo raddle show`
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The failure file
    pub(crate) file: PathBuf,
    /// Print the execution graph: what read what, what happened before what, what was missed
    #[arg(long, group = "form")]
    pub(crate) graph: bool,
    /// Print the execution graph in the language of Graphviz
    #[arg(long, group = "form")]
    pub(crate) dot: bool,
    /// Print the execution graph as an SVG image
    #[arg(long, group = "form")]
    pub(crate) svg: bool,
    /// Write to this file instead, which must not exist yet
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: crate::cargo::options::Output,
}

/// `cargo raddle demo`
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) raddle: RaddleOptions,
    /// Directory for all generated artifacts
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) target_dir: Option<PathBuf>,
    /// Run without accessing the network
    #[arg(long)]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) output: crate::cargo::options::Output,
}

/// The colours of cargo's own help.
fn clap_cargo_styles() -> clap::builder::Styles {
    use clap::builder::styling::{AnsiColor, Styles};
    let heading = AnsiColor::BrightGreen.on_default().bold();
    let literal = AnsiColor::BrightCyan.on_default().bold();
    let placeholder = AnsiColor::Cyan.on_default();
    Styles::styled().header(heading).usage(heading).literal(literal).placeholder(placeholder)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn cargo_options_test_name_and_harness_arguments_are_told_apart() {
        let line = "cargo-raddle test -p a --features x,y --release counter --seed 7 -- --exact -q other";
        let cli = Cli::parse_from(line.split(' '));
        let Command::Test(args) = cli.command else { panic!("not `test`") };
        let expected = "--package a --features x,y --release";
        assert_eq!(args.cargo.to_args().join(" "), expected);
        assert_eq!(args.name.as_deref(), Some("counter"));
        assert_eq!(args.harness, ["--exact", "-q", "other"]);
        assert_eq!(args.raddle.variables(), [("RADDLE_SEED", "7".to_owned())]);
    }

    #[test]
    fn nextest_gets_everything_after_raddles_options() {
        let cli =
            Cli::parse_from("cargo-raddle nextest --seed 3 run -p a --profile ci -- --exact x".split(' '));
        let Command::Nextest(args) = cli.command else { panic!("not `nextest`") };
        assert_eq!(args.raddle.variables(), [("RADDLE_SEED", "3".to_owned())]);
        assert_eq!(args.args.join(" "), "run -p a --profile ci -- --exact x");
    }
}
