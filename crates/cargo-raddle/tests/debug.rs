//! Debug sessions with failures, driven as an editor would: forwards, backwards, across threads.
//!
//! They need a debugger. Where there is none, they say so and pass.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use common::dap::Client;
use common::{Fixture, Run};
use serde_json::{Value, json};

/// The crate whose tests fail, and where it is built.
struct Debugged {
    fixture: Fixture,
    directory: PathBuf,
    target: PathBuf,
}

impl Debugged {
    /// The crate with its failures found; none if there is no debugger on this machine.
    fn crate_if_possible() -> Option<&'static Debugged> {
        static DEBUGGED: OnceLock<Option<Debugged>> = OnceLock::new();
        let debugged = DEBUGGED.get_or_init(|| has_debugger().then(Debugged::new));
        if debugged.is_none() {
            eprintln!("skipped: there is no lldb-dap here (apt-get install lldb-19 python3-lldb-19)");
        }
        debugged.as_ref()
    }

    fn new() -> Debugged {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let fixture = Fixture::new("debug");
        // Kept between runs, and shared with the demo: the engine is built there.
        let (directory, target) = (scratch.join("debugged"), scratch.join("demo"));
        for file in ["src/lib.rs", "tests/failures.rs"] {
            let text = fs::read_to_string(fixture.path().join(file)).unwrap();
            write(&directory.join(file), &text);
        }
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let raddle = crates.canonicalize().unwrap().join("raddle");
        let manifest = fs::read_to_string(fixture.path().join("manifest.toml")).unwrap();
        write(&directory.join("Cargo.toml"), &manifest.replace("RADDLE", raddle.to_str().unwrap()));
        write(&directory.join("Cargo.lock"), &fs::read_to_string(crates.join("../Cargo.lock")).unwrap());
        let debugged = Debugged { fixture, directory, target };
        fs::remove_dir_all(debugged.failures()).ok();
        Run::of(debugged.command("test --no-fail-fast")).exits(1);
        debugged
    }

    fn failures(&self) -> PathBuf {
        self.directory.join("failures")
    }

    fn command(&self, args: &str) -> Command {
        let mut command = self.fixture.command(args);
        command.current_dir(&self.directory);
        command.env("CARGO_TARGET_DIR", &self.target).env("RADDLE_FAILURES", self.failures());
        command
    }

    fn file(&self, failure: &str) -> PathBuf {
        self.failures().join(format!("{failure}.json"))
    }

    fn debug(&self, failure: &str, configuration: Value, breakpoints: &[(&str, u64)]) -> Client {
        let command = self.command(&format!("debug --dap {}", self.file(failure).display()));
        Client::launch(command, configuration, breakpoints)
    }

    /// The first event of a failure whose description contains the text, and of this thread.
    fn event(&self, failure: &str, is_wanted: impl Fn(&Value) -> bool) -> usize {
        let text = fs::read_to_string(self.file(failure)).unwrap();
        let failure: Value = serde_json::from_str(&text).unwrap();
        failure["trace"]["events"].as_array().unwrap().iter().position(is_wanted).expect("an event")
    }
}

/// Writes a file unless it is the same already, so that cargo sees no change.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn has_debugger() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["lldb-dap-19", "lldb-dap"];
    std::env::split_paths(&path).any(|directory| names.iter().any(|name| directory.join(name).is_file()))
}

fn is(event: &Value, thread: u64, action: &str) -> bool {
    event["thread"] == json!(thread) && event["action"].get(action).is_some()
}

