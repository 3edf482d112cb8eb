//! The whole of Raddle at once: `cargo raddle demo` finds its bug, and the failure file replays.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Fixture, Run};

#[test]
fn the_bug_is_found_and_replays() {
    let fixture = Fixture::new("suite");
    // Kept between runs: the engine is built here.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo");
    fs::remove_dir_all(target.join("raddle/failures")).ok();
    let run = |args: &str| {
        let mut command = fixture.command(args);
        command.env("CARGO_TARGET_DIR", &target);
        Run::of(command)
    };
    // A browser that says what it was asked to open.
    let browser = fixture.write("browser", "#!/bin/sh\necho \"$1\" >\"$0.opened\"\n");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = fixture.command("demo --open");
    command.env("CARGO_TARGET_DIR", &target).env("BROWSER", &browser);
    let found = Run::of(command)
        .exits(0)
        .prints("test every_element_comes_out_once ... FAILED")
        .prints("\nFound: two polls at once");
    let file = target.join("raddle/failures/every_element_comes_out_once.json");
    let page = file.with_extension("html");
    let mut files: Vec<_> =
        fs::read_dir(target.join("raddle/failures")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert_eq!(files, [page.as_path(), &file]);
    found.prints(&format!(
        "replay:   cargo raddle replay {}\npage:     {}\n",
        file.display(),
        page.display()
    ));
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("pub fn poll(&self)"), "the page has the source code");
    let opened = browser.with_extension("opened");
    wait_for(|| fs::read_to_string(&opened).is_ok_and(|name| name.trim() == page.display().to_string()));

    let message = "the queue held 1 and 2, and the two polls returned";
    run(&format!("show {}", file.display())).exits(0).prints(message);
    for _ in 0..3 {
        run(&format!("replay {}", file.display())).exits(1).prints(message);
    }
    // The page is written again, by a replay and when other executions are known.
    fs::remove_file(&page).unwrap();
    run(&format!("replay {}", file.display())).exits(1).complains(&format!("page:     {}", page.display()));
    assert!(page.exists());
    // Every thread read `head` before any moved it on: from there on, no schedule helps.
    run(&format!("why --alternatives {}", file.display()))
        .exits(0)
        .prints("from here on the failure was unavoidable")
        .prints("queue.head.load(Acquire) -> 0")
        .prints("the nearest execution that passes");
    assert!(fs::read_to_string(&page).unwrap().contains("nearest_pass"));
    run(&format!("replay {}", file.display())).exits(1).prints(message);

    // The program changes: the recorded execution may mean something else now.
    let library = target.join("raddle/demo/src/lib.rs");
    let source = fs::read_to_string(&library).unwrap();
    fs::write(&library, source.replace("head + 1", "head.wrapping_add(1)")).unwrap();
    run(&format!("replay {}", file.display())).exits(2);
    let before = fs::read(&file).unwrap();
    run(&format!("why --alternatives {}", file.display())).exits(2).complains("another build");
    assert!(fs::read(&file).unwrap() == before, "a file that cannot be used is not changed");
    run(&format!("replay --force {}", file.display())).exits(1).prints(message);
}

#[test]
fn a_profile_with_line_tables_only_explores_and_shows_objects() {
    let fixture = Fixture::new("no-types");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let manifest = fs::read_to_string(fixture.path().join("manifest.toml")).unwrap();
    fixture.write("Cargo.toml", &manifest.replace("RADDLE", crates.join("raddle").to_str().unwrap()));
    fixture.write("Cargo.lock", &fs::read_to_string(crates.join("../Cargo.lock")).unwrap());
    let mut command = fixture.command("test");
    command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo"));
    command.env("RADDLE_FAILURES", fixture.path().join("failures"));
    Run::of(command).exits(1);
    let file = fs::read_to_string(fixture.path().join("failures/counter_test.json")).unwrap();
    let failure: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(failure["objects"]["list"][0]["name"], "CounterTest#1", "{file}");
}

/// Waits for something that another process does.
#[track_caller]
fn wait_for(condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(20), "it did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}
