//! `cargo raddle validate`: programs made of a specification, and the outcomes that it does not allow.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use raddle_refine::enumerate::Bounds;
use raddle_refine::program::Tester;

use crate::error::{Error, Result, exit};
use crate::options::{self, RaddleOptions};
use crate::refine::{Batch, declared, present};
use crate::terminal::Terminal;

/// `cargo raddle validate`
#[derive(Args, Debug)]
pub(crate) struct ValidateArgs {
    /// Specification files, JSON or TOML
    #[arg(required_unless_present = "test", value_name = "SPEC")]
    pub(crate) specs: Vec<PathBuf>,
    /// Take the operations of this declarative test (`#[raddle::test]`) as the specification
    #[arg(long, value_name = "NAME", conflicts_with_all = ["specs", "tester", "method_filter", "systematic"])]
    pub(crate) test: Option<String>,
    #[command(flatten)]
    pub(crate) packages: crate::cargo::options::Packages,
    /// Try this schema: "{ insert(0,1); len() } || { remove(0) }"; can be given several times
    #[arg(long, value_name = "SCHEMA")]
    pub(crate) schema: Vec<String>,
    /// What runs the schemas
    #[arg(long, value_enum, default_value = "model")]
    pub(crate) tester: TesterName,
    /// Which values a read may see, for the model checker: sc (all threads see one order), rc11; by default both, in turn
    #[arg(long, value_name = "MODEL")]
    pub(crate) memory: Option<String>,
    #[command(flatten)]
    pub(crate) size: SizeArgs,
    /// Report for each method that is not trusted the strongest level that survives
    #[arg(long)]
    pub(crate) maximality: bool,
    /// Leave violations as large as they were found
    #[arg(long)]
    pub(crate) no_minimize: bool,
    /// How results are printed
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    pub(crate) format: Form,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    #[command(flatten)]
    pub(crate) output: crate::cargo::options::Output,
}

/// Which schemas, and for how long.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Schemas")]
pub(crate) struct SizeArgs {
    /// Number of schemas that are made up
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) max_programs: usize,
    /// Threads at least
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) min_threads: usize,
    /// Threads at most
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) max_threads: usize,
    /// Invocations of all threads together, at least
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) min_invocations: usize,
    /// Invocations of all threads together, at most
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) max_invocations: usize,
    /// Values of each parameter in a schema; by default as many as the logarithm of the invocations
    #[arg(long, value_name = "N")]
    pub(crate) values: Option<usize>,
    /// Take the values of each schema from 0, 1, ... up to so many; by default what the specification says, or 8
    #[arg(long, value_name = "N")]
    pub(crate) range: Option<usize>,
    /// Seconds for each schema at most
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub(crate) time_per_test: f64,
    /// Seconds for all schemas of a specification together, shared by those that are not exhausted sooner; by default as long as 30 of
    /// them may take, or three tenths of them all
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time: Option<f64>,
    /// The seed of schemas and schedules
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Use only methods whose names match this regular expression
    #[arg(long, value_name = "REGEXP")]
    pub(crate) method_filter: Option<String>,
    /// Try all schemas, smallest first, in place of random ones
    #[arg(long)]
    pub(crate) systematic: bool,
}

/// Where the generated project is built.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Project")]
pub(crate) struct ProjectArgs {
    /// Directory for all generated artifacts
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) target_dir: Option<PathBuf>,
    /// Run without accessing the network
    #[arg(long)]
    pub(crate) offline: bool,
}

/// The testers.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TesterName {
    /// Raddle's model checker: all executions, if there are not too many
    Model,
    /// Real threads
    Stress,
    /// Loom, for objects made of its types
    Loom,
    /// Shuttle, for objects made of its types
    Shuttle,
}

/// How results are printed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// JUnit XML
    Junit,
    /// A table of methods and their levels, for documents
    Markdown,
}

impl TesterName {
    pub(crate) fn tester(self) -> Tester {
        match self {
            TesterName::Model => Tester::Model,
            TesterName::Stress => Tester::Stress,
            TesterName::Loom => Tester::Loom,
            TesterName::Shuttle => Tester::Shuttle,
        }
    }
}

impl ValidateArgs {
    /// The options of explorations.
    pub(crate) fn options(&self) -> RaddleOptions {
        RaddleOptions::default().with(options::entry("RADDLE_MEMORY"), self.memory.clone())
    }
}

impl SizeArgs {
    /// The bounds, if they make sense.
    pub(crate) fn bounds(&self) -> Result<Bounds> {
        let order = |what: &str, low: usize, high: usize| match low <= high && high > 0 {
            true => Ok(()),
            false => Err(Error::usage(format_args!(
                "--min-{what} {low} is more than --max-{what} {high}: swap them"
            ))),
        };
        order("threads", self.min_threads, self.max_threads)?;
        order("invocations", self.min_invocations, self.max_invocations)?;
        // A duration has an upper limit; a year is far below it.
        let is_time = |seconds: f64| seconds > 0.0 && seconds <= 365.0 * 86_400.0;
        let refused = |option: &str| {
            Error::usage(format_args!(
                "{option} takes a number of seconds that is more than 0, and at most a year"
            ))
        };
        if !is_time(self.time_per_test) {
            return Err(refused("--time-per-test"));
        }
        if !self.time.is_none_or(is_time) {
            return Err(refused("--time"));
        }
        Ok(Bounds {
            min_threads: self.min_threads,
            max_threads: self.max_threads,
            min_invocations: self.min_invocations,
            max_invocations: self.max_invocations,
        })
    }
}

/// Tries the schemas of each specification. What is wrong with one does not keep the others from being tried.
pub(crate) fn validate(args: ValidateArgs) -> Result<u8> {
    args.size.bounds()?;
    args.options().check()?;
    if args.memory.is_some() && args.tester != TesterName::Model {
        return Err(Error::usage("--memory is for the model checker: real machines have one of their own"));
    }
    let terminal = Terminal::new(&args.output);
    let mut batches = Vec::new();
    let subjects = args.test.iter().map(PathBuf::from).chain(args.specs.iter().cloned());
    for path in subjects {
        let batch = match &args.test {
            Some(test) => declared::run(test, &args, &terminal),
            None => Batch::run(&path, &args, &terminal),
        };
        let batch = batch.unwrap_or_else(|error| Batch::refused(&path, error));
        if args.format == Form::Text {
            print!("{}", present::text(&batch, &args, &terminal));
        }
        batches.push(batch);
    }
    match args.format {
        Form::Text => {}
        Form::Json => println!("{}", present::json(&batches)?),
        Form::Junit => print!("{}", present::junit(&batches)),
        Form::Markdown => print!("{}", present::markdown(&batches)),
    }
    Ok(match () {
        () if batches.iter().any(Batch::has_violation) => exit::FAILED,
        () if batches.iter().any(Batch::has_mistake) => exit::USAGE,
        () => exit::PASSED,
    })
}
