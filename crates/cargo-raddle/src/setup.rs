//! What must hold of a workspace before its tests can be explored.
//!
//! Each check looks for a set-up that would run tests and explore nothing, or something else than the user thinks. Whatever it
//! finds is one sentence.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cargo::Metadata;
use crate::cargo::metadata::{Node, Package};
use crate::error::{Error, Result};

/// The version of what this command and the crate `raddle` tell each other (`run/contract.rs`): the crate has it as `contract` in
/// `[package.metadata.raddle]` of its manifest. It changes when an older command could run tests of a newer crate and not explore.
const CONTRACT: u64 = 1;

/// Checks the workspace.
///
/// # Errors
/// If tests could not be explored.
pub(crate) fn check(metadata: &Metadata) -> Result<()> {
    metadata.packages.iter().filter(|package| package.name == "raddle").try_for_each(check_contract)?;
    check_single(metadata)
}

/// Checks that programs for the target can be explored, and that its standard library is there.
///
/// # Errors
/// If not. Cargo would say so later, and not in one sentence.
pub(crate) fn check_target(rustc: &OsStr, target: &str) -> Result<()> {
    if !(target.starts_with("x86_64-") && target.ends_with("-linux-gnu")) {
        return Err(Error::NotExplored(format!(
            "Raddle explores programs for x86_64-unknown-linux-gnu only, not for `{target}`: leave out `--target` and `build.target`"
        )));
    }
    let mut command = Command::new(rustc);
    command.args(["--print", "target-libdir", "--target", target]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().map_err(Error::start(rustc))?;
    let directory = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && Path::new(directory.trim()).is_dir() {
        return Ok(());
    }
    Err(Error::usage(format_args!(
        "the compiler has no standard library for the target `{target}`: install it with `rustup target add {target}`"
    )))
}

/// The crate speaks of what this command understands.
fn check_contract(raddle: &Package) -> Result<()> {
    let contract =
        raddle.metadata.pointer("/raddle/contract").and_then(serde_json::Value::as_u64).unwrap_or(0);
    let (which, how) = match contract {
        CONTRACT => return Ok(()),
        older if older < CONTRACT => ("older", "update the dependency `raddle`"),
        _ => ("newer", "install the newest command with `cargo install cargo-raddle`"),
    };
    Err(Error::NotExplored(format!(
        "the crate `raddle` {} is {which} than `cargo raddle` {} can run: {how}",
        raddle.version,
        env!("CARGO_PKG_VERSION")
    )))
}

/// No member has two versions of Raddle, each of which would see half of what happens.
fn check_single(metadata: &Metadata) -> Result<()> {
    let nodes: HashMap<&str, &Node> = metadata.resolve.nodes.iter().map(|node| (&*node.id, node)).collect();
    for member in metadata.members() {
        let mut queue = vec![&*member.id];
        let mut seen: HashSet<&str> = HashSet::from([&*member.id]);
        while let Some(id) = queue.pop() {
            for dependency in nodes.get(id).map_or(&[][..], |node| &node.deps) {
                let linked = dependency.dep_kinds.iter().any(|kind| match kind.kind.as_deref() {
                    None => true,
                    // Only those of the member itself are built.
                    Some("dev") => id == member.id,
                    Some(_) => false,
                });
                if linked && seen.insert(&dependency.pkg) {
                    queue.push(&dependency.pkg);
                }
            }
        }
        let linked = metadata.packages.iter().filter(|package| seen.contains(&*package.id));
        let versions: BTreeSet<&str> =
            linked.filter(|package| package.name == "raddle").map(|package| &*package.version).collect();
        if versions.len() > 1 {
            return Err(Error::NotExplored(format!(
                "tests of `{}` would link Raddle {}, and none of them sees everything: make all dependencies use one version (`cargo \
                 tree -i raddle` shows who uses which)",
                member.name,
                versions.into_iter().collect::<Vec<_>>().join(" and ")
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(id: &str, name: &str, contract: u64) -> serde_json::Value {
        json!({
            "id": id, "name": name, "version": id.rsplit('@').next(), "manifest_path": "Cargo.toml", "targets": [],
            "metadata": {"raddle": {"contract": contract}},
        })
    }

    #[test]
    fn an_older_or_newer_crate_is_refused() {
        let check = |contract| {
            let raddle = serde_json::from_value(package("raddle@0.9.0", "raddle", contract)).unwrap();
            check_contract(&raddle).map_err(|error| error.to_string())
        };
        assert_eq!(check(CONTRACT), Ok(()));
        assert!(check(CONTRACT + 1).unwrap_err().contains("raddle` 0.9.0 is newer than"));
        assert!(check(0).unwrap_err().contains("is older than"));
    }

    #[test]
    fn two_versions_are_refused_where_one_test_would_link_both() {
        let dependency = |id: &str, kind: Option<&str>| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let check = |helper_links: bool| {
            let metadata: Metadata = serde_json::from_value(json!({
                "packages": [
                    package("a@1.0.0", "a", 1), package("b@1.0.0", "b", 1), package("helper@1.0.0", "helper", 1),
                    package("raddle@1.0.0", "raddle", 1), package("raddle@2.0.0", "raddle", 1),
                ],
                "workspace_members": ["a@1.0.0", "b@1.0.0"], "workspace_root": "", "target_directory": "",
                "resolve": {"nodes": [
                    {"id": "a@1.0.0", "deps": [dependency("raddle@1.0.0", Some("dev")), dependency("helper@1.0.0", None)]},
                    {"id": "b@1.0.0", "deps": [dependency("raddle@2.0.0", Some("dev"))]},
                    {"id": "helper@1.0.0", "deps": [dependency("raddle@2.0.0", (!helper_links).then_some("dev"))]},
                ]},
            }))
            .unwrap();
            check_single(&metadata).map_err(|error| error.to_string())
        };
        assert_eq!(check(false), Ok(()));
        let sentence = check(true).unwrap_err();
        assert!(sentence.starts_with("tests of `a` would link Raddle 1.0.0 and 2.0.0"), "{sentence}");
    }
}
