//! The results of a graded test, and how they are shown.
//!
//! A report has up to three columns: the outcomes seen on this machine, and those that memory models allow. Columns may come from
//! different processes, and are [joined](Report::join). What a report means is computed here, and only here; [`table`], [`json`],
//! [`junit`] and [`html`] show it.

pub mod html;
pub mod json;
pub mod junit;
pub mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::hash::Hash;
use std::time::Duration;

use crate::grade::{Expect, Grading};
use crate::outcomes::Outcomes;

/// A graded test with its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The name of the test.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// The rules for its outcomes.
    pub grading: Grading,
    /// The outcomes seen on this machine.
    pub seen: Option<Seen>,
    /// The outcomes that memory models allow, from the strongest model to the weakest.
    pub models: Vec<Allowed>,
    /// What went wrong other than by an outcome, a sentence each.
    pub problems: Vec<String>,
}

/// The outcomes that occurred on real threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// How often each occurred.
    pub outcomes: BTreeMap<String, u64>,
    /// Executions in all.
    pub executions: u64,
    /// The time that they took.
    pub elapsed: Duration,
    /// The seed of delays and placements.
    pub seed: u64,
    /// The placements of threads, with the executions in each.
    pub placements: Vec<(String, u64)>,
    /// The actors that did not return.
    pub stuck: Vec<usize>,
    /// Whether the code was instrumented: then the compiler could not reorder its accesses.
    pub instrumented: bool,
}

/// The outcomes that a memory model allows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allowed {
    /// The name of the model: `SC`, `RC11`.
    pub model: String,
    /// In how many executions of the model each occurs.
    pub outcomes: BTreeMap<String, u64>,
    /// Executions explored.
    pub executions: u64,
    /// Whether those are all.
    pub complete: bool,
}

/// An outcome in all columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The results of actors and arbiter.
    pub result: String,
    /// How often it was seen; none if nothing was run on real threads.
    pub samples: Option<u64>,
    /// Whether each model allows it; none if the search for it was not complete.
    pub allowed: Vec<Option<bool>>,
    /// The grade.
    pub expect: Expect,
    /// What the outcome means.
    pub description: String,
    /// Why the test fails because of it.
    pub problem: Option<String>,
}

impl Row {
    /// Whether the outcome occurs in some column.
    pub fn occurs(&self) -> bool {
        self.samples.is_some_and(|samples| samples > 0) || self.allowed.contains(&Some(true))
    }
}

/// The verdict on a test.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every outcome is acceptable and allowed.
    Passed,
    /// Some outcome is not: one sentence for each.
    Failed(Vec<String>),
    /// Actors did not return.
    TimedOut(Vec<usize>),
}

impl Verdict {
    /// Whether the test passed.
    pub fn passes(&self) -> bool {
        *self == Verdict::Passed
    }

    /// The verdict in one word, as machines read it.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed(_) => "failed",
            Verdict::TimedOut(_) => "timeout",
        }
    }

    /// The reasons why the test did not pass, a sentence each.
    pub fn reasons(&self) -> Vec<String> {
        match self {
            Verdict::Passed => Vec::new(),
            Verdict::Failed(reasons) => reasons.clone(),
            Verdict::TimedOut(actors) => {
                actors.iter().map(|actor| format!("TIMEOUT: actor {actor} did not return")).collect()
            }
        }
    }
}

impl Report {
    /// A report without columns.
    pub fn new(name: &str, grading: Grading) -> Report {
        Report { name: name.to_owned(), grading, ..Report::default() }
    }

    /// Adds the columns that another run of the same test has.
    pub fn join(&mut self, other: Report) {
        if self.seen.is_none() {
            self.seen = other.seen;
        }
        for model in other.models {
            if !self.models.iter().any(|mine| mine.model == model.model) {
                self.models.push(model);
            }
        }
    }

