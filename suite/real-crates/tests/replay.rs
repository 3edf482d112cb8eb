//! A failure file makes the same execution again in a fresh process, every time, to the event.
//!
//! Each test finds a failure and then runs itself again, in a new process, with the file to replay: there, the exploration
//! replays it and ends the process. All in all a hundred times.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use crossbeam_queue::SegQueue;
use raddle::{Explorer, Failure, Kind, Memory};
use raddle_report::failure::Schedule;

const TIMES: usize = 20;

/// Runs the test of this name again, in a process of its own, to replay the file.
fn replay(test: &str, file: &Path, force: bool) -> Output {
    let test = &format!("replay_of::{test}");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    command.env("RADDLE_OWNED", "1").env("RADDLE_TEST", test).env("RADDLE_REPLAY", file);
    command.env("RADDLE_COLOR", "never").env("RADDLE_COLUMNS", "100");
    if force {
        command.env("RADDLE_FORCE", "1");
    }
    command.output().unwrap()
}

/// Finds the failure. In a process that was started to replay it, this does not return.
#[track_caller]
fn find(kind: Kind, body: impl Fn()) -> Box<Failure> {
    find_with(Explorer::new(), kind, body)
}

/// [`find`] with other options.
#[track_caller]
fn find_with(explorer: Explorer, kind: Kind, body: impl Fn()) -> Box<Failure> {
    let failure = explorer.try_run(body).expect_err("the failure is made on purpose");
    assert!(std::env::var_os("RADDLE_REPLAY").is_none(), "the replay went on");
    assert_eq!(failure.kind, kind);
    failure
}

#[track_caller]
fn check(test: &str, kind: Kind, says: &str, body: impl Fn()) {
    check_failure(test, &find(kind, body), says);
}

#[track_caller]
fn check_failure(test: &str, failure: &Failure, says: &str) {
    let file = failure.file.as_deref().expect("a failure has a file");
    let first = replay(test, file, false);
    let text = String::from_utf8_lossy(&first.stderr).into_owned();
    assert_eq!(first.status.code(), Some(1), "{text}");
    assert!(text.contains(says), "{text}");
    for _ in 1..TIMES {
        let again = replay(test, file, false);
        assert_eq!(again.status.code(), Some(1));
        assert_eq!(String::from_utf8_lossy(&again.stderr), text);
        assert_eq!(again.stdout, first.stdout);
    }
}

mod replay_of {
    use super::*;

    #[test]
    fn a_read_of_an_older_value() {
        let explorer = Explorer::new().memory(Memory::Rc11);
        let failure = find_with(explorer, Kind::Panic, || {
            let cells = [AtomicUsize::new(0), AtomicUsize::new(0)];
            let seen = thread::scope(|scope| {
                let other = scope.spawn(|| {
                    cells[0].store(1, Release);
                    cells[1].load(Acquire)
                });
                cells[1].store(1, Release);
                (cells[0].load(Acquire), other.join().unwrap())
            });
            assert_ne!(seen, (0, 0), "neither saw the other");
        });
        check_failure("a_read_of_an_older_value", &failure, "an older value: the newest is 1");
    }

    #[test]
    fn a_panic_in_a_lock_free_queue() {
        check("a_panic_in_a_lock_free_queue", Kind::Panic, "the second came first", || {
            let queue = SegQueue::new();
            thread::scope(|scope| {
                scope.spawn(|| queue.push(1));
                scope.spawn(|| queue.push(2));
            });
            assert_ne!(queue.pop(), Some(2), "the second came first");
        });
    }

    #[test]
    fn a_deadlock_of_named_threads() {
        check("a_deadlock_of_named_threads", Kind::Deadlock, "waits", || {
            let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
            let (a2, b2) = (Arc::clone(&a), Arc::clone(&b));
            let one = thread::Builder::new().name("one".into()).spawn(move || {
                let _a = a.lock().unwrap();
                let _b = b.lock().unwrap();
            });
            let _b = b2.lock().unwrap();
            let _a = a2.lock().unwrap();
            drop((_a, _b));
            one.unwrap().join().unwrap();
        });
    }