#[test]
fn a_failure_is_gone_through_forwards_and_backwards() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    // The stores come after both loads: between a load and the store of its thread, another thread runs.
    let load = |thread| debugged.event("lost_update", |event| is(event, thread, "load"));
    let store = |thread| debugged.event("lost_update", |event| is(event, thread, "store"));
    let first = if load(1) < load(2) { 1 } else { 2 };
    let mut session = debugged.debug("lost_update", json!({}), &[]);

    // The session begins at the failure, with the line of the test on top.
    session.stands_at("assert_eq!(total, 2)");
    assert_eq!(session.local("total").as_deref(), Some("1"));

    // Backwards and forwards to events.
    session.go_to(load(first)).stands_at("let before = self.value.load");
    assert_eq!(session.position["event"], json!(load(first)));
    assert_eq!(session.position["thread"], json!(first));
    let names: Vec<_> = session.stack(session.thread).iter().map(|frame| frame["name"].clone()).collect();
    assert_eq!(names[0], "debugged::Counter::increment");
    assert!(names.iter().all(|name| !name.to_string().contains("raddle")), "{names:?}");

    // Pages of the stack continue each other.
    let thread = session.thread;
    let page = |session: &mut Client, start| {
        let arguments = json!({"threadId": thread, "startFrame": start, "levels": 1});
        session.ask("stackTrace", arguments)["stackFrames"][0]["name"].clone()
    };
    assert_eq!([page(&mut session, 0), page(&mut session, 1)], names[..2]);

    // Lines forwards: the value arrives, and the step over the store stays in its thread though others run before.
    session.step("next").stands_at("let after = before + 1");
    assert_eq!(session.local("before").as_deref(), Some("0"));
    session.step("next").stands_at("let doubled = after * 2");
    session.step("next").stands_at("self.value.store(after");
    session.step("next").stands_at("doubled / 2");
    assert_eq!(session.position["thread"], json!(first));
    assert_eq!(session.position["event"], json!(store(first)));

    // And back again, across the switch to the other thread.
    session.step("stepBack").stands_at("self.value.store(after");
    assert_eq!(session.position["standing"], json!("event"));
    session.step("stepBack").stands_at("self.value.store(after");
    assert_eq!(session.position["event"], json!(load(first)), "before the store, and before the switch");
    session.step("stepBack").stands_at("let doubled = after * 2");
    assert_eq!(session.local("after").as_deref(), Some("1"));
    session.step("stepBack").stands_at("let after = before + 1");
    session.step("stepBack").stands_at("let before = self.value.load");
    assert_eq!(session.position["thread"], json!(first));
    // The thread has not done anything before: back to the thread that spawned it.
    session.step("stepBack");
    assert_eq!(session.position["thread"], json!(0));

    session.go_to(load(first)).step("stepOut").stands_at("counter.increment()");
    let end = session.step("continue").position.clone();
    assert_eq!(end["standing"], json!("end"));
    session.step("stepBack").stands_at("assert_eq!(total, 2)");
}

#[test]
fn threads_that_wait_are_shown_with_their_names_and_stacks() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let store = |thread| debugged.event("lost_update", |event| is(event, thread, "store"));
    let (first, other) = if store(1) < store(2) { (1, 2) } else { (2, 1) };
    let mut session = debugged.debug("lost_update", json!({"event": store(first)}), &[]);
    let threads = session.threads();
    let names: Vec<_> = threads.iter().map(|(_, name)| &**name).collect();
    assert_eq!(names, ["T0 main", "T1 left", "T2 right"]);
    assert_eq!(session.thread, threads[first as usize].0);
    let line = session.line_of(threads[other as usize].0);
    assert!(line.contains("self.value.store(after") || line.contains("self.value.load"), "{line}");
    // The main thread stands somewhere in the test itself.
    let main = session.stack(threads[0].0);
    assert_eq!(main[0]["source"]["name"], "failures.rs", "{main:?}");
}

