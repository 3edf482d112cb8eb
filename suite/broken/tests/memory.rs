//! Memory that is used after it was freed, freed twice, freed without being allocated, or never freed.

use std::alloc::{Layout, dealloc};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::{ptr, thread};

use broken::{all, finds, finds_with, functions, passes, passes_with, searching};
use raddle::{Allocation, Explorer, Failure, Kind};
use raddle_report::failure::{Did, FaultStep};

/// The steps that explain a fault, each with a stack that leads to one of the functions.
#[track_caller]
fn check(failure: &Failure, expected: &[(Did, &str)]) {
    let fault = failure.fault.as_ref().expect("a fault says what it is about");
    let done: Vec<Did> = fault.steps.iter().map(|step| step.did).collect();
    let wanted: Vec<Did> = expected.iter().map(|(did, _)| *did).collect();
    assert_eq!(done, wanted, "{}", failure.message);
    for (step, (_, function)) in fault.steps.iter().zip(expected) {
        let FaultStep { did, at, .. } = *step;
        let stack = functions(failure, at);
        assert!(stack.iter().any(|name| name.contains(function)), "{did:?} in {stack:?}, not {function}");
    }
}

/// A pointer that threads pass on.
struct Raw<T>(*mut T);

impl<T> Clone for Raw<T> {
    fn clone(&self) -> Raw<T> {
        *self
    }
}

impl<T> Copy for Raw<T> {}

// SAFETY: none: these are the bugs.
unsafe impl<T> Send for Raw<T> {}

impl<T> Raw<T> {
    fn new(value: T) -> Raw<T> {
        Raw(Box::into_raw(Box::new(value)))
    }

