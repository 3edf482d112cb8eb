//! Holds Raddle against the oracle.

use raddle::{Explorer, Memory, Strategy};

use crate::machine::{Real, Test};
use crate::oracle::{Abstract, Executions, Model, executions};
use crate::program::{Interpret, Program};

/// A search of all executions under a model.
pub fn explorer(model: Model) -> Explorer {
    let memory = match model {
        Model::Sc => Memory::Sc,
        Model::Rc11 => Memory::Rc11,
    };
    Explorer::new().strategy(Strategy::Exhaustive).memory(memory).executions(u64::MAX)
}

/// What Raddle finds about a test.
///
/// # Panics
/// If the search ends before it is complete, or by a failure.
#[track_caller]
pub fn explored(model: Model, build: impl Fn() -> Test) -> Executions {
    explored_once_compiled(model, &build)
}

/// [`explored`], compiled once for all tests.
#[track_caller]
fn explored_once_compiled(model: Model, build: &dyn Fn() -> Test) -> Executions {
    let report = explorer(model).run(|| Real::run(build()));
    assert!(report.complete, "{model:?}: the search is not complete after {} executions", report.executions);
    Executions { complete: report.executions, blocked: report.blocked, outcomes: report.outcomes }
}

/// Whether Raddle finds what the oracle knows: each complete execution once, nothing else, and no more blocked ones.
///
/// # Errors
/// What is different.
///
/// # Panics
/// As [`explored`].
#[track_caller]
pub fn compare(explored: &Executions, known: &Executions) -> Result<(), String> {
    for (outcome, times) in &known.outcomes {
        let found = explored.outcomes.get(outcome).copied().unwrap_or(0);
        if found != *times {
            return Err(format!("{outcome:?} is the outcome of {times} executions; Raddle made {found}"));
        }
    }
    if let Some((outcome, times)) =
        explored.outcomes.iter().find(|found| !known.outcomes.contains_key(found.0))
    {
        return Err(format!("{outcome:?} is impossible; Raddle made {times} executions with it"));
    }
    if explored.complete != known.complete {
        return Err(format!("there are {} executions; Raddle made {}", known.complete, explored.complete));
    }
    if explored.blocked > known.blocked {
        return Err(format!(
            "at most {} executions are blocked; Raddle made {}",
            known.blocked, explored.blocked
        ));
    }
    Ok(())
}

/// [`compare`] for a program under both models.
///
/// # Errors
/// What is different.
///
/// # Panics
/// As [`explored`].
#[track_caller]
pub fn compare_program(program: &Program) -> Result<(), String> {
    for model in Model::ALL {
        let known = executions(model, || program.on::<Abstract>());
        compare(&explored(model, || program.on::<Real>()), &known)
            .map_err(|difference| format!("{program} under {model:?}: {difference}"))?;
    }
    Ok(())
}

/// Whether Raddle finds the outcomes that the oracle knows, and no others, however often.
///
/// # Errors
/// What is different.
///
/// # Panics
/// As [`explored`].
#[track_caller]
pub fn compare_outcomes(program: &Program) -> Result<(), String> {
    for model in Model::ALL {
        let known = executions(model, || program.on::<Abstract>()).outcomes;
        let found = explored(model, || program.on::<Real>()).outcomes;
        if !known.keys().eq(found.keys()) {
            return Err(format!("{program} under {model:?} comes to {known:?}; Raddle made {found:?}"));
        }
    }
    Ok(())
}

/// Holds a program against the oracle, and against the numbers of its complete executions under SC and under RC11:
/// `check!(treiber(2, 1), 40, 40)`. At most as many may be blocked as a number after `+` says, or as the oracle knows.
///
/// The program is a function of [`programs`](crate::programs), generic over the machine.
#[macro_export]
macro_rules! check {
    ($program:ident($($argument:expr),*), $sc:literal $(+ $sc_blocked:literal)?, $rc11:literal $(+ $rc11_blocked:literal)?) => {
        let expected = [
            ($crate::Model::Sc, $sc, [$($sc_blocked)?].first().copied()),
            ($crate::Model::Rc11, $rc11, [$($rc11_blocked)?].first().copied()),
        ];
        for (model, complete, blocked) in expected {
            let name = stringify!($program($($argument),*));
            let mut known = $crate::oracle::executions(model, || $program::<$crate::oracle::Abstract>($($argument),*));
            assert_eq!(known.complete, complete, "{name} by the axioms, under {model:?}");
            known.blocked = blocked.unwrap_or(known.blocked);
            let explored = $crate::check::explored(model, || $program::<$crate::Real>($($argument),*));
            if let Err(difference) = $crate::check::compare(&explored, &known) {
                panic!("{name} under {model:?}: {difference}");
            }
        }
    };
}
