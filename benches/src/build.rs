//! Builds what is measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Result<T> = std::result::Result<T, String>;

/// The instrumented program, built by the alias `cargo raddle` of this repository.
pub(crate) fn engine() -> Result<PathBuf> {
    build_engine(&["--release"])
}

/// The same in the profile in which tests fail: variables are in frames, where objects are found.
pub(crate) fn unoptimised_engine() -> Result<PathBuf> {
    build_engine(&[])
}

fn build_engine(profile: &[&str]) -> Result<PathBuf> {
    let args = "raddle build -p raddle-benches --bench engine";
    let output = run(cargo().args(args.split(' ')).args(profile).stdout(Stdio::piped()))?;
    let path = output.lines().last().ok_or("`cargo raddle build` named no program")?;
    Ok(path.into())
}

/// The peers and the references, built by plain cargo.
pub(crate) fn plain() -> Result<PathBuf> {
    let target = root().join("target").join("benches-plain");
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--manifest-path", "benches/plain/Cargo.toml"]);
    run(build.arg("--target-dir").arg(&target))?;
    Ok(target.join("release").join("raddle-benches-plain"))
}

fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the repository")
}

fn run(command: &mut Command) -> Result<String> {
    let child = command.spawn().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{command:?} failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
