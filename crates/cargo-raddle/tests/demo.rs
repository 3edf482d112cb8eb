//! The whole of Raddle at once: `cargo raddle demo` finds its bug, and the failure file replays.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::path::Path;

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
    run("demo")
        .exits(0)
        .prints("test every_element_comes_out_once ... FAILED")
        .prints("\nFound: two polls at once");
    let failures: Vec<_> = fs::read_dir(target.join("raddle/failures")).unwrap().collect();
    assert_eq!(failures.len(), 1);
    let file = failures.into_iter().next().unwrap().unwrap().path();

    let message = "the queue held 1 and 2, and the two polls returned";
    run(&format!("show {}", file.display())).exits(0).prints(message);
    for _ in 0..3 {
        run(&format!("replay {}", file.display())).exits(1).prints(message);
    }
    // The program changes: the recorded execution may mean something else now.
    let library = target.join("raddle/demo/src/lib.rs");
    let source = fs::read_to_string(&library).unwrap();
    fs::write(&library, source.replace("head + 1", "head.wrapping_add(1)")).unwrap();
    run(&format!("replay {}", file.display())).exits(2);
    run(&format!("replay --force {}", file.display())).exits(1).prints(message);
}
