//! What is compiled how, and that nothing is compiled twice.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{Fixture, Run};

#[test]
fn events_arrive_at_the_runtime_and_programs_without_it_run() {
    let fixture = Fixture::new("linked");
    for profile in ["", "--release"] {
        fixture
            .run(&format!("test {profile}"))
            .exits(0)
            .prints("test the_runtime_sees_the_access ... ok")
            .prints("test the_tests_own_accesses_are_seen ... ok")
            .prints("test tests::works_by_itself ... ok")
            .prints("test tests::is_left_alone ... ok");
    }
    let libraries = find(&fixture.path().join("target/raddle"), "rlib");
    let calls = |library: &str, function: &[u8]| {
        let library = libraries.iter().find(|path| path.to_string_lossy().contains(library)).unwrap();
        contains(library, function)
    };
    assert!(!calls("/libruntime-", b"__tsan_read") && !calls("/libruntime-", b"__tsan_write"));
    assert!(calls("/libapp-", b"__tsan_atomic64_fetch_add"));
}

#[test]
fn another_list_of_uninstrumented_crates_is_another_build() {
    let fixture = Fixture::new("linked");
    fixture.run("test --no-run").exits(0);
    let manifest = fixture.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .unwrap()
        .replace("[\"runtime\"]", "[\"runtime\", \"app\", \"missing\"]");
    fs::write(&manifest, text).unwrap();
    fixture
        .run("test")
        .exits(1)
        .prints("test the_runtime_sees_the_access ... FAILED")
        .complains("warning: `missing` is listed as uninstrumented")
        .complains("Compiling app");
    fs::write(
        &manifest,
        "[workspace]\nmembers = [\"app\", \"runtime\"]\n[workspace.metadata.raddle]\nuninstrumented = 1\n",
    )
    .unwrap();
    fixture.run("test").exits(2).complains("write `uninstrumented` in [workspace.metadata.raddle] as a list");
}

#[test]
fn a_second_build_compiles_nothing_and_cargos_own_is_untouched() {
    let fixture = Fixture::new("suite");
    fixture
        .run("test --no-run")
        .exits(0)
        .complains("Compiling suite")
        .complains("Executable tests/basic.rs (");
    let again = fixture.run("test --no-run").exits(0);
    assert!(!again.stderr.contains("Compiling"), "{again}");
    let entries: Vec<_> =
        fs::read_dir(fixture.path().join("target")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!entries.iter().any(|name| name == "debug"), "{entries:?}");
    let built = fixture.run("build --test basic").exits(0);
    let path = Path::new(built.stdout.trim());
    assert!(path.is_absolute() && path.exists(), "{built}");
}

#[test]
fn rustflags_are_kept() {
    let fixture = Fixture::new("suite");
    let args = "test --test environment variables -- --show-output";
    let mut command = fixture.command(args);
    command.env("RUSTFLAGS", "--cfg custom");
    let run = Run::of(command).exits(0);
    assert_eq!(run.value("custom"), "true");
    assert_eq!(fixture.run(args).exits(0).value("custom"), "false");
    fixture.write(".cargo/config.toml", "[build]\nrustflags = [\"--cfg\", \"custom\"]\n");
    assert_eq!(fixture.run(args).exits(0).value("custom"), "true");
    fixture.run("test --test basic is_instrumented").exits(0).prints("test is_instrumented ... ok");
}

#[test]
fn another_wrapper_is_called_in_turn() {
    let fixture = Fixture::new("suite");
    let script = fixture.write("tools/wrap", "#!/bin/sh\necho \"$*\" >> \"$0.log\"\nexec \"$@\"\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let log = || {
        let path = fixture.path().join("tools/wrap.log");
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::remove_file(path).ok();
        text
    };

    let mut command = fixture.command("test --test basic is_instrumented");
    command.env("RUSTC_WRAPPER", &script);
    Run::of(command).exits(0);
    assert!(log().lines().any(|line| line.contains("--crate-name basic") && line.contains("-C passes=")));

    fixture.write(".cargo/config.toml", "[build]\nrustc-wrapper = \"tools/wrap\"\n");
    fixture.write("tests/basic.rs", "#[test] fn other() {}");
    fixture.run("test --test basic other").exits(0);
    assert!(log().lines().any(|line| line.contains("--crate-name basic") && line.contains("-C passes=")));
}

#[test]
fn profiles_and_directories_are_cargos() {
    let fixture = Fixture::new("suite");
    // The release profile asks for link-time optimisation, which would instrument everything.
    let args = "test --release --target-dir elsewhere --test environment variables -- --show-output";
    let run = fixture.run(args).exits(0);
    assert_eq!(run.value("release"), "true");
    let directory = fixture.path().join("elsewhere");
    assert_eq!(run.value("RADDLE_FAILURES"), directory.join("raddle/failures").to_str().unwrap());
    let recorded = format!(r#"["--package","suite","--release","--target-dir","{}"]"#, directory.display());
    assert_eq!(run.value("RADDLE_CARGO_ARGS"), recorded);
    assert!(!fixture.path().join("target").exists());
}

fn find(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(find(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}

fn contains(file: &Path, text: &[u8]) -> bool {
    fs::read(file).unwrap().windows(text.len()).any(|window| window == text)
}
