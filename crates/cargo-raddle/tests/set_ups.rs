//! Ways to set up a build that could run tests and explore nothing. Each works, or is red with one sentence.
//!
//! They share one build of the engine. Those that need another one are slow, and run with `RADDLE_SLOW_TESTS` set.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Fixture, Run, is_slow_wanted};

/// The exit code of runs that explore nothing.
const NOT_EXPLORED: i32 = 4;

/// A crate with a bug that its test expects to be found.
struct SetUp {
    fixture: Fixture,
    directory: PathBuf,
    target: PathBuf,
}

impl SetUp {
    /// The crate under a name of its own, so that set-ups do not rebuild each other's.
    fn new(name: &str) -> SetUp {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let set_up = SetUp {
            fixture: Fixture::new("green"),
            directory: scratch.join("set-ups").join(name),
            // Shared with the demo: the engine is built there.
            target: scratch.join("demo"),
        };
        fs::remove_dir_all(&set_up.directory).ok();
        for file in ["src/lib.rs", "tests/counter.rs"] {
            set_up.write(file, &set_up.original(file));
        }
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        let manifest = set_up.original("manifest.toml").replace("NAME", name);
        set_up.write("Cargo.toml", &manifest.replace("RADDLE", crates.join("raddle").to_str().unwrap()));
        set_up.write("Cargo.lock", &fs::read_to_string(crates.join("../Cargo.lock")).unwrap());
        set_up
    }

    fn original(&self, file: &str) -> String {
        fs::read_to_string(self.fixture.path().join(file)).unwrap()
    }

    fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A program: a shell script.
    fn script(&self, file: &str, text: &str) -> PathBuf {
        let path = self.write(file, &format!("#!/bin/sh\n{text}"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Changes the manifest.
    fn manifest(self, from: &str, to: &str) -> SetUp {
        let text = fs::read_to_string(self.directory.join("Cargo.toml")).unwrap();
        assert!(text.contains(from), "{text}");
        self.write("Cargo.toml", &text.replacen(from, to, 1));
        self
    }

    fn command(&self, args: &str) -> Command {
        let mut command = self.fixture.command(args);
        command.current_dir(&self.directory).env("CARGO_TARGET_DIR", &self.target);
        command.env("RADDLE_FAILURES", self.directory.join("failures")).env_remove("RADDLE_EXPLORED");
        command
    }

    fn run(&self, args: &str, variables: &[(&str, &str)]) -> Run {
        Run::of({
            let mut command = self.command(args);
            command.envs(variables.iter().copied());
            command
        })
    }

    /// The bug is found.
    #[track_caller]
    fn explores(&self, args: &str, variables: &[(&str, &str)]) {
        self.run(args, variables).exits(0).prints("test the_lost_increment_is_found ... ok");
    }

    /// No test passes, and one sentence says why.
    #[track_caller]
    fn is_red(&self, args: &str, variables: &[(&str, &str)], code: i32, sentence: &str) {
        let run = self.run(args, variables).exits(code).does_not_print("... ok");
        let found = run.stdout.lines().chain(run.stderr.lines()).any(|line| line.contains(sentence));
        assert!(found, "no line has `{sentence}`\n{run}");
    }
}

/// A compiler wrapper that takes the instrumentation away.
const TAKES_PASSES_AWAY: &str = r#"
compiler=$1; shift
for arg do
    shift
    case $arg in passes=*) arg=strip=none;; esac
    set -- "$@" "$arg"
done
exec "$compiler" "$@"
"#;

#[test]
fn a_plain_set_up() {
    SetUp::new("plain").explores("test", &[]);
}

/// A compiler wrapper that writes down what begins and what ends, does not compile the test before the canary has begun, and gives up in the
/// end.
const WRITES_DOWN: &str = r#"
name=none
for arg do
    [ "$last" = --crate-name ] && name=$arg
    last=$arg
done
# Other set-ups are built in the same target directory, but not in the same working directory.
[ "$PWD" = "$HERE" ] && echo "begin $name" >> "$LOG"
if [ "$name" = counter ]; then
    waited=0
    until grep -q 'begin raddle_canary' "$LOG" || [ $waited = 300 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
fi
"$@"
code=$?
[ "$PWD" = "$HERE" ] && echo "end $name" >> "$LOG"
exit $code
"#;

#[test]
fn the_canary_is_compiled_once_while_the_test_is_and_nothing_is_left_of_it() {
    let set_up = SetUp::new("beside");
    let wrapper = set_up.script("wrap", WRITES_DOWN);
    let log = set_up.directory.join("log");
    let mut command = set_up.command("test");
    command.env("RUSTC_WRAPPER", &wrapper).env("LOG", &log).env("HERE", &set_up.directory);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let scratch = format!("canary.{}.", child.id());
    let run = Run::from(child.wait_with_output().unwrap());
    let run = run.exits(0).prints("test the_lost_increment_is_found ... ok");

    let text = fs::read_to_string(&log).unwrap();
    let line = |wanted: &str| text.lines().position(|line| line == wanted);
    assert!(line("begin raddle_canary").is_some(), "{text}{run}");
    assert!(line("begin raddle_canary") < line("end counter"), "{text}");
    // Neither the library's test nor the next run needs another one.
    let again = [("RUSTC_WRAPPER", &wrapper), ("LOG", &log), ("HERE", &set_up.directory)];
    set_up.explores("test", &again.map(|(name, path)| (name, path.to_str().unwrap())));
    let text = fs::read_to_string(&log).unwrap();
    assert_eq!(text.matches("begin raddle_canary").count(), 1, "{text}");
    let names = fs::read_dir(set_up.target.join("raddle")).unwrap();
    let mut names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.find(|name| name.starts_with(&scratch)), None);
}

#[test]
fn no_debug_information() {
    SetUp::new("no-debug").explores("test --config profile.test.package.no-debug.debug=0", &[]);
}

#[test]
fn stripped_binaries() {
    SetUp::new("stripped").explores("test --config profile.test.package.stripped.strip=\"symbols\"", &[]);
}

#[test]
fn optimised_for_size() {
    let set_up = SetUp::new("sized");
    for level in ["\"s\"", "\"z\""] {
        set_up.explores(&format!("test --config profile.test.package.sized.opt-level={level}"), &[]);
    }
}

#[test]
fn optimised_tests_with_one_codegen_unit() {
    let config = "profile.test.package.units";
    SetUp::new("units")
        .explores(&format!("test --config {config}.codegen-units=1 --config {config}.opt-level=3"), &[]);
}

#[test]
fn without_assertions_and_not_incremental() {
    let config = "--config profile.test.package.unchecked.debug-assertions=false --config profile.test.package.unchecked.incremental=false";
    SetUp::new("unchecked").explores(&format!("test {config}"), &[]);
}

#[test]
fn a_normal_dependency() {
    SetUp::new("normal").manifest("[dev-dependencies]", "[dependencies]").explores("test", &[]);
}

#[test]
fn another_name_for_the_dependency() {
    let set_up = SetUp::new("renamed").manifest("raddle = { ", "weaver = { package = \"raddle\", ");
    let test = set_up.original("tests/counter.rs").replace("raddle::", "weaver::");
    set_up.write("tests/counter.rs", &test);
    set_up.explores("test", &[]);
}

#[test]
fn a_main_of_its_own() {
    if !is_slow_wanted() {
        return;
    }
    let own_main = "[[test]]\nname = \"counter\"\nharness = false\n\n[workspace]";
    let set_up = SetUp::new("own-main").manifest("[workspace]", own_main);
    let test = set_up.original("tests/counter.rs");
    let test = test.replace("#[test]\nfn the_lost_increment_is_found", "fn main");
    let end = "raddle::Kind::Panic);\n";
    set_up.write(
        "tests/counter.rs",
        &test.replace(end, &format!("{end}    println!(\"main has found it\");\n")),
    );
    set_up.run("test -- --nocapture", &[]).exits(0).prints("main has found it");
}

#[test]
fn forbidden_unsafe_code_and_denied_warnings() {
    SetUp::new("strict")
        .manifest("[workspace]", "[lints.rust]\nunsafe_code = \"forbid\"\nwarnings = \"deny\"\n\n[workspace]")
        .explores("test", &[]);
}

#[test]
fn the_oldest_edition() {
    let set_up = SetUp::new("edition-2015").manifest("edition = \"2024\"", "edition = \"2015\"");
    set_up.write(
        "tests/counter.rs",
        "extern crate green;\nextern crate raddle;\n\n#[derive(Default)]\nstruct CounterTest(green::Counter);\n\n\
         #[raddle::test]\nimpl CounterTest {\n    #[operation]\n    fn inc_and_get(&self) -> usize {\n        \
         self.0.increment();\n        self.0.get()\n    }\n}\n\n#[raddle::test]\nfn two_threads() {\n    \
         std::thread::spawn(|| ()).join().unwrap();\n}\n",
    );
    let run = set_up.run("test", &[]).exits(1);
    run.prints("test counter_test ... FAILED").prints("test two_threads ... ok");
}

#[test]
fn a_path_with_spaces() {
    SetUp::new("plain words").manifest("\"plain words\"", "\"plain-words\"").explores("test", &[]);
}

#[test]
fn a_foreign_wrapper_that_passes_everything_on() {
    let set_up = SetUp::new("wrapped");
    let wrapper = set_up.script("wrap", "exec \"$@\"\n");
    set_up.explores("test", &[("RUSTC_WRAPPER", wrapper.to_str().unwrap())]);
}

#[test]
fn a_foreign_wrapper_that_drops_flags() {
    let set_up = SetUp::new("dropped");
    let wrapper = set_up.script("wrap", TAKES_PASSES_AWAY);
    let sentence = "a bug that is put into a build like theirs is not found (a racy counter";
    for variable in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        // Cargo does not know that another wrapper makes another program.
        set_up
            .write("tests/counter.rs", &(set_up.original("tests/counter.rs") + &format!("// {variable}\n")));
        set_up.is_red("test", &[(variable, wrapper.to_str().unwrap())], NOT_EXPLORED, sentence);
    }
    // And what was red is not green from then on.
    set_up.is_red("test", &[("RUSTC_WRAPPER", wrapper.to_str().unwrap())], NOT_EXPLORED, sentence);
}

#[test]
fn a_compiler_that_ignores_the_passes() {
    let set_up = SetUp::new("ignoring");
    let rustc = format!("set -- rustc \"$@\"\n{TAKES_PASSES_AWAY}");
    let compiler = set_up.script("fake/rustc-without-passes", &rustc);
    set_up.is_red(
        "test",
        &[("RUSTC", compiler.to_str().unwrap())],
        NOT_EXPLORED,
        "is not found (a racy counter",
    );
}

#[test]
fn a_compiler_that_calls_the_passes_otherwise() {
    let set_up = SetUp::new("other-passes");
    let rustc = "for arg do\n    shift\n    case $arg in passes=*) arg='passes=function(thread-sanitizer-v2)';; esac\n    \
                 set -- \"$@\" \"$arg\"\ndone\nexec rustc \"$@\"\n";
    let compiler = set_up.script("fake/rustc-of-tomorrow", rustc);
    set_up.is_red(
        "test",
        &[("RUSTC", compiler.to_str().unwrap())],
        NOT_EXPLORED,
        "this compiler cannot instrument code",
    );
}

#[test]
fn a_package_that_is_not_instrumented() {
    if !is_slow_wanted() {
        return;
    }
    let set_up = SetUp::new("unseen");
    // The test itself is compiled as a crate of its own, whose source is not the library's.
    let set_up = set_up
        .manifest("[workspace]", "[package.metadata.raddle]\nuninstrumented = [\"unseen\"]\n\n[workspace]");
    let test = set_up.original("tests/counter.rs");
    let library =
        set_up.original("src/lib.rs") + "#[cfg(test)]\n#[path = \"../tests/counter.rs\"]\nmod counter;\n";
    set_up.write("src/lib.rs", &library);
    set_up.write("tests/counter.rs", &test.replace("use green", "use crate"));
    let sentence =
        "nothing would be explored: `cargo raddle` runs this test, but its code is not instrumented";
    set_up.is_red("test --lib", &[], 1, sentence);
    set_up.run("test --lib --explored optional", &[]).exits(1).prints("two increments at once can be one");
}

#[test]
fn plain_cargo_test_in_ci_and_elsewhere() {
    let set_up = SetUp::new("uninstrumented");
    let cargo = |ci: Option<&str>| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&set_up.directory).args(["test", "--offline", "--test", "counter"]);
        // What the demo's target directory has for macros and build scripts is of use here, too.
        command
            .env("CARGO_TARGET_DIR", set_up.target.join("plain"))
            .env_remove("CI")
            .env_remove("RADDLE_CARGO_ARGS");
        command.envs(ci.map(|ci| ("CI", ci)));
        Run::of(command)
    };
    if !is_slow_wanted() {
        return;
    }
    cargo(Some("true")).exits(101).prints("nothing would be explored, because this test was built without instrumentation: run `cargo raddle test`");
    cargo(None)
        .exits(101)
        .prints("two increments at once can be one")
        .complains("this test was built without instrumentation");
    cargo(Some("false")).exits(101).prints("two increments at once can be one");
    set_up.write(
        "Cargo.toml",
        &(fs::read_to_string(set_up.directory.join("Cargo.toml")).unwrap()
            + "\n[package.metadata.raddle]\nexplored = \"optional\"\n"),
    );
    cargo(Some("true")).exits(101).prints("two increments at once can be one");
}

