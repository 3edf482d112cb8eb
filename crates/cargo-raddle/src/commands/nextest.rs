//! `cargo raddle nextest`: nextest runs each test in a process of its own already; it only needs the instrumentation.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::SystemTime;

use crate::binary::build_tests;
use crate::canary;
use crate::cargo::CargoOptions;
use crate::cli::NextestArgs;
use crate::error::{Error, Result, exit};
use crate::page::{self, Roots};
use crate::report;
use crate::run::{Contract, prepare};
use crate::session::Session;
use crate::terminal::Terminal;

/// Runs `cargo nextest` and passes its exit code on.
pub(crate) fn nextest(args: NextestArgs) -> Result<u8> {
    args.raddle.check()?;
    let (command, rest) = split_command(&args.args);
    let mut session = Session::open(build_options(&rest))?;
    find_nextest(&session)?;
    let color = session.options.output.color.take();
    let terminal = Terminal::new(&crate::cargo::options::Output { color, ..Default::default() });
    if command == "run"
        && !rest.iter().any(|arg| arg.starts_with("--archive-file") || arg.starts_with("--binaries-metadata"))
    {
        // The same build as nextest's own, which then finds it done.
        let (binaries, canaries) = canary::build_beside(&session, || build_tests(&session));
        canary::check(&session, &binaries?, canaries)?;
    }

    let mut nextest = session.instrumented()?;
    Contract::new(&session, &args.raddle, &terminal)?.apply_for_nextest(&mut nextest);
    nextest.args(["nextest", &command]);
    nextest.arg("--target").arg(&session.target).arg("--target-dir").arg(&session.build_directory);
    nextest.args(without_target(rest));
    prepare(&mut nextest, None);
    let began = SystemTime::now();
    let status = nextest.status().map_err(Error::start(session.cargo.program()))?;
    let directory = std::env::var_os("RADDLE_FAILURES").map_or_else(|| session.failures(), PathBuf::from);
    let roots = Roots::of_workspace(&session.metadata.workspace_root);
    page::announce(&report::written_since(&directory, began), |_| roots.clone());
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::FAILED))
}

fn find_nextest(session: &Session) -> Result<()> {
    let mut command = session.cargo.command();
    command.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Error::usage(
            "cargo-nextest is not installed; install it with `cargo install --locked cargo-nextest`",
        )),
    }
}

/// The command of nextest, `run` if none is given, and its arguments.
fn split_command(args: &[String]) -> (String, Vec<String>) {
    match args.split_first() {
        Some((command, rest)) if !command.starts_with('-') => (command.clone(), rest.to_vec()),
        _ => ("run".to_owned(), args.to_vec()),
    }
}

/// What of nextest's arguments matters to the build.
fn build_options(args: &[String]) -> CargoOptions {
    let mut options = CargoOptions::default();
    let mut args = args.iter().take_while(|arg| *arg != "--");
    while let Some(arg) = args.next() {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (&**arg, None),
        };
        let mut value = || value.clone().or_else(|| args.next().cloned());
        match name {
            "-p" | "--package" => options.packages.package.extend(value()),
            "--workspace" | "--all" => options.packages.workspace = true,
            "--exclude" => options.packages.exclude.extend(value()),
            "--lib" => options.targets.lib = true,
            "--bins" => options.targets.bins = true,
            "--bin" => options.targets.bin.extend(value()),
            "--examples" => options.targets.examples = true,
            "--example" => options.targets.example.extend(value()),
            "--tests" => options.targets.tests = true,
            "--test" => options.targets.test.extend(value()),
            "--benches" => options.targets.benches = true,
            "--bench" => options.targets.bench.extend(value()),
            "--all-targets" => options.targets.all_targets = true,
            "-F" | "--features" => options.features.features.extend(value()),
            "--all-features" => options.features.all_features = true,
            "--no-default-features" => options.features.no_default_features = true,
            "-r" | "--release" => options.compilation.release = true,
            "--cargo-profile" => options.compilation.profile = value(),
            "--target" => options.compilation.target = value(),
            "--target-dir" => options.compilation.target_dir = value().map(PathBuf::from),
            "--manifest-path" => options.manifest.manifest_path = value().map(PathBuf::from),
            "--locked" => options.manifest.locked = true,
            "--offline" => options.manifest.offline = true,
            "--frozen" => options.manifest.frozen = true,
            "--config" => options.manifest.config.extend(value()),
            "-Z" => options.manifest.unstable.extend(value()),
            "--color" => options.output.color = value(),
            _ => {}
        }
    }
    options
}

/// The arguments without those that the session sets.
fn without_target(args: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        match &*arg {
            "--" => {
                kept.push(arg);
                kept.extend(args);
                break;
            }
            "--target" | "--target-dir" => drop(args.next()),
            other if other.starts_with("--target=") || other.starts_with("--target-dir=") => {}
            _ => kept.push(arg),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_ascii_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn run_is_the_default_command() {
        assert_eq!(split_command(&words("list -p a")), ("list".to_owned(), words("-p a")));
        assert_eq!(split_command(&words("-p a")), ("run".to_owned(), words("-p a")));
        assert_eq!(split_command(&[]), ("run".to_owned(), vec![]));
    }

    #[test]
    fn the_build_is_read_off_and_the_target_replaced() {
        let args = words("-p a --test b --features=x --target t --cargo-profile fast name -- --target u");
        let options = build_options(&args);
        assert_eq!(options.to_args().join(" "), "--package a --test b --features x --profile fast");
        assert_eq!(options.compilation.target.as_deref(), Some("t"));
        let kept = without_target(args).join(" ");
        assert_eq!(kept, "-p a --test b --features=x --cargo-profile fast name -- --target u");
    }
}
