//! All schemas of a specification.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use raddle_refine::Verdict;
use raddle_refine::blame::{self, MethodLevel};
use raddle_refine::enumerate::{Candidate, RANGE, Random, Suspects, Systematic, gathered};
use raddle_refine::schema::Schema;
use raddle_refine::spec::Spec;

use super::pace::Pace;
use super::{Project, Runner, calls_of, load};
use crate::commands::{SizeArgs, ValidateArgs};
use crate::error::{Error, Result};
use crate::terminal::Terminal;

/// What came of a specification.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The file.
    pub(crate) path: PathBuf,
    /// The specification.
    pub(crate) spec: Option<Spec>,
    /// What is worth knowing: methods that were left out, and why.
    pub(crate) notes: Vec<String>,
    /// Methods that do not compile, and what the compiler says.
    pub(crate) left_out: Vec<(String, String)>,
    /// What is wrong with the specification as a whole.
    pub(crate) mistake: Option<String>,
    /// How many schemas there are in all, if all were asked for.
    pub(crate) count: Option<u128>,
    /// What came of each schema.
    pub(crate) verdicts: Vec<Verdict>,
    /// For each method to blame, its smallest violation.
    pub(crate) violations: Vec<Violation>,
    /// The level of each method that is not trusted.
    pub(crate) levels: BTreeMap<String, MethodLevel>,
    /// How long building took, and running.
    pub(crate) times: (Duration, Duration),
}

/// The smallest violation that a method is blamed for.
#[derive(Debug)]
pub(crate) struct Violation {
    /// What came of the schema.
    pub(crate) verdict: Verdict,
    /// How many schemas showed a violation of this method.
    pub(crate) count: usize,
    /// Whether the schema is smaller than every one of them.
    pub(crate) is_minimised: bool,
    /// The failure file that shows the interleaving.
    pub(crate) file: Option<PathBuf>,
}

impl Batch {
    /// Builds the driver of a specification, and tries its schemas.
    pub(crate) fn run(path: &Path, args: &ValidateArgs, terminal: &Terminal) -> Result<Batch> {
        let loaded = load(path)?;
        let mut spec = loaded.spec;
        let notes = loaded.notes.iter().map(|note| format!("{}: {note}", path.display())).collect();
        filter_methods(&mut spec, &args.size)?;
        let mut batch = Batch { path: path.to_owned(), notes, ..Batch::default() };
        let given: Vec<Schema> = args.schema.iter().map(|text| parse(&spec, text)).collect::<Result<_>>()?;

        let base = std::path::absolute(path).map_err(Error::file("find", path))?;
        let base = base.parent().unwrap_or(Path::new("."));
        let values = args.size.values.unwrap_or(args.size.bounds()?.default_values());
        let began = Instant::now();
        let drawn =
            if given.is_empty() { draw(&spec, &args.size, values, &mut batch.count)? } else { given.clone() };
        let calls = calls_of(&spec, values, range(&spec, &args.size), &drawn);
        say(terminal, args, "Building", &format!("a driver for {}", path.display()));
        let project = Project::build(&spec, base, calls, args.tester.tester(), &args.project)?;
        batch.left_out = project.left_out.clone();
        spec.methods.retain(|method| !batch.left_out.iter().any(|(name, _)| *name == method.name));
        batch.times.0 = began.elapsed();

        // Without the methods that do not compile, others are drawn in their place.
        let schemas = match (given.is_empty(), batch.left_out.is_empty()) {
            (false, _) => given.into_iter().filter(|schema| spec.check(schema).is_ok()).collect(),
            (true, true) => drawn,
            (true, false) => draw(&spec, &args.size, values, &mut batch.count)?,
        };
        let runner = Runner::new(&project, &args.options(), args.size.seed, terminal)?;
        let (began, number) = (Instant::now(), schemas.len());
        let time = Duration::from_secs_f64(args.size.time_per_test);
        let pace = Pace::new(time, number, args.size.time.map(Duration::from_secs_f64));
        say(terminal, args, "Running", &format!("{number} schemas, seed {}", args.size.seed));
        batch.verdicts = runner.run_all(&schemas, &pace, |done| {
            redraw(terminal, "Running", &format!("{done} of {number} schemas, seed {}", args.size.seed));
        })?;
        batch.acquit(&runner, time)?;
        batch.levels = blame::levels(&batch.verdicts);
        batch.collect_violations(&runner, &spec, args, terminal)?;
        batch.times.1 = began.elapsed();
        batch.spec = Some(spec);
        Ok(batch)
    }

