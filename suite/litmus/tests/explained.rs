//! Failures that any search finds come with their execution graph and with the reasons why it was possible.

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use raddle::{Explorer, Kind, Memory, Strategy};
use raddle_report::failure::{Action, Failure, Write};
use raddle_report::{Style, render_graph, render_why, to_dot, to_svg};

const STYLE: Style = Style { width: 100, colour: false, unicode: true };

/// Runs a body until it fails.
#[track_caller]
fn failure(strategy: Strategy, memory: Memory, body: impl Fn()) -> Failure {
    let explorer = Explorer::new().strategy(strategy).memory(memory).seed(7).executions(20_000);
    *explorer.try_run(body).expect_err("it is broken")
}

/// A letter, and a flag that says that it is there.
static TEXT: AtomicU32 = AtomicU32::new(0);
static SENT: AtomicBool = AtomicBool::new(false);

fn send(order: Ordering) {
    TEXT.store(42, Relaxed);
    SENT.store(true, order);
}

fn receive(order: Ordering) {
    if SENT.load(order) {
        assert_eq!(TEXT.load(Relaxed), 42, "an empty letter");
    }
}

fn deliver() {
    thread::scope(|scope| {
        scope.spawn(|| send(Relaxed));
        scope.spawn(|| receive(Acquire));
    });
}

#[test]
fn a_weak_execution_is_explained_by_every_search() {
    for strategy in strategies::sampling().into_iter().chain([Strategy::Exhaustive]) {
        let failure = failure(strategy, Memory::Rc11, deliver);
        assert_eq!(failure.kind, Kind::Panic);
        insta::assert_snapshot!("letter", render_why(&failure, STYLE));
        assert!(render_graph(&failure, STYLE).unwrap().contains("does not see"));
        assert!(to_dot(&failure).unwrap().contains("misses"));
        assert!(to_svg(&failure).unwrap().contains("misses"));
    }
}

#[test]
fn a_weak_execution_is_drawn_as_a_graph() {
    let failure = failure(Strategy::Exhaustive, Memory::Rc11, deliver);
    insta::assert_snapshot!("letter_graph", render_graph(&failure, STYLE).unwrap());
}

/// What the file says of an execution is what happened.
#[test]
fn what_is_read_is_what_was_written() {
    for strategy in [Strategy::Exhaustive, Strategy::Random] {
        for memory in [Memory::Sc, Memory::Rc11] {
            let failure = failure(strategy.clone(), memory, || {
                let count = AtomicU32::new(0);
                thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            let seen = count.load(Acquire);
                            count.fetch_add(0, Relaxed);
                            count.store(seen + 1, Release);
                        });
                    }
                });
                assert_eq!(count.load(Relaxed), 2, "an increment was lost");
            });
            let events = &failure.trace.events;
            let mut reads = 0;
            for event in events {
                let value = match event.action {
                    Action::Load { value, .. } => value,
                    Action::Rmw { read, .. } => read,
                    _ => continue,
                };
                reads += 1;
                match event.reads_from.expect("it reads something") {
                    Write::Event(from) => assert_eq!(events[from as usize].action.written(), Some(value)),
                    Write::Initial => assert_eq!(value.0, 0),
                    Write::Unseen => panic!("everything is seen here"),
                }
            }
            assert_eq!(reads, 5);
            // An increment is lost in interleavings as well: no read has to miss anything.
            let why = render_why(&failure, STYLE);
            match memory {
                Memory::Rc11 => assert!(why.starts_with("Weak memory has no part in this"), "{why}"),
                _ => assert_eq!(why, ""),
            }
        }
    }
}

/// Data that a flag is to protect.
struct Mailbox {
    data: UnsafeCell<u32>,
    full: AtomicBool,
}

// SAFETY: that is what is being tested.
unsafe impl Sync for Mailbox {}

static MAILBOX: Mailbox = Mailbox { data: UnsafeCell::new(0), full: AtomicBool::new(false) };

#[test]
fn data_races_lack_an_order() {
    for strategy in [Strategy::Exhaustive, Strategy::Random] {
        for memory in [Memory::Sc, Memory::Rc11] {
            let failure = failure(strategy.clone(), memory, || {
                thread::scope(|scope| {
                    scope.spawn(|| {
                        // SAFETY: nobody looks before it is full; or so it was thought.
                        unsafe { *MAILBOX.data.get() = 42 };
                        MAILBOX.full.store(true, Relaxed);
                    });
                    scope.spawn(|| {
                        if MAILBOX.full.load(Acquire) {
                            // SAFETY: as above.
                            unsafe { std::hint::black_box(*MAILBOX.data.get()) };
                        }
                    });
                });
            });
            assert_eq!(failure.kind, Kind::DataRace);
            insta::assert_snapshot!("mailbox", render_why(&failure, STYLE));
        }
    }
}
