//! The `RUSTC_WRAPPER` mode: cargo calls this program in place of the compiler, once for every crate.
//!
//! It adds the flags of the [`Plan`] where they belong and then becomes the compiler (or the user's own wrapper, which
//! calls the compiler in turn). Libraries of Raddle's are taken from the [`library_cache`] if they are there. Nothing else happens here: this
//! runs hundreds of times in a build.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use raddle_report::file;

use crate::canary::CommandLine;
use crate::cargo::UNSTABLE;
use crate::error::{Error, Result};
use crate::instrument::Plan;
use crate::library_cache::{self, Compilation};

/// The variable that names the file with the plan and so switches this mode on. It is not called `RADDLE_…`: under
/// nextest it reaches the tests, which take every such variable for an option.
pub(crate) const PLAN: &str = "CARGO_RADDLE_PLAN";
/// The variable that names the user's own wrapper.
pub(crate) const NEXT: &str = "CARGO_RADDLE_NEXT_WRAPPER";

/// Whether cargo called this program as a wrapper. The variable alone does not say so: tests may inherit it, and a test
/// may run `cargo raddle`.
pub(crate) fn is_wrapper(args: &[OsString]) -> bool {
    let compiler =
        args.get(1).and_then(|arg| arg.to_str()).is_some_and(|arg| arg != "raddle" && !arg.starts_with('-'));
    env::var_os(PLAN).is_some() && compiler && args.len() > 2
}

/// Becomes the compiler, or copies what it would make of a library of Raddle's.
pub(crate) fn run(args: &[OsString]) -> ExitCode {
    match prepare(&args[1..]) {
        Ok(Prepared { mut command, compilation: None, clash: None }) => {
            let error = command.exec();
            eprintln!("error: cannot run `{}`: {error}", command.get_program().display());
        }
        Ok(Prepared { mut command, compilation: None, clash: Some(mut clash) }) => match command.status() {
            Ok(status) => {
                if !status.success() {
                    clash.tell();
                }
                return code_of(status);
            }
            Err(error) => eprintln!("error: cannot run `{}`: {error}", command.get_program().display()),
        },
        Ok(Prepared { command, compilation: Some(compilation), .. }) => match compilation.run(command) {
            Ok(status) => return code_of(status),
            Err(error) => eprintln!("error: cannot run the compiler: {error}"),
        },
        Err(error) => eprintln!("error: {error}"),
    }
    ExitCode::FAILURE
}

