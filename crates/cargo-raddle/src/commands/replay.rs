//! `cargo raddle replay`: build the binary of a failure file again and let it run the recorded execution.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use clap::Parser;
use raddle_report::Failure;

use crate::binary::{TestBinary, build_tests};
use crate::cargo::options::Output;
use crate::cargo::{Cargo, CargoOptions};
use crate::cli::ReplayArgs;
use crate::error::{Error, Result, exit};
use crate::libtest::HarnessOptions;
use crate::options::{RaddleOptions, entry};
use crate::page::{self, Roots};
use crate::report;
use crate::run::{self, Contract};
use crate::session::Session;
use crate::terminal::Terminal;

/// Replays a failure. The test itself compares builds, prints the report and decides the exit code.
pub(crate) fn replay(args: ReplayArgs) -> Result<u8> {
    let raddle = RaddleOptions::default().with(entry("RADDLE_BACKEND"), args.backend);
    raddle.check()?;
    let failure = report::read(&args.file)?;
    // The command goes to where the file is from.
    let file = std::path::absolute(&args.file).map_err(Error::file("find", &args.file))?;
    let wishes: &[&'static str] = if args.force { &["RADDLE_FORCE"] } else { &[] };
    let (status, output) = run_replay(&failure, &file, &raddle, wishes, args.output)?;
    print!("{output}");
    let test = &failure.test;
    // The harness's code for a failed test: the report came as a panic.
    const PANICKED: i32 = 101;
    match status.code() {
        // The failure shows again, so its page is worth a look.
        Some(1) => {
            page::announce(std::slice::from_ref(&file), |file| Roots::around(file, &failure));
            Ok(exit::FAILED)
        }
        Some(PANICKED) => Ok(exit::FAILED),
        Some(0) if output.trim().is_empty() => {
            println!("no failure: test `{test}` passed");
            Ok(exit::PASSED)
        }
        Some(code) => Ok(u8::try_from(code).unwrap_or(exit::FAILED)),
        None => {
            println!("the test's process {}", run::describe_status(status));
            debug_assert!(status.signal().is_some());
            Ok(exit::FAILED)
        }
    }
}

/// Lets the test of a failure try other executions and add them to the failure file. The error says why that is not possible.
pub(crate) fn find_alternatives(path: &Path, output: Output) -> Result<()> {
    let failure = report::read(path)?;
    let path = std::path::absolute(path).map_err(Error::file("find", path))?;
    let wishes = ["RADDLE_ALTERNATIVES"];
    let (status, said) = run_replay(&failure, &path, &RaddleOptions::default(), &wishes, output)?;
    let said = said.trim();
    match said.strip_prefix("error: ") {
        _ if status.success() => {
            eprintln!("{said}");
            // The page shows the executions side by side.
            page::announce(&[path], |file| Roots::around(file, &failure));
            Ok(())
        }
        Some(reason) => Err(Error::usage(reason)),
        None => Err(Error::usage(format_args!(
            "other executions could not be tried: the test's process {}",
            run::describe_status(status)
        ))),
    }
}

/// Builds the binary of a failure again and starts it with the failure file; `wishes` are variables that are set to `1`.
fn run_replay(
    failure: &Failure,
    file: &Path,
    raddle: &RaddleOptions,
    wishes: &[&'static str],
    output: Output,
) -> Result<(ExitStatus, String)> {
    let replayed = Replayed::of(failure)?;
    let terminal = Terminal::new(&output);

    let session = replayed.open(file, &failure.build.cargo_args, output)?;
    let binary = replayed.build(&session)?;
    let mut contract = Contract::new(&session, raddle, &terminal)?;
    contract.set("RADDLE_REPLAY", file.display().to_string());
    for wish in wishes {
        contract.set(wish, "1".to_owned());
    }
    start(&binary, &failure.test, &contract)
}

fn start(binary: &TestBinary, test: &str, contract: &Contract) -> Result<(ExitStatus, String)> {
    let mut command = binary.command();
    contract.apply_to_test(&mut command, binary, test);
    if binary.own_main {
        command.arg(test);
    } else {
        command.args(HarnessOptions::run_args(test));
    }
    run::run_quietly(command, test).map_err(Error::start(&binary.executable))
}

/// What a failure's binary was built from: `my-crate@test:counter`.
#[derive(Debug, PartialEq)]
pub(crate) struct Replayed {
    text: String,
    package: String,
    kind: String,
    name: String,
}

impl Replayed {
    pub(crate) fn of(failure: &Failure) -> Result<Replayed> {
        let text = failure.build.package.as_deref().ok_or_else(|| {
            Error::usage(
                "the failure file does not say which package it is from, because its test was not run by \
                 `cargo raddle test`; run that binary with RADDLE_REPLAY set to the file",
            )
        })?;
        Replayed::parse(text).ok_or_else(|| {
            Error::usage(format_args!("the failure file names an unknown kind of binary: `{text}`"))
        })
    }

    fn parse(text: &str) -> Option<Replayed> {
        let (package, target) = text.rsplit_once('@')?;
        let (kind, name) = target.split_once(':')?;
        let known = matches!(kind, "lib" | "bin" | "test" | "bench" | "example");
        known.then(|| Replayed {
            text: text.to_owned(),
            package: package.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        })
    }

    fn matches(&self, binary: &TestBinary) -> bool {
        (&*binary.package, &*binary.kind, &*binary.name) == (&*self.package, &*self.kind, &*self.name)
    }

    /// Builds the binary again.
    pub(crate) fn build(&self, session: &Session) -> Result<TestBinary> {
        build_tests(session)?.into_iter().find(|binary| self.matches(binary)).ok_or_else(|| {
            Error::usage(format_args!("this workspace has no test binary `{}` any more", self.text))
        })
    }

    /// Opens the workspace of the failure, to build the binary again: that of the working directory, or the one that the file lies in.
    pub(crate) fn open(&self, file: &Path, recorded: &[String], output: Output) -> Result<Session> {
        let terminal = Terminal::new(&output);
        let quiet = output.quiet;
        let options = self.cargo_options(recorded, output)?;
        if options.manifest.manifest_path.is_none() {
            let here = std::env::current_dir().map_err(Error::file("find", "."))?;
            let (here, there) = (nearest_workspace(&here), file.parent().and_then(nearest_workspace));
            match (here, there) {
                (here, Some(there))
                    if here.as_ref() != Some(&there) && has_package(&there, &self.package) =>
                {
                    // Cargo's configuration is that of the working directory.
                    std::env::set_current_dir(&there).map_err(Error::file("enter", &there))?;
                    if !quiet {
                        eprintln!("{}", terminal.status("Entering", &there.display().to_string()));
                    }
                }
                (Some(here), _) if has_package(&here, &self.package) => {}
                _ => {
                    return Err(Error::usage(format_args!(
                        "`{}` is of test binary `{}`, and neither the working directory nor that of the file has the package: change into \
                         the workspace of `{}`",
                        file.display(),
                        self.text,
                        self.package
                    )));
                }
            }
        }
        Session::open(options)
    }

    /// The options of the build that made the binary, now for that binary alone.
    fn cargo_options(&self, recorded: &[String], output: Output) -> Result<CargoOptions> {
        let mut cargo = parse_recorded(recorded)?;
        let targets = &mut cargo.targets;
        match &*self.kind {
            "lib" => targets.lib = true,
            "bin" => targets.bin.push(self.name.clone()),
            "test" => targets.test.push(self.name.clone()),
            "bench" => targets.bench.push(self.name.clone()),
            _ => targets.example.push(self.name.clone()),
        }
        if cargo.packages.is_default() {
            cargo.packages.package.push(self.package.clone());
        }
        cargo.output = output;
        Ok(cargo)
    }
}

/// The directory of the nearest manifest.
fn nearest_workspace(from: &Path) -> Option<PathBuf> {
    from.ancestors().find(|directory| directory.join("Cargo.toml").exists()).map(Path::to_owned)
}

/// Whether the workspace of a directory has a package.
fn has_package(directory: &Path, package: &str) -> bool {
    let mut command = Cargo::from_env().command();
    command.args(["metadata", "--format-version", "1", "--no-deps", "--quiet"]);
    let Ok(output) = command.current_dir(directory).output() else { return false };
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    packages.iter().any(|candidate| candidate["name"] == package)
}

/// Reads the arguments that a failure file recorded. Paths that do not exist are from another machine: what cargo finds
/// in the working directory takes their place.
fn parse_recorded(args: &[String]) -> Result<CargoOptions> {
    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Recorded {
        #[command(flatten)]
        cargo: CargoOptions,
    }
    let recorded = Recorded::try_parse_from(args).map_err(|_| {
        Error::usage(format_args!("the failure file has unknown build arguments: `{}`", args.join(" ")))
    })?;
    let mut cargo = recorded.cargo;
    let exists = |path: &std::path::PathBuf| Path::exists(path);
    cargo.manifest.manifest_path = cargo.manifest.manifest_path.filter(exists);
    cargo.compilation.target_dir = cargo.compilation.target_dir.filter(exists);
    Ok(cargo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read() {
        let origin = Replayed::parse("my-crate@test:counter").unwrap();
        assert_eq!((&*origin.package, &*origin.kind, &*origin.name), ("my-crate", "test", "counter"));
        for text in ["", "my-crate", "my-crate@counter", "my-crate@doc:counter"] {
            assert_eq!(Replayed::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_same_build_is_made_for_one_binary() {
        let recorded =
            ["--package", "a", "--package", "b", "--release", "--manifest-path", "/nonexistent/Cargo.toml"];
        let origin = Replayed::parse("b@test:counter").unwrap();
        let options = origin.cargo_options(&recorded.map(str::to_owned), Output::default()).unwrap();
        assert_eq!(options.to_args().join(" "), "--package a --package b --test counter --release");
        assert!(parse_recorded(&["--nonsense".to_owned()]).is_err());
    }
}
