//! The parts of `cargo metadata` that Raddle reads.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// A workspace with everything it depends on.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    #[serde(default)]
    pub(crate) workspace_default_members: Vec<String>,
    pub(crate) workspace_root: PathBuf,
    pub(crate) target_directory: PathBuf,
    pub(crate) resolve: Resolve,
    /// `[workspace.metadata]`.
    #[serde(default)]
    pub(crate) metadata: Value,
}

/// One package.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) targets: Vec<Target>,
    /// `[package.metadata]`.
    #[serde(default)]
    pub(crate) metadata: Value,
    #[serde(default)]
    pub(crate) authors: Vec<String>,
    pub(crate) description: Option<String>,
    pub(crate) homepage: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) license_file: Option<String>,
    pub(crate) readme: Option<String>,
    pub(crate) rust_version: Option<String>,
}

/// One target of a package.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
    /// Whether cargo tests its documentation.
    #[serde(default)]
    pub(crate) doctest: bool,
}

/// The dependency graph.
#[derive(Debug, Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

/// A package in the graph.
#[derive(Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) deps: Vec<Dependency>,
}

/// An edge of the graph.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) pkg: String,
    pub(crate) dep_kinds: Vec<DependencyKind>,
}

/// Why there is an edge: `None` is a normal dependency.
#[derive(Debug, Deserialize)]
pub(crate) struct DependencyKind {
    pub(crate) kind: Option<String>,
}

impl Metadata {
    /// The package with this id.
    pub(crate) fn package(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.id == id)
    }

    /// The members of the workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.workspace_members.iter().filter_map(|id| self.package(id))
    }

    /// The directories that files of sources are relative to: the workspace, and those that packages of registries lie in.
    pub(crate) fn source_roots(&self) -> Vec<PathBuf> {
        let packages = self.packages.iter().filter_map(|package| package.directory().parent());
        let others: BTreeSet<&Path> =
            packages.filter(|root| !root.starts_with(&self.workspace_root)).collect();
        std::iter::once(&*self.workspace_root).chain(others).map(Path::to_owned).collect()
    }

    /// The packages that cargo selects in `directory` (or for a manifest) when none is asked for.
    pub(crate) fn default_packages(&self, directory: &Path, manifest: Option<&Path>) -> Vec<&Package> {
        let manifest = match manifest {
            Some(manifest) => Some(directory.join(manifest)),
            None => {
                directory.ancestors().map(|dir| dir.join("Cargo.toml")).find(|manifest| manifest.exists())
            }
        };
        let manifest = manifest.and_then(|manifest| manifest.canonicalize().ok());
        let root = self.workspace_root.join("Cargo.toml").canonicalize().ok();
        let here = self.members().find(|package| package.manifest_path.canonicalize().ok() == manifest);
        match here {
            // In the workspace's root, the default members count, not the root package.
            Some(package) if manifest != root => vec![package],
            _ if !self.workspace_default_members.is_empty() => {
                self.workspace_default_members.iter().filter_map(|id| self.package(id)).collect()
            }
            Some(package) => vec![package],
            None => self.members().collect(),
        }
    }

    /// The roots and every package that they reach through normal dependencies. Procedural macros and what they need
    /// are not part of it: they run in the compiler.
    pub(crate) fn reachable<'a>(&'a self, roots: impl IntoIterator<Item = &'a Package>) -> Vec<&'a Package> {
        let nodes: HashMap<&str, &Node> = self.resolve.nodes.iter().map(|node| (&*node.id, node)).collect();
        let packages: HashMap<&str, &Package> =
            self.packages.iter().map(|package| (&*package.id, package)).collect();
        let mut queue: Vec<&str> = roots.into_iter().map(|package| &*package.id).collect();
        let mut seen: HashSet<&str> = queue.iter().copied().collect();
        let mut reached = Vec::new();
        while let Some(id) = queue.pop() {
            let Some(package) = packages.get(id).filter(|package| !package.is_proc_macro()) else { continue };
            reached.push(*package);
            for dependency in nodes.get(id).map_or(&[][..], |node| &node.deps) {
                let normal = dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
                if normal && seen.insert(&dependency.pkg) {
                    queue.push(&dependency.pkg);
                }
            }
        }
        reached
    }
}

impl Package {
    /// The directory of its manifest.
    pub(crate) fn directory(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// Its library, if it has one.
    pub(crate) fn library(&self) -> Option<&Target> {
        const LIBRARIES: [&str; 5] = ["lib", "rlib", "dylib", "cdylib", "staticlib"];
        self.targets.iter().find(|target| target.kind.iter().any(|kind| LIBRARIES.contains(&&**kind)))
    }

    fn is_proc_macro(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }
}