/// The code that the compiler ended with. If a signal ended it, there is none.
fn code_of(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// How the compiler is run.
struct Prepared {
    command: Command,
    /// How the cache knows the command line, if what it makes is kept.
    compilation: Option<Compilation>,
    /// What to ask if the compiler fails.
    clash: Option<Clash>,
}

/// Passes that the user asks for, which may not go with those of the instrumentation: the compiler joins all of them to one list, whose
/// first pass decides what the others may be.
struct Clash {
    passes: String,
    /// Compiles nothing, with both.
    probe: Command,
}

impl Clash {
    fn new(passes: &str, compiler: &OsStr, flags: &[String]) -> Clash {
        let mut probe = Command::new(compiler);
        probe.args(["--crate-type", "lib", "--emit=obj", "-o", "/dev/null", "-", "-C"]);
        probe.arg(format!("passes={passes}")).args(flags);
        probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Clash { passes: passes.to_owned(), probe }
    }

    /// Says so if the passes are the reason for the compiler's failure.
    fn tell(&mut self) {
        if self.probe.status().is_ok_and(|status| !status.success()) {
            eprintln!(
                "error: your flag `-C passes={0}` does not go with the instrumentation, whose passes take whole modules: write \
                 `-C passes=function({0})` if these take functions, or leave the flag out for `cargo raddle`",
                self.passes
            );
        }
    }
}

/// The compiler's command line, and what is to be done about it.
fn prepare(args: &[OsString]) -> Result<Prepared> {
    let file = PathBuf::from(env::var_os(PLAN).unwrap_or_default());
    let text = fs::read_to_string(&file).map_err(Error::file("read", &file))?;
    let plan: Plan = serde_json::from_str(&text)
        .map_err(|error| Error::usage(format_args!("`{}` is damaged: {error}", file.display())))?;
    let mut arguments = strings(args);
    let invocation = Invocation::parse(&arguments);
    let directory = env::current_dir().unwrap_or_default();
    let treatment = invocation.treatment(&plan, &directory);
    let additions = invocation.additions(&plan, treatment);
    // A file of arguments stays as it is: cargo writes one for very long command lines only.
    let mut args = args.to_vec();
    if treatment == Treatment::Leave(Library::Engine) && !plan.libraries.incremental {
        remove_incremental(&mut arguments);
        remove_incremental(&mut args);
    }

    let next = env::var_os(NEXT);
    // Other wrappers may do anything.
    let compilation = match library_cache::directory() {
        Some(cache) if next.is_none() && treatment == Treatment::Leave(Library::Engine) => {
            Compilation::new(&cache, &plan.compiler, &arguments[1..], &additions, &directory)
        }
        _ => None,
    };
    let mut all: Vec<OsString> = next.into_iter().collect();
    all.extend_from_slice(&args);
    all.extend(additions.into_iter().map(OsString::from));
    invocation.note_own_main(&plan.own_main)?;
    invocation.note_command_line(&plan.command_lines, &args, directory)?;
    let mut command = Command::new(&all[0]);
    command.args(&all[1..]);
    if matches!(treatment, Treatment::Leave(_)) && !plan.libraries.hidden.is_empty() {
        command.env(UNSTABLE.0, UNSTABLE.1);
    }
    let passes = Some(&invocation.passes).filter(|passes| !passes.is_empty() && invocation.for_target);
    let clash = passes.map(|passes| Clash::new(&passes.join(","), &args[0], &plan.flags));
    Ok(Prepared { command, compilation, clash })
}

/// Takes away the wish to compile incrementally, as cargo writes it.
fn remove_incremental<S: AsRef<OsStr>>(args: &mut Vec<S>) {
    let is_wish = |arg: &S| arg.as_ref().to_str().is_some_and(|arg| arg.starts_with("incremental="));
    while let Some(at) = args.iter().position(is_wish).filter(|&at| at > 0 && args[at - 1].as_ref() == "-C") {
        args.drain(at - 1..=at);
    }
}

/// What matters of a compiler's command line.
#[derive(Debug, Default, PartialEq)]
struct Invocation {
    crate_name: Option<String>,
    source: Option<PathBuf>,
    /// `--target` is there: the crate is for the target, not for the build itself (macros, build scripts).
    for_target: bool,
    /// `--test`: the compiler adds the test harness.
    harness: bool,
    /// `--cfg test` is on the command line: cargo says so where a test has its own `main`.
    cfg_test: bool,
    debuginfo: Option<String>,
    opt_level: Option<String>,
    /// The command line says something about debug assertions.
    debug_assertions: bool,
    /// The library is machine code alone: it will not be optimised together with the program.
    is_machine_code: bool,
    /// Parts that did not change are not compiled again.
    is_incremental: bool,
    extra_filename: String,
    /// Passes that the user asks for.
    passes: Vec<String>,
}

impl Invocation {
    fn parse(args: &[String]) -> Invocation {
        let mut found = Invocation::default();
        // The first argument is the compiler; with a workspace wrapper the second is, too, but it ends in no `.rs`.
        let mut args = args.iter().skip(1).map(String::as_str);
        while let Some(arg) = args.next() {
            let (name, mut value) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ if arg.starts_with("-C") && arg.len() > 2 => ("-C", Some(&arg[2..])),
                _ => (arg, None),
            };
            if value.is_none() && TAKES_VALUE.contains(&name) {
                value = args.next();
            }
            match (name, value) {
                ("--target", Some(_)) => found.for_target = true,
                ("--test", _) => found.harness = true,
                ("--cfg", Some("test")) => found.cfg_test = true,
                ("--crate-name", Some(name)) => found.crate_name = Some(name.to_owned()),
                ("-O", _) => found.opt_level = Some("3".to_owned()),
                ("-g", _) => found.debuginfo = Some("2".to_owned()),
                ("-C" | "--codegen", Some(option)) => found.codegen(option),
                _ if !name.starts_with('-') && name.ends_with(".rs") => found.source = Some(name.into()),
                _ => {}
            }
        }
        found
    }

    fn codegen(&mut self, option: &str) {
        match option.split_once('=') {
            Some(("debuginfo", level)) => self.debuginfo = Some(level.to_owned()),
            Some(("opt-level", level)) => self.opt_level = Some(level.to_owned()),
            Some(("debug-assertions", _)) => self.debug_assertions = true,
            Some(("incremental", _)) => self.is_incremental = true,
            Some(("embed-bitcode", "no")) => self.is_machine_code = true,
            Some(("passes", list)) => self.passes.extend(list.split_whitespace().map(str::to_owned)),
            Some(("extra-filename", suffix)) => self.extra_filename = suffix.to_owned(),
            _ => {}
        }
    }

    /// What is done with the crate.
    fn treatment(&self, plan: &Plan, directory: &Path) -> Treatment {
        // Without a source the compiler only answers a question.
        let Some(source) = self.source.as_ref().filter(|_| self.for_target) else { return Treatment::Ignore };
        let source = directory.join(source);
        let canonical = source.canonicalize().unwrap_or_else(|_| source.clone());
        let is_in = |sources: &BTreeSet<PathBuf>| sources.contains(&source) || sources.contains(&canonical);
        if is_in(&plan.uninstrumented.engine) {
            match self.harness || self.cfg_test {
                true => Treatment::Leave(Library::EngineTest),
                false => Treatment::Leave(Library::Engine),
            }
        } else if is_in(&plan.uninstrumented.listed) {
            Treatment::Leave(Library::Listed)
        } else {
            Treatment::Instrument
        }
    }

    /// What the plan adds to this command line.
    fn additions(&self, plan: &Plan, treatment: Treatment) -> Vec<String> {
        let mut additions = Vec::new();
        match treatment {
            Treatment::Ignore => return additions,
            Treatment::Instrument => {
                additions.extend_from_slice(&plan.flags);
                let is_optimised = !matches!(self.opt_level.as_deref(), None | Some("0"));
                if is_optimised && self.is_machine_code && !self.is_incremental {
                    additions.extend_from_slice(&plan.whole);
                }
                // Code is classified by debug information. Line tables do not tell an `Arc` of the program from one of its threads.
                if !matches!(self.debuginfo.as_deref(), Some("2" | "full")) {
                    additions.extend_from_slice(&plan.debuginfo);
                }
            }
            Treatment::Leave(library) => {
                let flags = &plan.libraries;
                additions.extend_from_slice(&flags.hidden);
                if !matches!(self.opt_level.as_deref(), Some("2" | "3")) {
                    additions.extend_from_slice(&flags.optimised);
                    let unoptimised = matches!(self.opt_level.as_deref(), None | Some("0"));
                    if library == Library::Listed && unoptimised && !self.debug_assertions {
                        additions.extend_from_slice(&flags.assertions);
                    }
                }
                if library != Library::Listed {
                    additions.extend_from_slice(&flags.engine);
                }
                if library == Library::Engine && self.is_machine_code && self.passes.is_empty() {
                    let is_in =
                        |crates: &[String]| crates.iter().any(|name| self.crate_name.as_ref() == Some(name));
                    let groups = [&flags.hot, &flags.warm, &flags.cold];
                    let group = groups.into_iter().find(|group| is_in(&group.crates));
                    additions.extend_from_slice(group.map_or(&flags.frozen, |group| &group.flags));
                }
            }
        }
        // Also where the crate itself is not instrumented: what it is linked with may be. Libraries ignore it; those of Raddle do without,
        // because it differs from project to project.
        if treatment != Treatment::Leave(Library::Engine) {
            additions.extend_from_slice(&plan.link);
        }
        additions
    }

    /// Notes how a test binary is compiled: the canary is compiled in the same way.
    fn note_command_line(&self, directory: &Path, args: &[OsString], current: PathBuf) -> Result<()> {
        let Some(note) = self.note_of_test(directory) else { return Ok(()) };
        let line = CommandLine { args: strings(args), directory: current };
        let text = serde_json::to_string(&line).map_err(Error::usage)?;
        file::replace(&note, text).map_err(Error::file("write", &note))
    }

    /// The file in `directory` that is about this test binary; none if it is not one.
    fn note_of_test(&self, directory: &Path) -> Option<PathBuf> {
        let name = self.crate_name.as_ref().filter(|_| self.cfg_test || self.harness)?;
        Some(directory.join(format!("{name}{}", self.extra_filename)))
    }

    /// Notes whether a test binary has a `main` of its own (`harness = false`). Cargo does not say so later, and does
    /// not call the compiler again for a binary that is up to date.
    fn note_own_main(&self, directory: &Path) -> Result<()> {
        let Some(note) = self.note_of_test(directory) else { return Ok(()) };
        if self.harness {
            // It may have had one before.
            fs::remove_file(note).ok();
            return Ok(());
        }
        fs::write(&note, "").map_err(Error::file("write", &note))
    }
}

