//! The few values of cargo's configuration that Raddle must know because it sets them itself.
//!
//! Cargo is asked rather than the files read: the hierarchy of files, includes and `--config` is its business. The
//! question (`cargo config get`) is still behind a feature gate, so it is asked with the gate open; that process builds
//! nothing. A cargo that does not answer counts as one that has nothing configured.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use super::{Cargo, CargoOptions, UNSTABLE};

/// What the user configured, by environment, files or `--config`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Config {
    /// `build.rustc`.
    pub(crate) rustc: Option<OsString>,
    /// `build.rustc-wrapper`: what Raddle's wrapper calls in turn.
    pub(crate) rustc_wrapper: Option<OsString>,
    /// `build.target`.
    pub(crate) target: Option<String>,
}

impl Config {
    /// Asks the environment, then cargo.
    pub(crate) fn read(cargo: &Cargo, options: &CargoOptions) -> Config {
        let mut command = cargo.command();
        command.env(UNSTABLE.0, UNSTABLE.1);
        command.args(["-Z", "unstable-options"]).args(options.manifest.config_args());
        command.args(["config", "get", "--show-origin", "build"]);
        let files = match command.output() {
            Ok(output) if output.status.success() => Config::parse(
                &String::from_utf8_lossy(&output.stdout),
                &env::current_dir().unwrap_or_default(),
            ),
            _ => Config::default(),
        };
        Config {
            rustc: variable("RUSTC").or(variable("CARGO_BUILD_RUSTC")).or(files.rustc),
            // An empty RUSTC_WRAPPER is cargo's way to say: none, whatever the files say.
            rustc_wrapper: match env::var_os("RUSTC_WRAPPER") {
                Some(wrapper) => Some(wrapper).filter(|wrapper| !wrapper.is_empty()),
                None => variable("CARGO_BUILD_RUSTC_WRAPPER").or(files.rustc_wrapper),
            },
            target: env::var("CARGO_BUILD_TARGET").ok().filter(|target| !target.is_empty()).or(files.target),
        }
    }

    /// Reads lines such as `build.rustc-wrapper = "./tool" # /home/me/.cargo/config.toml`.
    fn parse(answer: &str, directory: &Path) -> Config {
        let mut config = Config::default();
        for line in answer.lines() {
            let Some((key, rest)) = line.split_once(" = ") else { continue };
            // A TOML basic string is close enough to a JSON string for paths and triples.
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let Some(Ok(value)) = values.next() else { continue };
            let origin = rest[values.byte_offset()..].trim_start().strip_prefix("# ").unwrap_or("");
            let program = || Some(program_path(&value, Path::new(origin), directory));
            match key {
                "build.rustc" => config.rustc = program(),
                "build.rustc-wrapper" if !value.is_empty() => config.rustc_wrapper = program(),
                "build.target" => config.target = Some(value),
                _ => {}
            }
        }
        config
    }
}

/// A program in a configuration file: a bare name is looked up in `PATH`, anything else is relative to the directory
/// that holds the file's `.cargo`.
fn program_path(value: &str, origin: &Path, directory: &Path) -> OsString {
    if !value.contains(std::path::is_separator) {
        return value.into();
    }
    let base = if origin.is_absolute() { origin.parent().and_then(Path::parent) } else { None };
    base.unwrap_or(directory).join(value).into()
}

fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_directory_that_is_configured() {
        let answer = "\
build.rustc-wrapper = \"./tools/wrap\" # /home/me/project/.cargo/config.toml
build.target = \"x86_64-unknown-linux-musl\" # --config cli option
build.target-dir = \"elsewhere\" # /home/me/.cargo/config.toml
# The following environment variables may affect the loaded values.
";
        let config = Config::parse(answer, Path::new("/here"));
        assert_eq!(config.rustc_wrapper, Some("/home/me/project/./tools/wrap".into()));
        assert_eq!(config.target.as_deref(), Some("x86_64-unknown-linux-musl"));
        assert_eq!(config.rustc, None);
    }

    #[test]
    fn a_bare_name_is_left_to_the_path() {
        let config =
            Config::parse("build.rustc-wrapper = \"sccache\" # /a/.cargo/config.toml\n", Path::new("/"));
        assert_eq!(config.rustc_wrapper, Some("sccache".into()));
    }
}