    /// Everything that is different from process to process: addresses of statics, hashes, thread ids, the clock.
    #[test]
    fn a_panic_that_depends_on_everything() {
        static FIRST: OnceLock<String> = OnceLock::new();
        check("a_panic_that_depends_on_everything", Kind::Panic, "hash", || {
            let map: HashMap<u32, u32> = (0..8).map(|key| (key, key)).collect();
            let order: Vec<u32> = map.into_keys().collect();
            let (sender, receiver) = mpsc::channel();
            for i in 0..2 {
                let sender = sender.clone();
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(5));
                    FIRST.get_or_init(|| format!("{:?}", thread::current().id()));
                    sender.send(i).unwrap();
                });
            }
            drop(sender);
            let received: Vec<u32> = receiver.iter().collect();
            assert_ne!(received, [1, 0], "hash order {order:?}, first {FIRST:?} at {:?}", &raw const FIRST);
        });
    }

    #[test]
    fn a_crash() {
        check("a_crash", Kind::Crash, "SIGSEGV", || {
            let shared = Arc::new(AtomicPtr::<u32>::default());
            let other = Arc::clone(&shared);
            let writer = thread::spawn(move || other.store(Box::leak(Box::new(7)), SeqCst));
            // SAFETY: none: this is the bug.
            assert_eq!(unsafe { shared.load(SeqCst).read_volatile() }, 7);
            writer.join().unwrap();
        });
    }

    #[test]
    fn a_livelock() {
        check("a_livelock", Kind::Livelock, "spin", || {
            let turn = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&turn);
            let thread = thread::spawn(move || {
                // Fails if the closure's exchange comes first: then both wait.
                _ = other.compare_exchange(0, 1, SeqCst, SeqCst);
                while other.load(SeqCst) == 2 {}
            });
            _ = turn.compare_exchange(0, 2, SeqCst, SeqCst);
            thread.join().unwrap();
        });
    }

    /// Replays a file and checks how the process ends.
    #[track_caller]
    fn answers(test: &str, file: &Path, force: bool, code: i32, says: &str) {
        let output = replay(test, file, force);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(says), "{text}");
    }

    /// The thread that is spawned must run first.
    fn fails_if_the_other_is_first() {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        thread::spawn(move || other.store(1, SeqCst));
        assert_eq!(x.load(SeqCst), 0);
    }

    /// Writes a changed copy of a failure beside its own file.
    fn changed(failure: &Failure, change: fn(&mut Failure)) -> PathBuf {
        let mut copy = failure.clone();
        change(&mut copy);
        copy.write_new(failure.file.as_deref().unwrap().parent().unwrap()).unwrap()
    }

    /// A file that was edited, is damaged, or belongs to another program is answered with one clear sentence, not obeyed.
    #[test]
    fn files_that_do_not_fit() {
        const TEST: &str = "files_that_do_not_fit";
        let failure = find(Kind::Panic, fails_if_the_other_is_first);

        let other_build = changed(&failure, |failure| failure.build.id = "0123".into());
        answers(TEST, &other_build, false, 2, "another build");
        answers(TEST, &other_build, true, 1, "assertion");

        // The closure's own thread runs as long as it can: no failure.
        let no_failure = changed(&failure, |failure| failure.schedule = Schedule(vec![0; 50]));
        answers(TEST, &no_failure, false, 0, "the replay passed");

        let garbage = std::env::temp_dir().join(format!("raddle-{TEST}-{}.json", std::process::id()));
        std::fs::write(&garbage, "{\"format\": 1, ").unwrap();
        answers(TEST, &garbage, false, 2, "error:");
        std::fs::remove_file(&garbage).unwrap();
        answers(TEST, &garbage, false, 2, "there is no file");
    }

    #[test]
    fn a_file_with_a_thread_that_does_not_exist() {
        const TEST: &str = "a_file_with_a_thread_that_does_not_exist";
        let failure = find(Kind::Panic, fails_if_the_other_is_first);
        let no_such_thread = changed(&failure, |failure| failure.schedule.0[0] = 9);
        answers(TEST, &no_such_thread, false, 3, "parted from the recorded execution");
    }

    #[test]
    fn a_file_with_choices_that_the_replay_does_not_make() {
        const TEST: &str = "a_file_with_choices_that_the_replay_does_not_make";
        let failure = find(Kind::Panic, fails_if_the_other_is_first);
        let longer = changed(&failure, |failure| failure.schedule.0.push(0));
        answers(TEST, &longer, false, 3, "parted from the recorded execution");
    }

    #[test]
    fn a_file_of_a_panic_in_another_thread() {
        const TEST: &str = "a_file_of_a_panic_in_another_thread";
        let failure = find(Kind::Panic, fails_if_the_other_is_first);
        let other = changed(&failure, |failure| failure.thread = failure.thread.map(|thread| thread + 1));
        answers(TEST, &other, false, 3, "parted from the recorded execution");
        // Files of older versions do not name the thread.
        let unknown = changed(&failure, |failure| failure.thread = None);
        answers(TEST, &unknown, false, 1, "assertion");
    }

    #[test]
    fn a_file_of_a_search_that_cannot_follow_the_program() {
        const TEST: &str = "a_file_of_a_search_that_cannot_follow_the_program";
        let failure = find(Kind::Panic, || {
            let word = AtomicU64::new(0);
            // SAFETY: the half of the word is aligned and lives as long as the word; only atomics access either.
            let half = unsafe { AtomicU32::from_ptr(word.as_ptr().cast()) };
            thread::scope(|scope| {
                scope.spawn(|| word.store(1, SeqCst));
                assert_eq!(half.load(SeqCst), 0, "the other was first");
            });
        });
        let exhaustive = changed(&failure, |failure| failure.found_by.strategy = "exhaustive".to_owned());
        answers(TEST, &exhaustive, false, 3, "parted from the recorded execution");
    }
}
