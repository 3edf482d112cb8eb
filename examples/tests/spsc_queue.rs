//! Operations that only one thread may call at a time belong to a group.

use examples::spsc_queue::SpscQueue;
use raddle::{Kind, TestDefinition};

#[derive(Default)]
struct SpscQueueTest(SpscQueue<2>);

#[raddle::test(iterations = 20)]
impl SpscQueueTest {
    #[operation(group = "producer")]
    fn push(&self, value: u32) -> bool {
        self.0.push(value)
    }

    #[operation(group = "consumer")]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

#[derive(Default)]
struct EarlyQueueTest(SpscQueue<2>);

#[raddle::test(fails = IncorrectResults)]
impl EarlyQueueTest {
    #[operation(group = "producer")]
    fn push(&self, #[arg(1..=3)] value: u32) -> bool {
        self.0.push_too_early(value)
    }

    #[operation(group = "consumer")]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

#[test]
fn a_push_and_a_pop_are_enough_to_fail() {
    let failure = EarlyQueueTest::test().fails(Kind::IncorrectResults);
    let scenario = failure.scenario.expect("a declarative test has a scenario");
    assert!(scenario.init.is_empty() && scenario.post.is_empty());
    let operations: Vec<_> = scenario.parallel.iter().flatten().collect();
    assert_eq!(operations.len(), 2);
    // The consumer got what was in the slot before.
    let pop = operations.iter().find(|operation| operation.call == "pop()").expect("one of them pops");
    assert_eq!(pop.result.as_deref(), Some("Some(0)"));
}

#[derive(Default)]
struct ReleasingQueueTest(SpscQueue<2>);

/// Only a weak memory shows this: the producer sees an old head, and the consumer an old tail.
#[raddle::test(fails = IncorrectResults)]
impl ReleasingQueueTest {
    #[operation(group = "producer")]
    fn push(&self, value: u32) -> bool {
        self.0.push_releasing(value)
    }

    #[operation(group = "consumer")]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

/// The same queue where nothing says that there is only one producer.
#[derive(Default)]
struct SharedQueueTest(SpscQueue<2>);

#[raddle::test(fails = IncorrectResults)]
impl SharedQueueTest {
    #[operation]
    fn push(&self, value: u32) -> bool {
        self.0.push(value)
    }

    #[operation]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}
