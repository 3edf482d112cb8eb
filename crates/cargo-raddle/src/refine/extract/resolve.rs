//! Paths to types, through modules and re-exports.

use std::rc::Rc;

use syn::{Item, UseTree, Visibility};

use super::crates::{Crate, Crates};
use crate::error::{Error, Result};

/// A type that was found.
pub(crate) struct Found {
    /// The crate that defines it.
    pub(crate) krate: Rc<Crate>,
    /// Its name there.
    pub(crate) name: String,
    /// Its definition.
    pub(crate) item: Item,
}

/// More re-exports in a row than this are a circle.
const MOST_STEPS: usize = 32;

/// Finds a type by its path, which begins with a crate.
pub(crate) fn resolve(crates: &Crates<'_>, path: &str) -> Result<Found> {
    let segments: Vec<String> = path.split("::").map(|segment| segment.trim().to_owned()).collect();
    if segments.len() < 2 || segments.iter().any(String::is_empty) {
        return Err(Error::usage(format_args!(
            "`{path}` is no path of a type: write the crate first, as in my_crate::Map"
        )));
    }
    let Some(krate) = crates.read(&segments[0])? else {
        return Err(Error::usage(format_args!(
            "there is no crate `{}` here: add it as a dependency, or write the name of a member of this workspace",
            segments[0]
        )));
    };
    let found = find(crates, &krate, &[], &segments[1..], MOST_STEPS)?;
    found.ok_or_else(|| {
        Error::usage(format_args!(
            "`{path}` was not found in the source of `{}`: is it public, and not made by a macro?",
            segments[0]
        ))
    })
}

/// Finds the rest of a path from a module.
fn find(
    crates: &Crates<'_>,
    krate: &Rc<Crate>,
    module: &[String],
    rest: &[String],
    steps: usize,
) -> Result<Option<Found>> {
    let (Some(first), Some(items), Some(steps)) =
        (rest.first(), krate.modules.get(module), steps.checked_sub(1))
    else {
        return Ok(None);
    };
    if rest.len() == 1
        && let Some(item) = items.iter().find(|item| defines(item, first))
    {
        return Ok(Some(Found { krate: krate.clone(), name: first.clone(), item: item.clone() }));
    }
    let inner = [module, std::slice::from_ref(first)].concat();
    if krate.modules.contains_key(&inner)
        && let Some(found) = find(crates, krate, &inner, &rest[1..], steps)?
    {
        return Ok(Some(found));
    }
    for item in items {
        let Item::Use(used) = item else { continue };
        if matches!(used.vis, Visibility::Inherited) && steps + 1 == MOST_STEPS {
            continue;
        }
        for (path, name) in flatten(&used.tree, Vec::new()) {
            let target = match name {
                Some(name) if name == *first => [path.as_slice(), &rest[1..]].concat(),
                Some(_) => continue,
                None => [path.as_slice(), rest].concat(),
            };
            if let Some(found) = follow(crates, krate, module, &target, steps)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Follows the path of a `use` in a module.
fn follow(
    crates: &Crates<'_>,
    krate: &Rc<Crate>,
    module: &[String],
    path: &[String],
    steps: usize,
) -> Result<Option<Found>> {
    let Some(first) = path.first() else { return Ok(None) };
    match first.as_str() {
        "crate" => find(crates, krate, &[], &path[1..], steps),
        "self" => find(crates, krate, module, &path[1..], steps),
        "super" => {
            let parent = &module[..module.len().saturating_sub(1)];
            follow(crates, krate, parent, &[&["self".to_owned()], &path[1..]].concat(), steps)
        }
        name => {
            let inner = [module, &[name.to_owned()]].concat();
            if krate.modules.contains_key(&inner) {
                return find(crates, krate, &inner, &path[1..], steps);
            }
            match crates.read(name)? {
                Some(other) if other.name != krate.name => find(crates, &other, &[], &path[1..], steps),
                _ => Ok(None),
            }
        }
    }
}

/// The paths of a `use`, each with the name that it gets; nothing for `*`.
fn flatten(tree: &UseTree, prefix: Vec<String>) -> Vec<(Vec<String>, Option<String>)> {
    let with = |name: String| [prefix.as_slice(), &[name]].concat();
    match tree {
        UseTree::Path(path) => flatten(&path.tree, with(path.ident.to_string())),
        UseTree::Name(name) if name.ident == "self" => vec![(prefix.clone(), prefix.last().cloned())],
        UseTree::Name(name) => vec![(with(name.ident.to_string()), Some(name.ident.to_string()))],
        UseTree::Rename(name) => vec![(with(name.ident.to_string()), Some(name.rename.to_string()))],
        UseTree::Glob(_) => vec![(prefix, None)],
        UseTree::Group(group) => group.items.iter().flat_map(|tree| flatten(tree, prefix.clone())).collect(),
    }
}

fn defines(item: &Item, name: &str) -> bool {
    match item {
        Item::Struct(item) => item.ident == name,
        Item::Enum(item) => item.ident == name,
        Item::Union(item) => item.ident == name,
        Item::Type(item) => item.ident == name,
        _ => false,
    }
}
