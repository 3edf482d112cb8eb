//! The modules of the engine form layers: each imports modules below it only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The top-level modules, from the bottom up. A module may import those that come before it.
const LAYERS: [&str; 23] = [
    "in_place",
    "platform",
    "op",
    "rng",
    "left_out",
    "schedule",
    "site",
    "coverage",
    "isolate",
    "detect",
    "outcome",
    "happens_before",
    "location_table",
    "weak_memory",
    "graph",
    "spinloop",
    "model_checker",
    "trace",
    "thread",
    "strategy",
    "execution",
    "semantics",
    "interface",
];
/// Above all others.
const TOP: &str = "exploration";

#[test]
fn modules_import_only_those_below_them() {
    let mut imports = Imports::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), None, &mut imports);
    let layer = |module: &str| LAYERS.iter().chain([&TOP]).position(|known| *known == module);
    for ((importer, imported), line) in &imports {
        let (above, below) = (layer(importer), layer(imported));
        assert!(above.is_some(), "`{importer}` has no place in LAYERS");
        assert!(below < above, "`{importer}` imports `{imported}`, which is not below it:\n  {line}");
    }
}

/// For each importing and imported module, a line that imports.
type Imports = BTreeMap<(String, String), String>;

/// Reads the files of a directory, all of which belong to a module, or to one each.
fn read(directory: &Path, module: Option<&str>, imports: &mut Imports) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let top = module.unwrap_or(&name);
        if path.is_dir() {
            read(&path, Some(top), imports);
        } else if top != "lib" {
            let text = fs::read_to_string(&path).unwrap();
            // Tests may use what they like.
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let is_test = name.ends_with("tests") || directory.ends_with("tests");
            for line in code.lines().filter(|_| !is_test) {
                for imported in imported(line).into_iter().filter(|imported| imported != top) {
                    let shown = format!("{}: {}", path.display(), line.trim());
                    imports.entry((top.to_owned(), imported)).or_insert(shown);
                }
            }
        }
    }
}

/// The top-level modules that paths of a line begin with.
fn imported(line: &str) -> BTreeSet<String> {
    let code = line.split("//").next().unwrap_or_default();
    let mut modules = BTreeSet::new();
    for (at, start) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + start.len()..];
        let names = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or_default(),
            None => rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default(),
        };
        let first = |name: &str| name.trim().split("::").next().unwrap_or_default().to_owned();
        modules.extend(names.split(',').map(first).filter(|name| !name.is_empty()));
    }
    modules
}

#[test]
fn imports_are_found() {
    let check = |line: &str, expected: &[&str]| {
        assert_eq!(imported(line).iter().map(String::as_str).collect::<Vec<_>>(), expected, "{line}");
    };
    check("use crate::graph::event::{Access, NONE};", &["graph"]);
    check("    pub(crate) use crate::{sys, trace::Action};", &["sys", "trace"]);
    check("fn f() -> crate::op::Order { $crate::graph::save } // crate::hooks", &["op"]);
}
