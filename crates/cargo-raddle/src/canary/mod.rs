//! The canary: bugs that must be found before tests that pass mean anything.
//!
//! A green run of code that is not instrumented, or that another wrapper or a new compiler instruments in another way, has
//! checked nothing. So three small bugs are compiled like a test (the same command line, with another source, through the same
//! wrapper, linked with the same library of Raddle), and explored. That is done once for each way to compile: what was found is
//! noted under a key of everything that could change it.
//!
//! A program of its own is needed, because nothing can be asked of a test binary but to run tests; and its source is compiled as the
//! tests are, because Raddle's own crates are not instrumented. It is compiled beside the tests ([`beside`]), so that nobody waits for it.

mod beside;
mod command_line;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) use self::beside::build_beside;
pub(crate) use self::command_line::CommandLine;
use crate::binary::TestBinary;
use crate::error::{Error, Result};
use crate::instrument::key;
use crate::run::{describe_status, prepare};
use crate::session::Session;

const PROGRAM: &str = include_str!("program.rs");

/// Canaries that are compiled and not yet run, by their keys.
pub(crate) type Compiled = BTreeMap<String, Program>;

/// Looks for the canary's bugs in a build like that of each binary that links Raddle, unless that was done before.
///
/// # Errors
/// If one is not found: then nothing that these binaries say can be trusted.
pub(crate) fn check(session: &Session, binaries: &[TestBinary], mut compiled: Compiled) -> Result<()> {
    let mut different: BTreeMap<String, (Canary, &TestBinary)> = BTreeMap::new();
    for binary in binaries {
        let Some(name) = binary.executable.file_name() else { continue };
        let Some(canary) = Canary::like(&session.command_lines.join(name)) else { continue };
        different.entry(canary.key(session)?).or_insert((canary, binary));
    }
    for (key, (canary, binary)) in different {
        let note = note(session, &key);
        if note.exists() {
            continue;
        }
        let program = match compiled.remove(&key) {
            Some(program) => program,
            None => canary.compile(session)?.map_err(|said| {
                eprint!("{said}");
                not_explored("a program like the tests cannot be compiled (see above)")
            })?,
        };
        program.run(binary)?;
        let found = found(session);
        fs::create_dir_all(&found).map_err(Error::file("create", &found))?;
        // Empty: its name says it all, so that there is nothing to be half written.
        fs::write(&note, "").map_err(Error::file("write", &note))?;
    }
    Ok(())
}

/// Where it is noted that canaries were found.
fn found(session: &Session) -> PathBuf {
    session.directory.join("canaries")
}

fn note(session: &Session, key: &str) -> PathBuf {
    found(session).join(key)
}

