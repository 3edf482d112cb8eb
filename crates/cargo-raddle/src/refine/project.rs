//! The generated project of a specification: one driver for all its schemas.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use raddle_refine::program::{Origin, Tester, driver, manifest};
use raddle_refine::schema::{Invocation, Schema};
use raddle_refine::spec::Spec;

use super::diagnose::{self, Diagnostic};
use crate::binary::{TestBinary, build_tests};
use crate::cargo::{Cargo, CargoOptions};
use crate::commands::ProjectArgs;
use crate::error::{Error, Result};
use crate::instrument::key;
use crate::session::Session;

/// A project that is built.
pub(crate) struct Project {
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// What runs.
    pub(crate) program: Program,
    /// Methods that do not compile, and why.
    pub(crate) left_out: Vec<(String, String)>,
}

/// What runs the schemas.
pub(crate) enum Program {
    /// Instrumented, with the session that built it.
    Explored(Box<Session>, Box<TestBinary>),
    /// As it is.
    Plain(PathBuf),
}

/// So many calls are in a driver even if no schema has them, so that other schemas need no other driver.
const MOST_CALLS: usize = 300;

/// The calls of a driver: those of the schemas, and all others with the values of the range, or with fewer, if these are not too many.
pub(crate) fn calls_of(spec: &Spec, values: usize, range: usize, schemas: &[Schema]) -> Vec<Invocation> {
    let all = |values| -> Vec<Invocation> {
        spec.methods.iter().flat_map(|method| spec.calls(method, values)).collect()
    };
    let few = |calls: &Vec<Invocation>| calls.len() <= MOST_CALLS;
    let mut calls = Some(all(range.max(values)))
        .filter(few)
        .or_else(|| Some(all(values)).filter(few))
        .unwrap_or_default();
    let mut known: BTreeSet<Invocation> = calls.iter().cloned().collect();
    for invocation in schemas.iter().flat_map(Schema::invocations) {
        if known.insert(invocation.clone()) {
            calls.push(invocation.clone());
        }
    }
    calls
}

impl Project {
    /// Writes and builds the project. Methods that do not compile are left out, and so are their calls.
    pub(crate) fn build(
        spec: &Spec,
        base: &Path,
        mut calls: Vec<Invocation>,
        tester: Tester,
        args: &ProjectArgs,
    ) -> Result<Project> {
        let target = target_directory(args)?;
        let mut left_out = Vec::new();
        loop {
            let driver = driver(spec, &calls, tester).map_err(Error::usage)?;
            let manifest = |name: &str| manifest(name, spec, tester, base, &origin());
            let name = format!("{}-{}", tester.name(), key(&[&manifest("driver"), &driver.source]));
            let directory = target.join("raddle").join("refinement").join(&name);
            // A package of its own: cargo takes workspaces of one package with the same name and dependencies for one, and would leave
            // the program of the other in place.
            let manifest = manifest(&format!("raddle-driver-{name}"));
            write_new(&directory.join("Cargo.toml"), &manifest)?;
            write_new(&directory.join("lib.rs"), "")?;
            write_new(&directory.join("driver.rs"), &driver.source)?;
            copy_lock(&directory)?;
            match build(&directory, &target, tester, args)? {
                Ok(program) => return Ok(Project { directory, program, left_out }),
                Err(failure) => {
                    // Nothing is left behind of a project that does not compile.
                    let _ = fs::remove_dir_all(&directory);
                    let refused = left_out.len();
                    for Diagnostic { line, message, .. } in &failure.diagnostics {
                        let method = driver.lines.iter().find(|(number, _)| Some(*number) == *line);
                        let Some((_, method)) = method else { continue };
                        if !left_out.iter().any(|(name, _)| name == method) {
                            left_out.push((method.clone(), message.clone()));
                        }
                    }
                    calls.retain(|call| !left_out.iter().any(|(name, _)| *name == call.method));
                    if left_out.len() == refused || calls.is_empty() {
                        return Err(Error::usage(failure.explain(&spec.object)));
                    }
                }
            }
        }
    }

    /// Adds schemas to the file of the project, and returns their lines.
    pub(crate) fn add_schemas(&self, schemas: &[Schema]) -> Result<Vec<usize>> {
        let path = self.directory.join(raddle_refine::driver::SCHEMAS);
        let old = fs::read_to_string(&path).unwrap_or_default();
        let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
        let known = lines.len();
        let mut numbers = Vec::new();
        for schema in schemas {
            let text = schema.to_string();
            let number = lines.iter().position(|line| *line == text).unwrap_or_else(|| {
                lines.push(text);
                lines.len() - 1
            });
            numbers.push(number);
        }
        if lines.len() > known {
            let scratch = path.with_extension(format!("{}.tmp", std::process::id()));
            fs::write(&scratch, lines.join("\n") + "\n").map_err(Error::file("write", &scratch))?;
            fs::rename(&scratch, &path).map_err(Error::file("write", &path))?;
        }
        Ok(numbers)
    }
}