#[test]
fn breakpoints_stop_the_way_forwards_and_backwards_but_not_travel() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let library = debugged.directory.join("src/lib.rs").canonicalize().unwrap();
    let text = fs::read_to_string(&library).unwrap();
    let line = 1 + text.lines().position(|line| line.contains("let doubled")).unwrap() as u64;
    let breakpoints = [(library.to_str().unwrap(), line)];
    let mut session = debugged.debug("lost_update", json!({"event": "first"}), &breakpoints);
    session.stands_at("spawn");

    let mut visited = Vec::new();
    for _ in 0..2 {
        session.step("continue").stands_at("let doubled");
        visited.push(session.position["thread"].clone());
    }
    assert_ne!(visited[0], visited[1]);
    session.step("reverseContinue").stands_at("let doubled");
    assert_eq!(session.position["thread"], visited[0]);
    // There is none before: back to the first event.
    session.step("reverseContinue").stands_at("spawn");
    // Time travel does not stop on the way.
    let panic = debugged.event("lost_update", |event| is(event, 0, "panic"));
    session.go_to(panic).stands_at("assert_eq!(total, 2)");
    session.step("reverseContinue").stands_at("let doubled");
    assert_eq!(session.position["thread"], visited[1]);
}

#[test]
fn a_watchpoint_stops_where_memory_changes() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let of_thread = |action| move |thread| debugged.event("lost_update", |event| is(event, thread, action));
    let (load, store) = (of_thread("load"), of_thread("store"));
    // The second store writes what is there already.
    let first = if store(1) < store(2) { 1 } else { 2 };
    let mut session = debugged.debug("lost_update", json!({"event": load(first)}), &[]);
    session.watch("self");
    session.step("continue").stands_at("self.value.store(after");
    assert_eq!(session.position["event"], json!(store(first)));
    assert_eq!(session.value("*(unsigned int*)self"), "1");
    // Nobody else changes it. That it is overwritten when it is freed is not the program's doing.
    session.step("continue");
    assert_eq!(session.position["standing"], json!("end"), "{}", session.position);
    // Time travel does not stop where the memory is written on the way.
    session.go_to(load(3 - first)).stands_at("let before = self.value.load");
    assert_eq!(session.position["event"], json!(load(3 - first)));
}

#[test]
fn a_session_goes_on_where_it_is_told_to_after_the_program_has_ended() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let library = debugged.directory.join("src/lib.rs").canonicalize().unwrap();
    let text = fs::read_to_string(&library).unwrap();
    let line = 1 + text.lines().position(|line| line.contains("let doubled")).unwrap() as u64;
    let load = debugged.event("lost_update", |event| is(event, 1, "load"));
    let mut session = debugged.debug("lost_update", json!({}), &[(library.to_str().unwrap(), line)]);
    for _ in 0..2 {
        session.ask("evaluate", json!({"expression": "`process kill", "context": "repl"}));
        session.go_to(load).stands_at("let before = self.value.load");
        assert_eq!(session.position["standing"], json!("event"));
        assert_eq!(session.position["event"], json!(load));
        session.step("continue").stands_at("let doubled");
    }
    session.ask("evaluate", json!({"expression": "`process kill", "context": "repl"}));
    session.step("stepBack").stands_at("assert_eq!(total, 2)");
}

