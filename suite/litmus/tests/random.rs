//! Random programs: Raddle makes exactly the executions that the axioms allow. `PROPTEST_CASES` says how many programs;
//! `cargo xtask test --all` has twice as many as usual.

use litmus::check::{compare_outcomes, compare_program};
use litmus::oracle::{Abstract, executions};
use litmus::random::{looping_programs, programs};
use litmus::{Interpret, Model, Real};
use proptest::prelude::*;
use raddle::{Explorer, Strategy};

/// So many programs, unless the environment says otherwise.
fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let is_set = |name| std::env::var_os(name).is_some();
    let cases = match (is_set("PROPTEST_CASES"), is_set("RADDLE_SLOW_TESTS")) {
        (true, _) => config.cases,
        (false, true) => 2 * usual,
        (false, false) => usual,
    };
    ProptestConfig { cases, ..config }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn random_programs_of_two_threads(program in programs(2, 5)) {
        compare_program(&program).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn random_programs_of_three_threads(program in programs(3, 4)) {
        compare_program(&program).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn random_programs_of_four_threads(program in programs(4, 2)) {
        compare_program(&program).map_err(TestCaseError::fail)?;
    }

    /// Each round that only waits is left out, and nothing else.
    #[test]
    fn random_programs_with_loops(program in looping_programs(2)) {
        compare_program(&program).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn no_outcome_of_a_loop_is_lost(program in looping_programs(3)) {
        compare_outcomes(&program).map_err(TestCaseError::fail)?;
    }

    /// Not by reduction, but by trying all schedules: what the programs come to does not depend on it.
    #[test]
    fn all_schedules_come_to_the_same(program in programs(2, 2)) {
        let known = executions(Model::Sc, || program.on::<Abstract>());
        let every_schedule = Explorer::new().strategy(Strategy::Bounded(usize::MAX)).executions(u64::MAX);
        let report = every_schedule.run(|| Real::run(program.on::<Real>()));
        prop_assert!(report.complete);
        prop_assert!(report.outcomes.keys().eq(known.outcomes.keys()), "{program}: {:?}", report.outcomes);
    }
}
