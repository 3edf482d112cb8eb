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
    /// For each method of the schema that is not trusted, and for the method to blame: the strongest level at which everything that was seen
    /// is expected, if the other methods keep what they promise; nothing if not even the weakest level explains it.
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
            verdict.blamed = self.blame(&explained, &verdict.rows);
        }
        if let Some(blamed) = &verdict.blamed {
            verdict.levels.insert(blamed.clone(), explained[blamed]);
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

    /// The method at fault. In this order:
    ///
    /// 1. the method that is not trusted and has to give up least to explain the outcomes, preferably one that only reads;
    /// 2. the only method that is not trusted, if it changes the object: its effect may be wrong, whatever others see of it;
    /// 3. the only method that is not trusted, if it only reads and the results of the others fit together without it;
    /// 4. the trusted method that has to give up least: a method that only reads cannot spoil the results of others;
    /// 5. the only method that is not trusted.
    fn blame(&mut self, explained: &BTreeMap<String, Option<Level>>, rows: &[Row]) -> Option<String> {
        let subject = self.subject;
        let promise = |method: &str| subject.promise(method);
        let (trusted, suspects): (Vec<&String>, Vec<&String>) =
            explained.keys().partition(|method| promise(method).trusted);
        let only = match suspects[..] {
            [only] => Some(only),
            _ => None,
        };
        let best = |methods: &[&String]| -> Option<String> {
            let explaining = methods.iter().filter(|method| explained[**method].is_some());
            let best = explaining.max_by_key(|method| (explained[**method], promise(method).readonly));
            best.map(|method| (*method).clone())
        };
        let suspect = best(&suspects);
        if suspect.is_some() {
            return suspect;
        }
        let only = only.cloned();
        match only {
            Some(only) if !promise(&only).readonly || self.fits_without(&only, rows) => Some(only),
            only => best(&trusted).or(only),
        }
    }

    /// Whether the results of the other methods are expected of the schema without a method that only reads.
    fn fits_without(&mut self, method: &str, rows: &[Row]) -> bool {
        let rest = self.schema.without(method);
        let level_of = |name: &str| self.subject.promise(name).level;
        let Ok(expected) = expect(self.subject, &rest, &mut self.machine, level_of) else { return false };
        rows.iter().all(|row| {
            let results = self.schema.invocations().zip(&row.outcome);
            let others: Vec<&String> =
                results.filter(|(call, _)| call.method != method).map(|(_, result)| result).collect();
            expected.contains(&others)
        })
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;
    use crate::subject::Numbered;

    /// A back end that has seen one outcome.
    struct Saw(&'static [&'static str]);

    impl BackEnd<AtomicU32> for Saw {
        fn observe(&mut self, _: &Arc<Subject<AtomicU32>>, _: &Numbered) -> Result<Observed, String> {
            let outcome = self.0.iter().map(|&shown| Shown::from(shown)).collect();
            Ok(Observed { outcomes: [(outcome, 1)].into(), executions: 1, ..Observed::default() })
        }
    }

    /// The method to blame for an outcome of a counter, one of whose methods is not trusted.
    fn blamed(untrusted: &str, schema: &str, outcome: &'static [&'static str]) -> Option<String> {
        let mut subject = Subject::new(|| AtomicU32::new(0));
        for (name, readonly) in [("add", false), ("inc", false), ("get", true)] {
            subject = subject.method(name, Level::Complete, readonly, name != untrusted);
        }
        let subject = subject
            .call("add()", |counter: &AtomicU32| {
                counter.fetch_add(1, SeqCst);
                Shown::debug(&())
            })
            .call("inc()", |counter: &AtomicU32| Shown::debug(&counter.fetch_add(1, SeqCst)))
            .call("get()", |counter: &AtomicU32| Shown::debug(&counter.load(SeqCst)));
        let verdict = validate(&Arc::new(subject), &schema.parse().unwrap(), &mut Saw(outcome));
        assert!(verdict.is_violation(), "{verdict:?}");
        verdict.blamed
    }

    #[test]
    fn a_reader_that_may_miss_an_effect_is_blamed_before_trusted_methods() {
        let blamed = blamed("get", "{ inc(); get() } || { inc() }", &["0", "0", "1"]);
        assert_eq!(blamed.as_deref(), Some("get"));
    }

    #[test]
    fn a_mutator_whose_effect_is_lost_is_blamed_though_a_trusted_reader_could_explain_it() {
        let blamed = blamed("add", "{ add() } || { add() }; { get() }", &["()", "()", "1"]);
        assert_eq!(blamed.as_deref(), Some("add"));
    }

    #[test]
    fn a_reader_that_is_ahead_of_others_is_blamed_before_trusted_readers() {
        // A counter of changes that counts before a change can be seen: nothing that `peek` may miss explains what it has seen.
        let subject = Subject::new(|| AtomicU32::new(0))
            .method("add", Level::Complete, false, true)
            .method("get", Level::Complete, true, true)
            .method("peek", Level::Complete, true, false)
            .call("add()", |counter: &AtomicU32| {
                counter.fetch_add(1, SeqCst);
                Shown::debug(&())
            })
            .call("get()", |counter: &AtomicU32| Shown::debug(&counter.load(SeqCst)))
            .call("peek()", |counter: &AtomicU32| Shown::debug(&counter.load(SeqCst)));
        let schema = "{ peek(); get() } || { add() }".parse().unwrap();
        let verdict = validate(&Arc::new(subject), &schema, &mut Saw(&["1", "0", "()"]));
        assert_eq!(verdict.blamed.as_deref(), Some("peek"));
        assert_eq!(verdict.levels, BTreeMap::from([("peek".to_owned(), None)]));
    }

    #[test]
    fn a_reader_is_not_blamed_for_the_results_of_mutators() {
        let blamed = blamed("get", "{ inc(); get() } || { inc() }", &["0", "2", "0"]);
        assert_eq!(blamed.as_deref(), Some("inc"));
    }
}