    /// The outcomes of all columns, and those that rules name exactly. Those that occur come first, the most frequent before others.
    pub fn rows(&self) -> Vec<Row> {
        let seen = self.seen.iter().flat_map(|seen| seen.outcomes.keys());
        let allowed = self.models.iter().flat_map(|model| model.outcomes.keys());
        // A rule with a wildcard is no outcome.
        let named =
            self.grading.rules.iter().map(|rule| &rule.pattern).filter(|text| !text.contains(['*', '|']));
        let results: BTreeSet<&String> = seen.chain(allowed).chain(named).collect();
        let mut rows: Vec<Row> = results.into_iter().map(|result| self.row(result)).collect();
        rows.sort_by_key(|row| (!row.occurs(), std::cmp::Reverse(row.samples)));
        rows
    }

    /// The verdict. Actors that do not return come first: then nothing is known about the rest.
    pub fn verdict(&self) -> Verdict {
        if let Some(seen) = &self.seen
            && !seen.stuck.is_empty()
        {
            return Verdict::TimedOut(seen.stuck.clone());
        }
        let of_rows = self.rows().into_iter().filter_map(|row| row.problem);
        let problems: Vec<String> = self.problems.iter().cloned().chain(of_rows).collect();
        match problems.is_empty() {
            true => Verdict::Passed,
            false => Verdict::Failed(problems),
        }
    }

    fn row(&self, result: &str) -> Row {
        let samples = self.seen.as_ref().map(|seen| seen.outcomes.get(result).copied().unwrap_or(0));
        let allows = |model: &Allowed| match model.outcomes.contains_key(result) {
            true => Some(true),
            false => model.complete.then_some(false),
        };
        let allowed: Vec<Option<bool>> = self.models.iter().map(allows).collect();
        let (expect, description) = self.grading.grade(result);
        let mut row = Row {
            result: result.to_owned(),
            samples,
            allowed,
            expect,
            description: description.to_owned(),
            problem: None,
        };
        row.problem = self.problem(&row);
        row
    }

    fn problem(&self, row: &Row) -> Option<String> {
        let seen = row.samples.filter(|&samples| samples > 0);
        // Models are in order of strength: what the weakest forbids, no hardware may show.
        if let (Some(samples), Some(Some(false)), Some(weakest)) =
            (seen, row.allowed.last(), self.models.last())
        {
            let model = &weakest.model;
            return Some(format!("`{}` was seen {samples} times and is not allowed by {model}", row.result));
        }
        if row.expect.passes() || !row.occurs() {
            return None;
        }
        let mut places: Vec<String> =
            seen.iter().map(|samples| format!("was seen {samples} times")).collect();
        let models = self.models.iter().zip(&row.allowed).filter(|(_, allowed)| **allowed == Some(true));
        let models: Vec<&str> = models.map(|(model, _)| model.model.as_str()).collect();
        if !models.is_empty() {
            places.push(format!("is possible under {}", models.join(" and ")));
        }
        let grade = match row.expect {
            Expect::Unknown => "has no rule".to_owned(),
            grade => format!("is {grade}"),
        };
        Some(format!("`{}` {grade} and {}", row.result, places.join(", and ")))
    }
}

