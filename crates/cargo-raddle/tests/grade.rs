//! `cargo raddle grade` against submissions that do not play by the rules.
//!
//! The task of the fixture links no engine, so that each submission is built in a moment.
#![allow(missing_docs)]
#![cfg(target_os = "linux")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use common::{Fixture, Run};
use serde_json::Value;

/// A course with the task of the fixture.
fn course() -> Fixture {
    let fixture = Fixture::new("grade");
    // A manifest of this name in the fixture would make it part of the workspace around it.
    fs::rename(fixture.path().join("manifest.toml"), fixture.path().join("Cargo.toml")).unwrap();
    fixture
}

fn submit(fixture: &Fixture, name: &str, source: &str) {
    fixture.write(&format!("submissions/{name}/src/lib.rs"), source);
}

fn grade(fixture: &Fixture, args: &str) -> Run {
    fixture.run(&format!("grade course.toml submissions --out out {args}"))
}

/// The results by name: points, status, and the kinds of failure of both tests.
fn results(fixture: &Fixture) -> BTreeMap<String, (f64, String, [String; 2])> {
    let text = fs::read_to_string(fixture.path().join("out/results.jsonl")).unwrap();
    let entry = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let kind = |test: usize| value["tests"][test]["kind"].as_str().unwrap_or("passed").to_owned();
        let text = |name: &str| value[name].as_str().unwrap().to_owned();
        (text("name"), (value["points"].as_f64().unwrap(), text("status"), [kind(0), kind(1)]))
    };
    text.lines().map(entry).collect()
}

/// Submissions that go beyond their task, in code, and what each gets from both tests.
const HOSTILE: [(&str, &str, [&str; 2]); 9] = [
    ("loops", "pub fn answer() -> u32 { loop { std::hint::spin_loop() } }", ["limit-wall|limit-cpu"; 2]),
    ("sleeps", "pub fn answer() -> u32 { loop { std::thread::park() } }", ["limit-wall"; 2]),
    (
        "forks",
        "unsafe extern \"C\" { fn fork() -> i32; } pub fn answer() -> u32 { loop { unsafe { fork() }; } }",
        ["limit-processes|limit-wall|limit-cpu"; 2],
    ),
    (
        "allocates",
        "pub fn answer() -> u32 { let mut all = Vec::new(); loop { all.push(vec![1_u8; 1 << 20]) } }",
        ["limit-memory"; 2],
    ),
    (
        "prints",
        "pub fn answer() -> u32 { loop { println!(\"{}\", \"x\".repeat(1 << 16)) } }",
        ["limit-output"; 2],
    ),
    (
        "writes",
        "pub fn answer() -> u32 { std::fs::write(\"/tmp/x\", vec![0_u8; 8 << 20]).unwrap(); 42 }",
        ["limit-file-size"; 2],
    ),
    ("exits", "pub fn answer() -> u32 { std::process::exit(0) }", ["ended-early"; 2]),
    (
        "fakes",
        "pub fn answer() -> u32 { println!(\"test the_answer_is_right ... ok\\n\\ntest result: ok. 1 passed; 0 failed;\"); \
         println!(\"ok the_answer_is_right\\nok the_answer_is_always_right\"); std::process::exit(0) }",
        ["ended-early"; 2],
    ),
    ("crashes", "pub fn answer() -> u32 { std::process::abort() }", ["crash"; 2]),
];

