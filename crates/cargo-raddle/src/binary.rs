//! A test binary and the environment it runs in: what `cargo test` gives it, and what Raddle tells it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::canary;
use crate::cargo::build::{self, Artifacts, ScriptOutput, TestArtifact};
use crate::cargo::metadata::Package;
use crate::cargo::remove_package_variables;
use crate::error::{Error, Result};
use crate::session::Session;

/// A test binary, ready to run.
#[derive(Debug)]
pub(crate) struct TestBinary {
    pub(crate) executable: PathBuf,
    /// `tests/counter.rs`, for people.
    pub(crate) source: String,
    /// `lib`, `bin`, `test`, `example` or `bench`, and the target's name.
    pub(crate) kind: String,
    pub(crate) name: String,
    /// The package's name.
    pub(crate) package: String,
    /// Whether it has a `main` of its own in place of the standard test harness (`harness = false`).
    pub(crate) own_main: bool,
    directory: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

/// Builds the test binaries that the session's options select.
pub(crate) fn build_tests(session: &Session) -> Result<Vec<TestBinary>> {
    let mut command = session.instrumented()?;
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics"]);
    command.args(session.options.to_args());
    command.arg("--target").arg(&session.target).arg("--target-dir").arg(&session.build_directory);
    let artifacts = build::build(command).map_err(|error| match error {
        Error::Build => canary::blame_compiler(session).unwrap_or(error),
        _ => error,
    })?;
    let sysroot_libraries = sysroot_libraries(session);
    artifacts
        .tests
        .iter()
        .map(|test| TestBinary::new(session, &artifacts, test, sysroot_libraries.as_deref()))
        .collect()
}

impl TestBinary {
    fn new(
        session: &Session,
        artifacts: &Artifacts,
        test: &TestArtifact,
        sysroot: Option<&Path>,
    ) -> Result<TestBinary> {
        let package = session.metadata.package(&test.package_id).ok_or_else(|| Error::Answer {
            program: "cargo test".into(),
            reason: format!("it built `{}`, which is not in the workspace", test.package_id),
        })?;
        let script = artifacts.scripts.get(&test.package_id);
        let source = &test.target.src_path;
        let source = source.strip_prefix(&session.metadata.workspace_root).unwrap_or(source);
        let file_name = test.executable.file_name().unwrap_or_default();

        let mut variables = cargo_variables(package);
        variables.push(("CARGO".into(), session.cargo.program().into()));
        for (id, name, file) in &artifacts.binaries {
            if *id == test.package_id {
                variables.push((format!("CARGO_BIN_EXE_{name}").into(), file.into()));
            }
        }
        if let Some(script) = script {
            variables.push(("OUT_DIR".into(), script.out_dir.clone().into()));
            variables.extend(script.env.iter().map(|(name, value)| (name.into(), value.into())));
        }
        let libraries = library_path(&artifacts.scripts, &test.executable, sysroot);
        variables.push((LIBRARY_PATH.into(), libraries));
        Ok(TestBinary {
            source: source.display().to_string(),
            kind: test.kind().to_owned(),
            name: test.target.name.clone(),
            package: package.name.clone(),
            own_main: session.own_main.join(file_name).exists(),
            directory: package.directory().to_owned(),
            executable: test.executable.clone(),
            variables,
        })
    }

    /// A command that runs it the way `cargo test` would.
    pub(crate) fn command(&self) -> Command {
        self.command_of(&self.executable)
    }

    /// A command that runs another program the way `cargo test` would run this one.
    pub(crate) fn command_of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        remove_package_variables(&mut command);
        command.current_dir(&self.directory).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// `my-crate@test:counter`: which binary this is, in failure files.
    pub(crate) fn id(&self) -> String {
        format!("{}@{}:{}", self.package, self.kind, self.name)
    }

    /// The cargo options that select it: `--test counter`.
    pub(crate) fn selector(&self) -> String {
        match &*self.kind {
            "lib" => "--lib".to_owned(),
            kind => format!("--{kind} {}", self.name),
        }
    }
}

/// What cargo tells a program about its package when it runs it.
fn cargo_variables(package: &Package) -> Vec<(OsString, OsString)> {
    let version = package.version.split('+').next().unwrap_or_default();
    let (numbers, pre) = version.split_once('-').unwrap_or((version, ""));
    let mut numbers = numbers.split('.');
    let mut number = || numbers.next().unwrap_or_default().to_owned();
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let variables = [
        ("CARGO_MANIFEST_DIR", package.directory().display().to_string()),
        ("CARGO_MANIFEST_PATH", package.manifest_path.display().to_string()),
        ("CARGO_PKG_NAME", package.name.clone()),
        ("CARGO_PKG_VERSION", package.version.clone()),
        ("CARGO_PKG_VERSION_MAJOR", number()),
        ("CARGO_PKG_VERSION_MINOR", number()),
        ("CARGO_PKG_VERSION_PATCH", number()),
        ("CARGO_PKG_VERSION_PRE", pre.to_owned()),
        ("CARGO_PKG_AUTHORS", package.authors.join(":")),
        ("CARGO_PKG_DESCRIPTION", text(&package.description)),
        ("CARGO_PKG_HOMEPAGE", text(&package.homepage)),
        ("CARGO_PKG_REPOSITORY", text(&package.repository)),
        ("CARGO_PKG_LICENSE", text(&package.license)),
        ("CARGO_PKG_LICENSE_FILE", text(&package.license_file)),
        ("CARGO_PKG_README", text(&package.readme)),
        ("CARGO_PKG_RUST_VERSION", text(&package.rust_version)),
    ];
    variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

const LIBRARY_PATH: &str =
    if cfg!(target_os = "macos") { "DYLD_FALLBACK_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };

/// Where dynamic libraries are looked for, in cargo's order: what build scripts made, what cargo made, the compiler's
/// own, what the user has.
fn library_path(
    scripts: &std::collections::HashMap<String, ScriptOutput>,
    executable: &Path,
    sysroot: Option<&Path>,
) -> OsString {
    let dependencies = executable.parent().unwrap_or(Path::new("."));
    let profile = dependencies.parent().unwrap_or(dependencies);
    let mut paths: Vec<PathBuf> = scripts
        .values()
        .flat_map(|script| &script.linked_paths)
        .map(|path| PathBuf::from(path.split_once('=').map_or(&**path, |(_, path)| path)))
        // Cargo adds only what lies in its own directory: system paths are the loader's business.
        .filter(|path| path.starts_with(profile))
        .collect();
    paths.sort();
    paths.extend([dependencies.to_owned(), profile.to_owned()]);
    paths.extend(sysroot.map(Path::to_owned));
    let inherited = env::var_os(LIBRARY_PATH).unwrap_or_default();
    paths.extend(env::split_paths(&inherited).filter(|path| !path.as_os_str().is_empty()));
    env::join_paths(paths).unwrap_or(inherited)
}

/// The directory with the dynamic libraries of the standard library.
fn sysroot_libraries(session: &Session) -> Option<PathBuf> {
    let output = Command::new(&session.rustc)
        .args(["--print", "target-libdir", "--target", &session.target])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}