#[test]
fn a_filter_that_matches_nothing() {
    let set_up = SetUp::new("filtered");
    set_up.is_red(
        "test no_such_test",
        &[],
        NOT_EXPLORED,
        "no tests to run: none of 1 has a name that contains `no_such_test`",
    );
    set_up.run("test no_such_test --no-tests pass", &[]).exits(0);
}

#[test]
fn nothing_that_depends_on_raddle() {
    let fixture = Fixture::new("suite");
    let mut command = fixture.command("test passes");
    command.env_remove("RADDLE_EXPLORED");
    let run = Run::of(command)
        .exits(NOT_EXPLORED)
        .complains("nothing here depends on Raddle: `cargo add --dev raddle`");
    assert_eq!(run.stdout, "", "{run}");
}

#[test]
fn targets_that_cannot_be_explored() {
    let set_up = SetUp::new("targets");
    for target in
        ["aarch64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "wasm32-unknown-unknown", "no-such-target"]
    {
        set_up.is_red(
            &format!("test --target {target}"),
            &[],
            NOT_EXPLORED,
            &format!("only, not for `{target}`"),
        );
    }
    set_up.is_red(
        "test",
        &[("CARGO_BUILD_TARGET", "wasm32-unknown-unknown")],
        NOT_EXPLORED,
        "leave out `--target`",
    );
    set_up.is_red("test --target x86_64-unheard-linux-gnu", &[], 2, "no standard library for the target");
}

/// A crate that calls itself Raddle.
fn stub(set_up: &SetUp, directory: &str, version: &str, contract: u32) -> String {
    let manifest = format!(
        "[package]\nname = \"raddle\"\nversion = \"{version}\"\nedition = \"2024\"\n[package.metadata.raddle]\ncontract = {contract}\n[workspace]\n"
    );
    // Beside the package: inside of it, it would be a member of its workspace.
    let path = set_up.fixture.path().join(directory);
    set_up.fixture.write(&format!("{directory}/Cargo.toml"), &manifest);
    set_up.fixture.write(&format!("{directory}/src/lib.rs"), "");
    path.display().to_string()
}

#[test]
fn a_crate_that_is_newer_or_older_than_the_command() {
    if !is_slow_wanted() {
        return;
    }
    for (name, contract, sentence) in [
        ("newer", 999, "the crate `raddle` 7.0.0 is newer than `cargo raddle`"),
        ("older", 0, "the crate `raddle` 7.0.0 is older than `cargo raddle`"),
    ] {
        let set_up = SetUp::new(name);
        let path = stub(&set_up, "stub", "7.0.0", contract);
        fs::remove_file(set_up.directory.join("Cargo.lock")).unwrap();
        let manifest = set_up.original("manifest.toml").replace("NAME", name).replace("RADDLE", &path);
        set_up.write("Cargo.toml", &manifest);
        set_up.is_red("test", &[], NOT_EXPLORED, sentence);
    }
}

#[test]
fn two_versions_of_raddle() {
    if !is_slow_wanted() {
        return;
    }
    let set_up = SetUp::new("two");
    fs::remove_file(set_up.directory.join("Cargo.lock")).unwrap();
    let (one, other) = (stub(&set_up, "one", "1.0.0", 1), stub(&set_up, "other", "2.0.0", 1));
    let manifest = set_up.original("manifest.toml").replace("NAME", "two").replace("RADDLE", &one);
    let both = format!("[dev-dependencies]\nnew = {{ package = \"raddle\", path = \"{other}\" }}");
    set_up.write("Cargo.toml", &manifest.replace("[dev-dependencies]", &both));
    set_up.is_red("test", &[], NOT_EXPLORED, "tests of `two` would link Raddle 1.0.0 and 2.0.0");
}

#[test]
fn variables_that_were_left_over() {
    let set_up = SetUp::new("left-over");
    set_up.is_red(
        "test",
        &[("RADDLE_REPLAY", "x.json")],
        2,
        "tests would replay a failure instead of exploring",
    );
    set_up.is_red("test", &[("RADDLE_SEDE", "1")], 2, "`RADDLE_SEDE` is not a variable of Raddle");
    set_up.is_red("test", &[("RADDLE_EXPLORED", "perhaps")], 2, "`RADDLE_EXPLORED` cannot be `perhaps`");
    let internal = [
        ("RADDLE_OWNED", "0"),
        ("RADDLE_TEST", "other"),
        ("RADDLE_PACKAGE", "other"),
        ("RADDLE_PROGRESS", "77"),
        ("RADDLE_DEBUGGER", "/nowhere"),
        ("RADDLE_ALTERNATIVES", "1"),
        ("CARGO_RADDLE_PLAN", "/nowhere"),
        ("CARGO_RADDLE_NEXT_WRAPPER", "/nowhere"),
    ];
    set_up.explores("test", &internal);
}

#[test]
fn a_target_directory_that_cannot_be_written() {
    let set_up = SetUp::new("unwritable");
    let file = set_up.write("file", "");
    for directory in ["/proc/raddle", file.to_str().unwrap()] {
        set_up.is_red(&format!("test --target-dir {directory}"), &[], 2, "error: cannot create");
    }
}

#[test]
fn a_full_disk() {
    let set_up = SetUp::new("full");
    let disk = set_up.directory.join("disk");
    fs::create_dir_all(&disk).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&disk).output();
    if !mount.is_ok_and(|mount| mount.status.success()) {
        eprintln!("skipped: a small file system cannot be mounted here");
        return;
    }
    let run = set_up.run(&format!("test --target-dir {}", disk.display()), &[]);
    Command::new("umount").arg(&disk).status().unwrap();
    assert!(run.code != Some(0) && run.stderr.contains("No space left on device"), "{run}");
}

