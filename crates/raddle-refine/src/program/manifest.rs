//! The manifest of a generated project.

use std::path::Path;

use super::driver::Tester;
use crate::spec::{Dependency, Spec};

/// Where Raddle's own crates come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The directory that has them.
    Directory(String),
    /// The registry, in this version.
    Registry(String),
}

impl Origin {
    fn dependency(&self, name: &str, options: &str) -> String {
        match self {
            Origin::Directory(directory) => {
                format!("{name} = {{ path = {:?}{options} }}", format!("{directory}/{name}"))
            }
            Origin::Registry(version) => format!("{name} = {{ version = {version:?}{options} }}"),
        }
    }
}

/// The manifest of a driver. Paths in the specification are relative to `base`.
pub fn manifest(name: &str, spec: &Spec, tester: Tester, base: &Path, origin: &Origin) -> String {
    let mut text = format!(
        "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [lib]\npath = \"lib.rs\"\ntest = false\ndoctest = false\n\n[dependencies]\n"
    );
    for dependency in &spec.dependencies {
        text.push_str(&format!("{}\n", line(dependency, base)));
    }
    text.push_str(&match tester {
        Tester::Model => origin.dependency("raddle", ""),
        Tester::Stress => {
            origin.dependency("raddle-refine", ", default-features = false, features = [\"native\"]")
        }
        Tester::Loom | Tester::Shuttle => origin.dependency("raddle-refine", ", default-features = false"),
    });
    text.push('\n');
    let foreign = match tester {
        Tester::Loom => "loom = \"0.7\"\n",
        Tester::Shuttle => "shuttle = \"0.8\"\n",
        _ => "",
    };
    if !spec.dependencies.iter().any(|dependency| foreign.starts_with(&format!("{} =", dependency.name))) {
        text.push_str(foreign);
    }
    text.push_str("\n[[test]]\nname = \"driver\"\npath = \"driver.rs\"\nharness = false\n\n[workspace]\n");
    text
}

fn line(dependency: &Dependency, base: &Path) -> String {
    let Dependency { name, version, path, features, no_default_features } = dependency;
    let mut parts = Vec::new();
    if let Some(path) = path {
        let path = base.join(path);
        let path = path.canonicalize().unwrap_or(path);
        parts.push(format!("path = {:?}", path.display().to_string()));
    }
    if let Some(version) = version {
        parts.push(format!("version = {version:?}"));
    }
    if !features.is_empty() {
        parts.push(format!("features = {features:?}"));
    }
    if *no_default_features {
        parts.push("default-features = false".to_owned());
    }
    format!("{name} = {{ {} }}", parts.join(", "))
}
