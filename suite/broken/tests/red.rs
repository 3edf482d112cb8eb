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

#[test]
fn variables_of_raddle_are_not_seen() {
    let see = || {
        let own = |(name, _): &(String, String)| name.starts_with("RADDLE_");
        assert_eq!(std::env::vars().find(own), None);
        assert!(std::env::var_os("PATH").is_some());
    };
    passes(|| {
        see();
        thread::spawn(see).join().unwrap();
    });
}

#[test]
fn variables_of_an_execution_go_with_it() {
    let set = || {
        assert!(std::env::var_os("OF_AN_EXECUTION").is_none());
        // SAFETY: one thread.
        unsafe {
            std::env::set_var("OF_AN_EXECUTION", "1");
            std::env::set_var("OF_AN_EXECUTION", "2");
            std::env::set_var("ANOTHER", "3");
            std::env::remove_var("ANOTHER");
        }
        assert_eq!(std::env::var("OF_AN_EXECUTION").as_deref(), Ok("2"));
        assert!(std::env::var_os("ANOTHER").is_none());
        counts()
    };
    passes(|| _ = set());
    Explorer::new().strategy(Strategy::Exhaustive).run(set);
    assert!(std::env::var_os("OF_AN_EXECUTION").is_none());
}

/// A panic hook of the code under test sees the panics of that code, and the report says where they were.
#[test]
fn a_panic_hook_sees_the_programs_panics() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    let caught = || {
        std::panic::set_hook(Box::new(|_| _ = SEEN.fetch_add(1, SeqCst)));
        assert!(thread::spawn(|| panic!("one")).join().is_err());
        assert!(std::panic::catch_unwind(|| panic!("two")).is_err());
        assert_eq!(SEEN.load(SeqCst), 2);
    };
    passes(caught);
    finds(
        &all(),
        Kind::Panic,
        || {
            std::panic::set_hook(Box::new(|_| ()));
            thread::spawn(|| panic!("one")).join().unwrap();
        },
        |failure| assert!(failure.message.contains("panic hook"), "{}", failure.message),
    );
}

#[test]
fn there_are_as_many_processors_as_outside() {
    let outside = thread::available_parallelism().unwrap();
    let count = move || assert_eq!(thread::available_parallelism().unwrap(), outside);
    passes(|| {
        count();
        thread::spawn(count).join().unwrap();
    });
}

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
    fn atexit(function: extern "C" fn()) -> c_int;
    fn setlocale(category: c_int, locale: *const c_char) -> *mut c_char;
    fn strdup(text: *const c_char) -> *mut c_char;
    fn free(block: *mut c_void);
}

extern "C" fn nothing() {}

/// Much that the C library keeps, in every execution.
fn leaves_traces_in_the_c_library() {
    // SAFETY: functions and texts that are always there.
    unsafe {
        for _ in 0..40 {
            assert_eq!(pthread_atfork(Some(nothing), Some(nothing), Some(nothing)), 0);
            assert_eq!(atexit(nothing), 0);
        }
        for locale in [c"C.UTF-8", c"C", c"POSIX"] {
            setlocale(6, locale.as_ptr());
        }
        let copy = strdup(c"a text".as_ptr());
        assert_eq!(*copy, b'a' as c_char);
        free(copy.cast());
    }
    assert!(std::fs::canonicalize("/").unwrap().is_absolute());
    assert!(std::fs::read_dir("/").unwrap().count() > 0);
    counts();
}

#[test]
fn what_the_c_library_keeps_is_not_undone() {
    Explorer::new().strategy(Strategy::Pos).executions(2_000).run(leaves_traces_in_the_c_library);
    Explorer::new().executions(3_000).run(leaves_traces_in_the_c_library);
    // Processes that are forked off call whatever was registered.
    Explorer::new().strategy(Strategy::Pos).executions(300).workers(2).run(leaves_traces_in_the_c_library);
    assert!(std::process::Command::new("true").status().unwrap().success());
}

/// Does something by another thread that a static knows.
fn by_a_worker_of_a_static() -> i32 {
    static JOBS: LazyLock<Sender<Sender<i32>>> = LazyLock::new(|| {
        let (sender, receiver) = channel::<Sender<i32>>();
        thread::spawn(move || receiver.iter().for_each(|answer| answer.send(7).unwrap()));
        sender
    });
    let (sender, receiver) = channel();
    JOBS.send(sender).unwrap();
    receiver.recv().unwrap()
}