#[test]
fn passes_of_the_user_that_do_not_go_with_the_instrumentation() {
    // Without Raddle, because other flags build everything anew.
    let fixture = Fixture::new("suite");
    let with = |flags: &str| {
        let mut command = fixture.command("test passes");
        command.env("RUSTFLAGS", flags);
        Run::of(command)
    };
    with("-C passes=dce")
        .exits(101)
        .does_not_print("... ok")
        .complains("error: your flag `-C passes=dce` does not go with the instrumentation");
    with("-C passes=function(dce)").exits(0).prints("... ok");
}

#[test]
fn flags_of_the_user() {
    if !is_slow_wanted() {
        return;
    }
    let set_up = SetUp::new("flags");
    let others = "-C target-cpu=native -C debuginfo=0 -C strip=symbols";
    set_up.explores("test", &[("RUSTFLAGS", &format!("-C passes=function(dce) {others}"))]);
    set_up.write(".cargo/config.toml", "[build]\nrustflags = [\"-C\", \"link-arg=-s\"]\n");
    let run = set_up.run("test", &[]);
    // Without symbols, Raddle cannot tell one access from another; whether the canary is found decides.
    assert!(matches!(run.code, Some(0 | NOT_EXPLORED)), "{run}");
}

#[test]
fn release_with_link_time_optimisation_and_aborting_panics() {
    if !is_slow_wanted() {
        return;
    }
    let profile =
        "[profile.release]\nlto = \"fat\"\npanic = \"abort\"\nstrip = true\ncodegen-units = 1\n\n[workspace]";
    SetUp::new("release").manifest("[workspace]", profile).explores("test --release", &[]);
}

