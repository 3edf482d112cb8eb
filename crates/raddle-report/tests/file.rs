//! The failure file: what is written can be read, by people too, and nothing else is taken for one.

mod samples;

use std::fs;
use std::path::{Path, PathBuf};

use raddle_report::{Failure, FileError, Style, render};

/// The example of `FORMAT.md`.
const EXAMPLE: &str = include_str!("example.json");

#[test]
fn the_documented_example_is_what_is_written() {
    let failure: Failure = serde_json::from_str(EXAMPLE).unwrap();
    assert_eq!(failure, samples::lost_update());
    assert_eq!(failure.to_json(), EXAMPLE);
    let documentation = include_str!("../FORMAT.md");
    assert!(documentation.contains(EXAMPLE), "FORMAT.md shows tests/example.json");
}

#[test]
fn every_failure_comes_back_as_it_was() {
    let dir = directory("round");
    for failure in [
        samples::deadlock(),
        samples::livelock(),
        samples::data_race(),
        samples::double_free(),
        samples::scenario(),
        samples::long_trace(),
    ] {
        let path = failure.write_new(&dir).unwrap();
        assert_eq!(Failure::read(&path).unwrap(), failure);
    }
    let mut large = samples::lost_update();
    large.found_by.seed = u64::MAX;
    large.trace.events[4].action =
        samples::load(samples::named("x"), raddle_report::failure::Order::SeqCst, u128::MAX);
    assert_eq!(Failure::read(&large.write_new(&dir).unwrap()).unwrap(), large);
}

#[test]
fn files_are_named_after_the_test_and_never_overwritten() {
    let dir = directory("names").join("made/if/missing");
    let mut failure = samples::lost_update();
    let mut name = |test: &str, seed: u64| {
        failure.test = test.to_owned();
        failure.found_by.seed = seed;
        let path = failure.write_new(&dir).unwrap();
        path.file_name().unwrap().to_str().unwrap().to_owned()
    };
    assert_eq!(name("counter::lost_update", 1), "counter-lost_update.json");
    assert_eq!(name("counter::lost_update", 2), "counter-lost_update-2.json");
    assert_eq!(name("counter::lost_update", 3), "counter-lost_update-3.json");
    assert_eq!(name("counter::lost_update", 2), "counter-lost_update-2.json", "the same failure is on file");
    assert_eq!(name("../../etc/passwd", 1), "etc-passwd.json");
    assert_eq!(name("::", 1), "failure.json");
    assert!(name(&"x".repeat(1000), 1).len() < 120);
    let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 6, "nothing temporary is left: {left:?}");
}

#[test]
fn writers_at_the_same_time_get_files_of_their_own() {
    let of_seed = |seed| {
        let mut failure = samples::lost_update();
        failure.found_by.seed = seed;
        failure
    };
    let dir = &directory("race");
    let mut paths: Vec<PathBuf> = std::thread::scope(|scope| {
        let writers: Vec<_> =
            (0..8).map(|seed| scope.spawn(move || of_seed(seed).write_new(dir).unwrap())).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 8);
    let mut seeds: Vec<u64> = paths.iter().map(|path| Failure::read(path).unwrap().found_by.seed).collect();
    seeds.sort();
    assert_eq!(seeds, Vec::from_iter(0..8));
}

#[test]
fn what_cannot_be_read_is_explained_in_one_sentence() {
    let dir = directory("errors");
    let error = |name: &str, content: &str| {
        let path = dir.join(name);
        fs::write(&path, content).unwrap();
        let error = Failure::read(&path).unwrap_err();
        let text = error.to_string().replace(&dir.display().to_string(), "<dir>");
        assert!(!text.contains('\n') && text.len() < 240, "{text}");
        (error, text)
    };
    let (kind, text) = error("cut.json", &EXAMPLE[..EXAMPLE.len() / 2]);
    assert!(matches!(kind, FileError::CutOff { .. }), "{text}");
    assert!(text.starts_with("<dir>/cut.json ends in the middle"), "{text}");
    assert!(matches!(error("notes.json", "hello").0, FileError::NotJson { .. }));
    assert!(matches!(error("empty.json", "").0, FileError::CutOff { .. }));
    for foreign in
        ["[]", "{}", "42", r#"{"format": 1}"#, r#"{"format":"esm","test":"a","kind":"b","schedule":""}"#]
    {
        let (kind, text) = error("foreign.json", foreign);
        assert!(matches!(kind, FileError::Foreign { .. }), "{text}");
        assert_eq!(
            text,
            "<dir>/foreign.json is JSON, but not a Raddle failure file: give a file from target/raddle/failures"
        );
    }
    let (kind, text) = error("new.json", r#"{"format":7,"test":"a","kind":"wormhole","schedule":{"v":2}}"#);
    assert!(matches!(kind, FileError::Newer { format: 7, .. }));
    assert_eq!(
        text,
        "<dir>/new.json has format 7, and this Raddle reads formats up to 1: update Raddle to read it"
    );
    let (kind, text) = error("odd.json", &EXAMPLE.replace("\"thread\":1,", "\"thread\":\"one\","));
    assert!(matches!(kind, FileError::Damaged { .. }), "{text}");
    let (kind, text) = error("loose.json", &EXAMPLE.replace("\"at\":3", "\"at\":300"));
    assert!(matches!(kind, FileError::Damaged { .. }), "{text}");
    assert!(text.contains("refers to stack 300, which is not there"), "{text}");
    let missing = Failure::read(&dir.join("missing.json")).unwrap_err();
    assert!(matches!(missing, FileError::Missing { .. }));
    assert!(matches!(Failure::read(&dir).unwrap_err(), FileError::Unreadable { .. }));
}

/// Versions before `awaited` wrote the targets of waits in words only.
#[test]
fn waits_of_older_versions_are_read() {
    let written = samples::deadlock().to_json();
    let mut old: serde_json::Value = serde_json::from_str(&written).unwrap();
    for thread in old["threads"].as_array_mut().unwrap() {
        thread["end"]["waiting"].as_object_mut().unwrap().remove("awaited").unwrap();
    }
    let path = directory("old").join("old.json");
    fs::write(&path, old.to_string()).unwrap();
    let style = Style { width: 110, colour: false, unicode: true };
    let page = render(&Failure::read(&path).unwrap(), style, None);
    assert_eq!(page, render(&samples::deadlock(), style, None));
}

#[test]
fn fields_of_the_future_are_ignored() {
    let path = directory("future").join("more.json");
    fs::write(&path, EXAMPLE.replacen('{', "{\"colour\": \"blue\",", 1)).unwrap();
    assert_eq!(Failure::read(&path).unwrap(), samples::lost_update());
}

fn directory(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("file-{name}"));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}
