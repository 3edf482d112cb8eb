//! The debugger that does the work: a debug adapter that is installed on the machine, and what is different between them.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::error::{Error, Result};

/// The plug-in that shows LLDB the virtual threads.
const PLUG_IN: &str = include_str!("threads.py");

/// The first number of a virtual thread, as the plug-in counts: far above those of the kernel.
pub(crate) const FIRST_THREAD: i64 = 10_000_000;

/// What to do where there is no debugger.
const INSTALL: &str = "no debugger is installed that speaks the Debug Adapter Protocol: install lldb-dap (Debian and Ubuntu: \
                       `apt-get install lldb-19 python3-lldb-19`) or gdb 14 or later, or name one with `--debugger`";

/// A debugger of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Debugger {
    pub(crate) kind: Kind,
    program: PathBuf,
}

/// The kinds of debuggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `lldb-dap`. Shows every virtual thread.
    Lldb,
    /// `gdb -i=dap`, since version 14. Shows the virtual thread that runs.
    Gdb,
}

/// The program that a debugger is to run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) executable: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) variables: Vec<(String, String)>,
}

/// A running debugger.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) to: ChildStdin,
    pub(crate) from: BufReader<ChildStdout>,
}

impl Debugger {
    /// The debugger that was asked for, or the best one that is installed.
    pub(crate) fn find(asked: Option<&Path>) -> Result<Debugger> {
        if let Some(program) = asked {
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            let kind = if name.contains("gdb") { Kind::Gdb } else { Kind::Lldb };
            let program = in_path(program)
                .ok_or_else(|| Error::usage(format_args!("there is no debugger `{}`", program.display())))?;
            if kind == Kind::Gdb && !speaks_dap(&program) {
                return Err(Error::usage(format_args!(
                    "`{}` does not speak the Debug Adapter Protocol: that takes gdb 14 or later with Python; \
                     install a newer one, or lldb-dap (Debian and Ubuntu: `apt-get install lldb-19 python3-lldb-19`)",
                    program.display()
                )));
            }
            return Ok(Debugger { kind, program });
        }
        let versions = (18..=24).rev().map(|version| format!("lldb-dap-{version}"));
        let names = ["lldb-dap-19".to_owned(), "lldb-dap".to_owned()].into_iter().chain(versions);
        for name in names {
            if let Some(program) = in_path(Path::new(&name)) {
                return Ok(Debugger { kind: Kind::Lldb, program });
            }
        }
        match in_path(Path::new("gdb")).filter(|gdb| speaks_dap(gdb)) {
            Some(program) => Ok(Debugger { kind: Kind::Gdb, program }),
            None => Err(Error::usage(INSTALL)),
        }
    }