#[test]
fn hostile_submissions_get_a_clear_result_and_disturb_nobody() {
    let fixture = course();
    let root = fixture.path();
    let hidden = root.join("tests/hidden.rs").display().to_string();
    let course = root.join("course.toml").display().to_string();
    let other = root.join("submissions/a-good/src/lib.rs").display().to_string();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let good = "pub fn answer() -> u32 { 42 }";
    submit(&fixture, "a-good", good);
    submit(&fixture, "z-good", good);
    for (name, source, _) in HOSTILE {
        submit(&fixture, name, source);
    }
    // These answer rightly if they are kept from what they try.
    submit(
        &fixture,
        "reads",
        &format!(
            "pub fn answer() -> u32 {{ for file in [{hidden:?}, {course:?}, {other:?}, \"/etc/passwd\"] {{ if std::fs::read(file).is_ok() {{ return 0 }} }} 42 }}"
        ),
    );
    submit(
        &fixture,
        "deletes",
        &format!(
            "pub fn answer() -> u32 {{ for path in [{hidden:?}, {other:?}, {course:?}] {{ let _ = std::fs::remove_file(path); let _ = std::fs::write(path, \"\"); }} for path in [\"/usr\", \"/lib\", \"/proc\", \"/tmp\", \"/\"] {{ let _ = std::fs::remove_dir_all(path); }} 42 }}"
        ),
    );
    submit(
        &fixture,
        "connects",
        &format!(
            "pub fn answer() -> u32 {{ if std::net::TcpStream::connect((\"127.0.0.1\", {port})).is_ok() {{ 0 }} else {{ 42 }} }}"
        ),
    );
    submit(
        &fixture,
        "kills",
        "unsafe extern \"C\" { fn kill(pid: i32, signal: i32) -> i32; fn getppid() -> i32; } \
         pub fn answer() -> u32 { unsafe { kill(getppid(), 9); kill(1, 9) }; 42 }",
    );
    // These do not compile, because what they read when they are compiled is not there.
    submit(
        &fixture,
        "includes",
        &format!("const _: &str = include_str!({hidden:?}); pub fn answer() -> u32 {{ 42 }}"),
    );
    submit(&fixture, "paths", &format!("#[path = {hidden:?}] mod stolen; pub fn answer() -> u32 {{ 42 }}"));
    submit(&fixture, "broken", "pub fn answer() -> u32 { 42 ");
    submit(
        &fixture,
        "compiles-forever",
        "pub const ANSWER: u32 = { loop {} }; pub fn answer() -> u32 { ANSWER }",
    );
    submit(&fixture, "other-type", "pub fn answer() -> &'static str { \"42\" }");
    // A manifest, a build script and tests of its own are never looked at.
    submit(&fixture, "builds", good);
    let marker = root.join("marker");
    let script = format!("fn main() {{ std::fs::write({:?}, \"\").unwrap() }}", marker.display().to_string());
    fixture.write("submissions/builds/build.rs", &script);
    fixture.write(
        "submissions/builds/Cargo.toml",
        "[package]\nname = \"task\"\nbuild = \"build.rs\"\n[lib]\nproc-macro = true",
    );
    fixture.write("submissions/builds/tests/hidden.rs", "#[test] fn the_answer_is_always_right() {}");
    fs::create_dir_all(root.join("submissions/links/src")).unwrap();
    symlink(root.join("src/lib.rs"), root.join("submissions/links/src/lib.rs")).unwrap();
    symlink(root.join("submissions/a-good"), root.join("submissions/linked")).unwrap();
    fs::create_dir_all(root.join("submissions/linked-folder")).unwrap();
    symlink(root.join("src"), root.join("submissions/linked-folder/src")).unwrap();
    fs::create_dir_all(root.join("submissions/empty")).unwrap();

    let run = grade(&fixture, "--jobs 2").exits(0);
    let results = results(&fixture);
    let isolated = run.stderr.contains("Isolated by user, files, processes, network");
    if !isolated {
        println!("this machine does not isolate everything, so that is not tested:\n{}", run.stderr);
    }
    for (name, _, kinds) in HOSTILE {
        let (points, status, found) = &results[name];
        assert_eq!((*points, status.as_str()), (0.0, "tested"), "{name}");
        for (found, expected) in found.iter().zip(kinds) {
            assert!(expected.split('|').any(|expected| expected == found), "{name}: {found}, not {expected}");
        }
    }
    let passed = ["a-good", "z-good", "builds", "kills"];
    let kept = ["reads", "deletes", "connects"];
    for name in passed.iter().chain(kept.iter().filter(|_| isolated)) {
        assert_eq!(results[*name].0, 3.5, "{name}: {:?}", results[*name]);
    }
    for (name, status) in [
        ("includes", "does not compile"),
        ("paths", "does not compile"),
        ("broken", "does not compile"),
        ("compiles-forever", "compiler limit"),
        ("links", "unreadable"),
        ("linked", "unreadable"),
        ("linked-folder", "unreadable"),
        ("empty", "unreadable"),
    ] {
        if isolated || !matches!(name, "includes" | "paths") {
            assert_eq!(results[name].1, status, "{name}");
        }
    }
    assert_eq!(results["other-type"].2, ["not-run", "not-run"]);
    assert!(!marker.exists(), "a build script ran");
    assert!(fs::read_to_string(&hidden).unwrap().contains("THE SECRET"));
    assert_eq!(fs::read_to_string(&other).unwrap(), good);
    no_secret_below(&root.join("out"));
    drop(listener);
}

