//! `cargo raddle generate`: schemas with their expected outcomes, as tests to keep.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use raddle_refine::program::{Kept, Tester, standalone};

use super::{ProjectArgs, SizeArgs};
use crate::error::{Error, Result, exit};
use crate::options::RaddleOptions;
use crate::refine::{self, Project, Runner, calls_of};
use crate::terminal::Terminal;

/// `cargo raddle generate`
#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    /// The specification file
    #[arg(value_name = "SPEC")]
    pub(crate) spec: PathBuf,
    /// The file to write, which must not exist yet
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Write this schema; can be given several times
    #[arg(long, value_name = "SCHEMA")]
    pub(crate) schema: Vec<String>,
    #[command(flatten)]
    pub(crate) size: SizeArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    #[command(flatten)]
    pub(crate) output: crate::cargo::options::Output,
}

/// Computes the outcomes of schemas, and writes them down as a file of tests.
pub(crate) fn generate(args: GenerateArgs) -> Result<u8> {
    if args.out.exists() {
        return Err(exists(&args.out));
    }
    let terminal = Terminal::new(&args.output);
    let mut spec = refine::load(&args.spec)?.spec;
    refine::filter_methods(&mut spec, &args.size)?;
    let values = args.size.values.unwrap_or(args.size.bounds()?.default_values());
    let schemas = match args.schema.is_empty() {
        true => refine::draw(&spec, &args.size, values, &mut None)?,
        false => args.schema.iter().map(|text| refine::parse(&spec, text)).collect::<Result<_>>()?,
    };
    let base = std::path::absolute(&args.spec).map_err(Error::file("find", &args.spec))?;
    let base = base.parent().unwrap_or(Path::new("."));
    let calls = calls_of(&spec, values, 0, &schemas);
    let project = Project::build(&spec, base, calls, Tester::Stress, &args.project)?;
    if let Some((method, why)) = project.left_out.first() {
        return Err(Error::usage(format_args!("`{method}` does not compile: {why}")));
    }
    let runner = Runner::new(&project, &RaddleOptions::default(), args.size.seed, &terminal)?;
    let mut kept = Vec::new();
    for (schema, verdict) in schemas.iter().zip(runner.expected(&schemas)?) {
        match (verdict.problem, verdict.expected) {
            (None, Some(expected)) => kept.push(Kept { schema: schema.clone(), expected }),
            (Some(problem), _) => eprintln!("warning: {schema} is left out: {problem}"),
            (None, None) => {
                eprintln!("warning: {schema} is left out: it has too many outcomes to write down")
            }
        }
    }
    if kept.is_empty() {
        return Err(Error::usage("no schema is left to write down"));
    }
    let command = format!("cargo raddle generate {}", args.spec.display());
    let text = formatted(&standalone(&spec, &kept, &command).map_err(Error::usage)?);
    raddle_report::file::write_new(&args.out, &text).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(&args.out),
        _ => Error::file("create", &args.out)(error),
    })?;
    println!("{}: {} tests", args.out.display(), kept.len());
    Ok(exit::PASSED)
}

fn exists(path: &Path) -> Error {
    let path = path.display();
    Error::usage(format_args!(
        "{path} exists already, and is not overwritten: give another name, or remove it first"
    ))
}

/// The text as rustfmt writes it, or as it is where there is no rustfmt.
fn formatted(text: &str) -> String {
    let run = || -> Option<String> {
        let mut command = Command::new("rustfmt");
        command.args(["--edition", "2024", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().ok()?;
        child.stdin.take()?.write_all(text.as_bytes()).ok()?;
        let output = child.wait_with_output().ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).ok())?
    };
    run().unwrap_or_else(|| text.to_owned())
}