    /// Starts the debugger. `table` is the file that it shares with the program.
    pub(crate) fn start(&self, table: &Path) -> Result<Running> {
        let mut command = Command::new(&self.program);
        if self.kind == Kind::Gdb {
            command.args(["-q", "-i=dap"]);
            // As `rust-gdb` does. The program names the script that gdb finds there.
            if let Some(directory) = formatters_directory() {
                command.arg("--directory").arg(&directory).env("PYTHONPATH", &directory);
                command.args(["-iex", &format!("add-auto-load-safe-path {}", directory.display())]);
            }
            // The signals that Raddle's handlers take, and those that it sends: unlike LLDB, gdb would stop at each of them.
            let signals: String = (32..=64).map(|number| format!("SIG{number} ")).collect();
            let handle = format!("handle SIGSEGV SIGBUS SIGILL SIGFPE {signals}nostop noprint pass");
            for line in ["set breakpoint pending on", "break raddle_stop", &handle] {
                // Said to Python, because the console shows what else is printed.
                command.args(["-ex", &format!("python gdb.execute('{line}', to_string=True)")]);
            }
        }
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RADDLE_") {
                command.env_remove(name);
            }
        }
        command.env("RADDLE_DEBUGGER", table);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(Error::start(&self.program))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are pipes")
        };
        Ok(Running { child, to, from: BufReader::new(from) })
    }

    /// The arguments of `launch`. `table` is the file that is shared with the program; the plug-in is written next to it.
    pub(crate) fn launch(&self, program: &Program, table: &Path) -> Result<Value> {
        let args = json!({
            "program": program.executable,
            "args": program.args,
            "cwd": program.directory,
        });
        Ok(match self.kind {
            Kind::Lldb => {
                let plug_in = plug_in_of(table);
                std::fs::write(&plug_in, PLUG_IN).map_err(Error::file("write", &plug_in))?;
                let variables: Vec<String> =
                    program.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let mut before = vec![
                    "settings set auto-confirm true".to_owned(),
                    format!("settings set target.process.python-os-plugin-path {}", plug_in.display()),
                    format!("settings set target.process.thread.step-avoid-regexp {AVOID}"),
                ];
                before.extend(formatters());
                let mut args = args;
                args["env"] = json!(variables);
                args["stopOnEntry"] = json!(false);
                args["disableASLR"] = json!(true);
                args["initCommands"] = json!(before.iter().map(quiet).collect::<Vec<_>>());
                let after = [
                    "breakpoint set --name raddle_stop",
                    "process handle SIGSEGV SIGBUS SIGILL SIGFPE -n false -p true -s false",
                ];
                args["preRunCommands"] = json!(after.map(quiet));
                args
            }
            Kind::Gdb => {
                // These are all that the program gets, unlike with LLDB, which adds them to its own.
                let inherited = std::env::vars_os().filter_map(|(name, value)| {
                    let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
                    (!name.starts_with("RADDLE_")).then_some((name, value))
                });
                let variables: serde_json::Map<String, Value> = inherited
                    .chain(program.variables.iter().cloned())
                    .map(|(name, value)| (name, json!(value)))
                    .collect();
                let mut args = args;
                args["env"] = Value::Object(variables);
                args
            }
        })
    }

    /// A console command that loads a program before it is launched, so that breakpoints find their places: gdb launches it
    /// after they are set.
    pub(crate) fn load(&self, program: &Program) -> Option<String> {
        let quoted: String = program.executable.to_string_lossy().chars().fold(String::new(), |text, c| {
            let is_special = c.is_whitespace() || matches!(c, '\\' | '\'' | '"');
            if is_special { text + "\\" + &c.to_string() } else { text + &c.to_string() }
        });
        (self.kind == Kind::Gdb).then(|| format!("file {quoted}"))
    }

    /// A command for the console of the debugger, as `evaluate` takes it.
    pub(crate) fn command(&self, line: &str) -> String {
        match self.kind {
            Kind::Lldb => format!("`{line}"),
            Kind::Gdb => line.to_owned(),
        }
    }

    /// A console command that switches breakpoints on or off.
    pub(crate) fn switch_breakpoints(&self, on: bool, numbers: &[i64]) -> String {
        let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let verb = if on { "enable" } else { "disable" };
        match self.kind {
            Kind::Lldb => format!("`breakpoint {verb} {}", numbers.join(" ")),
            Kind::Gdb => format!("{verb} {}", numbers.join(" ")),
        }
    }

    /// A console command that switches all watchpoints on or off.
    pub(crate) fn switch_watchpoints(&self, on: bool) -> Option<String> {
        let verb = if on { "enable" } else { "disable" };
        (self.kind == Kind::Lldb).then(|| format!("`watchpoint {verb}"))
    }

    /// A console command that sets a breakpoint at an instruction. lldb-dap 19 hangs if it is asked by its protocol.
    pub(crate) fn break_at(&self, pc: &str) -> String {
        match self.kind {
            Kind::Lldb => format!("`breakpoint set -a {pc}"),
            Kind::Gdb => format!("break *{pc}"),
        }
    }

    /// A console command that removes a breakpoint.
    pub(crate) fn remove_breakpoint(&self, number: i64) -> String {
        match self.kind {
            Kind::Lldb => format!("`breakpoint delete {number}"),
            Kind::Gdb => format!("delete {number}"),
        }
    }

    /// The console commands that run until a frame returns. The frame's number is for gdb to choose it by; lldb-dap makes
    /// the number of the thread's index and the frame's.
    pub(crate) fn finish(&self, frame: i64) -> Vec<String> {
        match self.kind {
            Kind::Lldb => vec![
                format!("`thread select {}", frame >> 19),
                format!("`frame select {}", frame & ((1 << 19) - 1)),
                "`thread step-out".to_owned(),
            ],
            Kind::Gdb => vec!["finish".to_owned()],
        }
    }
}