#[test]
fn threads_that_a_static_can_wake_live_on() {
    static POOL: LazyLock<Arc<(Mutex<Vec<i32>>, Condvar)>> = LazyLock::new(|| {
        let pool = Arc::<(Mutex<Vec<i32>>, Condvar)>::default();
        for _ in 0..2 {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let mut jobs = pool.0.lock().unwrap();
                loop {
                    jobs.pop();
                    jobs = pool.1.wait(jobs).unwrap();
                }
            });
        }
        pool
    });
    static PARKED: LazyLock<thread::JoinHandle<()>> = LazyLock::new(|| {
        thread::spawn(|| {
            loop {
                thread::park();
            }
        })
    });
    static LOCKED: parking_lot::Mutex<i32> = parking_lot::Mutex::new(0);
    static CHANGED: parking_lot::Condvar = parking_lot::Condvar::new();
    passes(|| assert_eq!(by_a_worker_of_a_static(), 7));
    passes(|| {
        POOL.0.lock().unwrap().push(1);
        POOL.1.notify_one();
    });
    passes(|| PARKED.thread().unpark());
    passes(|| {
        thread::spawn(|| CHANGED.wait(&mut LOCKED.lock()));
        *LOCKED.lock() += 1;
    });
    // Waits for one that lives on.
    passes(|| _ = thread::spawn(|| thread::spawn(|| CHANGED.wait(&mut LOCKED.lock())).join()));
    passes(|| {
        let (sender, receiver) = channel::<()>();
        // The check is conservative: a stale address on a stack, of which the last byte was overwritten with 0, counts as a
        // reference. So the sender is not where such an address points to.
        Box::leak(Box::new(0u128));
        Box::leak(Box::new(sender));
        thread::spawn(move || receiver.recv());
    });
}

#[test]
fn threads_that_nobody_can_wake_are_leaks() {
    static A: Mutex<()> = Mutex::new(());
    static B: Mutex<()> = Mutex::new(());
    let two_locks = || {
        for (first, second) in [(&A, &B), (&B, &A)] {
            thread::spawn(move || {
                let _first = first.lock().unwrap();
                let _second = second.lock().unwrap();
            });
        }
    };
    let forgotten = || {
        let (sender, receiver) = channel::<()>();
        std::mem::forget(sender);
        thread::spawn(move || receiver.recv());
    };
    let own = || {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        thread::spawn(move || drop(shared.1.wait(shared.0.lock().unwrap())));
    };
    let own_parking_lot = || {
        let shared = Arc::new((parking_lot::Mutex::new(()), parking_lot::Condvar::new()));
        thread::spawn(move || shared.1.wait(&mut shared.0.lock()));
    };
    for body in [&two_locks as &dyn Fn(), &forgotten, &own, &own_parking_lot] {
        finds(&broken::searching(), Kind::ThreadLeak, body, |failure| {
            assert!(failure.message.contains("join it"))
        });
    }
    let explorer = Explorer::new().executions(50).allow_leaked_threads(true);
    explorer.run(own);
}

mod known {
    use super::*;

    pub(super) fn leaks_a_thread() {
        let (sender, receiver) = channel::<()>();
        std::mem::forget(sender);
        thread::spawn(move || waits(&receiver));
    }

    fn waits(receiver: &std::sync::mpsc::Receiver<()>) {
        let _ = receiver.recv();
    }

    #[inline(never)]
    pub(super) fn panics() {
        panic!("known");
    }
}

#[test]
fn what_is_known_is_suppressed_and_listed() {
    let explorer = Explorer::new().executions(20).allow_one_thread(true);
    let leak = explorer.clone().suppress_kind(Kind::ThreadLeak, "red::known::*", "it is known");
    for strategy in all() {
        let report = leak.clone().strategy(strategy).run(known::leaks_a_thread);
        let suppressed = &report.suppressed[0];
        assert_eq!((suppressed.kind, &*suppressed.reason), (Kind::ThreadLeak, "it is known"));
        assert_eq!(suppressed.count, report.executions);
    }
    let panic = explorer.clone().suppress_kind(Kind::Panic, "red::known::panics", "it is known");
    let report = panic.clone().strategy(Strategy::Pos).run(known::panics);
    assert_eq!(report.suppressed[0].count, report.executions);
    let report = panic.clone().run(known::panics);
    assert!(report.suppressed[0].count >= report.executions && !report.complete);
    assert_eq!(report.left_out, ["what executions do after failures that are suppressed"]);
    // Neither another kind, nor another function.
    let failure = leak.try_run(known::panics).unwrap_err();
    assert_eq!(failure.kind, Kind::Panic);
    let failure = panic.try_run(|| panic!("unknown")).unwrap_err();
    assert!(failure.message.starts_with("unknown"), "{}", failure.message);
    // Nor a thread that is left beside one that is known.
    let other = explorer.suppress_kind(Kind::ThreadLeak, "red::known::*", "it is known");
    let failure = other.try_run(|| {
        known::leaks_a_thread();
        let (sender, receiver) = channel::<()>();
        std::mem::forget(sender);
        thread::spawn(move || receiver.recv());
    });
    assert_eq!(failure.unwrap_err().kind, Kind::ThreadLeak);
}
