//! The command without the feature `all`: it runs tests, and hands everything else over to the whole command.
//!
//! In Raddle's repository, `cargo raddle` is made without it: a fresh clone shows its first failure sooner.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::error::exit;

/// The commands that are here.
const KNOWN: [&str; 5] = ["test", "build", "nextest", "replay", "demo"];

/// Whether this program can do what the arguments ask for. Help is for the whole command to give.
pub(crate) fn knows(args: &[OsString]) -> bool {
    let mut own = args.iter().map(|arg| arg.to_string_lossy()).skip(1).take_while(|arg| arg != "--");
    own.next().is_some_and(|command| KNOWN.contains(&&*command))
        && own.all(|arg| !arg.starts_with("--coverage") && arg != "--help" && arg != "-h")
}

/// Becomes the whole command, which is built first.
#[cfg_attr(feature = "all", allow(dead_code, reason = "tests of the whole command ask what is known"))]
pub(crate) fn hand_over(args: &[OsString]) -> ExitCode {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join("../raddle/Cargo.toml").exists() {
        eprintln!(
            "error: this command was made without the feature `all`: `cargo install cargo-raddle` installs the whole one"
        );
        return ExitCode::from(exit::USAGE);
    }
    let mut whole = Cargo::from_env().command();
    whole.args(["run", "--quiet", "--package", "cargo-raddle", "--manifest-path"]).arg(workspace);
    let error = whole.arg("--").args(args.iter().skip(1)).exec();
    eprintln!("error: cannot run `{}`: {error}", whole.get_program().display());
    ExitCode::from(exit::USAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_handed_over() {
        let knows = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            super::knows(&args)
        };
        for line in ["test", "test -p a x -- --help", "demo --open", "replay a.json", "nextest run -p a"] {
            assert!(knows(&format!("cargo-raddle {line}")), "{line}");
        }
        for line in
            ["show a.json", "--help", "test --help", "test --coverage", "test --coverage-json=a", "help"]
        {
            assert!(!knows(&format!("cargo-raddle {line}")), "{line}");
        }
        assert!(!knows("cargo-raddle"));
    }
}
