//! crossbeam-epoch: memory that is freed when nobody can see it any more.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread;

use crossbeam_epoch::{self as epoch, Atomic, Collector, Owned};
use real_crates::{passes, repeats};

/// Treiber's stack, as in the crate's own examples: its nodes are freed by the collector.
#[derive(Default)]
struct Stack {
    head: Atomic<Node>,
}

struct Node {
    value: ManuallyDrop<u32>,
    next: Atomic<Node>,
}

impl Stack {
    fn push(&self, value: u32) {
        let mut node = Owned::new(Node { value: ManuallyDrop::new(value), next: Atomic::null() });
        let guard = epoch::pin();
        loop {
            let head = self.head.load(Relaxed, &guard);
            node.next.store(head, Relaxed);
            match self.head.compare_exchange(head, node, Release, Relaxed, &guard) {
                Ok(_) => return,
                Err(failed) => node = failed.new,
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let guard = epoch::pin();
        loop {
            let head = self.head.load(Acquire, &guard);
            // SAFETY: pinned, so what the stack points to is not freed.
            let node = unsafe { head.as_ref() }?;
            let next = node.next.load(Relaxed, &guard);
            if self.head.compare_exchange(head, next, Relaxed, Relaxed, &guard).is_ok() {
                // SAFETY: taken out of the stack by this thread alone; freed when nobody can see it.
                unsafe {
                    guard.defer_destroy(head);
                    return Some(ManuallyDrop::into_inner(ptr::read(&node.value)));
                }
            }
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

/// Uses the global collector: a static with threads' registrations in it, new in every execution.
#[test]
fn a_stack_on_the_global_collector_loses_nothing() {
    passes(1000, || {
        let stack = Stack::default();
        let mut taken: Vec<u32> = thread::scope(|scope| {
            let threads = [1, 2].map(|value| {
                let stack = &stack;
                scope.spawn(move || {
                    stack.push(value);
                    stack.pop()
                })
            });
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}

#[test]
fn a_stack_on_the_global_collector_is_its_own_specification() {
    // The collector of an execution is gone with it. The stack that runs one operation after the other, to tell what is
    // right, must not keep a handle to that collector.
    raddle::Test::new(|| Stack { head: Atomic::null() })
        .operation("push", |stack: &Stack, value: u32| stack.push(value))
        .operation("pop", |stack: &Stack| stack.pop())
        .iterations(5)
        .executions(200)
        .run();
}

#[test]
fn deferred_functions_run_when_nobody_is_pinned() {
    passes(500, || {
        let collector = Collector::new();
        let runs = std::sync::Arc::new(AtomicUsize::new(0));
        let threads: [_; 2] = std::array::from_fn(|_| {
            let (handle, runs) = (collector.clone(), runs.clone());
            thread::spawn(move || {
                let handle = handle.register();
                let guard = handle.pin();
                let pinned = runs.load(SeqCst);
                guard.defer(move || _ = runs.fetch_add(1, SeqCst));
                guard.flush();
                pinned
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let handle = collector.register();
        for _ in 0..8 {
            handle.pin().flush();
        }
        assert_eq!(runs.load(SeqCst), 2);
    });
}

#[test]
fn crossbeam_epoch_failures_repeat() {
    repeats(5000, || {
        let stack = Stack::default();
        let first = thread::scope(|scope| {
            scope.spawn(|| stack.push(1));
            scope.spawn(|| stack.push(2));
            stack.pop()
        });
        assert_ne!(first, Some(2), "the second thread came first");
    });
}