/// What is done with a crate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Treatment {
    /// Nothing: it is not for the target.
    Ignore,
    Instrument,
    Leave(Library),
}

/// A library that is not instrumented.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Library {
    /// It is part of Raddle, or Raddle is made of it.
    Engine,
    /// The unit tests of such a library.
    EngineTest,
    /// The user lists it. It keeps the debug assertions of unoptimised code.
    Listed,
}

/// Options whose value is the next argument, so that it is not taken for the source.
const TAKES_VALUE: [&str; 22] = [
    "-A",
    "-C",
    "-D",
    "-F",
    "-L",
    "-W",
    "-Z",
    "-l",
    "-o",
    "--cap-lints",
    "--cfg",
    "--check-cfg",
    "--codegen",
    "--color",
    "--crate-name",
    "--crate-type",
    "--emit",
    "--extern",
    "--out-dir",
    "--remap-path-prefix",
    "--sysroot",
    "--target",
];

/// The arguments as text, with the files of arguments that cargo falls back to on very long command lines expanded.
fn strings(args: &[OsString]) -> Vec<String> {
    let lossy = |arg: &OsStr| arg.to_string_lossy().into_owned();
    let mut all = Vec::new();
    for arg in args {
        let arg = lossy(arg);
        match arg.strip_prefix('@').and_then(|file| fs::read_to_string(file).ok()) {
            Some(text) => all.extend(text.lines().map(str::to_owned)),
            None => all.push(arg),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument::{LibraryFlags, Uninstrumented};

    fn plan() -> Plan {
        Plan {
            flags: vec!["FLAGS".into()],
            whole: vec!["WHOLE".into()],
            debuginfo: vec!["DEBUG".into()],
            uninstrumented: Uninstrumented {
                engine: BTreeSet::from(["/ws/engine/src/lib.rs".into()]),
                listed: BTreeSet::from(["/ws/listed/src/lib.rs".into()]),
            },
            libraries: LibraryFlags::usual(),
            link: vec!["LINK".into()],
            compiler: "rustc 1".into(),
            own_main: "/own".into(),
            command_lines: "/lines".into(),
        }
    }

    #[track_caller]
    fn check(command: &str, expected: &str) {
        let args: Vec<String> = command.split_ascii_whitespace().map(str::to_owned).collect();
        let (plan, invocation) = (plan(), Invocation::parse(&args));
        let additions = invocation.additions(&plan, invocation.treatment(&plan, Path::new("/ws")));
        assert_eq!(additions.join(" "), expected, "{command}");
    }

    const LINK: &str = "LINK";
    const HIDDEN: &str = "-Zdefault-visibility=hidden";

    #[test]
    fn crates_for_the_target_are_instrumented() {
        let all = format!("FLAGS DEBUG {LINK}");
        check("rustc --crate-name a --edition=2024 src/lib.rs --crate-type lib --target t", &all);
        check("rustc --crate-name a src/main.rs --crate-type bin --target=t -C debuginfo=0", &all);
        check("clippy-driver rustc --crate-name a tests/a.rs --test --target t -C debuginfo=none", &all);
        check("rustc --crate-name engine_tests /ws/engine/tests/a.rs --test --target t", &all);
    }

    #[test]
    fn instrumented_crates_are_optimised_before_their_accesses_are_announced() {
        let check_flags = |flags: &str, expected: &str| {
            let line = format!("rustc --crate-name a src/lib.rs --target t -C embed-bitcode=no {flags}");
            check(&line, &format!("FLAGS {expected}DEBUG {LINK}"));
        };
        check_flags("-C opt-level=3", "WHOLE ");
        check_flags("-C opt-level=s -C incremental=/a", "");
        check_flags("-C opt-level=0", "");
        check_flags("-C incremental=/a", "");
    }

    #[test]
    fn debug_information_is_made_full() {
        let check_level = |level: &str, expected: &str| {
            check(&format!("rustc --crate-name a src/lib.rs --target t {level}"), expected);
        };
        for level in ["-C debuginfo=2", "-Cdebuginfo=full", "-g"] {
            check_level(level, &format!("FLAGS {LINK}"));
        }
        for level in ["-Cdebuginfo=1", "--codegen debuginfo=line-tables-only", "-C debuginfo=none"] {
            check_level(level, &format!("FLAGS DEBUG {LINK}"));
        }
    }

    #[test]
    fn build_scripts_macros_and_questions_are_left_alone() {
        check("rustc --crate-name build_script_build build.rs --crate-type bin", "");
        check("rustc --crate-name m src/lib.rs --crate-type proc-macro", "");
        check("rustc -vV", "");
        check("rustc - --crate-name ___ --print=file-names --target t", "");
    }

    #[test]
    fn uninstrumented_libraries_are_optimised() {
        let engine = format!("{HIDDEN} -C opt-level=3 -C debuginfo=0");
        check("rustc --crate-name engine engine/src/lib.rs --target t", &engine);
        let tests = format!("{engine} {LINK}");
        check("rustc --crate-name engine /ws/engine/src/lib.rs --test --target t -C opt-level=1", &tests);
        let optimised = format!("{HIDDEN} -C debuginfo=0");
        check("rustc --crate-name engine engine/src/lib.rs --target t -C opt-level=2", &optimised);
        let optimised = format!("{HIDDEN} -C opt-level=3 {LINK}");
        check(
            "rustc --crate-name listed listed/src/lib.rs --target t -C opt-level=3",
            &format!("{HIDDEN} {LINK}"),
        );
        check("rustc --crate-name listed listed/src/lib.rs --target t -C opt-level=s", &optimised);
        let asserting = format!("{HIDDEN} -C opt-level=3 -C debug-assertions=yes {LINK}");
        check("rustc --crate-name listed listed/src/lib.rs --target t", &asserting);
        check("rustc --crate-name listed listed/src/lib.rs --target t -C debug-assertions=off", &optimised);
    }

    #[test]
    fn libraries_of_raddle_are_compiled_quickly_where_they_stay_machine_code() {
        let check_crate = |name: &str, expected: &str| {
            let line = format!("rustc --crate-name {name} engine/src/lib.rs --target t -C opt-level=3");
            check(&format!("{line} -C embed-bitcode=no"), &format!("{HIDDEN} -C debuginfo=0 {expected}"));
            check(&format!("{line} -C linker-plugin-lto"), &format!("{HIDDEN} -C debuginfo=0"));
        };
        check_crate("raddle_engine", "-C codegen-units=1");
        check_crate("raddle_check", &LibraryFlags::usual().cold.flags.join(" "));
        check_crate("raddle_report", &LibraryFlags::usual().frozen.join(" "));
        check_crate("hashbrown", &LibraryFlags::usual().frozen.join(" "));
        check_crate("raddle_stress", "-C lto=off");
    }

    #[test]
    fn the_wish_to_compile_incrementally_is_taken_away_as_a_whole() {
        let mut args = ["rustc", "-C", "incremental=/a", "-C", "metadata=1", "x.rs"].to_vec();
        remove_incremental(&mut args);
        assert_eq!(args, ["rustc", "-C", "metadata=1", "x.rs"]);
    }

    #[test]
    fn a_source_is_not_mistaken_for_a_value() {
        let args = ["rustc", "--cfg", "x.rs", "--crate-name", "a", "src/lib.rs", "-o", "out.rs"];
        let found = Invocation::parse(&args.map(str::to_owned));
        assert_eq!(found.source, Some("src/lib.rs".into()));
    }

    #[test]
    fn passes_of_the_user_are_seen() {
        let line = "rustc --crate-name a src/lib.rs -C passes=instcombine -Cpasses=dce --target t";
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(Invocation::parse(&args).passes, ["instcombine", "dce"]);
    }

    #[test]
    fn tests_with_a_main_of_their_own_are_noted() {
        let directory = tempfile::tempdir().unwrap();
        let note = directory.path().join("my_test-12ab");
        let check = |options: &str, expected: bool| {
            let line =
                format!("rustc --crate-name my_test t.rs {options} -C extra-filename=-12ab --target t");
            let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
            Invocation::parse(&args).note_own_main(directory.path()).unwrap();
            assert_eq!(note.exists(), expected, "{options}");
        };
        check("--crate-type bin", false);
        check("--cfg test", true);
        check("--test", false);
    }
}
