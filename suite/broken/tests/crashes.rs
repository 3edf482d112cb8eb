//! Crashes: the process survives them, and says what happened and where.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::{ptr, thread};

use broken::{all, finds, finds_with, functions, last, searching};
use raddle::{Explorer, Failure, Kind};
use raddle_report::failure::{Action, ThreadEnd};

/// The failure's message names this, and the thread that crashed had not finished.
#[track_caller]
fn check(failure: &Failure, thread: usize, message: &str) {
    assert!(failure.message.contains(message), "{}", failure.message);
    assert!(!matches!(failure.threads[thread].end, ThreadEnd::Finished | ThreadEnd::Panicked));
}

#[inline(never)]
#[expect(unconditional_recursion, reason = "this is the bug")]
fn recurse(depth: &AtomicUsize) -> usize {
    let here = depth.fetch_add(1, SeqCst);
    // Not a tail call: something is left to do after it.
    std::hint::black_box(recurse(depth)) + here
}

mod crash {
    use super::*;

    #[test]
    fn by_recursion_without_end() {
        // Once with the stack that everybody has; it takes tens of thousands of calls to fill it.
        finds(
            &searching()[..1],
            Kind::StackOverflow,
            || _ = recurse(&AtomicUsize::new(0)),
            |failure| {
                check(failure, 0, "stack");
                let functions = functions(failure, last(failure, 0).at);
                assert!(functions.iter().any(|name| name.ends_with("recurse")), "{functions:?}");
            },
        );
    }

    #[test]
    fn by_recursion_in_a_small_stack_of_another_thread() {
        finds_with(
            &Explorer::new().executions(10).stack_size(64 << 10),
            &all(),
            Kind::StackOverflow,
            || thread::spawn(|| _ = recurse(&AtomicUsize::new(0))).join().unwrap(),
            |failure| check(failure, 1, "stack"),
        );
    }

    #[test]
    fn by_a_write_through_null() {
        finds(
            &all(),
            Kind::Crash,
            || {
                let place: *mut u32 = std::hint::black_box(ptr::null_mut());
                // SAFETY: none: this is the bug.
                unsafe { place.write_volatile(1) };
            },
            |failure| check(failure, 0, "SIGSEGV: invalid memory access at 0x0"),
        );
    }

    /// The pointer is published before it is set, in some schedules only.
    #[test]
    fn by_a_read_through_a_pointer_that_is_not_there_yet() {
        finds(
            &all(),
            Kind::Crash,
            || {
                let shared = Arc::new(AtomicPtr::new(ptr::null_mut()));
                let other = Arc::clone(&shared);
                let writer = thread::spawn(move || other.store(Box::leak(Box::new(7u32)), SeqCst));
                // SAFETY: none: this is the bug.
                let value = unsafe { shared.load(SeqCst).read_volatile() };
                assert_eq!(value, 7);
                writer.join().unwrap();
            },
            |failure| {
                check(failure, 0, "SIGSEGV");
                assert!(
                    matches!(last(failure, 0).action, Action::Note { ref text } if text.contains("SIGSEGV"))
                );
                let read = failure.trace.events.iter().rev().find_map(|event| match &event.action {
                    Action::Load { value, .. } if event.thread == 0 => Some(value.0),
                    _ => None,
                });
                assert_eq!(read, Some(0));
            },
        );
    }

    #[test]
    fn by_abort() {
        finds(&all(), Kind::Crash, || std::process::abort(), |failure| check(failure, 0, "abort"));
    }

    #[test]
    fn by_an_allocation_that_no_machine_refuses() {
        // Nothing of it is touched.
        let allocate = || drop(std::hint::black_box(vec![0_u8; 10 << 30]));
        finds(&all(), Kind::Crash, allocate, |failure| check(failure, 0, "by a limit of Raddle"));
    }

    #[test]
    fn by_abort_in_another_thread() {
        finds(
            &all(),
            Kind::Crash,
            || thread::spawn(|| std::process::abort()).join().unwrap(),
            |failure| check(failure, 1, "abort"),
        );
    }