    /// A specification that could not be tried.
    pub(crate) fn refused(path: &Path, error: Error) -> Batch {
        Batch { path: path.to_owned(), mistake: Some(error.to_string()), ..Batch::default() }
    }

    /// Whether something was seen that is not allowed.
    pub(crate) fn has_violation(&self) -> bool {
        self.verdicts.iter().any(Verdict::is_violation)
    }

    /// Whether something is wrong with the input.
    pub(crate) fn has_mistake(&self) -> bool {
        self.mistake.is_some()
            || !self.left_out.is_empty()
            || self.verdicts.iter().any(|verdict| verdict.problem.is_some())
    }

    /// Tries violations that no level of the method to blame explains without that method: a method that changes the object is blamed for
    /// what nobody else is, but not for what is there without it. The smaller schema then stands for the larger one.
    fn acquit(&mut self, runner: &Runner<'_>, time: Duration) -> Result<()> {
        let mut without = Vec::new();
        for (number, verdict) in self.verdicts.iter().enumerate() {
            let Some(method) = &verdict.blamed else { continue };
            let rest = reparse(&verdict.schema)?.without(method);
            if verdict.failure.is_none() && verdict.levels.get(method) == Some(&None) && rest.threads() > 1 {
                without.push((number, rest));
            }
        }
        let mut schemas: Vec<Schema> = without.iter().map(|(_, rest)| rest.clone()).collect();
        schemas.sort_by_key(ToString::to_string);
        schemas.dedup();
        let verdicts = runner.run_all(&schemas, &Pace::within(time / 2, SHRINKING * time), |_| ())?;
        for (number, rest) in without {
            let rest = rest.to_string();
            let found = verdicts.iter().find(|verdict| verdict.schema == rest && verdict.is_violation());
            if let Some(found) = found {
                self.verdicts[number] = found.clone();
            }
        }
        Ok(())
    }

    /// For each method to blame, takes its smallest violation, makes it smaller still and finds it again.
    fn collect_violations(
        &mut self,
        runner: &Runner<'_>,
        spec: &Spec,
        args: &ValidateArgs,
        terminal: &Terminal,
    ) -> Result<()> {
        let mut by_method: BTreeMap<(String, bool), (usize, Verdict)> = BTreeMap::new();
        for verdict in self.verdicts.iter().filter(|verdict| verdict.is_violation()) {
            // A deadlock or a crash has nobody to blame, but one that comes with another method is another one.
            let accused = match (&verdict.blamed, &verdict.failure) {
                (_, Some(_)) => suspects(spec, &verdict.schema).join(", "),
                (blamed, None) => blamed.clone().unwrap_or_default(),
            };
            let key = (accused, verdict.failure.is_some());
            let (count, smallest) = by_method.entry(key).or_insert_with(|| (0, verdict.clone()));
            *count += 1;
            if blame::size(&verdict.schema) < blame::size(&smallest.schema) {
                *smallest = verdict.clone();
            }
        }
        let time = Duration::from_secs_f64(args.size.time_per_test);
        for ((method, _), (count, smallest)) in by_method {
            if !args.no_minimize {
                say(terminal, args, "Shrinking", &smallest.schema);
            }
            let verdict = match args.no_minimize {
                true => smallest.clone(),
                false => minimise(runner, smallest.clone(), time)?,
            };
            let is_minimised = verdict.schema != smallest.schema;
            if let Some(known) = self.levels.get_mut(&method)
                && verdict.failure.is_none()
                && verdict.levels.get(&method) == Some(&known.level)
            {
                known.witness = Some(verdict.schema.clone());
            }
            let file = match &verdict.failure {
                Some(failure) => failure.file.clone(),
                None => runner.find_violation(&reparse(&verdict.schema)?, time)?,
            };
            self.violations.push(Violation { verdict, count, is_minimised, file: file.map(PathBuf::from) });
        }
        Ok(())
    }
}

