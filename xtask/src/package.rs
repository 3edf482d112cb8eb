//! `cargo xtask package`: the crates as they would be published, verified, and used from outside of the repository.
//!
//! Cargo packs and builds each of them by itself. The packed crates and what they depend on then make up a directory that takes the place
//! of the registry, and a crate that knows nothing else has to find a failure.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{cargo, first_minutes, run};

/// Packs, verifies and uses the crates. Nothing is published.
pub(crate) fn main() -> bool {
    let metadata = metadata();
    let target = PathBuf::from(text(&metadata["target_directory"]));
    let crates: Vec<&Value> = packages(&metadata).filter(|package| is_published(package)).collect();
    let mut package = cargo();
    package.args(["package", "--locked"]);
    for published in &crates {
        package.args(["--package", &text(&published["name"])]);
    }
    if !run(&mut package) || !run(cargo().args(["build", "--quiet", "--package", "cargo-raddle"])) {
        return false;
    }
    match prepare(&metadata, &crates, &target) {
        Ok(outside) => finds_a_failure(&outside, &target),
        Err(error) => {
            eprintln!("the packages cannot be used: {error}");
            false
        }
    }
}

/// Writes the registry and the crate outside, and returns the directory of the latter.
fn prepare(metadata: &Value, crates: &[&Value], target: &Path) -> io::Result<PathBuf> {
    let (registry, outside) = (target.join("packed/registry"), target.join("packed/outside"));
    let _ = fs::remove_dir_all(target.join("packed"));
    fs::create_dir_all(&registry)?;
    for package in crates {
        let name = format!("{}-{}", text(&package["name"]), text(&package["version"]));
        let archive = target.join("package").join(format!("{name}.crate"));
        if !run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&registry)) {
            return Err(io::Error::other(format!("cannot unpack {}", archive.display())));
        }
        fs::write(registry.join(&name).join(CHECKSUMS), "{\"files\":{}}")?;
    }
    for package in needed(metadata, crates) {
        let name = format!("{}-{}", text(&package["name"]), text(&package["version"]));
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        copy(manifest.parent().unwrap_or(&manifest), &registry.join(&name))?;
        fs::write(registry.join(&name).join(CHECKSUMS), "{\"files\":{}}")?;
    }
    let version =
        crates.iter().find(|package| package["name"] == "raddle").map(|package| text(&package["version"]));
    let version = version.unwrap_or_default();
    let files = [
        (
            "Cargo.toml",
            format!(
                "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dev-dependencies]\nraddle = \"={version}\"\n\n[workspace]\n"
            ),
        ),
        (".cargo/config.toml", source(&registry)),
        ("src/lib.rs", first_minutes::LIBRARY.to_owned()),
        ("tests/counter.rs", first_minutes::TEST.to_owned()),
    ];
    for (file, text) in files {
        let file = outside.join(file);
        fs::create_dir_all(file.parent().unwrap_or(&outside))?;
        fs::write(file, text)?;
    }
    Ok(outside)
}

/// Whether a test outside fails as it should.
fn finds_a_failure(outside: &Path, target: &Path) -> bool {
    let mut test = Command::new(target.join("debug/cargo-raddle"));
    test.args(["raddle", "test", "--offline"]).current_dir(outside).env_remove("CARGO_TARGET_DIR");
    eprintln!("+ {test:?}");
    let Ok(output) = test.output() else { return false };
    let said = String::from_utf8_lossy(&output.stdout);
    let found = output.status.code() == Some(1) && said.contains("error: panic in test `counts_everything`");
    if !found {
        eprintln!("the packages do not find a failure\n{said}{}", String::from_utf8_lossy(&output.stderr));
        return false;
    }
    eprintln!("a crate outside of the repository found its failure with the packages");
    true
}

/// The file by which cargo knows the sources of a crate in a directory.
const CHECKSUMS: &str = ".cargo-checksum.json";

/// The configuration that puts a directory in the place of the registry.
fn source(registry: &Path) -> String {
    format!(
        "[source.crates-io]\nreplace-with = \"packed\"\n\n[source.packed]\ndirectory = {:?}\n",
        registry.display().to_string()
    )
}

fn metadata() -> Value {
    let output = cargo().args(["metadata", "--format-version", "1", "--locked", "--all-features"]).output();
    let output = output.unwrap_or_else(|error| panic!("cargo metadata: {error}"));
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn is_published(package: &Value) -> bool {
    package["source"].is_null() && package["publish"].is_null()
}

/// The packages of the registry that the published crates need, but for their tests.
fn needed<'m>(metadata: &'m Value, crates: &[&Value]) -> Vec<&'m Value> {
    let nodes = || metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut left: Vec<String> = crates.iter().map(|package| text(&package["id"])).collect();
    while let Some(id) = left.pop() {
        for dependency in
            nodes().filter(|node| node["id"] == *id).flat_map(|node| node["deps"].as_array()).flatten()
        {
            let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            let is_needed = kinds.into_iter().any(|kind| kind["kind"] != "dev");
            let id = text(&dependency["pkg"]);
            if is_needed && reached.insert(id.clone()) {
                left.push(id);
            }
        }
    }
    packages(metadata)
        .filter(|package| !package["source"].is_null() && reached.contains(&text(&package["id"])))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
