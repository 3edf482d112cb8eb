//! Platforms on which nothing can be explored: everything but Linux on x86-64.
//!
//! Tests compile there. A closure runs once, as it would without Raddle; other tests do not run. Where that may not be overlooked
//! ([`Explorer::explored`](crate::Explorer::explored)), a test fails with the same sentence. `--cfg raddle_unsupported_platform` makes any platform
//! one of these, so that CI can check this code.

use std::sync::Once;

use raddle_options::Explored;

use crate::explored;
use crate::options::Options;
use crate::output::say;

/// What to do elsewhere.
const SENTENCE: &str = "exploring needs Linux on x86-64; run `cargo raddle test` there, or in a container: docker run --rm --platform linux/amd64 \
                        -v \"$PWD:/crate\" -w /crate rust:1.95 sh -c 'cargo install cargo-raddle --locked && cargo raddle test'";

/// Says, once in a process, that nothing is explored.
///
/// # Panics
/// If that must not be.
pub(crate) fn tell(options: &Options) {
    static SAID: Once = Once::new();
    let chosen =
        std::env::var("RADDLE_EXPLORED").ok().and_then(|text| text.parse().ok()).or(options.explored);
    match explored::decided(chosen) {
        Explored::Optional => {
            SAID.call_once(|| say(&format!("raddle: nothing is explored here: {SENTENCE}")))
        }
        _ => panic!(
            "raddle: nothing is explored here: {SENTENCE}; or accept that with `explored = \"optional\"` in [package.metadata.raddle] or \
             `RADDLE_EXPLORED=optional`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use raddle_options::Explored::{Optional, Required};

    use crate::{Explorer, Test, teach};

    /// The message of a panic.
    fn refusal(test: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(test)).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    }

    #[test]
    fn a_closure_runs_once_and_nothing_is_claimed() {
        let runs = Cell::new(0);
        let report = Explorer::new().explored(Optional).run(|| runs.set(runs.get() + 1));
        assert_eq!((runs.get(), report.executions, report.complete), (1, 1, false));
        assert!(report.left_out[0].contains("Linux on x86-64"));
    }

    #[test]
    fn tests_that_must_explore_fail_with_the_sentence() {
        let required = || Explorer::new().explored(Required);
        let closure = refusal(|| _ = required().run(|| unreachable!("it must not run")));
        let operations = Test::new(|| 0).operation("get", |object: &i32| *object).explorer(|_| required());
        let operations = refusal(|| _ = operations.run());
        for message in [closure, operations] {
            assert!(message.contains("exploring needs Linux on x86-64"), "{message}");
            assert!(message.contains("docker run"), "{message}");
        }
    }

    #[test]
    fn nothing_else_runs() {
        let operations = Test::new(|| 0).operation("get", |_: &i32| -> i32 { unreachable!("it cannot run") });
        assert_eq!(operations.explorer(|explorer| explorer.explored(Optional)).run().executions(), 0);
        let schedules = teach::ScheduleTest::new(2);
        let report = catch_unwind(|| schedules.run(|_| unreachable!("it cannot run")).schedules);
        // In CI it fails instead.
        assert!(matches!(report, Ok(0) | Err(_)));
    }
}
