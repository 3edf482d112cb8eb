//! A red that means something: what fails is the code under test, it is blamed on the thread that did it, and a test that
//! cannot go on ends.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use broken::{all, finds, finds_with, functions, passes};
use raddle::{Explorer, Failure, Kind, Strategy};
use raddle_report::failure::{Action, Certainty};
use raddle_report::{Style, render};

/// Two increments that may get in each other's way.
fn counts() -> usize {
    let count = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let seen = count.load(SeqCst);
                count.store(seen + 1, SeqCst);
            });
        }
    });
    count.into_inner()
}

#[test]
fn explorations_of_one_process_take_turns() {
    for _ in 0..20 {
        let explorations: Vec<_> =
            (0..2).map(|_| thread::spawn(|| Explorer::new().executions(300).run(counts))).collect();
        for exploration in explorations {
            let report = exploration.join().unwrap();
            assert_eq!(report.outcomes.keys().copied().collect::<Vec<_>>(), [1, 2]);
        }
    }
}

#[test]
fn explorations_by_one_strategy_take_turns() {
    for _ in 0..20 {
        thread::scope(|scope| {
            for strategy in [Strategy::Exhaustive, Strategy::Pos, Strategy::Bounded(2)] {
                scope.spawn(|| Explorer::new().strategy(strategy).executions(50).run(counts));
            }
        });
    }
}

/// What threads without a part in the exploration write meanwhile is not undone.
#[test]
fn bystanders_keep_what_they_write() {
    static WRITTEN: [AtomicUsize; 2048] = [const { AtomicUsize::new(0) }; 2048];
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    let bystander = thread::spawn(|| {
        while BEGUN.load(SeqCst) == 0 {}
        for place in &WRITTEN {
            place.fetch_add(1, SeqCst);
        }
    });
    BEGUN.store(1, SeqCst);
    for _ in 0..5 {
        Explorer::new().executions(200).run(counts);
    }
    bystander.join().unwrap();
    let written = WRITTEN.iter().filter(|place| place.load(SeqCst) == 1).count();
    assert_eq!(written, WRITTEN.len());
}

#[test]
fn an_exploration_inside_another_is_named() {
    finds(
        &all(),
        Kind::Panic,
        || raddle::explore(|| ()),
        |failure| {
            let said = "an exploration cannot be started inside another one";
            assert!(failure.message.contains(said), "{}", failure.message);
        },
    );
}

/// Whom the report blames, and where.
#[track_caller]
fn blames(failure: &Failure, thread: u32, note: &str, function: &str) {
    assert_eq!(failure.thread, Some(thread));
    let last = failure.trace.events.last().unwrap();
    assert_eq!(last.thread, thread, "{last:?}");
    assert!(matches!(&last.action, Action::Note { text } if text.contains(note)), "{last:?}");
    let functions = functions(failure, last.at);
    assert!(functions.iter().any(|name| name.ends_with(function)), "{functions:?}");
    let page = render(failure, Style { width: 120, colour: false, unicode: true }, None);
    let scene = page.lines().nth(1).unwrap();
    assert!(scene.contains("tests/red.rs") && scene.ends_with(&format!(", in T{thread}")), "{page}");
}

#[inline(never)]
fn leaves() {
    std::process::exit(std::hint::black_box(7))
}

#[test]
fn the_thread_that_exits_is_blamed() {
    finds(
        &all(),
        Kind::Exit,
        || thread::spawn(leaves).join().unwrap(),
        |failure| blames(failure, 1, "exit code 7", "leaves"),
    );
}

#[inline(never)]
fn aborts() {
    std::hint::black_box(std::process::abort as fn() -> !)()
}

#[test]
fn the_thread_that_aborts_is_blamed() {
    finds(
        &all(),
        Kind::Crash,
        || thread::spawn(aborts).join().unwrap(),
        |failure| blames(failure, 1, "aborts", "aborts"),
    );
}

#[inline(never)]
#[expect(unconditional_recursion, reason = "this is the bug")]
fn recurses(depth: usize) -> usize {
    std::hint::black_box(recurses(std::hint::black_box(depth + 1))) + depth
}

#[test]
fn the_thread_that_runs_over_its_stack_is_blamed() {
    finds_with(
        &Explorer::new().executions(10).stack_size(64 << 10),
        &all(),
        Kind::StackOverflow,
        || _ = thread::spawn(|| recurses(0)).join().unwrap(),
        |failure| blames(failure, 1, "end of its stack", "recurses"),
    );
}

#[test]
fn what_only_reached_a_limit_is_not_proven() {
    finds_with(
        &Explorer::new().executions(1).time_limit(Duration::from_millis(200)),
        &all()[..1],
        Kind::TimeLimit,
        || loop {
            std::hint::black_box(());
        },
        |failure| {
            assert!(matches!(&failure.certainty, Certainty::Limit { reason } if reason.contains("time")));
            let page = render(failure, Style { width: 120, colour: false, unicode: true }, None);
            assert!(page.contains("not proven: the execution was ended when its time was over"), "{page}");
        },
    );
    finds_with(
        &Explorer::new().executions(1).max_steps(100),
        &all()[..1],
        Kind::Livelock,
        || {
            let (stop, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
            while stop.load(SeqCst) == 0 {
                count.fetch_add(1, SeqCst);
            }
        },
        |failure| {
            let Certainty::Limit { reason } = &failure.certainty else { panic!("{:?}", failure.certainty) };
            assert!(reason.contains("events in which all threads took turns"), "{reason}");
        },
    );
    finds(&all(), Kind::Panic, || panic!(), |failure| assert_eq!(failure.certainty, Certainty::Proven));
}
