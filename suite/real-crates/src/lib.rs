//! Helpers of the tests of real crates: the exploration of a correct use, and the replay of a failure.

use raddle::{Explorer, Strategy};
/// Strategies that every crate is run under.
pub use support::searching as strategies;
pub use support::{assert_same, fails};

/// Checks that no execution of a correct use fails: under every strategy of [`strategies`], and under the portfolio, which
/// adds exhaustive search, weak memory and reuse of memory.
///
/// With `REAL_CRATES_AS_USERS` set, it is what a test has whose author chooses nothing: one exploration with the default options. That
/// shows what a green costs.
#[track_caller]
pub fn passes(executions: u64, body: impl Fn()) {
    if std::env::var_os("REAL_CRATES_AS_USERS").is_some() {
        Explorer::new().run(body);
        return;
    }
    let explorer = Explorer::new().executions(executions);
    for (strategy, report) in strategies().iter().zip(support::passes(&explorer, &strategies(), &body)) {
        // A search that has covered its scope ends early; samples are as many as asked for.
        let can_end = report.complete || support::entry(strategy).can_end();
        assert!(can_end || report.executions == executions, "{strategy}: {} executions", report.executions);
    }
    support::passes(&explorer, &support::portfolios(), &body);
}

/// Checks that every strategy finds a failure that is made on purpose, and that its schedule repeats the execution event for
/// event, as often as one likes.
#[track_caller]
pub fn repeats(executions: u64, body: impl Fn()) {
    for strategy in strategies() {
        let label = strategy.to_string();
        let found = fails(Explorer::new().strategy(strategy).executions(executions), &body);
        assert!(!found.trace.events.is_empty(), "{label}: no trace");
        for _ in 0..4 {
            let schedule = Strategy::Schedule(found.schedule.0.clone());
            let again = fails(Explorer::new().strategy(schedule).executions(1), &body);
            assert_same(&label, &found, &again);
        }
    }
}