    #[test]
    fn by_ending_the_process() {
        finds(&all(), Kind::Exit, || std::process::exit(7), |failure| check(failure, 0, "exit code 7"));
    }

    #[test]
    fn by_ending_the_process_in_another_thread_with_success() {
        finds(
            &all(),
            Kind::Exit,
            || thread::spawn(|| std::process::exit(0)).join().unwrap(),
            |failure| check(failure, 1, "exit code 0"),
        );
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn by_an_illegal_instruction() {
        finds(
            &all(),
            Kind::Crash,
            // SAFETY: none: this is the bug.
            || unsafe { std::arch::asm!("ud2") },
            |failure| check(failure, 0, "SIGILL"),
        );
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn by_a_division_that_traps() {
        finds(
            &all(),
            Kind::Crash,
            || {
                // SAFETY: none: Rust checks divisors, so the trap needs the bare instruction.
                unsafe {
                    std::arch::asm!(
                        "xor edx, edx",
                        "div {divisor:e}",
                        divisor = in(reg) 0,
                        inout("eax") 1 => _,
                        out("edx") _,
                    );
                }
            },
            |failure| check(failure, 0, "SIGFPE"),
        );
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn by_a_breakpoint() {
        finds(
            &all(),
            Kind::Crash,
            // SAFETY: none: this is the bug.
            || unsafe { std::arch::asm!("int3") },
            |failure| check(failure, 0, "SIGTRAP"),
        );
    }

    /// A panic while another unwinds ends the process; the message says which came first.
    #[test]
    fn by_a_panic_in_a_destructor_during_a_panic() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("second");
            }
        }
        finds(
            &all(),
            Kind::Crash,
            || {
                let _bomb = Bomb;
                panic!("first");
            },
            |failure| {
                assert!(failure.message.contains("abort"), "{}", failure.message);
                let said: Vec<&str> = failure
                    .trace
                    .events
                    .iter()
                    .filter_map(|event| match &event.action {
                        Action::Panic { message } => Some(message.lines().next().unwrap()),
                        _ => None,
                    })
                    .collect();
                assert_eq!(said[..2], ["first", "second"]);
            },
        );
    }

    /// Holding locks, with threads waiting for them, in the middle of everything.
    #[test]
    fn while_others_wait() {
        use std::sync::Mutex;
        finds(
            &searching(),
            Kind::Crash,
            || {
                let mutex = Arc::new(Mutex::new(0));
                let threads: Vec<_> = (0..3)
                    .map(|i| {
                        let mutex = Arc::clone(&mutex);
                        thread::spawn(move || {
                            let mut seen = mutex.lock().unwrap();
                            if *seen == 2 && i == 0 {
                                std::process::abort();
                            }
                            *seen += 1;
                        })
                    })
                    .collect();
                for thread in threads {
                    thread.join().unwrap();
                }
            },
            |failure| check(failure, 1, "abort"),
        );
    }

    /// Two owners who both think they are the last, in some schedules only.
    #[test]
    fn by_freeing_twice() {
        finds(
            &searching(),
            Kind::DoubleFree,
            || {
                let shared = Arc::new((AtomicUsize::new(2), AtomicPtr::new(Box::into_raw(Box::new(7u64)))));
                let release = |(owners, block): &(AtomicUsize, AtomicPtr<u64>)| {
                    owners.fetch_sub(1, SeqCst);
                    // The mistake: what is left should be read off the subtraction itself.
                    if owners.load(SeqCst) == 0 {
                        // SAFETY: none: both may come here.
                        drop(unsafe { Box::from_raw(block.load(SeqCst)) });
                    }
                };
                let theirs = Arc::clone(&shared);
                let other = thread::spawn(move || release(&theirs));
                release(&shared);
                other.join().unwrap();
            },
            |failure| assert!(failure.message.contains("has freed already"), "{}", failure.message),
        );
    }
}
