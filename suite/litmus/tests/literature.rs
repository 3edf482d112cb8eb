//! Programs of the literature: each execution once, under either model.

use litmus::catalogue::{Entry, entries};
use litmus::check::{compare_program, explored};
use litmus::{Interpret, Model, Real};

/// Makes as many executions as the literature says.
#[track_caller]
fn count(entry: &Entry) {
    for (model, expected) in [(Model::Sc, entry.sc), (Model::Rc11, entry.rc11)] {
        let found = explored(model, || entry.program.on::<Real>());
        let (name, program) = (&entry.name, &entry.program);
        assert_eq!((found.as_assumed(), found.blocked), (expected, 0), "{name} under {model:?}: {program}");
    }
}

mod counts_of_the_literature {
    use super::*;

    #[test]
    fn small() {
        for entry in entries(1000) {
            count(&entry);
            compare_program(&entry.program)
                .unwrap_or_else(|difference| panic!("{}: {difference}", entry.name));
        }
    }

    #[test]
    fn middling() {
        entries(10_000).filter(|entry| entry.rc11 > 1000).for_each(|entry| count(&entry));
    }

    #[test]
    #[ignore = "up to half a million executions each"]
    fn large() {
        entries(u64::MAX).filter(|entry| entry.rc11 > 10_000).for_each(|entry| count(&entry));
    }
}
