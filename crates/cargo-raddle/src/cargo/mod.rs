//! Calling cargo: its options, its metadata, its configuration, and the build itself.

pub(crate) mod build;
mod config;
pub(crate) mod metadata;
pub(crate) mod options;

use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};

pub(crate) use self::config::Config;
pub(crate) use self::metadata::Metadata;
pub(crate) use self::options::CargoOptions;
use crate::error::{Error, Result};

/// The variable that makes stable tools take unstable options.
pub(crate) const UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// The cargo program that this command was called by.
#[derive(Clone, Debug)]
pub(crate) struct Cargo {
    program: OsString,
}

impl Cargo {
    /// Cargo tells its subcommands (and what `cargo run` starts) where it is.
    pub(crate) fn from_env() -> Cargo {
        Cargo { program: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()) }
    }

    /// The path of the program.
    pub(crate) fn program(&self) -> &OsStr {
        &self.program
    }

    /// A cargo command in a clean environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        remove_package_variables(&mut command);
        command
    }

    /// The workspace and its dependencies on `target`, under the features that are asked for.
    pub(crate) fn metadata(&self, options: &CargoOptions, target: &str) -> Result<Metadata> {
        let mut command = self.command();
        command.args(["metadata", "--format-version", "1", "--filter-platform", target]);
        command.args(options.features.to_args());
        command.args(options.manifest.to_args());
        if let Some(color) = &options.output.color {
            command.args(["--color", color]);
        }
        if options.output.quiet {
            command.arg("--quiet");
        }
        let output = command.stderr(Stdio::inherit()).output().map_err(Error::start(&self.program))?;
        if !output.status.success() {
            return Err(Error::Build);
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| Error::Answer { program: "cargo metadata".into(), reason: error.to_string() })
    }
}

/// Takes away what cargo told this process about its own package (under `cargo run`), or told the build script or test
/// that started it: the packages built next must not see it.
pub(crate) fn remove_package_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_package_variable) {
            command.env_remove(name);
        }
    }
}

fn is_package_variable(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "CARGO_BIN_NAME",
        "CARGO_CRATE_NAME",
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_LINKS",
        "CARGO_MANIFEST_PATH",
        "CARGO_PRIMARY_PACKAGE",
        "CARGO_TARGET_TMPDIR",
        "OUT_DIR",
    ];
    const PREFIXES: [&str; 2] = ["CARGO_PKG_", "CARGO_BIN_EXE_"];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// What `rustc -vV` says.
#[derive(Debug)]
pub(crate) struct RustcVersion {
    /// Everything it says: it identifies the compiler.
    pub(crate) verbose: String,
    /// The host triple.
    pub(crate) host: String,
}

impl RustcVersion {
    /// Asks the compiler.
    pub(crate) fn of(rustc: &OsStr) -> Result<RustcVersion> {
        let mut command = Command::new(rustc);
        remove_package_variables(&mut command);
        let output = command
            .arg("-vV")
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(Error::start(rustc))?;
        let verbose = String::from_utf8_lossy(&output.stdout).into_owned();
        let host = verbose.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
        match host {
            Some(host) if output.status.success() => Ok(RustcVersion { verbose, host }),
            _ => Err(Error::Answer { program: "rustc -vV".into(), reason: "it names no host".into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_package_variable;

    #[test]
    fn only_what_describes_a_package_is_removed() {
        for name in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "CARGO_BIN_EXE_tool", "OUT_DIR"] {
            assert!(is_package_variable(name), "{name}");
        }
        for name in ["CARGO_TARGET_DIR", "CARGO_HOME", "RUSTFLAGS", "CARGO", "CARGO_PROFILE_RELEASE_DEBUG"] {
            assert!(!is_package_variable(name), "{name}");
        }
    }
}