/// What students get does not quote the hidden test.
fn no_secret_below(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            no_secret_below(&path);
        } else if let Ok(text) = fs::read_to_string(&path) {
            assert!(!text.contains("THE SECRET"), "{}", path.display());
        }
    }
}

#[test]
fn rules_reject_what_reaches_out() {
    let fixture = course();
    let text = fs::read_to_string(fixture.path().join("course.toml")).unwrap();
    let allow = text.lines().find(|line| line.starts_with("allow")).unwrap().to_owned();
    fixture.write("course.toml", &text.replace(&allow, "forbid = [\"Mutex\"]"));
    for (name, source, _) in HOSTILE {
        submit(&fixture, name, source);
    }
    submit(&fixture, "good", "pub fn answer() -> u32 { 42 }");
    submit(
        &fixture,
        "locks",
        "use std::sync::Mutex;\npub fn answer() -> u32 { *Mutex::new(42).lock().unwrap() }",
    );
    submit(
        &fixture,
        "shadows",
        "#[macro_export] macro_rules! assert_eq { ($($t:tt)*) => {} }\npub fn answer() -> u32 { 0 }",
    );
    // The compiler passes over a first line for a shell; a quotation mark in it would hide the rest from a look at its words.
    submit(&fixture, "shell", "#!/\"\npub fn answer() -> u32 { std::process::exit(0) } //\"");
    submit(&fixture, "unreadable", "#!/\"\npub fn answer() -> u32 { std::process::exit(0) }");
    submit(
        &fixture,
        "unseen",
        "#!/\"\n#![allow(warnings)] pub fn answer() -> u32 { unsafe { std::mem::zeroed() } }",
    );
    submit(&fixture, "warned", "#![warn(missing_docs)] fn unused() {} pub fn answer() -> u32 { 42 }");
    grade(&fixture, "").exits(0);
    let results = results(&fixture);
    for name in ["forks", "writes", "exits", "fakes", "crashes", "locks", "shadows", "shell", "unreadable"] {
        assert_eq!((results[name].0, results[name].1.as_str()), (0.0, "rejected"), "{name}");
    }
    for name in ["loops", "sleeps", "allocates", "prints"] {
        assert_eq!(results[name].1, "tested", "{name}: safe code is not rejected");
    }
    for name in ["good", "warned"] {
        assert_eq!(results[name].0, 3.5, "{name}");
    }
    let feedback = |name: &str| {
        fs::read_to_string(fixture.path().join(format!("out/students/{name}/feedback.md"))).unwrap()
    };
    let locks = feedback("locks");
    assert!(locks.contains("src/lib.rs:1:16: `Mutex`"), "{locks}");
    // What the rules do not see, the compiler does.
    assert_eq!((results["unseen"].0, results["unseen"].1.as_str()), (0.0, "does not compile"));
    let unseen = feedback("unseen");
    assert!(unseen.contains("usage of an `unsafe` block"), "{unseen}");
}

#[test]
fn what_is_graded_and_unchanged_is_not_graded_again() {
    let fixture = course();
    submit(&fixture, "anna", "pub fn answer() -> u32 { 42 }");
    submit(&fixture, "ben", "pub fn answer() -> u32 { 41 }");
    grade(&fixture, "").exits(0).prints("2 submissions").prints("0 of them unchanged");
    grade(&fixture, "").exits(0).prints("2 of them unchanged");
    submit(&fixture, "ben", "pub fn answer() -> u32 { 42 }");
    grade(&fixture, "").exits(0).prints("1 of them unchanged").prints("ben");
    assert_eq!(results(&fixture)["ben"].0, 3.5);
    grade(&fixture, "--only anna").exits(0).prints("1 submissions");
    // Other limits, other results.
    let text = fs::read_to_string(fixture.path().join("course.toml")).unwrap();
    fixture.write("course.toml", &text.replace("points = 1\n", "points = 2\n"));
    grade(&fixture, "").exits(0).prints("0 of them unchanged");
    assert_eq!(results(&fixture)["ben"].0, 4.5);

    let out = fixture.path().join("out");
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains("anna") && page.contains("Failures by cause"), "{page}");
    let table = fs::read_to_string(out.join("moodle.csv")).unwrap();
    assert!(table.contains("ben,4.5,all tests passed"), "{table}");
    let gradescope: Value =
        serde_json::from_str(&fs::read_to_string(out.join("gradescope/anna.json")).unwrap()).unwrap();
    assert_eq!(
        (gradescope["score"].as_f64(), gradescope["tests"].as_array().map(Vec::len)),
        (Some(4.5), Some(2))
    );
    assert!(fs::read_to_string(out.join("junit.xml")).unwrap().contains("<testsuite name=\"anna\""));
}

