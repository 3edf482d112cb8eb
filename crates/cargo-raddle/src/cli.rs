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
    /// Go through the failing execution of a failure file with a debugger, forwards and backwards
    #[cfg(feature = "all")]
    #[command(after_help = EXIT_CODES)]
    Debug(DebugArgs),
    /// Print the report of a failure file, or draw its execution graph, without running anything
    #[cfg(feature = "all")]
    #[command(after_help = EXIT_CODES)]
    Show(ShowArgs),
    /// Ask a failure file a question: where a value came from, what must have happened before, who missed a write
    #[cfg(feature = "all")]
    #[command(after_help = WHY_HELP)]
    Why(WhyArgs),
    /// Answer questions about a failure file as JSON, for editors and assistants
    #[cfg(feature = "all")]
    #[command(after_help = EXIT_CODES)]
    Query(QueryArgs),
    /// Grade submissions of a course, each built and tested in isolation
    #[cfg(feature = "all")]
    #[command(after_help = crate::commands::GRADE_HELP)]
    Grade(crate::commands::GradeArgs),
    /// Run graded litmus tests: seen on this machine, allowed by SC, allowed by RC11
    #[cfg(feature = "all")]
    #[command(after_help = EXIT_CODES)]
    Litmus(crate::commands::LitmusArgs),
    /// See a bug found, in a small queue that comes with Raddle
    Demo(DemoArgs),
    /// Try programs made of a specification, and report outcomes that it does not allow
    #[cfg(feature = "all")]
    #[command(after_help = EXIT_CODES)]
    Validate(crate::commands::ValidateArgs),
    /// Print a specification made of the code of a type, to be edited
    #[cfg(feature = "all")]
    Spec(crate::commands::SpecArgs),
    /// Write schemas with their expected outcomes as tests to keep
    #[cfg(feature = "all")]
    Generate(crate::commands::GenerateArgs),
    /// Decide whether a recorded history is correct
    #[cfg(feature = "all")]
    #[command(disable_help_flag = true)]
    Verify(CheckerArgs),
    /// List the models that histories can be checked against
    #[cfg(feature = "all")]
    #[command(disable_help_flag = true)]
    Models(CheckerArgs),
}

/// What is handed to the checker as it is
#[cfg(feature = "all")]
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
    /// Refused: documentation tests are run by `cargo test --doc`
    #[arg(long, hide = true)]
    pub(crate) doc: bool,
    /// Run all tests regardless of failure
    #[arg(long)]
    pub(crate) no_fail_fast: bool,
    /// Open the page of the first failure in a browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Write the results to this file as JUnit XML, in place of an older one
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print which atomic accesses and locks of the code the explorations reached, and which of them threads met at
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Write the same to this file as JSON, in place of an older one
    #[arg(long, value_name = "FILE")]
    pub(crate) coverage_json: Option<PathBuf>,
    /// Set the options of a profile: quick, ci, nightly, or one of [package.metadata.raddle.search-profiles]
    #[arg(long, value_name = "NAME")]
    pub(crate) search_profile: Option<String>,
    /// What it means that no test is selected
    #[arg(long, value_enum, default_value = "fail", value_name = "ACTION")]
    pub(crate) no_tests: NoTests,
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

/// What `cargo raddle test` does where no test is selected.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTests {
    /// Exit code 4: a mistake in the selection looks like success otherwise
    Fail,
    /// Exit code 0
    Pass,
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

/// `cargo raddle debug`
#[cfg(feature = "all")]
#[derive(Args, Debug)]
pub(crate) struct DebugArgs {
    /// The failure file; an editor can name it instead, as `failure` of its configuration
    pub(crate) file: Option<PathBuf>,
    /// Be a debug adapter (Debug Adapter Protocol) on standard input and output, for an editor
    #[arg(long, conflicts_with = "cli", required_unless_present_any = ["cli", "port"])]
    pub(crate) dap: bool,
    /// Be a debug adapter on this port of 127.0.0.1; 0 takes a free one, and says which
    #[arg(long, value_name = "N", conflicts_with = "cli")]
    pub(crate) port: Option<u16>,
    /// Read commands from the terminal
    #[arg(long)]
    pub(crate) cli: bool,
    /// The debugger to use: an lldb-dap, or a gdb of version 14 or later
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) debugger: Option<PathBuf>,
    /// Go on even if the program has changed since
    #[arg(long)]
    pub(crate) force: bool,
}

/// `cargo raddle show`
#[cfg(feature = "all")]
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
    /// Print the report as a page for browsers, in one file
    #[arg(long, group = "form")]
    pub(crate) html: bool,
    /// Write the page beside the failure file, and open it in a browser
    #[arg(long, conflicts_with_all = ["form", "to"])]
    pub(crate) open: bool,
    /// Step through the execution on a screen in the terminal
    #[arg(short = 'i', long, group = "form")]
    pub(crate) interactive: bool,
    /// Print the report with the numbers of events, by which `why` and `query` name them
    #[arg(long, group = "form")]
    pub(crate) numbers: bool,
    /// Print another form
    #[arg(long, group = "form", value_enum, value_name = "FORM")]
    pub(crate) format: Option<Format>,
    /// The event after which the objects are drawn; the last one if left out
    #[arg(long, value_name = "N", requires = "format")]
    pub(crate) event: Option<u32>,
    /// Write to this file instead, which must not exist yet
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: crate::cargo::options::Output,
}

/// The forms of `cargo raddle show --format`.
#[cfg(feature = "all")]
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// SARIF 2.1.0, for code scanners
    Sarif,
    /// A sequence diagram in the language of Mermaid
    Mermaid,
    /// A sequence diagram as text
    Sequence,
    /// A trace for Perfetto and chrome://tracing
    Perfetto,
    /// The objects after an event, in the language of Graphviz
    StateDot,
    /// The objects after an event, as an SVG image
    StateSvg,
    /// The failure file itself
    Json,
}

/// `cargo raddle why`
#[cfg(feature = "all")]
#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// The failure file
    pub(crate) file: PathBuf,
    /// The event, value, location or condition in question; the failure itself if left out
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) target: String,
    /// Try other executions first, to learn when the failure became unavoidable and which execution passes; the failure file keeps the
    /// result
    #[arg(long)]
    pub(crate) alternatives: bool,
    #[command(flatten)]
    pub(crate) output: crate::cargo::options::Output,
}

/// `cargo raddle query`
#[cfg(feature = "all")]
#[derive(Args, Debug)]
pub(crate) struct QueryArgs {
    /// The failure file
    pub(crate) file: PathBuf,
    /// The request as JSON; read from standard input if left out
    pub(crate) request: Option<String>,
    /// Try other executions first, as `why --alternatives` does
    #[arg(long)]
    pub(crate) alternatives: bool,
    #[command(flatten)]
    pub(crate) output: crate::cargo::options::Output,
}

/// The part of `why --help` that explains targets.
#[cfg(feature = "all")]
const WHY_HELP: &str = "\
Targets:
  13               an event, by its number (cargo raddle show FILE --numbers)
  T1               the last event of a thread
  =5               a value: the last event that read or wrote it
  queue.tail       a location, as the report names it; also #3, 0x8800, Node#2
  'queue.len > 1'  a condition on objects or locations: when did it hold?

Exit codes:
  0    answered
  2    usage error, a file that cannot be read or is not a failure file, or a question without an answer";

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
    /// Open the page of the failure in a browser
    #[arg(long)]
    pub(crate) open: bool,
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
