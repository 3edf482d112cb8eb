//! One measurement: a process of its own, several times.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, exit};

use crate::build;

/// The programs to measure, and how thoroughly.
#[derive(Default)]
pub(crate) struct Bench {
    pub(crate) engine: PathBuf,
    /// Built when a section first needs them.
    pub(crate) plain: OnceCell<PathBuf>,
    pub(crate) unoptimised: OnceCell<PathBuf>,
    pub(crate) seconds: f64,
    pub(crate) times: usize,
}

/// What a process measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(HashMap<String, String>);

impl Values {
    /// Names and values from what a process printed: one pair in each line, with a tabulator between.
    pub(crate) fn of(printed: &[u8]) -> Values {
        let text = String::from_utf8_lossy(printed);
        let pairs = text.lines().filter_map(|line| line.split_once('\t'));
        Values(pairs.map(|(name, value)| (name.into(), value.into())).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.parse().ok()
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value == "true")
    }

    pub(crate) fn rate(&self, name: &str) -> Option<f64> {
        Some(self.get(name)? / self.get("cpu")?)
    }
}

/// Which program to run.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Engine,
    /// The engine and the code under test as `cargo raddle test` builds them.
    Unoptimised,
    Plain,
}

impl Bench {
    /// Runs every command once, then again, so that a disturbance of the machine does not meet all runs of one. For each
    /// command: the run with the median of what `key` makes of it.
    pub(crate) fn medians(
        &self,
        commands: &[(Side, Vec<String>)],
        key: impl Fn(&Values) -> Option<f64>,
    ) -> Vec<Option<Values>> {
        let mut runs = vec![Vec::new(); commands.len()];
        for _ in 0..self.times {
            for (runs, (side, args)) in runs.iter_mut().zip(commands) {
                runs.extend(self.run(*side, args).and_then(|values| Some((key(&values)?, values))));
            }
        }
        runs.into_iter().map(median).collect()
    }

    /// The median of nanoseconds for each command.
    pub(crate) fn nanoseconds(&self, commands: &[(Side, Vec<String>)]) -> Vec<Option<f64>> {
        let ns = |values: &Values| values.get("ns");
        let medians = self.medians(commands, ns);
        medians.iter().map(|values| ns(values.as_ref()?)).collect()
    }

    /// Runs one measurement; none if the program has no answer.
    pub(crate) fn run(&self, side: Side, args: &[String]) -> Option<Values> {
        let mut command = match side {
            Side::Engine => Command::new(&self.engine),
            Side::Unoptimised => {
                Command::new(self.unoptimised.get_or_init(|| built(build::unoptimised_engine())))
            }
            Side::Plain => Command::new(self.plain.get_or_init(|| built(build::plain()))),
        };
        // As `cargo raddle test` runs a test.
        command.env("RADDLE_OWNED", "1").args(args);
        let output = command.output().expect("the program was just built");
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            let first: String = error.lines().filter(|line| !line.is_empty()).take(3).collect();
            eprintln!("error: {}: {}: {first}", args.join(" "), output.status);
            return None;
        }
        Some(Values::of(&output.stdout))
    }
}

fn built(program: Result<PathBuf, String>) -> PathBuf {
    program.unwrap_or_else(|problem| {
        eprintln!("error: {problem}");
        exit(1)
    })
}

/// A command's arguments.
pub(crate) fn command(side: Side, args: &[&str], last: impl ToString) -> (Side, Vec<String>) {
    let last = last.to_string();
    (side, args.iter().map(|arg| (*arg).to_owned()).chain([last]).collect())
}

fn median(mut runs: Vec<(f64, Values)>) -> Option<Values> {
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = runs.len() / 2;
    runs.into_iter().nth(middle).map(|(_, values)| values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_run_in_the_middle() {
        let run = |key: f64| (key, Values([("key".into(), key.to_string())].into()));
        let of = |keys: &[f64]| median(keys.iter().map(|&key| run(key)).collect())?.get("key");
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(of(&[5.0]), Some(5.0));
        assert_eq!(of(&[]), None);
    }
}
