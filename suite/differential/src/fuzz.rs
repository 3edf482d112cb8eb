//! Many programs, one after the other.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use crate::check::{Agreed, Difference, Effort, check};
use crate::interpret::run;
use crate::program::{Op, Outcome, Program, flat};
use crate::random::{Profile, program};
use crate::shrink::shrink;
use crate::source::source;

/// What came out.
#[derive(Debug, Default)]
pub struct Table {
    /// Programs of each profile.
    pub profiles: BTreeMap<Profile, u64>,
    /// Programs with each primitive.
    pub primitives: BTreeMap<&'static str, u64>,
    /// Programs that are too large for the brute force.
    pub too_large: u64,
    /// Programs of which some execution may fail.
    pub failing: u64,
    /// Searches, and how many of them were complete.
    pub searches: (u64, u64),
    /// What differs.
    pub differences: Vec<String>,
    /// How long it took.
    pub time: Duration,
}

/// Checks the programs of these seeds, until there are no more or time is up.
pub fn fuzz(
    profiles: &[Profile],
    seeds: impl IntoIterator<Item = u64>,
    effort: &Effort,
    time: Duration,
) -> Table {
    let begin = Instant::now();
    let mut table = Table::default();
    'all: for seed in seeds {
        for &profile in profiles {
            if begin.elapsed() > time {
                break 'all;
            }
            table.add(profile, seed, effort);
        }
    }
    table.time = begin.elapsed();
    table
}

impl Table {
    fn add(&mut self, profile: Profile, seed: u64, effort: &Effort) {
        let program = program(profile, seed);
        *self.profiles.entry(profile).or_default() += 1;
        for primitive in primitives(&program) {
            *self.primitives.entry(primitive).or_default() += 1;
        }
        if effort.all {
            // The last one that is named is the one that a crash is about.
            eprintln!("{profile:?}, seed {seed}");
        }
        match interpreted(&program, effort) {
            Ok(agreed) => {
                self.too_large += u64::from(agreed.too_large);
                self.failing += u64::from(agreed.fails);
                self.searches.0 += agreed.searches;
                self.searches.1 += agreed.complete;
            }
            Err(difference) => {
                let report = explain(profile, seed, program, &difference, effort);
                eprintln!("{report}");
                self.differences.push(report);
            }
        }
    }
}

/// Checks a program that is interpreted.
///
/// # Errors
/// The first difference.
pub fn interpreted(program: &Program, effort: &Effort) -> Result<Agreed, Box<Difference>> {
    let leaked: &'static Program = Box::leak(Box::new(program.clone()));
    check(program, || run(leaked), effort)
}

/// Checks the program of a seed, which was written as Rust.
///
/// # Panics
/// With the first difference.
pub fn generated(profile: Profile, seed: u64, run: impl Fn() -> Outcome) {
    let program = program(profile, seed);
    if let Err(difference) = check(&program, run, &Effort::QUICK) {
        panic!("{profile:?}, seed {seed}\n{difference}");
    }
}

/// The smallest program that differs in the same way, as Rust, and what everybody said about it.
fn explain(
    profile: Profile,
    seed: u64,
    program: Program,
    difference: &Difference,
    effort: &Effort,
) -> String {
    let same = |candidate: &Program| {
        interpreted(candidate, effort).is_err_and(|other| other.class == difference.class)
    };
    let small = shrink(program, Duration::from_secs(20), same);
    let again = interpreted(&small, effort);
    let what = again.as_ref().map_or_else(|again| again.to_string(), |_| difference.to_string());
    format!("{profile:?}, seed {seed}\n{what}\n{}", source(&small))
}

fn primitives(program: &Program) -> Vec<&'static str> {
    let mut names: Vec<_> = program.threads.iter().flat_map(|body| flat(body)).map(Op::primitive).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (profile, count) in &self.profiles {
            writeln!(f, "{:<24}{count:>8}", format!("{profile:?}").to_lowercase())?;
        }
        writeln!(f)?;
        for (primitive, count) in &self.primitives {
            writeln!(f, "{primitive:<24}{count:>8}")?;
        }
        writeln!(f)?;
        let (searches, complete) = self.searches;
        for (name, count) in [
            ("may fail", self.failing),
            ("too large", self.too_large),
            ("searches", searches),
            ("complete searches", complete),
            ("differences", self.differences.len() as u64),
            ("seconds", self.time.as_secs()),
        ] {
            writeln!(f, "{name:<24}{count:>8}")?;
        }
        Ok(())
    }
}
