//! The build: `cargo test --no-run`, and what its messages say about the test binaries.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::metadata::Target;
use crate::error::{Error, Result};

/// What a build made.
#[derive(Debug, Default)]
pub(crate) struct Artifacts {
    /// The test binaries, in the order in which `cargo test` runs them.
    pub(crate) tests: Vec<TestArtifact>,
    /// The binary targets: package, name and file.
    pub(crate) binaries: Vec<(String, String, PathBuf)>,
    /// What build scripts said, by package.
    pub(crate) scripts: HashMap<String, ScriptOutput>,
}

/// One test binary.
#[derive(Debug)]
pub(crate) struct TestArtifact {
    pub(crate) package_id: String,
    pub(crate) target: Target,
    pub(crate) executable: PathBuf,
}

/// What a build script said.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ScriptOutput {
    pub(crate) package_id: String,
    pub(crate) linked_paths: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) out_dir: PathBuf,
}

/// Runs a `cargo test --no-run --message-format=json…` command. Cargo itself prints progress and diagnostics.
pub(crate) fn build(mut command: Command) -> Result<Artifacts> {
    let program = command.get_program().to_owned();
    let mut cargo = command.stdout(Stdio::piped()).spawn().map_err(Error::start(&program))?;
    let mut artifacts = Artifacts::default();
    if let Some(stdout) = cargo.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            artifacts.add(&line.map_err(Error::start(&program))?);
        }
    }
    let status = cargo.wait().map_err(Error::start(&program))?;
    if !status.success() {
        return Err(Error::Build);
    }
    artifacts.tests.sort_by(|a, b| a.order().cmp(&b.order()));
    Ok(artifacts)
}

impl Artifacts {
    /// Takes in one line of cargo's output. Lines that are no message come from build scripts and macros that print.
    fn add(&mut self, line: &str) {
        match serde_json::from_str(line) {
            Ok(Message::CompilerArtifact { package_id, target, profile, executable: Some(executable) }) => {
                if profile.test {
                    self.tests.push(TestArtifact { package_id, target, executable });
                } else if target.kind.iter().any(|kind| kind == "bin") {
                    self.binaries.push((package_id, target.name, executable));
                }
            }
            Ok(Message::BuildScriptExecuted(output)) => {
                self.scripts.insert(output.package_id.clone(), output);
            }
            Ok(_) => {}
            Err(_) => println!("{line}"),
        }
    }
}

impl TestArtifact {
    /// As `cargo test` does: by package, then library, binaries, tests and the others by name.
    fn order(&self) -> (&str, usize, &str) {
        const KINDS: [&str; 5] = ["lib", "bin", "test", "bench", "example"];
        let kind = KINDS.iter().position(|kind| *kind == self.kind()).unwrap_or(KINDS.len());
        (&self.package_id, kind, &self.target.name)
    }

    /// The target's kind, with the flavours of libraries taken as one.
    pub(crate) fn kind(&self) -> &str {
        match self.target.kind.first().map(String::as_str) {
            Some(kind @ ("bin" | "test" | "bench" | "example")) => kind,
            _ => "lib",
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact {
        package_id: String,
        target: Target,
        profile: Profile,
        executable: Option<PathBuf>,
    },
    BuildScriptExecuted(ScriptOutput),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}