#[test]
fn aborting_panics_by_flags() {
    if !is_slow_wanted() {
        return;
    }
    let set_up = SetUp::new("aborting");
    let run = set_up.run("test", &[("RUSTFLAGS", "-C panic=abort")]);
    assert!(run.code != Some(0), "{run}");
    assert!(run.stderr.lines().any(|line| line.contains("panic")), "{run}");
}

/// A test that calls one function written in assembly, and never the other.
const CALLS_ASSEMBLY: &str = r#"
core::arch::global_asm!(
    ".globl unseen_and_called", ".type unseen_and_called,@function",
    "unseen_and_called: mov eax, 7", "ret", ".size unseen_and_called, . - unseen_and_called",
    ".globl unseen_and_idle", ".type unseen_and_idle,@function",
    "unseen_and_idle: mov eax, 8", "ret", ".size unseen_and_idle, . - unseen_and_idle",
);

unsafe extern "C" {
    fn unseen_and_called() -> usize;
    fn unseen_and_idle() -> usize;
}

#[test]
fn calls_assembly() {
    raddle::explore(|| {
        let counter = Counter::default();
        std::thread::scope(|scope| {
            scope.spawn(|| counter.increment());
        });
        assert_eq!(unsafe { unseen_and_called() }, 7);
        if counter.get() == 7 {
            unsafe { unseen_and_idle() };
        }
    });
}
"#;