/// An lldb-dap that keeps the next stop to itself if there is a file `.forget` beside it.
const FORGETFUL: &str = r#"#!/usr/bin/env python3
import json, os, shutil, subprocess, sys, threading
forget = os.path.abspath(__file__) + ".forget"
real = subprocess.Popen([shutil.which("lldb-dap-19") or shutil.which("lldb-dap")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def pass_on():
    while data := os.read(0, 65536):
        real.stdin.write(data)
        real.stdin.flush()
    real.kill()
threading.Thread(target=pass_on, daemon=True).start()
while header := real.stdout.readline():
    real.stdout.readline()
    body = real.stdout.read(int(header.split(b":")[1]))
    message = json.loads(body)
    if message.get("event") == "stopped" and os.path.exists(forget):
        os.remove(forget)
        continue
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()
"#;

#[test]
fn a_stop_that_the_debugger_does_not_report_is_found_all_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let load = debugged.event("lost_update", |event| is(event, 1, "load"));
    let panic = debugged.event("lost_update", |event| is(event, 0, "panic"));
    let debugger = debugged.directory.join("forgetful-dap");
    let forget = debugged.directory.join("forgetful-dap.forget");
    write(&debugger, FORGETFUL);
    fs::set_permissions(&debugger, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(&forget).ok();
    let file = debugged.file("lost_update");
    let command =
        debugged.command(&format!("debug --dap --debugger {} {}", debugger.display(), file.display()));
    let mut session = Client::launch(command, json!({}), &[]);
    for (event, text) in [(load, "let before = self.value.load"), (panic, "assert_eq!(total, 2)")] {
        fs::write(&forget, "").unwrap();
        let begin = Instant::now();
        session.go_to(event).stands_at(text);
        assert!(!forget.exists(), "a stop was kept");
        assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
        assert_eq!(session.position["event"], json!(event));
    }
    // The session goes on as if nothing had been.
    session.go_to(load).step("next").stands_at("let after = before + 1");
    session.step("stepBack").stands_at("let before = self.value.load");
}

/// A gdb that speaks the protocol: the one that `RADDLE_TEST_GDB` names, or the one that is installed.
fn gdb() -> Option<PathBuf> {
    let named = std::env::var_os("RADDLE_TEST_GDB").map(PathBuf::from);
    let gdb = named.unwrap_or_else(|| PathBuf::from("gdb"));
    let version = Command::new(&gdb).arg("--version").output().ok()?.stdout;
    let version = String::from_utf8_lossy(&version).lines().next()?.rsplit(' ').next()?.to_owned();
    let is_new = version.split('.').next()?.parse::<u32>().is_ok_and(|version| version >= 14);
    is_new.then_some(gdb)
}

#[test]
fn gdb_goes_forwards_and_backwards_too() {
    let Some(gdb) = gdb() else {
        eprintln!("skipped: there is no gdb 14 or later here; `RADDLE_TEST_GDB` can name one");
        return;
    };
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let load = |thread| debugged.event("lost_update", |event| is(event, thread, "load"));
    let store = |thread| debugged.event("lost_update", |event| is(event, thread, "store"));
    let first = if load(1) < load(2) { 1 } else { 2 };
    let file = debugged.file("lost_update");
    let command = debugged.command(&format!("debug --dap --debugger {} {}", gdb.display(), file.display()));
    let mut session = Client::launch(command, json!({}), &[]);
    session.stands_at("assert_eq!(total, 2)");
    session.go_to(load(first)).stands_at("let before = self.value.load");
    assert_eq!(session.position["thread"], json!(first));
    assert_eq!(session.threads().len(), 1, "gdb shows the thread that runs");
    session.step("next").stands_at("let after = before + 1");
    assert_eq!(session.local("before").as_deref(), Some("0"));
    session.step("next").step("next").stands_at("self.value.store(after");
    // Another thread runs meanwhile.
    session.step("next").stands_at("doubled / 2");
    assert_eq!(session.position["event"], json!(store(first)));
    session.step("stepBack").stands_at("self.value.store(after");
    session.go_to(load(3 - first)).stands_at("let before = self.value.load");
    assert_eq!(session.position["thread"], json!(3 - first));
    session.step("next").step("stepBack").stands_at("let before = self.value.load");
}

#[test]
fn commands_go_to_events_too() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let load = debugged.event("lost_update", |event| is(event, 0, "load"));
    let mut session = debugged.debug("lost_update", json!({}), &[]);
    session.console(&format!("raddle goto {load}")).stands_at("self.value.load");
    session.console("raddle prev-write").stands_at("self.value.store(after");
    let write = session.position["event"].as_u64().unwrap();
    session.console("raddle back");
    assert!(session.position["event"].as_u64().unwrap() < write);
    session.console("raddle forward");
    assert_eq!(session.position["event"], json!(write));
    session.console("raddle prev").stands_at("let before = self.value.load");
    let list = session.ask("evaluate", json!({"expression": "raddle events", "context": "repl"}));
    assert!(list["result"].as_str().unwrap().contains("spawns T1"), "{list}");
    for (command, reason) in [("raddle goto 1000", "from 0 to"), ("raddle dance", "these are")] {
        let refusal = session.refused("evaluate", json!({"expression": command, "context": "repl"}));
        assert!(refusal.contains(reason), "{refusal}");
    }
    assert!(session.refused("raddle/gotoEvent", json!({"event": 1000})).contains("events 0 to"));
}

#[test]
fn a_deadlock_shows_who_waits_where() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let mut session = debugged.debug("deadlock", json!({}), &[]);
    let end = session.step("continue").position.clone();
    assert_eq!(end["standing"], json!("end"));
    let threads = session.threads();
    assert!(session.line_of(threads[1].0).contains("self.right.lock()"));
    assert!(session.line_of(threads[2].0).contains("self.left.lock()"));
    session.step("stepBack");
    assert_eq!(session.position["standing"], json!("event"));
}

