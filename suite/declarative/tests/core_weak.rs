//! Under a weak memory model, operations are ordered by what happened before what, not by time.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::*};

use raddle::{Kind, Memory, Operation, Strategy, Test, generate};

/// Treiber's stack. Nodes are never freed: reclamation is another story.
struct Stack {
    head: AtomicPtr<Node>,
}

struct Node {
    value: u32,
    next: *mut Node,
}

impl Stack {
    fn new() -> Stack {
        Stack { head: AtomicPtr::new(ptr::null_mut()) }
    }

    fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
        let mut head = self.head.load(Relaxed);
        loop {
            // SAFETY: nobody else knows the node yet.
            unsafe { (*node).next = head };
            match self.head.compare_exchange(head, node, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let mut head = self.head.load(Acquire);
        loop {
            if head.is_null() {
                return None;
            }
            // SAFETY: nodes are never freed.
            let next = unsafe { (*head).next };
            match self.head.compare_exchange(head, next, Acquire, Acquire) {
                // SAFETY: as above.
                Ok(_) => return Some(unsafe { (*head).value }),
                Err(now) => head = now,
            }
        }
    }
}

fn weak<T: Send + Sync + 'static>(test: Test<T>) -> Test<T> {
    test.explorer(|explorer| explorer.memory(Memory::Rc11)).strategy(Strategy::Random)
}

#[test]
fn a_stack_whose_readers_may_see_old_heads_is_right() {
    let test = Test::new(Stack::new)
        .with(Operation::with_args("push", (generate::int(1..=3),), |stack: &Stack, value: u32| {
            stack.push(value)
        }))
        .operation("pop", |stack: &Stack| stack.pop())
        .iterations(20)
        .executions(1000);
    weak(test).run();
}

/// A value that is published by a flag.
#[derive(Default)]
struct Published<const ORDERED: bool> {
    value: AtomicU32,
    is_there: AtomicBool,
}

impl<const ORDERED: bool> Published<ORDERED> {
    fn publish(&self) {
        self.value.store(7, Relaxed);
        self.is_there.store(true, if ORDERED { Release } else { Relaxed });
    }

    fn get(&self) -> Option<u32> {
        let is_there = self.is_there.load(if ORDERED { Acquire } else { Relaxed });
        is_there.then(|| self.value.load(Relaxed))
    }
}

fn published<const ORDERED: bool>() -> Test<Published<ORDERED>> {
    Test::new(Published::<ORDERED>::default)
        .operation("publish", |cell: &Published<ORDERED>| cell.publish())
        .with(Operation::new("get", |cell: &Published<ORDERED>| cell.get()).read_only())
        .iterations(10)
        .executions(2000)
}

#[test]
fn what_only_a_weak_memory_shows_is_found() {
    published::<false>().explorer(|explorer| explorer.memory(Memory::Sc)).run();
    let failure = weak(published::<false>()).fails(Kind::IncorrectResults);
    let scenario = failure.scenario.unwrap();
    let calls: usize = scenario.parallel.iter().map(Vec::len).sum();
    assert_eq!((scenario.init.len(), calls, scenario.post.len()), (0, 2, 0), "{scenario:?}");
    weak(published::<true>()).run();
}

#[test]
fn what_the_same_thread_did_is_not_forgotten() {
    // A register whose reads may be old must still show a thread its own writes, and what it has seen before.
    let test = Test::new(|| AtomicU32::new(0))
        .with(Operation::with_args("set", (generate::int(1..=3),), |cell: &AtomicU32, value: u32| {
            cell.store(value, Relaxed);
        }))
        .operation("get", |cell: &AtomicU32| cell.load(Relaxed))
        .iterations(20)
        .executions(1000);
    weak(test).run();
}

#[test]
fn what_only_a_weak_memory_shows_is_found_by_default() {
    published::<false>().fails(Kind::IncorrectResults);
    published::<true>().run();
}

#[test]
fn all_executions_of_small_scenarios_are_made() {
    let test = || {
        Test::new(Stack::new)
            .with(Operation::with_args("push", (generate::int(1..=2),), |stack: &Stack, value: u32| {
                stack.push(value)
            }))
            .operation("pop", |stack: &Stack| stack.pop())
            .operations_per_thread(2)
            .before(1)
            .after(0)
            .iterations(8)
            .strategy(Strategy::Exhaustive)
    };
    for memory in [Memory::Sc, Memory::Rc11] {
        let lost = Test::new(AtomicU32::default).operation("inc", |counter: &AtomicU32| {
            let seen = counter.load(SeqCst);
            counter.store(seen + 1, SeqCst);
            seen
        });
        let lost = lost.strategy(Strategy::Exhaustive).explorer(move |explorer| explorer.memory(memory));
        lost.fails(Kind::IncorrectResults);
        let coverage = test().explorer(move |explorer| explorer.memory(memory)).run();
        assert_eq!(coverage.complete(), 8, "{coverage}");
    }
}