#[test]
fn code_that_is_not_instrumented_is_listed_if_it_was_called() {
    let set_up = SetUp::new("calling");
    set_up.write("tests/counter.rs", &(set_up.original("tests/counter.rs") + CALLS_ASSEMBLY));
    let json = set_up.directory.join("coverage.json");
    let args = format!("test calls_assembly --coverage --coverage-json {}", json.display());
    let run =
        set_up.run(&args, &[]).exits(0).prints("called and not instrumented").prints("unseen_and_called");
    let list = run.stdout.split("called and not instrumented").nth(1).unwrap();
    assert!(list.contains("unseen_and_called  tests/counter.rs:"), "{run}");
    assert!(!list.contains("unseen_and_idle"), "{run}");
    // What Raddle defines is seen.
    assert!(!list.contains("__tsan_") && !list.contains("raddle::"), "{run}");
    let json = fs::read_to_string(json).unwrap();
    assert!(json.contains("\"name\": \"unseen_and_called\"") && !json.contains("unseen_and_idle"), "{json}");
}

#[test]
fn a_crate_that_is_listed_as_uninstrumented_is_listed_if_it_was_called() {
    if !is_slow_wanted() {
        return;
    }
    let metadata = "quick = { path = \"quick\" }\n\n[package.metadata.raddle]\nuninstrumented = [\"quick\"]\n\n[workspace]";
    let set_up = SetUp::new("listing").manifest("[workspace]", metadata);
    set_up
        .write("quick/Cargo.toml", "[package]\nname = \"quick\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    set_up.write("quick/src/lib.rs", "#[inline(never)]\npub fn bump(by: usize) -> usize {\n    by + 1\n}\n");
    let test = CALLS_ASSEMBLY.replace("unsafe { unseen_and_called() }, 7", "quick::bump(6), 7");
    set_up.write("tests/counter.rs", &(set_up.original("tests/counter.rs") + &test));
    let run = set_up.run("test calls_assembly --coverage", &[]).exits(0).prints("crate quick");
    assert!(run.stdout.contains("quick::bump  tests/counter.rs:"), "{run}");
}
