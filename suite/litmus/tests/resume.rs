//! A search that ends early goes on in later processes, to the same figures.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};

use litmus::check::explorer;
use litmus::programs::classics::racy;
use litmus::programs::locks::ticket_lock;
use litmus::programs::structures::{michael_scott, treiber};
use litmus::{Model, Real, Test};

/// Run by the tests below, in processes of their own.
#[test]
#[ignore = "a part of other tests"]
fn part() {
    let build: fn() -> Test = match std::env::var("LITMUS_PROGRAM").as_deref() {
        Ok("racy") => || racy::<Real>(2, 3),
        Ok("queue") => || michael_scott::<Real>(2, 1),
        Ok("lock") => || ticket_lock::<Real>(4),
        Ok("stack") => || treiber::<Real>(3, 1),
        _ => return,
    };
    let model = if std::env::var_os("LITMUS_SC").is_some() { Model::Sc } else { Model::Rc11 };
    let tells = std::env::var_os("LITMUS_TELLS").is_some();
    let output = File::from(std::io::stdout().as_fd().try_clone_to_owned().unwrap());
    let report = explorer(model).run(|| {
        _ = Real::run(build());
        if tells {
            (&output).write_all(b"x").unwrap();
        }
    });
    println!("figures: {} {} {}", report.executions, report.blocked, report.complete);
}

/// A process that makes a part of the search.
fn process(directory: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "part", "--ignored", "--nocapture", "--test-threads=1"])
        .env("RADDLE_OWNED", "1")
        .env("RADDLE_TEST", "part")
        .env("RADDLE_FAILURES", directory)
        .env_remove("RADDLE_PROGRESS")
        .envs(variables.iter().copied());
    command
}

/// What one process says, and whether it was complete.
fn in_process(directory: &Path, variables: &[(&str, &str)]) -> (String, bool) {
    let output = process(directory, variables).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let figures = text.lines().find_map(|line| line.split_once("figures: "));
    match figures {
        Some((_, figures)) => {
            let (figures, complete) = figures.rsplit_once(' ').unwrap();
            (figures.to_owned(), complete == "true")
        }
        None => (format!("{text}{}", String::from_utf8_lossy(&output.stderr)), false),
    }
}

/// A directory of its own.
fn directory(name: &str) -> std::path::PathBuf {
    let directory = std::env::temp_dir().join(format!("raddle-{name}-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn parts_add_up_to_the_whole() {
    for program in ["racy", "queue", "lock"] {
        for model in [&[][..], &[("LITMUS_SC", "1")]] {
            let directory = directory(program);
            let with = |more: &[(&'static str, &'static str)]| {
                let variables = [model, &[("LITMUS_PROGRAM", program)], more].concat();
                in_process(&directory, &variables)
            };
            let whole = with(&[]);
            assert!(whole.1, "{}", whole.0);
            let mut processes = 0;
            let parts = loop {
                let part = with(&[("RADDLE_RESUME", "on"), ("RADDLE_EXECUTIONS", "37")]);
                processes += 1;
                assert!(processes < 100 && part.0.len() < 40, "{}", part.0);
                if part.1 {
                    break part.0;
                }
            };
            assert_eq!(parts, whole.0, "{program} in {processes} processes");
            let left: Vec<_> = std::fs::read_dir(&directory).unwrap().collect();
            assert!(left.is_empty(), "nothing is left of what is complete: {left:?}");
            _ = std::fs::remove_dir_all(&directory);
        }
    }
}

#[test]
fn a_search_with_other_options_is_refused() {
    let directory = directory("other");
    let resumed = |more: &[(&'static str, &'static str)]| {
        let first = [("LITMUS_PROGRAM", "racy"), ("RADDLE_RESUME", "on"), ("RADDLE_EXECUTIONS", "10")];
        let variables = [&first[..], more].concat();
        in_process(&directory, &variables).0
    };
    assert_eq!(resumed(&[]), "10 0");
    let refused = resumed(&[("RADDLE_MEMORY", "sc")]);
    assert!(refused.contains("was saved by a search with other options"), "{refused}");
    let file = std::fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read(&file).unwrap();
    let other: Vec<u8> = [&b"raddle search 3\nbuild other\n"[..], &text[..]].concat();
    std::fs::write(&file, other).unwrap();
    let refused = resumed(&[]);
    assert!(refused.contains("was saved by another build"), "{refused}");
    std::fs::write(&file, &text[..text.len() - 64]).unwrap();
    let refused = resumed(&[]);
    assert!(refused.contains("is not whole"), "{refused}");
    _ = std::fs::remove_dir_all(&directory);
}

/// Ctrl-C in the middle of a search, when some executions have been made.
#[test]
fn an_interrupted_search_goes_on_where_it_was() {
    let directory = directory("interrupted");
    let variables = [("LITMUS_PROGRAM", "stack"), ("LITMUS_SC", "1"), ("RADDLE_RESUME", "on")];
    let mut command = process(&directory, &variables);
    command.env("LITMUS_TELLS", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut made = [0; 3000];
    output.read_exact(&mut made).unwrap();
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("raddle: interrupted after ") && said.contains("`--resume on`"), "{said}");
    assert!(made.len() + rest.len() < 20_000, "it ends soon");
    let (figures, complete) = in_process(&directory, &variables);
    assert_eq!((&*figures, complete), ("25680 0", true));
    _ = std::fs::remove_dir_all(&directory);
}
