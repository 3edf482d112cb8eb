//! The assignments in `courses/`, graded end to end: right submissions pass, wrong ones fail with the expected kind of failure.
//!
//! By default some of the wrong submissions are graded; `GRADE_ALL=1` grades all of them.
#![allow(missing_docs)]
#![cfg(target_os = "linux")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use common::{Fixture, Run, is_slow_wanted};
use serde_json::Value;

/// Wrong submissions of each course that are graded by default: one of each kind of failure.
const SOME: [&str; 9] = [
    "put-in-two-blocks",
    "both-wake-one",
    "take-waits-once",
    "insert-reads-twice",
    "contains-ignores-mark",
    "mark-in-another-word",
    "try-acquire-relaxed",
    "seq-reader-fence-release",
    "ticket-store-relaxed",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The target directory of this build: the engine is there already, as a rule.
fn target() -> PathBuf {
    let executable = Path::new(env!("CARGO_BIN_EXE_cargo-raddle"));
    executable.parent().and_then(Path::parent).unwrap().to_owned()
}

fn folders(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

/// The table of `wrong/EXPECTED.md`: the kinds of failure for each submission.
fn expected(course: &Path) -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(course.join("wrong/EXPECTED.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, kinds] = cells[..] else { panic!("{line}") };
        (name.to_owned(), kinds.split(", ").map(str::to_owned).collect())
    };
    text.lines().filter(|line| line.starts_with('|')).skip(2).map(row).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn check(course: &str) {
    let course = repository().join("courses").join(course);
    let expected = expected(&course);
    let wrong = folders(&course.join("wrong"));
    assert_eq!(
        expected.keys().cloned().collect::<Vec<_>>(),
        wrong.iter().map(|path| name(path)).collect::<Vec<_>>()
    );
    assert!(wrong.len() >= 10);
    let all = std::env::var_os("GRADE_ALL").is_some();

    let fixture = Fixture::new("suite");
    let hand_in = |path: &Path, prefix: &str| {
        let text = fs::read_to_string(path.join("src/lib.rs")).unwrap();
        fixture.write(&format!("submissions/{prefix}{}/src/lib.rs", name(path)), &text);
    };
    for path in &wrong {
        if all || SOME.contains(&name(path).as_str()) {
            hand_in(path, "");
        }
    }
    for path in folders(&course.join("right")) {
        hand_in(&path, "right-");
    }
    let mut command = fixture.command("grade");
    command
        .arg(course.join("course.toml"))
        .args(["submissions", "--out", "out"])
        .arg("--target-dir")
        .arg(target());
    let run = Run::of(command).exits(0);
    let text = fs::read_to_string(fixture.path().join("out/results.jsonl")).unwrap();
    let grades: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(grades.len() >= 4, "{run}");
    for grade in grades {
        let name = grade["name"].as_str().unwrap();
        let tests = grade["tests"].as_array().unwrap();
        let kinds: Vec<&str> = tests.iter().filter_map(|test| test["kind"].as_str()).collect();
        assert_eq!(grade["status"], "tested", "{name}: {grade}");
        if name.starts_with("right-") {
            assert_eq!(kinds, [""; 0], "{name}: {grade:#}");
            continue;
        }
        assert!(
            kinds.iter().any(|kind| expected[name].iter().any(|expected| expected == kind)),
            "{name}: {grade:#}"
        );
        assert!(!kinds.contains(&"not-run"), "{name}: {grade:#}");
        let feedback =
            fs::read_to_string(fixture.path().join(format!("out/students/{name}/feedback.md"))).unwrap();
        assert!(feedback.contains("*Hint:*") && feedback.contains("lib.rs:"), "{feedback}");
    }
}

#[test]
fn the_bounded_buffer_is_graded() {
    if !is_slow_wanted() {
        return;
    }
    check("bounded-buffer");
}

#[test]
fn the_sorted_list_is_graded() {
    if !is_slow_wanted() {
        return;
    }
    check("sorted-list");
}

#[test]
fn the_spin_lock_is_graded() {
    if !is_slow_wanted() {
        return;
    }
    check("spin-lock");
}

/// The wrong submissions of the course on memory orders differ from the right one in one order.
#[test]
fn wrong_locks_differ_in_one_memory_order() {
    const ORDERS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let course = repository().join("courses/spin-lock");
    let right = words(&fs::read_to_string(course.join("solution/lib.rs")).unwrap());
    for path in folders(&course.join("wrong")) {
        let wrong = words(&fs::read_to_string(path.join("src/lib.rs")).unwrap());
        assert_eq!(right.len(), wrong.len(), "{}", path.display());
        let different: Vec<_> = right.iter().zip(&wrong).filter(|(right, wrong)| right != wrong).collect();
        assert_eq!(different.len(), 1, "{}: {different:?}", path.display());
        assert!(ORDERS.contains(&different[0].0.as_str()) && ORDERS.contains(&different[0].1.as_str()));
    }
}

/// What students get is what the course tests with.
#[test]
fn templates_have_the_public_tests() {
    for course in folders(&repository().join("courses")) {
        let read = |file: &str| fs::read_to_string(course.join(file)).unwrap();
        assert_eq!(read("template/tests/public.rs"), read("tests/public.rs"), "{}", course.display());
        assert!(read("template/src/lib.rs").contains("todo!()"));
    }
}

/// Submissions that go beyond their task, in code that stands in for the append of the reference solution: the name, the code, and the
/// kinds of failure or the status that they may get. None of them gets all points, but for those with an empty list.
const HOSTILE: [(&str, &str, &[&str]); 10] = [
    ("loops", "loop { std::hint::spin_loop() }", &["time-limit", "livelock", "limit-wall", "limit-cpu"]),
    (
        "forks",
        "unsafe extern \"C\" { fn fork() -> i32; } loop { unsafe { fork() }; }",
        &["limit-processes", "limit-wall", "limit-cpu", "time-limit", "crash", "ended-early"],
    ),
    (
        "allocates",
        "let mut all = Vec::new(); loop { all.push(vec![1_u8; 1 << 20]) }",
        &["limit-memory", "crash"],
    ),
    ("prints", "for _ in 0..1 << 14 { println!(\"{}\", \"x\".repeat(1 << 16)) }", &["limit-output"]),
    ("exits", "std::process::exit(0);", &["exit", "ended-early"]),
    (
        "fakes",
        "println!(\"test numbers_come_out_in_order ... ok\\n\\ntest result: ok. 1 passed; 0 failed;\"); \
         eprintln!(\"ok numbers_come_out_in_order\\nok nobody_waits_forever\"); std::process::exit(0);",
        &["exit", "ended-early"],
    ),
    (
        "deletes",
        "for path in [\"COURSE\", \"SUBMISSIONS\", \"/lib\"] { let _ = std::fs::remove_dir_all(path); } ring.append(value);",
        &[],
    ),
    ("aborts", "std::process::abort();", &["crash"]),
    ("broken", "ring.append(value", &["does not compile"]),
    ("builds", "ring.append(value);", &[]),
];

/// One hundred submissions, every tenth of them hostile, in a course that allows everything, so that the sandbox alone stands in their way.
/// Takes minutes, so it runs only if asked for: `GRADE_ALL=1`. With `--nocapture` it prints how long it took.
#[test]
fn a_hundred_submissions_take_minutes() {
    if std::env::var_os("GRADE_ALL").is_none() {
        return;
    }
    let course = repository().join("courses/bounded-buffer");
    let fixture = Fixture::new("suite");
    let submissions = fixture.path().join("submissions");
    let read = |path: &Path| fs::read_to_string(path.join("src/lib.rs")).unwrap();
    let mut sources: Vec<(String, String)> = Vec::new();
    for kind in ["wrong", "right"] {
        sources.extend(folders(&course.join(kind)).iter().map(|path| (name(path), read(path))));
    }
    let right = fs::read_to_string(course.join("solution/lib.rs")).unwrap();
    sources.push(("solution".to_owned(), right.clone()));
    for number in 0..100 {
        let (base, source) = if number % 10 == 9 {
            let (base, code, _) = HOSTILE[number / 10];
            let code = code
                .replace("COURSE", course.to_str().unwrap())
                .replace("SUBMISSIONS", submissions.to_str().unwrap());
            (base.to_owned(), right.replace("ring.append(value);", &code))
        } else {
            sources[number % sources.len()].clone()
        };
        // No two are alike, so that none is known already.
        fixture.write(
            &format!("submissions/{number:03}-{base}/src/lib.rs"),
            &format!("// Submission {number}\n{source}"),
        );
    }
    let built = submissions.join("099-builds");
    let marker = fixture.path().join("marker");
    fs::write(built.join("build.rs"), format!("fn main() {{ std::fs::write({marker:?}, \"\").unwrap() }}"))
        .unwrap();
    fs::write(built.join("Cargo.toml"), "[package]\nname = \"bounded-buffer\"\n[lib]\nproc-macro = true")
        .unwrap();
    symlink("/etc/passwd", submissions.join("link")).unwrap();
    fs::create_dir(submissions.join("linked")).unwrap();
    symlink(course.join("solution"), submissions.join("linked/src")).unwrap();

    let text = fs::read_to_string(course.join("course.toml")).unwrap();
    let all = "allow = [\"unsafe\", \"extern\", \"asm\", \"attributes\", \"include\", \"process\", \"files\", \"network\", \
               \"environment\", \"system\", \"panic-hook\"]";
    let text = text
        .replace("[submission]", &format!("[submission]\n{all}"))
        .replace("[course]", &format!("[course]\nmanifest = {:?}", course.join("Cargo.toml")));
    fixture.write("course.toml", &text);
    let mut command = fixture.command("grade");
    command.args(["course.toml", "submissions", "--out", "out"]).arg("--target-dir").arg(target());
    let (began, used) = (std::time::Instant::now(), processor_time_of_children());
    let run = Run::of(command).exits(0).prints("102 submissions");
    println!(
        "102 submissions took {:.0} s and {:.0} s of processor time; the load is {}",
        began.elapsed().as_secs_f64(),
        processor_time_of_children() - used,
        fs::read_to_string("/proc/loadavg").unwrap().trim()
    );
    println!("{run}");

    assert!(!marker.exists(), "a build script ran");
    let text = fs::read_to_string(fixture.path().join("out/results.jsonl")).unwrap();
    let grades: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(grades.len(), 102);
    let mut points: BTreeMap<String, Value> = BTreeMap::new();
    for grade in &grades {
        let name = grade["name"].as_str().unwrap();
        let (_, base) = name.split_once('-').unwrap_or(("", name));
        let tests = grade["tests"].as_array().unwrap();
        let mut found: Vec<&str> = tests.iter().filter_map(|test| test["kind"].as_str()).collect();
        found.push(grade["status"].as_str().unwrap());
        let full = grade["points"] == grade["max_points"];
        if let Some((.., expected)) = HOSTILE.iter().find(|(name, ..)| *name == base) {
            assert_eq!(full, expected.is_empty(), "{name}: {found:?}");
            assert!(full || expected.iter().any(|kind| found.contains(kind)), "{name}: {found:?}");
        } else if name.starts_with("link") {
            assert_eq!(grade["status"], "unreadable", "{name}");
        } else {
            assert_eq!(full, !course.join("wrong").join(base).exists(), "{name}: {found:?}");
            // Whatever runs beside it, the same submission gets the same points.
            let before = points.entry(base.to_owned()).or_insert(grade["points"].clone());
            assert_eq!(*before, grade["points"], "{name}: {found:?}");
        }
    }
}

/// Seconds of processor time of the processes that this one has waited for, and of those that they have.
fn processor_time_of_children() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the program comes second, in parentheses. A tick is a hundredth of a second.
    let rest = &text[text.rfind(')').unwrap() + 1..];
    rest.split_whitespace().skip(13).take(2).map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}
