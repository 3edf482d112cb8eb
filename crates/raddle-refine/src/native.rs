//! Native stress: schemas on real threads, as often as the time allows.

use std::sync::Arc;
use std::time::Duration;

use raddle_stress::{Stress as Harness, pause_point};

use crate::backend::{BackEnd, Failed, Observed};
use crate::driver;
use crate::shown::Shown;
use crate::subject::{Numbered, Subject};

/// Runs schemas on real threads.
#[derive(Clone, Copy, Debug)]
pub struct Stress {
    /// For how long.
    pub time: Duration,
    /// The seed of delays and placements.
    pub seed: u64,
}

impl Stress {
    /// With the time and the seed that the command gives.
    pub fn from_env() -> Stress {
        Stress { time: driver::time_per_test(), seed: driver::seed() }
    }
}

/// An object, and what its initial calls returned.
type State<T> = (T, Vec<Shown>);

impl<T: Send + Sync + 'static> BackEnd<T> for Stress {
    fn observe(&mut self, subject: &Arc<Subject<T>>, schema: &Numbered) -> Result<Observed, String> {
        let [initial, parallel, last] = parts(schema)?;
        let runs = |sequence: &[usize]| {
            let (subject, sequence) = (subject.clone(), sequence.to_vec());
            move |object: &T| {
                let mut results = Vec::with_capacity(sequence.len());
                for (position, &call) in sequence.iter().enumerate() {
                    if position > 0 {
                        pause_point();
                    }
                    results.push(subject.run(object, call));
                }
                results.into_boxed_slice()
            }
        };
        let (make, first) = (subject.clone(), runs(&initial.concat()));
        let mut harness = Harness::<State<T>, Box<[Shown]>>::new(move || {
            let object = make.make();
            let results = first(&object).into_vec();
            (object, results)
        });
        for sequence in &parallel {
            let run = runs(sequence);
            harness = harness.actor(move |(object, _)| run(object));
        }
        // The initial results come with the final ones.
        let run = runs(&last.concat());
        harness = harness.arbiter(move |(object, initial)| {
            let mut results = initial.clone();
            results.extend(run(object));
            results.into_boxed_slice()
        });
        let initials = initial.concat().len();
        let outcomes = harness.time(self.time).seed(self.seed).run();

        let mut observed =
            Observed { executions: outcomes.executions, elapsed: outcomes.elapsed, ..Observed::default() };
        for (mut results, count) in outcomes.counts {
            let ends = results.pop().unwrap_or_default();
            let (before, after) = ends.split_at(initials);
            let mut outcome = before.to_vec();
            outcome.extend(results.iter().flat_map(|results| results.iter().cloned()));
            outcome.extend_from_slice(after);
            *observed.outcomes.entry(outcome).or_default() += count;
        }
        if let Some(&actor) = outcomes.stuck.first() {
            let calls: Vec<String> =
                parallel[actor].iter().map(|&call| subject.invocation(call).to_string()).collect();
            let what = format!("the thread `{}` did not return", calls.join("; "));
            observed.failure = Some(Failed { what, file: None });
        }
        Ok(observed)
    }
}

/// The initial, parallel and final part.
fn parts(schema: &Numbered) -> Result<[Vec<Vec<usize>>; 3], String> {
    let several = schema.iter().position(|phase| phase.len() > 1);
    let parallel = several.unwrap_or(0);
    if schema.iter().skip(parallel + 1).any(|phase| phase.len() > 1) {
        return Err("stress runs one parallel part; use `--tester model` for several".to_owned());
    }
    if schema.get(parallel).is_some_and(|phase| phase.len() > MOST_ACTORS) {
        return Err(format!("stress runs {MOST_ACTORS} threads at most; use `--tester model` for more"));
    }
    let concat = |phases: &[Vec<Vec<usize>>]| phases.concat();
    Ok([
        concat(&schema[..parallel]),
        schema.get(parallel).cloned().unwrap_or_default(),
        concat(schema.get(parallel + 1..).unwrap_or_default()),
    ])
}

/// The most threads of the harness.
const MOST_ACTORS: usize = 8;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;
    use crate::verdict::validate;
    use crate::{Level, Schema, Verdict};

    /// A counter, and how many calls of `broken` have begun.
    #[derive(Default)]
    struct Counter {
        value: AtomicU32,
        begun: AtomicU32,
    }

    /// So often a call of `broken` lets others run before it gives up hope that there is another one. A sequential run takes a few
    /// milliseconds for it.
    const PATIENCE: u32 = 10_000;

    fn counter() -> Arc<Subject<Counter>> {
        let subject = Subject::new(Counter::default)
            .method("get", Level::Complete, true, true)
            .call("get()", |counter: &Counter| Shown::debug(&counter.value.load(SeqCst)))
            .call("inc()", |counter: &Counter| Shown::debug(&counter.value.fetch_add(1, SeqCst)))
            .call("broken()", |counter: &Counter| {
                let value = counter.value.load(SeqCst);
                // Two calls that are made at once do overlap, also on a machine that has better things to do.
                let is_second = counter.begun.fetch_add(1, SeqCst) % 2 == 1;
                let mut waited = 0;
                while !is_second && counter.begun.load(SeqCst) % 2 == 1 && waited < PATIENCE {
                    std::thread::yield_now();
                    waited += 1;
                }
                counter.value.store(value + 1, SeqCst);
                Shown::debug(&value)
            });
        Arc::new(subject)
    }

    fn run(schema: &str) -> Verdict {
        let schema: Schema = schema.parse().unwrap();
        validate(&counter(), &schema, &mut Stress { time: Duration::from_millis(100), seed: 1 })
    }

    #[test]
    fn initial_and_final_results_are_part_of_the_outcome() {
        let verdict = run("{ inc(); inc() }; { inc() } || { inc() }; { get() }");
        assert!(verdict.executions > 0 && !verdict.is_violation(), "{verdict:?}");
        let first = &verdict.rows[0].outcome;
        assert_eq!((first.len(), &*first[0], &*first[1], &*first[4]), (5, "0", "1", "4"));
    }

    #[test]
    fn a_lost_update_is_a_violation_with_somebody_to_blame() {
        let verdict =
            (0..20).map(|_| run("{ broken() } || { broken() }; { get() }")).find(Verdict::is_violation);
        let verdict = verdict.expect("a call that waits for the other one meets it");
        assert_eq!(verdict.blamed.as_deref(), Some("broken"));
    }

    #[test]
    fn two_parallel_parts_are_refused() {
        let verdict = run("{ inc() } || { inc() }; { inc() } || { inc() }");
        assert!(verdict.problem.unwrap().contains("one parallel part"));
    }
}
