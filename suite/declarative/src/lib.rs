//! What the declarative tests of this package share.

use raddle::{Failure, Kind, Test};
use raddle_report::{Style, render};

/// Checks that the test fails with this kind of failure and returns it.
#[track_caller]
pub fn fails<T: Send + Sync + 'static>(test: Test<T>, kind: Kind) -> Box<Failure> {
    match test.try_run() {
        Ok(coverage) => panic!("no failure found: {coverage}"),
        Err(failure) => {
            // Shown where the test fails, or by `--nocapture`.
            println!("{}", render(&failure, Style { width: 110, colour: false, unicode: true }, None));
            assert_eq!(failure.kind, kind, "{}", failure.message);
            failure
        }
    }
}
