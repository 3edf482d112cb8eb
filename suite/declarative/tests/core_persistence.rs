//! What is left of a failure: a file that replays it, a line beside the source that is tried first.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use raddle::{Kind, Operation, Scenario, Test, call, generate};

/// Runs the test of this name again, in a process of its own.
fn again(test: &str, replay: Option<&Path>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--include-ignored"]);
    command.env("RADDLE_OWNED", "1").env("RADDLE_TEST", test);
    command.env("RADDLE_COLOR", "never").env("RADDLE_COLUMNS", "100");
    if let Some(file) = replay {
        command.env("RADDLE_REPLAY", file);
    }
    command.output().unwrap()
}

/// Finds the failure, and has it replayed several times. In the process that replays, the first line does not return.
#[track_caller]
fn replays<T: Send + Sync + 'static>(name: &str, test: Test<T>, kind: Kind, says: &str) {
    let failure = test.fails(kind);
    assert!(std::env::var_os("RADDLE_REPLAY").is_none(), "the replay went on");
    let file = failure.file.as_deref().expect("a failure has a file");
    let first = again(name, Some(file));
    let text = String::from_utf8_lossy(&first.stderr).into_owned();
    assert_eq!(first.status.code(), Some(1), "{text}");
    assert!(text.contains(says), "{text}");
    for _ in 0..3 {
        assert_eq!(String::from_utf8_lossy(&again(name, Some(file)).stderr), text);
    }
}

fn racy(offset: usize) -> Test<AtomicUsize> {
    Test::new(AtomicUsize::default)
        .with(Operation::with_args(
            "add",
            (generate::int(1..=5),),
            move |counter: &AtomicUsize, by: usize| {
                let seen = counter.load(SeqCst);
                counter.store(seen + by + offset, SeqCst);
                seen
            },
        ))
        .operation("get", |counter: &AtomicUsize| counter.load(SeqCst))
}

#[test]
fn incorrect_results_replay() {
    replays("incorrect_results_replay", racy(0), Kind::IncorrectResults, "should be");
}

#[test]
fn custom_scenarios_replay() {
    let scenario =
        Scenario::new().thread([call("add", (4usize,))]).thread([call("add", (4usize,)), call("get", ())]);
    let test = racy(0).scenario(scenario).iterations(0);
    replays("custom_scenarios_replay", test, Kind::IncorrectResults, "add(4)");
}

#[test]
fn validations_replay() {
    let test = Test::new(AtomicUsize::default)
        .operation("inc", |counter: &AtomicUsize| counter.fetch_add(1, SeqCst))
        .validate(|counter| assert!(counter.load(SeqCst) < 3, "too much"));
    replays("validations_replay", test, Kind::Validation, "too much");
}

#[test]
fn deadlocks_replay() {
    let test = Test::new(|| (Mutex::new(()), Mutex::new(())))
        .operation("one", |(a, b): &(Mutex<()>, Mutex<()>)| drop((a.lock().unwrap(), b.lock().unwrap())))
        .operation("two", |(a, b): &(Mutex<()>, Mutex<()>)| drop((b.lock().unwrap(), a.lock().unwrap())));
    replays("deadlocks_replay", test, Kind::Deadlock, "waits for");
}

#[test]
fn what_waits_for_locks_replays() {
    let test = Test::new(|| Mutex::new(0))
        .operation("inc", |counter: &Mutex<i32>| *counter.lock().unwrap() += 1)
        .obstruction_free();
    replays("what_waits_for_locks_replays", test, Kind::NotObstructionFree, "waits for");
}

/// Run by the test below, in a process of its own: fails, and keeps the scenario.
#[test]
#[ignore = "fails on purpose"]
fn keeps_its_scenario() {
    racy(0).run();
}

fn kept() -> PathBuf {
    let source = Path::new(file!()).with_extension("raddle-regressions");
    let here = std::env::current_dir().unwrap();
    here.join("tests").join(source.file_name().unwrap())
}

#[test]
fn scenarios_that_failed_are_tried_first() {
    let file = kept();
    let _ = std::fs::remove_file(&file);
    let first = again("keeps_its_scenario", None);
    assert!(!first.status.success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.lines().nth(1).unwrap().starts_with("keeps_its_scenario {"), "{text}");
    let second = again("keeps_its_scenario", None);
    // The very first scenario fails now, and nothing is left to make smaller.
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "nothing new is kept");
    let _ = std::fs::remove_file(&file);
    let page = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().skip_while(|line| !line.starts_with("scenario")).take(5).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(page(&first), page(&second));
}