/// The schemas that the options ask for; `count` becomes their number, if all were asked for.
pub(crate) fn draw(
    spec: &Spec,
    size: &SizeArgs,
    values: usize,
    count: &mut Option<u128>,
) -> Result<Vec<Schema>> {
    let candidates: Vec<Candidate> = spec
        .methods
        .iter()
        .flat_map(|method| {
            spec.calls(method, values).into_iter().map(|invocation| Candidate {
                invocation,
                readonly: method.readonly,
                trusted: method.trusted,
            })
        })
        .collect();
    let bounds = size.bounds()?;
    if size.systematic {
        let all = Systematic::new(&candidates, bounds);
        *count = all.count_all();
        return Ok(all.take(size.max_programs).collect());
    }
    let random = Random::new(&candidates, bounds, Suspects::One, size.seed).spread(range(spec, size));
    Ok(random.take(size.max_programs).collect())
}

/// How many values the values of a schema are taken from.
pub(crate) fn range(spec: &Spec, size: &SizeArgs) -> usize {
    size.range.or(spec.range).unwrap_or(RANGE)
}

/// So many schemas of full length could be tried one after another while a violation is made smaller.
const SHRINKING: u32 = 3;

/// Leaves out one invocation after another while the same method is to blame, and then takes the first values if they do.
///
/// That ends when its time is over: a smaller violation is worth less than the answer.
fn minimise(runner: &Runner<'_>, mut verdict: Verdict, time: Duration) -> Result<Verdict> {
    // What it takes to see a violation again is little beside what it takes to find one.
    let pace = Pace::within(time / 2, SHRINKING * time);
    while let Some(smaller) = first_like(runner, &verdict, &reparse(&verdict.schema)?.smaller(), &pace)? {
        verdict = smaller;
    }
    let schema = reparse(&verdict.schema)?;
    let plain = gathered(&schema);
    let pace = Pace::within(time / 2, time);
    let plain = if plain == schema { None } else { first_like(runner, &verdict, &[plain], &pace)? };
    Ok(plain.unwrap_or(verdict))
}

/// The first schema for which the same method is to blame in the same way, while there is time.
fn first_like(
    runner: &Runner<'_>,
    verdict: &Verdict,
    schemas: &[Schema],
    pace: &Pace,
) -> Result<Option<Verdict>> {
    for chunk in schemas.chunks(2).take_while(|_| !pace.is_over()) {
        let found = runner.run_all(chunk, pace, |_| ())?.into_iter().find(|other| {
            other.is_violation()
                && other.blamed == verdict.blamed
                && other.failure.is_some() == verdict.failure.is_some()
        });
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The methods of a schema that are not trusted, in order.
pub(crate) fn suspects(spec: &Spec, schema: &str) -> Vec<String> {
    let Ok(schema) = schema.parse::<Schema>() else { return Vec::new() };
    let trusted = |name: &str| spec.method(name).is_some_and(|method| method.trusted);
    let methods: BTreeSet<&String> = schema.invocations().map(|invocation| &invocation.method).collect();
    methods.into_iter().filter(|name| !trusted(name)).cloned().collect()
}

fn reparse(text: &str) -> Result<Schema> {
    text.parse().map_err(Error::usage)
}

/// A schema that fits a specification.
pub(crate) fn parse(spec: &Spec, text: &str) -> Result<Schema> {
    let schema: Schema = text.parse().map_err(Error::usage)?;
    spec.check(&schema).map_err(Error::usage)?;
    Ok(schema)
}

/// Leaves the methods that the options ask for.
pub(crate) fn filter_methods(spec: &mut Spec, size: &SizeArgs) -> Result<()> {
    let Some(filter) = &size.method_filter else { return Ok(()) };
    let filter = regex_lite::Regex::new(filter)
        .map_err(|error| Error::usage(format_args!("--method-filter takes a regular expression: {error}")))?;
    spec.methods.retain(|method| filter.is_match(&method.name));
    match spec.methods.is_empty() {
        true => Err(Error::usage(format_args!("no method of the specification matches `{filter}`"))),
        false => Ok(()),
    }
}

fn say(terminal: &Terminal, args: &ValidateArgs, verb: &str, text: &str) {
    if !args.output.quiet {
        eprintln!("{}", terminal.status(verb, text));
    }
}

/// Puts a line in place of the last one, if somebody watches.
fn redraw(terminal: &Terminal, verb: &str, text: &str) {
    if terminal.progress {
        eprintln!("\x1b[1A\x1b[2K{}", terminal.status(verb, text));
    }
}