/// Whether this compiler knows what instrumentation asks of it, after a build that failed: the sentence if it does not.
pub(crate) fn blame_compiler(session: &Session) -> Option<Error> {
    const SOURCE: &str = "pub fn load(from: &std::sync::atomic::AtomicU32) -> u32 { from.load(std::sync::atomic::Ordering::SeqCst) }";
    let scratch = session.directory.join(format!("probe.{}", std::process::id()));
    fs::create_dir_all(&scratch).ok()?;
    let source = scratch.join("raddle_probe.rs");
    fs::write(&source, SOURCE).ok()?;
    let compiles = |flags: &[String]| {
        let mut command = Command::new(&session.rustc);
        command
            .args(["--crate-type", "lib", "--emit=obj", "--out-dir"])
            .arg(&scratch)
            .arg(&source)
            .args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let blamed = !compiles(&session.flags) && compiles(&[]);
    fs::remove_dir_all(&scratch).ok();
    if !blamed {
        return None;
    }
    Some(Error::NotExplored(format!(
        "this compiler cannot instrument code: `{}` refuses the flags that Raddle needs; use another toolchain, such as `cargo +stable \
         raddle test`",
        session.rustc.display()
    )))
}

/// One way to compile tests.
struct Canary {
    flags: Vec<String>,
    directory: PathBuf,
    raddle: PathBuf,
}

impl Canary {
    /// The canary of a test, by the note of its command line; none if the test does not link Raddle.
    fn like(note: &Path) -> Option<Canary> {
        let line = CommandLine::read(note)?;
        let raddle = line.raddle()?;
        Some(Canary { flags: line.flags(), directory: line.directory, raddle })
    }

    /// A name for everything that could change what is found.
    fn key(&self, session: &Session) -> Result<String> {
        let this = std::env::current_exe().map_err(Error::file("find", "cargo-raddle"))?;
        let plan = fs::read_to_string(&session.plan_file).map_err(Error::file("read", &session.plan_file))?;
        let files = [Path::new(&session.rustc), &this, &self.raddle]
            .into_iter()
            .chain(session.next_wrapper.as_ref().map(Path::new))
            .map(|file| identity(&find_program(file)))
            .collect::<Vec<_>>()
            .join("\n");
        let directory = self.directory.display().to_string();
        Ok(key(&[PROGRAM, &self.flags.join("\n"), &directory, &plan, &session.rustc_version, &files]))
    }

    /// Compiles the program like a test; what the compiler says if it cannot.
    fn compile(&self, session: &Session) -> Result<std::result::Result<Program, String>> {
        let program = Program::new(session)?;
        let source = program.scratch.join("raddle_canary.rs");
        fs::write(&source, PROGRAM).map_err(Error::file("write", &source))?;
        let mut compiler = session.wrapper()?;
        compiler.args(&self.flags).current_dir(&self.directory);
        compiler.args([
            "--crate-name",
            "raddle_canary",
            "--crate-type",
            "bin",
            "--edition=2024",
            "--emit=link",
        ]);
        compiler.args(["--cap-lints=allow", "--extern"]).arg(format!("raddle={}", self.raddle.display()));
        if !session.options.compilation.no_races {
            compiler.args(["--cfg", "raddle_canary_races"]);
        }
        compiler.arg("-o").arg(program.file()).arg(&source).stdin(Stdio::null());
        let compiled = compiler.output().map_err(Error::start(&session.rustc))?;
        Ok(match compiled.status.success() {
            true => Ok(program),
            false => Err(String::from_utf8_lossy(&compiled.stderr).into_owned()),
        })
    }
}

/// A canary that is compiled. Its directory is gone when it is dropped.
pub(crate) struct Program {
    scratch: PathBuf,
}

impl Program {
    fn new(session: &Session) -> Result<Program> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let scratch = session.directory.join(format!("canary.{}.{number}", std::process::id()));
        fs::create_dir_all(&scratch).map_err(Error::file("create", &scratch))?;
        Ok(Program { scratch })
    }

    fn file(&self) -> PathBuf {
        self.scratch.join("raddle_canary")
    }

    /// Runs it as `binary` would be run, and fails if it misses one of its bugs.
    fn run(&self, binary: &TestBinary) -> Result<()> {
        let mut command = binary.command_of(&self.file());
        for (name, _) in std::env::vars_os() {
            // What the canary is to find does not depend on options.
            if name.to_str().is_some_and(|name| name.starts_with("RADDLE_")) {
                command.env_remove(name);
            }
        }
        command.env("RADDLE_OWNED", "1").env("RADDLE_FAILURES", self.scratch.join("failures"));
        command.env("RADDLE_TIME_LIMIT", "60s").current_dir(&self.scratch);
        prepare(&mut command, None);
        let output = command.stdin(Stdio::null()).output().map_err(Error::start(self.file()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let missed = said.lines().find_map(|line| line.strip_prefix("missed: "));
        match missed {
            Some(missed) => Err(not_explored(missed)),
            None if output.status.success() => Ok(()),
            None => {
                eprint!("{}", String::from_utf8_lossy(&output.stderr));
                Err(not_explored(&format!("its process {}", describe_status(output.status))))
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.scratch).ok();
    }
}

fn not_explored(what: &str) -> Error {
    Error::NotExplored(format!(
        "no test was run, because their result would mean nothing: a bug that is put into a build like theirs is not found ({what}); \
         look for compiler flags or a wrapper that take the instrumentation away, or try another toolchain"
    ))
}

/// A file as it is now: where, how long, since when.
fn identity(file: &Path) -> String {
    let data = fs::metadata(file);
    let changed = data.as_ref().ok().and_then(|data| data.modified().ok());
    let since = changed.and_then(|changed| changed.duration_since(std::time::UNIX_EPOCH).ok());
    format!("{} {:?} {since:?}", file.display(), data.map(|data| data.len()).ok())
}

/// A program as the operating system finds it: a bare name is looked up in `PATH`.
fn find_program(program: &Path) -> PathBuf {
    if program.components().count() > 1 {
        return program.to_owned();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file());
    found.unwrap_or_else(|| program.to_owned())
}