#[test]
fn reads_of_weak_memory_return_what_they_returned() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    for failure in ["store_buffering_sampled", "store_buffering_exhaustive"] {
        for thread in [1, 2] {
            let load = debugged.event(failure, |event| is(event, thread, "load"));
            let mut session = debugged.debug(failure, json!({"event": load}), &[]);
            session.stands_at("let seen = self.");
            session.step("next").stands_at("u32::from(seen");
            assert_eq!(session.local("seen").as_deref(), Some("0"), "{failure}, thread {thread}");
            session.step("stepBack").stands_at("let seen = self.");
            session.step("stepBack").stands_at("let seen = self.");
            session.step("stepBack").stands_at(".store(1");
        }
    }
}

#[test]
fn a_crash_is_shown_where_it_happens() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let mut session = debugged.debug("crash", json!({}), &[]);
    session.stands_at("*(address as *const u8)");
    assert_eq!(session.local("address").as_deref(), Some("1"));
    let load = debugged.event("crash", |event| is(event, 0, "load"));
    session.go_to(load).stands_at("self.value.load");
}

#[test]
fn a_write_is_not_made_yet_where_the_program_stops_for_it() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    for failure in ["lost_update", "second_exploration"] {
        let stores: Vec<usize> = {
            let failure: Value =
                serde_json::from_str(&fs::read_to_string(debugged.file(failure)).unwrap()).unwrap();
            let events = failure["trace"]["events"].as_array().unwrap();
            (0..events.len()).filter(|&event| events[event]["action"].get("store").is_some()).collect()
        };
        let mut session = debugged.debug(failure, json!({"event": stores[0]}), &[]);
        session.stands_at("self.value.store(after");
        assert_eq!(session.value("*(unsigned int*)self"), "0", "{failure}");
        session.step("next").stands_at("doubled / 2");
        assert_eq!(session.value("*(unsigned int*)self"), "1", "{failure}");
        session.step("stepBack").stands_at("self.value.store(after");
        assert_eq!(session.value("*(unsigned int*)self"), "0", "{failure}");
    }
}

#[test]
fn operations_of_a_scenario_are_gone_through_as_well() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let failure = "counter_test";
    let loads: Vec<usize> = {
        let file = fs::read_to_string(debugged.file(failure)).unwrap();
        let failure: Value = serde_json::from_str(&file).unwrap();
        let events = failure["trace"]["events"].as_array().unwrap();
        (0..events.len()).filter(|&event| events[event]["action"].get("load").is_some()).collect()
    };
    let mut session = debugged.debug(failure, json!({"event": loads[1]}), &[]);
    session.stands_at("let before = self.value.load");
    let thread = session.position["thread"].clone();
    session.go_to(loads[0]).stands_at("let before = self.value.load");
    assert_ne!(session.position["thread"], thread);
    session.step("next").stands_at("let after = before + 1");
    session.step("stepBack").stands_at("let before = self.value.load");
    assert_eq!(session.step("continue").position["standing"], json!("end"));
}