impl Seen {
    /// The column of a run. Results that are empty text are left out of the outcomes: those of actors that return nothing.
    pub fn new<T: Clone + Eq + Hash + Display>(run: &Outcomes<T>) -> Seen {
        let mut outcomes = BTreeMap::new();
        for (label, count) in run.labels() {
            *outcomes.entry(label).or_default() += count;
        }
        if run.overflow > 0 {
            outcomes.insert("(more than 65536 different outcomes)".to_owned(), run.overflow);
        }
        Seen {
            outcomes,
            executions: run.executions,
            elapsed: run.elapsed,
            seed: run.seed,
            placements: run.placements.iter().map(|(placement, n)| (placement.to_string(), *n)).collect(),
            stuck: run.stuck.clone(),
            instrumented: false,
        }
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    /// Store buffering with relaxed accesses: seen on hardware, allowed by RC11 only.
    pub(crate) fn store_buffering() -> Report {
        let grading = Grading::new()
            .outcome("0, 0", Expect::Interesting, "both stores were still in their buffers")
            .outcome("2, 2", Expect::Forbidden, "never <written> & \"said\"")
            .outcome("*", Expect::Acceptable, "an interleaving");
        let all = |keys: &[&str]| keys.iter().map(|key| ((*key).to_owned(), 1)).collect::<BTreeMap<_, _>>();
        let mut report = Report::new("store_buffering", grading);
        let seen = [("0, 0", 20), ("0, 1", 500_000), ("1, 0", 499_979), ("1, 1", 1)];
        report.seen = Some(Seen {
            outcomes: seen.map(|(key, n)| (key.to_owned(), n)).into(),
            executions: 1_000_000,
            elapsed: Duration::from_millis(250),
            placements: vec![("other core".to_owned(), 1_000_000)],
            ..Seen::default()
        });
        let sc = all(&["0, 1", "1, 0", "1, 1"]);
        let rc11 = all(&["0, 0", "0, 1", "1, 0", "1, 1"]);
        report.models = vec![
            Allowed { model: "SC".to_owned(), outcomes: sc, executions: 3, complete: true },
            Allowed { model: "RC11".to_owned(), outcomes: rc11, executions: 4, complete: true },
        ];
        report
    }
}

#[cfg(test)]
mod tests {
    use super::samples::store_buffering;
    use super::*;

    #[test]
    fn what_is_seen_must_be_allowed_by_the_weakest_model() {
        let mut report = store_buffering();
        assert_eq!(report.verdict(), Verdict::Passed);
        report.models[1].outcomes.remove("0, 0");
        let expected = "`0, 0` was seen 20 times and is not allowed by RC11";
        assert_eq!(report.verdict(), Verdict::Failed(vec![expected.to_owned()]));
        report.models[1].complete = false;
        assert_eq!(report.verdict(), Verdict::Passed);
    }

    #[test]
    fn what_goes_wrong_without_an_outcome_fails() {
        let mut report = store_buffering();
        report.problems.push("its exploration failed".to_owned());
        assert_eq!(report.verdict(), Verdict::Failed(vec!["its exploration failed".to_owned()]));
    }

    #[test]
    fn forbidden_and_unknown_outcomes_fail_wherever_they_occur() {
        let mut report = store_buffering();
        report.grading.rules[0].expect = Expect::Forbidden;
        let expected = "`0, 0` is forbidden and was seen 20 times, and is possible under RC11";
        assert_eq!(report.verdict(), Verdict::Failed(vec![expected.to_owned()]));
        report.seen = None;
        let expected = "`0, 0` is forbidden and is possible under RC11";
        assert_eq!(report.verdict(), Verdict::Failed(vec![expected.to_owned()]));
        report.grading.rules.remove(0);
        report.grading.rules.pop();
        assert_eq!(report.verdict().reasons().len(), 4);
        assert!(report.verdict().reasons()[0].contains("has no rule"));
    }

    #[test]
    fn an_actor_that_does_not_return_is_a_timeout() {
        let mut report = store_buffering();
        report.seen.as_mut().unwrap().stuck = vec![1];
        assert_eq!(report.verdict().reasons(), ["TIMEOUT: actor 1 did not return"]);
    }

    #[test]
    fn columns_of_two_runs_are_joined() {
        let (mut hardware, mut models) = (store_buffering(), store_buffering());
        hardware.models.clear();
        models.seen = None;
        hardware.join(models);
        assert_eq!(hardware, store_buffering());
    }

    #[test]
    fn forbidden_outcomes_are_rows_even_if_they_do_not_occur() {
        let rows = store_buffering().rows();
        let results: Vec<&str> = rows.iter().map(|row| row.result.as_str()).collect();
        assert_eq!(results, ["0, 1", "1, 0", "0, 0", "1, 1", "2, 2"]);
        assert_eq!(rows[2].allowed, [Some(false), Some(true)]);
    }
}
