//! What the observations of a schema mean: which outcomes were expected, and whom to blame for the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::backend::{BackEnd, Failed, Observed};
use crate::level::Level;
use crate::outcomes::{Expected, Machine, Program, expected};
use crate::schema::Schema;
use crate::shown::Shown;
use crate::subject::Subject;

/// What came of a schema. Drivers print it as a line of JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The schema.
    pub schema: String,
    /// What was seen, expected or not, in the order of outcomes.
    pub rows: Vec<Row>,
    /// What is expected, unless that is far too much to list.
    pub expected: Option<Vec<Vec<String>>>,
    /// Executions.
    pub executions: u64,
    /// Whether these were all.
    pub complete: bool,
    /// How long the executions took, in seconds.
    pub seconds: f64,
    /// For each method of the schema that is not trusted: the strongest level at which everything that was seen is expected, if the other
    /// methods keep what they promise; nothing if not even the weakest level explains it.
    pub levels: BTreeMap<String, Option<Level>>,
    /// The method to blame, if something was not expected.
    pub blamed: Option<String>,
    /// What went wrong other than by a result.
    pub failure: Option<Failed>,
    /// Why the schema could not be tried.
    pub problem: Option<String>,
}

/// An outcome that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The results, in the order in which invocations are written.
    pub outcome: Vec<String>,
    /// How often.
    pub count: u64,
    /// Whether it was expected.
    pub expected: bool,
}

/// So many expected outcomes are listed at most.
const MOST_LISTED: usize = 200;

impl Verdict {
    /// A schema that could not be tried.
    pub fn problem(schema: &str, problem: impl Into<String>) -> Verdict {
        Verdict { schema: schema.to_owned(), problem: Some(problem.into()), ..Verdict::default() }
    }

    /// Whether something was seen that should not be.
    pub fn is_violation(&self) -> bool {
        self.failure.is_some() || self.rows.iter().any(|row| !row.expected)
    }
}

/// Runs a schema and compares what was seen with what is expected.
pub fn validate<T: Send + Sync + 'static>(
    subject: &Arc<Subject<T>>,
    schema: &Schema,
    back_end: &mut dyn BackEnd<T>,
) -> Verdict {
    let text = schema.to_string();
    let mut judge = match Judge::new(subject, schema) {
        Ok(judge) => judge,
        Err(problem) => return Verdict::problem(&text, problem),
    };
    let observed = match back_end.observe(subject, &judge.numbered) {
        Ok(observed) => observed,
        Err(problem) => return Verdict::problem(&text, problem),
    };
    judge.verdict(text, observed)
}

/// What is expected of one schema.
pub struct Judge<'a, T> {
    subject: &'a Subject<T>,
    schema: &'a Schema,
    machine: Machine<&'a Subject<T>>,
    promised: Expected,
    /// The schema with numbers in place of invocations.
    pub numbered: crate::subject::Numbered,
}

impl<'a, T: Send + Sync + 'static> Judge<'a, T> {
    /// Computes what is expected.
    ///
    /// # Errors
    /// One sentence, if nothing can be expected of such a schema.
    pub fn new(subject: &'a Subject<T>, schema: &'a Schema) -> Result<Judge<'a, T>, String> {
        let numbered = subject
            .number_all(schema)
            .map_err(|invocation| format!("the object has no call `{invocation}`"))?;
        subject.try_make()?;
        let mut machine = Machine::new(subject, subject.readonly());
        let promised = expect(subject, schema, &mut machine, |method| subject.promise(method).level)?;
        Ok(Judge { subject, schema, machine, promised, numbered })
    }

    /// Whether an outcome is expected.
    pub fn expects(&self, outcome: &[Shown]) -> bool {
        self.promised.contains(outcome)
    }

    /// What is expected, unless there is far too much of it.
    pub fn expected(&self) -> Option<Vec<Vec<String>>> {
        self.promised.outcomes(MOST_LISTED).map(|outcomes| outcomes.into_iter().collect())
    }

    fn verdict(&mut self, schema: String, observed: Observed) -> Verdict {
        let row = |(outcome, count): (&Vec<Shown>, &u64)| Row {
            outcome: outcome.iter().map(|shown| shown.as_str().to_owned()).collect(),
            count: *count,
            expected: self.promised.contains(outcome),
        };
        let mut verdict = Verdict {
            schema,
            rows: observed.outcomes.iter().map(row).collect(),
            expected: self.expected(),
            executions: observed.executions,
            complete: observed.complete,
            seconds: observed.elapsed.as_secs_f64(),
            failure: observed.failure,
            ..Verdict::default()
        };
        let mut methods: Vec<String> = self.schema.invocations().map(|call| call.method.clone()).collect();
        methods.sort();
        methods.dedup();
        let violated = verdict.rows.iter().any(|row| !row.expected);
        let mut explained = BTreeMap::new();
        for method in methods {
            let trusted = self.subject.promise(&method).trusted;
            if violated || !trusted {
                explained.insert(method.clone(), self.strongest(&method, &verdict.rows));
            }
            if !trusted {
                verdict.levels.insert(method.clone(), explained[&method]);
            }
        }
        if violated {
            verdict.blamed = self.blame(&explained);
        }
        verdict
    }

    /// The strongest level of a method at which all rows are expected.
    fn strongest(&mut self, method: &str, rows: &[Row]) -> Option<Level> {
        Level::ALL.into_iter().rev().find(|&level| {
            let level_of = |name: &str| match name == method {
                true => level,
                false => self.subject.promise(name).level,
            };
            let expected = expect(self.subject, self.schema, &mut self.machine, level_of);
            expected.is_ok_and(|expected| rows.iter().all(|row| expected.contains(&row.outcome)))
        })
    }

    /// The method that has to give up least to explain what was seen; of several, one that is not trusted, and one that only reads. If
    /// none alone explains it, the one that is not trusted.
    fn blame(&self, explained: &BTreeMap<String, Option<Level>>) -> Option<String> {
        let rank = |method: &String| {
            let promise = self.subject.promise(method);
            (!promise.trusted, explained[method], promise.readonly)
        };
        let suspects = explained.keys().filter(|method| explained[*method].is_some());
        if let Some(blamed) = suspects.max_by_key(|method| rank(method)) {
            return Some(blamed.clone());
        }
        let mut untrusted = explained.keys().filter(|method| !self.subject.promise(method).trusted);
        let only = untrusted.next().cloned();
        only.filter(|_| untrusted.next().is_none())
    }
}

fn expect<'a, T: Send + Sync + 'static>(
    subject: &'a Subject<T>,
    schema: &Schema,
    machine: &mut Machine<&'a Subject<T>>,
    level: impl Fn(&str) -> Level,
) -> Result<Expected, String> {
    let number = |invocation: &crate::Invocation| subject.number(invocation).unwrap_or_default();
    let program = Program::new(schema, number, |invocation| level(&invocation.method));
    expected(&program, machine).map_err(|error| error.describe(|call| subject.invocation(call).to_string()))
}
