//! `cargo raddle litmus`: columns of two builds, joined.
#![allow(missing_docs)]

mod common;

use std::fs;

use common::{Fixture, is_slow_wanted};

#[test]
fn columns_of_both_builds_stand_beside_each_other() {
    if !is_slow_wanted() {
        return;
    }
    let fixture = Fixture::new("litmus");
    let run = fixture.run("litmus tests/sb.rs permitted --json out.json --junit out.xml --html out.html");
    let run = run.exits(0).prints("sb::permitted  passed").prints("litmus result: 1 passed, 0 failed");
    let row = run.stdout.lines().find(|line| line.contains("0, 0")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["0,", "0", "2", "22.22%", "yes", "acceptable", "fine"]
    );
    let read = |file: &str| fs::read_to_string(fixture.path().join(file)).unwrap();
    assert!(read("out.json").contains("\"verdict\": \"passed\""));
    assert!(read("out.xml").contains("<testcase name=\"sb::permitted\""));
    assert!(read("out.html").contains("1 of 1 tests passed"));
    let left: Vec<_> = fs::read_dir(fixture.path().join("target/raddle")).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("litmus-")), "{left:?}");
}

#[test]
fn what_is_seen_and_not_allowed_fails_and_so_does_an_exploration() {
    if !is_slow_wanted() {
        return;
    }
    let fixture = Fixture::new("litmus");
    fixture
        .run("litmus --time 5s")
        .exits(1)
        .prints("`0, 0` was seen 2 times and is not allowed by RC11")
        .prints(" 5000 ")
        .prints("sb::race  FAILED while it was explored")
        .prints("a data race was found")
        .prints("sb::race: its exploration failed")
        .prints("sb::not_allowed: `0, 0` was seen 2 times and is not allowed by RC11")
        .prints("litmus result: 1 passed, 2 failed");
}

#[test]
fn mistakes_are_one_sentence() {
    let fixture = Fixture::new("litmus");
    fixture.run("litmus tests/none.rs").exits(2).complains("there is no file tests/none.rs");
    fixture.run("litmus tests/sb.rs ordinary").exits(2).complains("there are no litmus tests here");
    fixture.run("litmus --time soon").exits(2).complains("`10s`");
}