#[test]
fn an_interrupt_loses_nothing() {
    let fixture = course();
    submit(&fixture, "a", "pub fn answer() -> u32 { 42 }");
    for number in 0..30 {
        submit(&fixture, &format!("b{number}"), "pub fn answer() -> u32 { loop { std::thread::park() } }");
    }
    let mut command = fixture.command("grade course.toml submissions --out out --jobs 1");
    let mut child = command.spawn().unwrap();
    let kept = fixture.path().join("out/.raddle/results/a.json");
    let began = Instant::now();
    while !kept.exists() && began.elapsed() < Duration::from_secs(120) {
        thread::sleep(Duration::from_millis(50));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!fixture.path().join("out/.raddle/work/worker-0").exists(), "nothing is left behind");
    grade(&fixture, "--only a").exits(0).prints("1 of them unchanged");
}

#[test]
fn mistakes_are_shown_with_their_places() {
    let fixture = course();
    submit(&fixture, "anna", "pub fn answer() -> u32 { 42 }");
    let text = fs::read_to_string(fixture.path().join("course.toml")).unwrap();
    let wrong = text
        .replace("\"200 MiB\"", "\"much\"")
        .replace("points = 1\n", "points = -1\n")
        .replace("\"asm\"", "\"assembler\"");
    fixture.write("course.toml", &wrong);
    grade(&fixture, "")
        .exits(2)
        .complains("course.toml:6:30: unknown rule; the rules are unsafe, ")
        .complains("course.toml:10:10: write a size such as \"512 MiB\"")
        .complains("course.toml:22:10: write points");
    fixture.write("course.toml", &text.replace("name = \"the_answer_is_right\"", "name = \"the_answer\""));
    grade(&fixture, "").exits(2).complains("course.toml:21:8: there is no test `the_answer` in `public`");
    fixture.write("course.toml", &text.replace("wall = \"5s\"", "wal = \"5s\""));
    grade(&fixture, "").exits(2).complains("course.toml:9:1: unknown field `wal`");
    fixture.write("course.toml", &text);
    fixture.write("src/lib.rs", "pub fn answer() -> u32 { 41 }");
    grade(&fixture, "").exits(2).complains("the reference solution does not pass");
    grade(&fixture, "--format xml").exits(2).complains("unknown format `xml`");
}

#[test]
fn without_isolation_the_grader_says_so_and_goes_on() {
    let fixture = course();
    submit(&fixture, "good", "pub fn answer() -> u32 { 42 }");
    for (name, source, _) in
        HOSTILE.iter().filter(|(name, ..)| matches!(*name, "allocates" | "exits" | "sleeps"))
    {
        submit(&fixture, name, source);
    }
    let mut command = fixture.command("grade course.toml submissions --out out");
    command.env("CARGO_RADDLE_ISOLATION", "none");
    Run::of(command)
        .exits(0)
        .complains("not isolated: without network, a submission can use the network")
        .complains("not isolated: without files");
    let results = results(&fixture);
    assert_eq!(results["good"].0, 3.5);
    assert_eq!(results["allocates"].2, ["limit-memory"; 2].map(str::to_owned));
    assert_eq!(results["exits"].2, ["ended-early"; 2].map(str::to_owned));
    assert_eq!(results["sleeps"].2, ["limit-wall"; 2].map(str::to_owned));
    let mut command = fixture.command("grade course.toml submissions --out out --strict");
    command.env("CARGO_RADDLE_ISOLATION", "none");
    Run::of(command).exits(2).complains("--strict");
}