#[test]
fn questions_are_answered_on_the_console() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let load = debugged.event("lost_update", |event| is(event, 0, "load"));
    let mut session = debugged.debug("lost_update", json!({"event": load}), &[]);
    let mut ask = |question: &str| {
        let body = session.ask("evaluate", json!({"expression": question, "context": "repl"}));
        body["result"].as_str().unwrap().to_owned()
    };
    let here = ask("raddle why");
    assert!(here.contains("where 1 comes from") && here.contains("read from"), "{here}");
    assert_eq!(ask(&format!("raddle why {load}")), here);
    let place = ask("raddle why counter.value");
    assert!(place.contains("store"), "{place}");
    let refusal = session.refused("evaluate", json!({"expression": "raddle why 5000", "context": "repl"}));
    assert!(refusal.contains("there is no event 5000"), "{refusal}");
}

#[test]
fn a_backward_jump_is_quick() {
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let load = debugged.event("lost_update", |event| is(event, 1, "load"));
    let panic = debugged.event("lost_update", |event| is(event, 0, "panic"));
    let mut session = debugged.debug("lost_update", json!({}), &[]);
    let mut times = Vec::new();
    for _ in 0..10 {
        session.go_to(panic);
        let begin = Instant::now();
        session.go_to(load);
        times.push(begin.elapsed());
    }
    let lines: Vec<_> = (0..3)
        .map(|_| {
            session.go_to(load).step("next").step("next");
            let begin = Instant::now();
            session.step("stepBack");
            begin.elapsed()
        })
        .collect();
    times.sort();
    println!("backward jump to an event: {times:?}; a line back: {lines:?}");
    // Machines that run other tests meanwhile are slow; what a jump takes is the least that it took.
    assert!(times[0] < Duration::from_millis(200), "{times:?}");
}

#[test]
fn the_command_line_does_the_same() {
    use std::io::Write;
    let Some(debugged) = Debugged::crate_if_possible() else { return };
    let load = debugged.event("lost_update", |event| is(event, 1, "load"));
    let mut command = debugged.command(&format!("debug --cli {}", debugged.file("lost_update").display()));
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let commands = format!("goto {load}\nnext\np before\nback\nthreads\nquit\n");
    child.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    for text in [
        "assert_eq!(total, 2);",
        "let before = self.value.load",
        "let after = before + 1",
        "\n(raddle) 0\n",
        "T1 left",
    ] {
        assert!(output.contains(text), "no `{text}` in\n{output}");
    }
}

#[test]
fn without_a_debugger_there_is_a_sentence_that_says_what_to_install() {
    let fixture = Fixture::new("debug");
    let failure = Path::new(env!("CARGO_MANIFEST_DIR")).join("../raddle-report/tests/example.json");
    let mut command = fixture.command(&format!("debug --dap {}", failure.display()));
    command.env("PATH", fixture.path());
    Run::of(command).exits(2).complains("apt-get install lldb-19 python3-lldb-19");
    fixture.run("debug --cli no-such-file").exits(2).complains("no-such-file");
    fixture.run("debug --dap --debugger no-such-debugger").exits(2).complains("there is no debugger");

    // An old gdb is told apart.
    let gdb = fixture.path().join("gdb");
    fs::write(&gdb, "#!/bin/sh\necho 'GNU gdb (Debian 13.1-3) 13.1'\n").unwrap();
    Command::new("chmod").arg("+x").arg(&gdb).status().unwrap();
    let old = format!("debug --dap --debugger {} {}", gdb.display(), failure.display());
    fixture.run(&old).exits(2).complains("gdb 14 or later");
}
