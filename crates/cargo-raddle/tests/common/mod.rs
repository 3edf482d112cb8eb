//! Fixture crates, and `cargo raddle` run on copies of them.
#![allow(dead_code, reason = "every test file uses some of it")]

pub(crate) mod dap;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Whether tests that take minutes are wanted: `RADDLE_SLOW_TESTS=1`. Says that a test is skipped if not.
pub(crate) fn is_slow_wanted() -> bool {
    let wanted = std::env::var_os("RADDLE_SLOW_TESTS").is_some();
    if !wanted {
        eprintln!("skipped: it takes long; set RADDLE_SLOW_TESTS to run it");
    }
    wanted
}

/// A copy of a fixture crate in a directory of its own.
pub(crate) struct Fixture {
    directory: TempDir,
}

impl Fixture {
    pub(crate) fn new(name: &str) -> Fixture {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        let directory = tempfile::tempdir().unwrap();
        copy(&source, directory.path());
        Fixture { directory }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    /// A `cargo raddle` command in it, without what this test's own cargo has set.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-raddle"));
        for (name, _) in std::env::vars_os() {
            let foreign = [
                "RADDLE_",
                "RUSTFLAGS",
                "RUSTC_WRAPPER",
                "CARGO_TARGET_DIR",
                "CARGO_BUILD",
                // Without incremental compilation, small functions are compiled into the crates that call them.
                "CARGO_INCREMENTAL",
                "RUST_BACKTRACE",
            ];
            if name.to_str().is_some_and(|name| foreign.iter().any(|prefix| name.starts_with(prefix))) {
                command.env_remove(name);
            }
        }
        command.current_dir(self.path()).env("CARGO_NET_OFFLINE", "true").env("CARGO_TERM_COLOR", "never");
        // Most fixtures do without Raddle, to be built quickly.
        command.env("RADDLE_EXPLORED", "optional");
        command.arg("raddle").args(args.split_ascii_whitespace());
        command
    }

    pub(crate) fn run(&self, args: &str) -> Run {
        Run::of(self.command(args))
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

/// What a command did.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(mut command: Command) -> Run {
        Run::from(command.output().unwrap())
    }

    pub(crate) fn from(Output { status, stdout, stderr }: Output) -> Run {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    #[track_caller]
    pub(crate) fn prints(self, text: &str) -> Run {
        assert!(self.stdout.contains(text), "no `{text}` on standard output\n{self}");
        self
    }

    #[track_caller]
    pub(crate) fn does_not_print(self, text: &str) -> Run {
        assert!(!self.stdout.contains(text), "`{text}` on standard output\n{self}");
        self
    }

    #[track_caller]
    pub(crate) fn complains(self, text: &str) -> Run {
        assert!(self.stderr.contains(text), "no `{text}` on standard error\n{self}");
        self
    }

    /// The value of a line `name=value`.
    #[track_caller]
    pub(crate) fn value(&self, name: &str) -> &str {
        let value = self.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or_else(|| panic!("no `{name}=`\n{self}"))
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {:?}\n-- stdout\n{}\n-- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            // A build by hand may have left one.
            if entry.file_name() != "target" {
                fs::create_dir(&target).unwrap();
                copy(&entry.path(), &target);
            }
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
