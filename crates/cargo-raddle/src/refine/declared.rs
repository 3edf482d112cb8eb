//! Declarative tests as specifications.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use raddle_refine::{blame, driver};

use super::process::wait;
use super::{Batch, Violation};
use crate::binary::build_tests;
use crate::cargo::CargoOptions;
use crate::commands::ValidateArgs;
use crate::error::{Error, Result};
use crate::libtest::HarnessOptions;
use crate::run::Contract;
use crate::session::Session;
use crate::terminal::Terminal;

/// What the process may take beyond the time of its schemas.
const GRACE: Duration = Duration::from_secs(60);

/// Builds the tests, and asks one of them to try schemas of its operations.
pub(crate) fn run(name: &str, args: &ValidateArgs, terminal: &Terminal) -> Result<Batch> {
    let mut options = CargoOptions {
        packages: args.packages.clone(),
        output: args.output.clone(),
        ..CargoOptions::default()
    };
    options.manifest.offline = args.project.offline;
    options.compilation.target_dir = args.project.target_dir.clone();
    let began = Instant::now();
    let session = Session::open(options)?;
    let harness = HarnessOptions::parse(Some(name), &[])?;
    let mut found = Vec::new();
    for binary in build_tests(&session)?.into_iter().filter(|binary| !binary.own_main) {
        let tests = harness.select(&binary)?.tests;
        let exact = |test: &str| test == name || test.ends_with(&format!("::{name}"));
        let matching: Vec<String> =
            tests.into_iter().map(|test| test.name).filter(|test| exact(test)).collect();
        found.extend(matching.into_iter().map(|test| (binary.command(), binary.id(), test)));
    }
    let built = began.elapsed();
    let (mut command, id, test) = match found.len() {
        1 => found.remove(0),
        0 => {
            return Err(Error::usage(format_args!(
                "there is no test `{name}` here: `cargo raddle test -- --list` has their names"
            )));
        }
        many => {
            return Err(Error::usage(format_args!(
                "there are {many} tests `{name}` here: choose a package with `-p`"
            )));
        }
    };
    let size = &args.size;
    let request = serde_json::json!({
        "programs": size.max_programs, "schemas": args.schema, "seed": size.seed,
        "values": size.values.unwrap_or(size.bounds()?.default_values()),
        "min_threads": size.min_threads, "max_threads": size.max_threads,
        "min_invocations": size.min_invocations, "max_invocations": size.max_invocations,
        "milliseconds": (size.time_per_test * 1000.0) as u64,
    });
    Contract::new(&session, &args.options(), terminal)?.apply(&mut command);
    command.env("RADDLE_PACKAGE", id).env("RADDLE_OWNED", "1").env("RADDLE_TEST", &test);
    command.args(HarnessOptions::run_args(&test)).env("REFINEMENT_REQUEST", request.to_string());
    let schemas = args.schema.len().max(size.max_programs);
    let limit = Duration::from_secs_f64(size.time_per_test * schemas as f64) + GRACE;
    let began = Instant::now();
    let ended = wait(command, limit)?;
    let verdicts = driver::parse_all(&ended.output);
    if verdicts.is_empty() {
        return Err(Error::usage(format_args!(
            "`{name}` tried no schema: is it a test of `#[raddle::test]`, with operations?"
        )));
    }
    let mut batch = Batch { path: PathBuf::from(test), levels: blame::levels(&verdicts), ..Batch::default() };
    let smallest = verdicts
        .iter()
        .filter(|verdict| verdict.is_violation())
        .min_by_key(|verdict| blame::size(&verdict.schema));
    let count = verdicts.iter().filter(|verdict| verdict.is_violation()).count();
    batch.violations.extend(smallest.map(|verdict| Violation {
        verdict: verdict.clone(),
        count,
        is_minimised: false,
        file: None,
    }));
    batch.verdicts = verdicts;
    batch.times = (built, began.elapsed());
    Ok(batch)
}
