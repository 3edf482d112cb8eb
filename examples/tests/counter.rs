//! The simplest test: list the operations, and let the object itself, called by one thread, say what is correct.

use examples::counter::{Counter, RacyCounter};
use raddle::{Kind, TestDefinition};

#[derive(Default)]
struct CounterTest(Counter);

#[raddle::test(iterations = 20)]
impl CounterTest {
    #[operation]
    fn inc(&self) -> usize {
        self.0.inc()
    }

    #[operation(read_only)]
    fn get(&self) -> usize {
        self.0.get()
    }
}

#[derive(Default)]
struct RacyCounterTest(RacyCounter);

// `fails` is for examples and exercises: the test passes if Raddle finds such a failure.
#[raddle::test(fails = IncorrectResults)]
impl RacyCounterTest {
    #[operation]
    fn inc(&self) -> usize {
        self.0.inc()
    }

    #[operation(read_only)]
    fn get(&self) -> usize {
        self.0.get()
    }
}

#[test]
fn two_increments_are_enough_to_lose_one() {
    let failure = RacyCounterTest::test().fails(Kind::IncorrectResults);
    let scenario = failure.scenario.expect("a declarative test has a scenario");
    assert!(scenario.init.is_empty() && scenario.post.is_empty());
    let calls = scenario.parallel.iter().flatten().map(|operation| operation.call.as_str());
    assert_eq!(calls.collect::<Vec<_>>(), ["inc()", "inc()"]);
}
