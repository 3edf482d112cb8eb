//! What the declarative tests of this package share.

use raddle::{Failure, Kind, Test};

/// Checks that the test fails with this kind of failure and returns it.
#[track_caller]
pub fn fails<T: Send + Sync + 'static>(test: Test<T>, kind: Kind) -> Box<Failure> {
    match test.try_run() {
        Ok(coverage) => panic!("no failure found: {coverage}"),
        Err(failure) => {
            assert_eq!(failure.kind, kind, "{}", failure.message);
            failure
        }
    }
}