    fn free(self) {
        // SAFETY: none: this is the bug.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Lets a thread take a value out of a place while another frees it.
fn taken_while_freed(wait: bool) {
    fn use_it(block: Raw<AtomicUsize>) -> usize {
        // SAFETY: none: this is the bug.
        unsafe { (*block.0).load(SeqCst) }
    }
    let block = Raw::new(AtomicUsize::new(1));
    let user = thread::spawn(move || {
        let block = block;
        use_it(block)
    });
    if wait {
        assert_eq!(user.join().unwrap(), 1);
        block.free();
    } else {
        block.free();
        _ = user.join();
    }
}

mod memory {
    use super::*;

    #[test]
    fn used_by_an_atomic_access_after_free() {
        // That nothing orders the two is seen in every execution; here it is the access itself that is looked for.
        finds_with(
            &Explorer::new().executions(1000).races(false),
            &searching(),
            Kind::UseAfterFree,
            || taken_while_freed(false),
            |failure| {
                let steps = [(Did::Allocate, "Raw"), (Did::Free, "free"), (Did::AtomicRead, "use_it")];
                check(failure, &steps);
                assert!(
                    failure.message.contains("a block of 8 bytes, which T0 has freed"),
                    "{}",
                    failure.message
                );
                assert_eq!(failure.fault.as_ref().unwrap().blocks[0].size, 8);
            },
        );
        passes(|| taken_while_freed(true));
    }

    /// A small block, and one so large that it is whole pages.
    fn used_plainly_after_free<const SIZE: usize>() {
        fn write<const SIZE: usize>(block: Raw<[u8; SIZE]>) {
            // SAFETY: none: this is the bug.
            unsafe { (*block.0)[SIZE / 2] = 1 };
        }
        let block = Raw(Box::leak(vec![0u8; SIZE].into_boxed_slice()).as_mut_ptr().cast::<[u8; SIZE]>());
        write(block);
        block.free();
        write(block);
    }

    #[test]
    fn used_by_a_plain_access_after_free() {
        let steps = [(Did::Allocate, "used_plainly_after_free"), (Did::Free, "free"), (Did::Write, "write")];
        let look = |failure: &Failure| {
            check(failure, &steps);
            assert!(failure.message.contains("T0 writes 1 byte at offset"), "{}", failure.message);
        };
        finds(&all(), Kind::UseAfterFree, used_plainly_after_free::<24>, look);
        finds(&all(), Kind::UseAfterFree, used_plainly_after_free::<300_000>, look);
    }

    #[test]
    fn used_by_code_without_announcements_after_free() {
        // The C library's own code reads; a large block is protected when it is free.
        finds(
            &all(),
            Kind::UseAfterFree,
            || {
                let block = Raw(Box::leak(vec![0u8; 300_000].into_boxed_slice())
                    .as_mut_ptr()
                    .cast::<[u8; 300_000]>());
                block.free();
                let mut line = [0u8; 16];
                // SAFETY: none: this is the bug.
                unsafe {
                    unsafe extern "C" {
                        fn bcopy(from: *const u8, to: *mut u8, len: usize);
                    }
                    bcopy(block.0.cast::<u8>().cast_const(), line.as_mut_ptr(), line.len());
                }
                std::hint::black_box(line);
            },
            |failure| assert!(failure.message.contains("which T0 has freed"), "{}", failure.message),
        );
    }

    #[test]
    fn freed_twice() {
        fn free_if_there(place: &AtomicPtr<u64>) {
            let block = place.load(SeqCst);
            if !block.is_null() {
                Raw(block).free();
                place.store(ptr::null_mut(), SeqCst);
            }
        }
        fn free_what_was_there(place: &AtomicPtr<u64>) {
            let block = place.swap(ptr::null_mut(), SeqCst);
            if !block.is_null() {
                Raw(block).free();
            }
        }
        let run = |free: fn(&AtomicPtr<u64>)| {
            let place = AtomicPtr::new(Raw::new(7u64).0);
            thread::scope(|scope| {
                scope.spawn(|| free(&place));
                scope.spawn(|| free(&place));
            });
        };
        finds(
            &searching(),
            Kind::DoubleFree,
            || run(free_if_there),
            |failure| {
                let freed = (Did::Free, "free_if_there");
                check(failure, &[(Did::Allocate, "Raw"), freed, freed]);
                let steps = &failure.fault.as_ref().unwrap().steps;
                assert_ne!(steps[1].thread, steps[2].thread);
            },
        );
        passes(|| run(free_what_was_there));
    }

    #[test]
    fn freed_without_being_a_block() {
        fn free_at(place: *mut u8) {
            // SAFETY: none: these are the bugs.
            unsafe { dealloc(place, Layout::new::<u64>()) };
        }
        let within = || {
            let block = Box::into_raw(Box::new([0u64; 4]));
            free_at(block.cast::<u8>().wrapping_add(8));
        };
        finds(&all(), Kind::InvalidFree, within, |failure| {
            check(failure, &[(Did::Allocate, "freed_without_being_a_block"), (Did::Free, "free_at")]);
            assert!(failure.message.contains("8 bytes within a block of 32 bytes"), "{}", failure.message);
        });
        let on_the_stack = || {
            let mut local = 0u64;
            free_at((&raw mut local).cast());
        };
        finds(&all(), Kind::InvalidFree, on_the_stack, |failure| {
            check(failure, &[(Did::Free, "free_at")]);
            assert!(failure.message.contains("never allocated"), "{}", failure.message);
        });
    }

    #[test]
    fn left_behind() {
        fn forget(which: usize) {
            std::mem::forget(vec![which; 3]);
        }
        let leaky = || {
            let kept = Arc::new(1);
            thread::spawn(move || forget(*kept)).join().unwrap();
        };
        let checked = Explorer::new().executions(20).check_leaks(true);
        finds_with(&checked, &all(), Kind::MemoryLeak, leaky, |failure| {
            check(failure, &[(Did::Allocate, "forget")]);
            assert!(failure.message.contains("a block of 24 bytes"), "{}", failure.message);
        });
        // Not asked for, not reported.
        passes(leaky);
        passes_with(&checked, || {
            #[allow(clippy::vec_box, reason = "blocks that a block refers to")]
            static LIST: std::sync::OnceLock<Vec<Box<u64>>> = std::sync::OnceLock::new();
            thread_local!(static OWN: std::cell::RefCell<Vec<u64>> = const { std::cell::RefCell::new(Vec::new()) });
            let (sender, receiver) = std::sync::mpsc::channel();
            let thread = thread::spawn(move || {
                OWN.with_borrow_mut(|own| own.push(1));
                sender.send(LIST.get_or_init(|| vec![Box::new(1), Box::new(2)]).len()).unwrap();
            });
            assert_eq!(receiver.recv(), Ok(2));
            thread.join().unwrap();
        });
    }

    /// A stack that takes equal addresses for the same node.
    struct Stack(AtomicPtr<Node>);

    struct Node {
        next: *mut Node,
        value: usize,
    }

    impl Stack {
        fn push(&self, value: usize) {
            let node = Box::into_raw(Box::new(Node { next: ptr::null_mut(), value }));
            loop {
                let head = self.0.load(SeqCst);
                // SAFETY: nobody else has the node yet.
                unsafe { (*node).next = head };
                if self.0.compare_exchange(head, node, SeqCst, SeqCst).is_ok() {
                    return;
                }
            }
        }

        fn pop(&self) -> Option<usize> {
            loop {
                let head = self.0.load(SeqCst);
                if head.is_null() {
                    return None;
                }
                // SAFETY: none: the node may have been freed meanwhile.
                let next = unsafe { (*head).next };
                thread::yield_now();
                if self.0.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                    // SAFETY: as above.
                    return Some(unsafe { Box::from_raw(head) }.value);
                }
            }
        }
    }

    #[test]
    fn used_again_while_somebody_still_compares_its_address() {
        let run = || {
            let stack = Arc::new(Stack(AtomicPtr::new(ptr::null_mut())));
            stack.push(1);
            stack.push(2);
            let popping = Arc::clone(&stack);
            let other = thread::spawn(move || popping.pop());
            let first = stack.pop();
            let second = stack.pop();
            // Something else gets the memory of the second node, and the third that of the first.
            let other_use = std::hint::black_box(Box::new([0usize; 2]));
            stack.push(3);
            let mut seen: Vec<usize> = first.into_iter().chain(second).chain(other.join().unwrap()).collect();
            while let Some(value) = stack.pop() {
                seen.push(value);
                assert!(seen.len() < 10, "a ring");
            }
            seen.sort_unstable();
            assert_eq!(seen, [1, 2, 3]);
            drop(other_use);
        };
        // With quarantine it is seen that nothing orders the access and the free; with reuse, what becomes of it.
        finds(&searching(), Kind::DataRace, run, |failure| {
            let steps = &failure.fault.as_ref().unwrap().steps;
            assert!(steps.iter().any(|step| step.did == Did::Free), "{}", failure.message);
        });
        let reuse = Explorer::new().executions(20_000).races(false).allocation(Allocation::Reuse);
        for strategy in searching() {
            let failure = reuse.clone().strategy(strategy).try_run(run).expect_err("the stack is broken");
            let aba =
                matches!(failure.kind, Kind::Panic | Kind::DoubleFree | Kind::UseAfterFree | Kind::Crash);
            assert!(aba, "{:?}: {}", failure.kind, failure.message);
            assert_eq!(failure.found_by.allocation.as_deref(), Some("reuse"));
        }
    }
}