/// Why a project could not be built.
struct Failure {
    diagnostics: Vec<Diagnostic>,
    stderr: String,
}

impl Failure {
    fn explain(&self, object: &str) -> String {
        diagnose::of_object(object, &self.diagnostics).unwrap_or_else(|| diagnose::of_cargo(&self.stderr))
    }
}

fn build(
    directory: &Path,
    target: &Path,
    tester: Tester,
    args: &ProjectArgs,
) -> Result<std::result::Result<Program, Failure>> {
    let manifest = directory.join("Cargo.toml");
    if tester == Tester::Model {
        // The session asks cargo about the project: that the registry has what it needs is found out first, quietly.
        if let Err(failure) = resolve(&manifest, args)? {
            return Ok(Err(failure));
        }
        let mut options = CargoOptions::default();
        options.manifest.manifest_path = Some(manifest);
        options.manifest.offline = args.offline;
        options.compilation.target_dir = Some(target.to_owned());
        options.targets.test = vec!["driver".to_owned()];
        options.output.quiet = true;
        let session = Session::open(options)?;
        let mut command = session.instrumented()?;
        command.args(["test", "--no-run", "--message-format=json"]).args(session.options.to_args());
        command.arg("--target").arg(&session.target).arg("--target-dir").arg(&session.build_directory);
        if let Err(failure) = run_cargo(command)? {
            return Ok(Err(failure));
        }
        let binary = build_tests(&session)?.into_iter().find(|binary| binary.name == "driver");
        let binary = binary.ok_or_else(|| Error::usage("cargo built no driver"))?;
        return Ok(Ok(Program::Explored(Box::new(session), Box::new(binary))));
    }
    let mut command = Cargo::from_env().command();
    command.args(["test", "--no-run", "--message-format=json", "--quiet", "--test", "driver"]);
    command.arg("--manifest-path").arg(&manifest);
    command.arg("--target-dir").arg(target.join("raddle").join(format!("build-{}", tester.name())));
    if args.offline {
        command.arg("--offline");
    }
    match tester {
        // Optimised, with the checks of the object kept out of the way of its races.
        Tester::Stress => drop(command.arg("--release")),
        Tester::Loom => drop(command.env("RUSTFLAGS", "--cfg loom")),
        Tester::Shuttle => drop(command.env("RUSTFLAGS", "--cfg shuttle")),
        Tester::Model => {}
    }
    let messages = match run_cargo(command)? {
        Ok(messages) => messages,
        Err(failure) => return Ok(Err(failure)),
    };
    let mut executable = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        (message["target"]["name"] == "driver").then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    let executable = executable.next_back().ok_or_else(|| Error::usage("cargo built no driver"))?;
    Ok(Ok(Program::Plain(executable)))
}

fn resolve(manifest: &Path, args: &ProjectArgs) -> Result<std::result::Result<(), Failure>> {
    let mut command = Cargo::from_env().command();
    command.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(manifest);
    if args.offline {
        command.arg("--offline");
    }
    Ok(run_cargo(command)?.map(|_| ()))
}

/// Runs cargo without showing what it says.
fn run_cargo(mut command: Command) -> Result<std::result::Result<String, Failure>> {
    let program = command.get_program().to_owned();
    let output = command.stdin(Stdio::null()).output().map_err(Error::start(&program))?;
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(Ok(messages));
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Err(Failure { diagnostics: diagnose::errors(&messages), stderr }))
}

/// Raddle's own crates: those beside this one, if it was built from the repository.
fn origin() -> Origin {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match crates.canonicalize() {
        Ok(crates) if crates.join("raddle-refine/Cargo.toml").exists() => {
            Origin::Directory(crates.display().to_string())
        }
        _ => Origin::Registry(env!("CARGO_PKG_VERSION").to_owned()),
    }
}

/// Takes the versions that the repository uses: they are likely to be on this machine already.
fn copy_lock(directory: &Path) -> Result<()> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let to = directory.join("Cargo.lock");
    match fs::read_to_string(from) {
        Ok(text) if !to.exists() => fs::write(&to, text).map_err(Error::file("write", &to)),
        _ => Ok(()),
    }
}

/// Cargo's target directory here; where there is no workspace, a temporary directory.
fn target_directory(args: &ProjectArgs) -> Result<PathBuf> {
    if let Some(directory) = &args.target_dir {
        return std::path::absolute(directory).map_err(Error::file("find", directory));
    }
    let mut command = Cargo::from_env().command();
    let output = command.args(["metadata", "--format-version", "1", "--no-deps"]).output();
    let metadata = output.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok());
    let found = metadata
        .and_then(|metadata: serde_json::Value| metadata["target_directory"].as_str().map(PathBuf::from));
    Ok(found.unwrap_or_else(|| std::env::temp_dir().join("raddle-refinement")))
}

/// Writes a file unless it is the same already, so that cargo sees no change.
fn write_new(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
    }
    fs::write(path, text).map_err(Error::file("write", path))
}
