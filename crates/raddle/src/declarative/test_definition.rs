//! Tests that are written as impl blocks.

use raddle_report::{Failure, Kind};

use super::test::Test;
use crate::output::print;

/// A type whose operations are marked by [`#[raddle::test]`](macro@crate::test).
///
/// ```
/// use raddle::TestDefinition;
/// use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
///
/// #[derive(Default)]
/// struct CounterTest(AtomicUsize);
///
/// #[raddle::test(manual)]
/// impl CounterTest {
///     #[operation]
///     fn inc(&self) -> usize {
///         self.0.fetch_add(1, SeqCst)
///     }
/// }
///
/// for threads in 2..=3 {
///     CounterTest::test().threads(threads).iterations(2).executions(100).run();
/// }
/// ```
pub trait TestDefinition: Send + Sync + Sized + 'static {
    /// The test as it is written, to be changed and run.
    fn test() -> Test<Self>;
}

impl<T: Send + Sync + 'static> Test<T> {
    /// For the attribute: code that reports offer is a setting of it, not a call of the builder.
    #[doc(hidden)]
    pub fn by_attribute(mut self) -> Test<T> {
        self.definition.subject.by_attribute = true;
        self
    }

    /// Tests an object that is known to be broken: examples, exercises, tests of tests. The failure is printed, in case
    /// somebody looks, and returned.
    ///
    /// # Panics
    /// If there is no failure, or one of another kind.
    #[track_caller]
    pub fn fails(self, kind: Kind) -> Box<Failure> {
        match self.try_run() {
            Ok(coverage) => panic!("nothing has failed, though {kind:?} should be found: {coverage}"),
            Err(failure) => {
                print(&failure);
                assert_eq!(failure.kind, kind, "another failure was found: {}", failure.message);
                failure
            }
        }
    }
}
