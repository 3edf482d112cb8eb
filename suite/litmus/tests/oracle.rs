//! The oracle by itself: known counts, and the definition without any pruning.

use litmus::catalogue::{Entry, entries};
use litmus::oracle::{Abstract, Executions, Method, executions, executions_by};
use litmus::random::programs;
use litmus::{Interpret, Model, Program};
use proptest::prelude::*;

fn count(program: &Program, model: Model) -> Executions {
    executions(model, || program.on::<Abstract>())
}

#[track_caller]
fn check(entry: &Entry) {
    for (model, expected) in [(Model::Sc, entry.sc), (Model::Rc11, entry.rc11)] {
        let found = count(&entry.program, model);
        assert_eq!(
            (found.as_assumed(), found.blocked),
            (expected, 0),
            "{} under {model:?}: {}",
            entry.name,
            entry.program
        );
    }
}

#[test]
fn counts_of_the_literature() {
    entries(1000).for_each(|entry| check(&entry));
}

#[test]
#[ignore = "takes minutes"]
fn large_counts_of_the_literature() {
    entries(40_000).filter(|entry| entry.rc11 > 1000).for_each(|entry| check(&entry));
}

#[test]
fn who_waits_in_vain_is_blocked() {
    let program: Program =
        "retry { a=Rx y } until a==1; Fs; retry { b=Rx z } until b==0 || Wx(z,1); Fs; Wx(x,1) || retry { a=Rx x } until a==1; Wx(y,1)".parse().unwrap();
    for (model, complete, blocked) in [(Model::Sc, 0, 3), (Model::Rc11, 1, 3)] {
        let found = count(&program, model);
        assert_eq!((found.complete, found.blocked), (complete, blocked), "{model:?}");
    }
}

/// Executions by one method and by another.
fn same(program: &Program, one: Method, other: Method) -> Result<(), TestCaseError> {
    let [one, other] = [one, other].map(|method| executions_by(method, || program.on::<Abstract>()));
    prop_assert_eq!(one, other, "{}", program);
    Ok(())
}

proptest! {
    #[test]
    fn saving_time_changes_nothing(program in prop_oneof![programs(2, 3), programs(3, 2)]) {
        for model in Model::ALL {
            same(&program, Method::Once(model), Method::ByDefinition(model))?;
        }
    }

    #[test]
    fn sequential_consistency_is_interleaving(program in programs(2..=3, 3)) {
        same(&program, Method::Once(Model::Sc), Method::Interleavings)?;
    }

    #[test]
    fn what_sc_allows_rc11_allows(program in programs(3, 3)) {
        let [sc, rc11] = Model::ALL.map(|model| count(&program, model));
        prop_assert!(sc.complete <= rc11.complete);
        for (outcome, times) in sc.outcomes {
            prop_assert!(rc11.outcomes.get(&outcome).is_some_and(|more| *more >= times), "{:?} of {}", outcome, program);
        }
    }

    #[test]
    fn programs_are_printed_as_they_are_read(program in programs(1..=3, 4)) {
        prop_assert_eq!(program.to_string().parse(), Ok(program));
    }
}
