//! Containers of GenMC's and Miri's own tests: each execution once, under either model.
//!
//! Where a comment does not say more, GenMC has as many.

use litmus::check;
use litmus::check::explored;
use litmus::programs::containers::Operation::{Pop, Push, Steal};
use litmus::programs::containers::Orders::{Usual, Weakest};
use litmus::programs::containers::*;
use litmus::{Model, Real, Test};

/// For programs that are too long for the oracle: executions under SC and under RC11 in which nobody gives up.
#[track_caller]
fn count(sc: u64, rc11: u64, build: impl Fn() -> Test) {
    for (model, expected) in [(Model::Sc, sc), (Model::Rc11, rc11)] {
        assert_eq!(explored(model, &build).as_assumed(), expected, "{model:?}");
    }
}

/// Of the weaker orders, only the axioms tell.
#[test]
fn deque_of_chase_and_lev() {
    const LONG: Client = &[&[Push, Push, Push, Push, Push, Pop, Pop, Pop, Push, Push], &[Steal]];
    check!(deque(Usual, LONG), 59, 65);
    check!(deque(Weakest, LONG), 59, 65);
    const WIDE: Client = &[&[Push, Push, Pop, Push], &[Steal, Steal], &[Steal]];
    count(1373, 1924, || deque::<Real>(Usual, WIDE));
    count(1373, 1924, || deque::<Real>(Weakest, WIDE));
}

#[test]
fn stack_of_treiber() {
    const CLIENT: Client = &[&[Push, Push, Pop], &[Pop, Push]];
    check!(stack(Usual, CLIENT), 37, 37);
    check!(stack(Weakest, CLIENT), 37, 183);
}

/// Of the weaker orders under RC11, only the axioms tell.
#[test]
fn queue_of_michael_and_scott() {
    const CLIENT: Client = &[&[Push], &[Push], &[Pop]];
    check!(queue(Usual, CLIENT), 39, 75);
    check!(queue(Weakest, CLIENT), 39, 132);
}

#[test]
fn queue_of_herlihy_and_wing() {
    const SMALL: Client = &[&[Push, Pop], &[Push, Pop]];
    check!(herlihy_wing(false, SMALL), 10, 12);
    check!(herlihy_wing(true, SMALL), 18, 20);
    const LARGE: Client = &[&[Push, Pop], &[Push, Push], &[Pop, Push], &[Pop, Pop]];
    count(5155, 5483, || herlihy_wing::<Real>(false, LARGE));
}

mod until_done {
    use super::*;

    const READ_WRITE: Client = &[&[Push, Pop], &[Push, Pop]];
    const ONE_AND_ONE: Client = &[&[Push], &[Pop]];
    const TWO_AND_ONE: Client = &[&[Push], &[Push], &[Pop]];
    const ONE_AND_TWO: Client = &[&[Push], &[Pop], &[Pop]];
    const TWO_AND_TWO: Client = &[&[Push], &[Push], &[Pop], &[Pop]];
    const THREE_AND_ONE: Client = &[&[Push], &[Push], &[Push], &[Pop]];

    #[test]
    fn stack_of_treiber() {
        check!(stack_until_done(ONE_AND_ONE), 2, 2);
        check!(stack_until_done(ONE_AND_TWO), 7, 7);
        check!(stack_until_done(TWO_AND_ONE), 22, 22);
        check!(stack_until_done(READ_WRITE), 46, 46);
        check!(stack_until_done(TWO_AND_TWO), 220, 220);
        check!(stack_until_done(THREE_AND_ONE), 1002, 1002);
    }

    #[test]
    fn queue_of_michael_and_scott() {
        check!(queue_until_done(ONE_AND_ONE), 4, 4);
        check!(queue_until_done(ONE_AND_TWO), 67, 67);
        check!(queue_until_done(TWO_AND_ONE), 188, 188);
        check!(queue_until_done(READ_WRITE), 222, 222);
        count(11_198, 11_198, || queue_until_done::<Real>(TWO_AND_TWO));
    }

    #[test]
    #[ignore = "a hundred thousand executions"]
    fn queue_of_three_writers() {
        count(122_676, 122_676, || queue_until_done::<Real>(THREE_AND_ONE));
    }
}

/// Real pointers to real boxes change nothing, wherever boxes come to lie.
mod in_boxes {
    use std::ptr;
    use std::sync::atomic::AtomicPtr;
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
    use std::thread;

    use litmus::check::explorer;
    use raddle::Allocation;

    use super::*;

    struct Node {
        item: usize,
        next: AtomicPtr<Node>,
    }

    /// Treiber's stack. What is popped is never freed.
    #[derive(Default)]
    struct Stack(AtomicPtr<Node>);

    impl Stack {
        fn push(&self, item: usize) {
            let node = Box::leak(Box::new(Node { item, next: AtomicPtr::default() }));
            loop {
                let top = self.0.load(Acquire);
                node.next.store(top, Relaxed);
                if self.0.compare_exchange(top, ptr::from_mut(node), Release, Relaxed).is_ok() {
                    return;
                }
            }
        }

        fn pop(&self) -> Option<usize> {
            loop {
                let top = self.0.load(Acquire);
                // SAFETY: nodes are never freed.
                let node = unsafe { top.as_ref() }?;
                let next = node.next.load(Relaxed);
                if self.0.compare_exchange(top, next, Release, Relaxed).is_ok() {
                    return Some(node.item);
                }
            }
        }
    }

    #[track_caller]
    fn counts(executions: u64, writers: usize, readers: usize) {
        for model in Model::ALL {
            for allocation in [Allocation::Quarantine, Allocation::Reuse] {
                let report = explorer(model).allocation(allocation).run(|| {
                    let stack = &Stack::default();
                    thread::scope(|scope| {
                        (0..writers).for_each(|item| _ = scope.spawn(move || stack.push(item)));
                        (0..readers).for_each(|_| _ = scope.spawn(move || stack.pop()));
                    });
                });
                assert_eq!(
                    (report.complete, report.executions),
                    (true, executions),
                    "{model:?} {allocation:?}"
                );
            }
        }
    }

    #[test]
    fn stack_of_treiber() {
        counts(2, 1, 1);
        counts(22, 2, 1);
        counts(220, 2, 2);
        counts(1002, 3, 1);
    }
}
