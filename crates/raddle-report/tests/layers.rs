//! The layers of the crate: each module imports only the modules below it.

use std::fs;
use std::path::{Path, PathBuf};

/// Every module of the crate with the modules that it may use, besides itself.
const LAYERS: [(&str, &[&str]); 10] = [
    ("failure", &[]),
    ("file", &["failure"]),
    ("graph", &["failure"]),
    ("narrative", &["failure", "graph"]),
    ("page", &[]),
    ("terminal", &["failure", "graph", "narrative", "page"]),
    ("picture", &["failure", "graph", "narrative", "page"]),
    ("html", &["failure", "graph", "narrative", "page", "terminal", "picture"]),
    ("export", &["failure", "narrative", "page"]),
    ("query", &["failure", "graph", "narrative", "page"]),
];

#[test]
fn modules_use_only_the_modules_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut offences = Vec::new();
    for file in sources(&root) {
        let relative = file.strip_prefix(&root).unwrap();
        let module = module_path(relative);
        // The root declares the modules and re-exports from them.
        let Some(layer) = module.first() else { continue };
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| name == layer) else {
            panic!("src/{} is in no layer: add `{layer}` to LAYERS", relative.display());
        };
        let text = fs::read_to_string(&file).unwrap();
        for (line, used) in used_modules(&text, &module) {
            if used != *layer && !allowed.contains(&used.as_str()) {
                let source = text.lines().nth(line - 1).unwrap_or_default().trim();
                offences.push(format!("src/{}:{line}: {layer} uses {used}: {source}", relative.display()));
            }
        }
    }
    assert!(offences.is_empty(), "imports against the layers:\n{}", offences.join("\n"));
}

#[test]
fn imports_are_found_however_they_are_written() {
    let check = |text: &str, module: &[&str], expected: &[(usize, &str)]| {
        let module: Vec<String> = module.iter().map(|&part| part.to_owned()).collect();
        let found = used_modules(text, &module);
        let found: Vec<(usize, &str)> = found.iter().map(|(line, used)| (*line, used.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    };
    check("use crate::terminal::x;", &["graph"], &[(1, "terminal")]);
    check("use crate::{\n    graph::x,\n    page::{a, b},\n};", &["graph"], &[(2, "graph"), (3, "page")]);
    check("\nfn f() -> crate::page::Style {}", &["graph"], &[(2, "page")]);
    check("use crate::Failure;", &["graph"], &[(1, "Failure")]);
    check("use super::super::terminal;", &["graph", "cycle"], &[(1, "terminal")]);
    check("use super::terminal;", &["graph"], &[(1, "terminal")]);
    check("use super::{page, terminal};", &["graph"], &[(1, "page"), (1, "terminal")]);
    check("use super::terminal;", &["graph", "cycle"], &[(1, "graph")]);
    check("pub(crate) use self::x; // crate::terminal", &["graph"], &[]);
    check("/// [`crate::terminal`]\n//! crate::page", &["graph"], &[]);
}

/// All Rust files under a directory.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The module path of a source file: `graph/cycle.rs` is `graph::cycle`, `lib.rs` is the root.
fn module_path(relative: &Path) -> Vec<String> {
    let mut path: Vec<String> =
        relative.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

/// The top-level modules (or items of the root) that the paths in a file lead to, each with its line.
fn used_modules(text: &str, module: &[String]) -> Vec<(usize, String)> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let mut found = Vec::new();
    for start in path_starts(&code) {
        let mut rest = &code[start..];
        let mut base = module.to_vec();
        if let Some(after) = rest.strip_prefix("crate::") {
            base.clear();
            rest = after;
        }
        while let Some(after) = rest.strip_prefix("super::") {
            base.pop();
            rest = after;
        }
        let offset = code.len() - rest.len();
        for (at, name) in first_names(rest) {
            let line = code[..offset + at].matches('\n').count() + 1;
            let used = base.first().cloned().unwrap_or_else(|| name.to_owned());
            found.push((line, used));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Where paths begin with `crate::` or `super::`.
fn path_starts(code: &str) -> Vec<usize> {
    let starts = code.match_indices("crate::").chain(code.match_indices("super::")).map(|(at, _)| at);
    // Not the second half of `super::super::`, of `$crate::` or of a longer name.
    let continues = |c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '$';
    starts.filter(|&at| !code[..at].ends_with(continues)).collect()
}

/// The first name of a path, or the first names of all branches of a use group, each with its offset.
fn first_names(path: &str) -> Vec<(usize, &str)> {
    let name_at = |at: usize| {
        let end = path[at..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len() - at);
        (at, &path[at..at + end])
    };
    if !path.starts_with('{') {
        return vec![name_at(0)];
    }
    let (mut depth, mut is_first, mut names) = (0, false, Vec::new());
    for (at, c) in path.char_indices() {
        match c {
            '{' => (depth, is_first) = (depth + 1, depth == 0),
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => is_first = true,
            c if is_first && !c.is_whitespace() => {
                names.push(name_at(at));
                is_first = false;
            }
            _ => {}
        }
    }
    names
}