/// The number of a breakpoint that was set, from what the debugger says: `Breakpoint 3: where = ...`.
pub(crate) fn number_of_breakpoint(text: &str) -> Option<i64> {
    let after = text.split("Breakpoint ").nth(1)?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Removes what was written next to the table.
pub(crate) fn remove_plug_in(table: &Path) {
    std::fs::remove_file(plug_in_of(table)).ok();
}

fn plug_in_of(table: &Path) -> PathBuf {
    // The name becomes that of a Python module.
    let name = table.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
    table.with_file_name(format!("{name}.py"))
}

/// Code that is not stepped into.
const AVOID: &str = "^_*<?(std|core|alloc|test|raddle|raddle_engine|raddle_intercept)(::|\\.\\.)|^__[at]san_|^_\\$LT\\$(std|core|alloc|raddle)";

/// The commands that show values of std's types as such, which come with the compiler.
fn formatters() -> Vec<String> {
    let Some(directory) = formatters_directory() else { return Vec::new() };
    let (lookup, commands) = (directory.join("lldb_lookup.py"), directory.join("lldb_commands"));
    if !lookup.exists() || !commands.exists() {
        return Vec::new();
    }
    vec![
        format!("command script import \"{}\"", lookup.display()),
        format!("command source -s true \"{}\"", commands.display()),
    ]
}

/// Where the compiler keeps what shows debuggers the values of std's types.
fn formatters_directory() -> Option<PathBuf> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).stderr(Stdio::null()).output().ok()?;
    let directory = Path::new(String::from_utf8_lossy(&sysroot.stdout).trim()).join("lib/rustlib/etc");
    directory.is_dir().then_some(directory)
}

/// A command of LLDB that prints something only if it fails.
fn quiet(command: impl std::fmt::Display) -> String {
    format!("?{command}")
}

fn in_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.exists().then(|| program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}

/// Whether this is gdb 14 or later: `GNU gdb (Debian 13.1-3) 13.1` is not.
fn speaks_dap(gdb: &Path) -> bool {
    let output = Command::new(gdb).arg("--version").stderr(Stdio::null()).output();
    output.is_ok_and(|output| version_of(&String::from_utf8_lossy(&output.stdout)) >= Some(14))
}

fn version_of(text: &str) -> Option<u32> {
    text.lines().next()?.rsplit(' ').next()?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_gdb_are_read() {
        for (text, version) in [
            ("GNU gdb (Debian 13.1-3) 13.1\nCopyright", Some(13)),
            ("GNU gdb (GDB) 16.3", Some(16)),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(version_of(text), version, "{text}");
        }
    }

    #[test]
    fn environments_are_given_as_each_debugger_wants_them() {
        let program = Program { variables: vec![("A".into(), "1".into())], ..Program::default() };
        let table = std::env::temp_dir().join(format!("raddle-adapter-test-{}", std::process::id()));
        let launch = |kind| Debugger { kind, program: PathBuf::new() }.launch(&program, &table).unwrap();
        assert_eq!(launch(Kind::Lldb)["env"], json!(["A=1"]));
        assert_eq!(launch(Kind::Gdb)["env"]["A"], json!("1"));
        assert_eq!(launch(Kind::Gdb)["env"]["PATH"].as_str(), std::env::var("PATH").ok().as_deref());
        remove_plug_in(&table);
        assert!(!plug_in_of(&table).exists());
    }
}
