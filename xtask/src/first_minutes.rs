//! `cargo xtask first-minutes`: what a newcomer waits for, in clean directories, with other tools beside.
//!
//! | row | what is done |
//! |---|---|
//! | demo | `cargo raddle demo` in this repository, from nothing |
//! | install | `cargo install` of the whole command, from nothing |
//! | own test | the first failing test of a crate outside of the repository, by the installed command, after the demo |
//! | edit | the same after a change of the test |
//! | own test, nothing kept | the same without the libraries that the demo left |
//! | raddle, loom, shuttle, proptest | a test of a crate with that dev-dependency compiled by plain cargo |
//! | edit, plain cargo | what plain cargo needs to compile a change of the test with Raddle |
//!
//! Crates come from the registry: what has to be downloaded is downloaded before anything is measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cargo;

pub(crate) const LIBRARY: &str = "\
use std::sync::atomic::{AtomicUsize, Ordering::*};

#[derive(Default)]
pub struct Counter(AtomicUsize);

impl Counter {
    pub fn inc(&self) {
        self.0.store(self.0.load(Acquire) + 1, Release);
    }

    pub fn get(&self) -> usize {
        self.0.load(Acquire)
    }
}
";

pub(crate) const TEST: &str = "\
#[test]
fn counts_everything() {
    raddle::explore(|| {
        let counter = mine::Counter::default();
        std::thread::scope(|scope| {
            scope.spawn(|| counter.inc());
            scope.spawn(|| counter.inc());
        });
        assert_eq!(counter.get(), 2);
    });
}
";

/// The other tools, and a test that compiles them in.
const PEERS: [(&str, &str); 3] = [
    ("loom = \"0.7\"", "#[test]\nfn t() { loom::model(|| ()); }\n"),
    ("shuttle = \"0.9\"", "#[test]\nfn t() { shuttle::check_random(|| (), 1); }\n"),
    ("proptest = \"1\"", "proptest::proptest! { #[test] fn t(_a in 0..9) {} }\n"),
];

/// A measurement: what a person waits, and what the processors do.
struct Row {
    what: &'static str,
    goal: &'static str,
    wall: Duration,
    processor: Duration,
}

pub(crate) fn main() -> bool {
    let directory = std::env::temp_dir().join(format!("raddle-first-minutes-{}", std::process::id()));
    let done = measure(&directory);
    fs::remove_dir_all(&directory).ok();
    match &done {
        Ok(rows) => print(rows),
        Err(problem) => eprintln!("error: {problem}"),
    }
    done.is_ok()
}

fn measure(directory: &Path) -> Result<Vec<Row>, String> {
    let root = std::env::current_dir().map_err(|error| error.to_string())?;
    let raddle = root.join("crates/raddle");
    let mine = make_crate(directory, "mine", &format!("raddle = {{ path = {raddle:?} }}"), TEST)?;
    let peers = PEERS.map(|(dependency, test)| {
        let name = dependency.split(' ').next().unwrap_or(dependency);
        make_crate(directory, name, dependency, test).map(|path| (name, path))
    });
    let peers: Vec<(&str, PathBuf)> = peers.into_iter().collect::<Result<_, _>>()?;
    for path in peers.iter().map(|(_, path)| path).chain([&mine, &root]) {
        finish(cargo().arg("fetch").current_dir(path), &[0])?;
    }

    let target = directory.join("target");
    let installed = directory.join("installed");
    let command = installed.join("bin/cargo-raddle");
    let kept = directory.join("kept");
    let mut rows = Vec::new();
    let mut row = |what, goal, measured: Result<(Duration, Duration), String>| {
        let (wall, processor) = measured?;
        rows.push(Row { what, goal, wall, processor });
        Ok::<(), String>(())
    };
    let mut demo = cargo();
    demo.args(["raddle", "demo"]).env("CARGO_TARGET_DIR", &target).env("CARGO_RADDLE_CACHE", &kept);
    row("demo", "60 s", finish(&mut demo, &[0]))?;
    let mut install = cargo();
    install.args(["install", "--locked", "--path", "crates/cargo-raddle", "--root"]).arg(&installed);
    row("install", "120 s*", finish(install.env("CARGO_TARGET_DIR", directory.join("install")), &[0]))?;
    let test = |cache: &Path| {
        let mut test = Command::new(&command);
        test.args(["raddle", "test"]).current_dir(&mine).env("CARGO_RADDLE_CACHE", cache);
        // The failure that is to be found.
        finish(&mut test, &[1])
    };
    row("own test", "45 s", test(&kept))?;
    let edit = |name: &str| {
        let text = format!("{TEST}\n#[test]\nfn {name}() {{}}\n");
        fs::write(mine.join("tests/counter.rs"), text).map_err(|error| error.to_string())
    };
    edit("another")?;
    row("edit", "", test(&kept))?;
    fs::remove_dir_all(mine.join("target")).map_err(|error| error.to_string())?;
    row("own test, nothing kept", "", test(&directory.join("nothing")))?;
    let build = |path: &Path| finish(cargo().args(["test", "--no-run"]).current_dir(path), &[0]);
    row("raddle, plain cargo", "", build(&mine))?;
    edit("yet_another")?;
    row("edit, plain cargo", "", build(&mine))?;
    for (name, path) in &peers {
        let name: &'static str =
            PEERS.iter().map(|(dependency, _)| *dependency).find(|d| d.starts_with(name)).unwrap_or("");
        row(name, "", build(path))?;
    }
    Ok(rows)
}

/// Writes a crate with one dev-dependency and one test.
fn make_crate(directory: &Path, name: &str, dependency: &str, test: &str) -> Result<PathBuf, String> {
    let path = directory.join(name);
    // Not in the workspace of anybody.
    let manifest = format!(
        "[package]\nname = \"{name}-user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\nname = \"mine\"\n\n\
         [dev-dependencies]\n{dependency}\n\n[workspace]\n"
    );
    let write = |file: &str, text: &str| {
        let file = path.join(file);
        fs::create_dir_all(file.parent().unwrap_or(&path)).and_then(|()| fs::write(&file, text))
    };
    write("Cargo.toml", &manifest)
        .and_then(|()| write("src/lib.rs", LIBRARY))
        .and_then(|()| write("tests/counter.rs", test))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

/// Runs a command that ends with one of these codes. Returns how long it took, and the processor time of all its processes.
fn finish(command: &mut Command, codes: &[i32]) -> Result<(Duration, Duration), String> {
    eprintln!("+ {command:?}");
    let (before, began) = (processor_time(), Instant::now());
    let output = command
        .stdin(Stdio::null())
        .env_remove("RUSTFLAGS")
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let wall = began.elapsed();
    if !output.status.code().is_some_and(|code| codes.contains(&code)) {
        return Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok((wall, processor_time().saturating_sub(before)))
}

/// The processor time of the processes that this one has waited for, and theirs.
fn processor_time() -> Duration {
    const TICKS_PER_SECOND: u64 = 100;
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is a name in brackets, which may have spaces in it.
    let fields = text.rsplit(") ").next().unwrap_or_default();
    let children = fields.split(' ').skip(13).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
    Duration::from_millis(children.sum::<u64>() * 1000 / TICKS_PER_SECOND)
}

fn print(rows: &[Row]) {
    println!("{:<26}{:>10}{:>12}{:>8}", "", "wall", "processor", "goal");
    for Row { what, goal, wall, processor } in rows {
        println!("{what:<26}{:>8.1} s{:>10.1} s{goal:>8}", wall.as_secs_f64(), processor.as_secs_f64());
    }
    println!("* of processor time; the other goals are what a person waits on two quiet cores");
}
