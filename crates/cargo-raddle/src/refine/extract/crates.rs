//! The source of crates, module by module.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use syn::{Attribute, Item, ItemMod};

use crate::cargo::Metadata;
use crate::cargo::metadata::Package;
use crate::error::{Error, Result};

/// The crates of a workspace and its dependencies.
pub(crate) struct Crates<'a> {
    metadata: &'a Metadata,
    read: RefCell<HashMap<String, Rc<Crate>>>,
}

/// One crate.
pub(crate) struct Crate {
    /// Its name in paths.
    pub(crate) name: String,
    /// The items of each module, by its path in the crate.
    pub(crate) modules: HashMap<Vec<String>, Vec<Item>>,
}

impl<'a> Crates<'a> {
    pub(crate) fn new(metadata: &'a Metadata) -> Crates<'a> {
        Crates { metadata, read: RefCell::default() }
    }

    /// The package of a crate, by its name in paths.
    pub(crate) fn package(&self, name: &str) -> Option<&'a Package> {
        let has = |package: &&Package| {
            package.library().is_some_and(|library| library.name.replace('-', "_") == name)
        };
        // Members of the workspace first: they may share a name with something in the registry.
        self.metadata.members().find(has).or(self.metadata.packages.iter().find(has))
    }

    /// The source of a crate.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Rc<Crate>>> {
        if let Some(known) = self.read.borrow().get(name) {
            return Ok(Some(known.clone()));
        }
        let Some(library) = self.package(name).and_then(Package::library) else { return Ok(None) };
        let mut modules = HashMap::new();
        read_file(&library.src_path, Vec::new(), true, &mut modules)?;
        let read = Rc::new(Crate { name: name.to_owned(), modules });
        self.read.borrow_mut().insert(name.to_owned(), read.clone());
        Ok(Some(read))
    }
}

type Modules = HashMap<Vec<String>, Vec<Item>>;

/// Reads a file and the modules that it declares. `at_root` says that its modules are beside it, as those of `lib.rs` and `mod.rs` are.
fn read_file(path: &Path, module: Vec<String>, at_root: bool, modules: &mut Modules) -> Result<()> {
    let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
    let file = syn::parse_file(&text)
        .map_err(|error| Error::usage(format_args!("cannot read {}: {error}", path.display())))?;
    let beside = path.parent().unwrap_or(Path::new("")).to_owned();
    let directory = match (at_root, module.last()) {
        (false, Some(_)) => beside.join(path.file_stem().unwrap_or_default()),
        _ => beside,
    };
    read_items(&file.items, module.clone(), &directory, modules)?;
    modules.entry(module).or_default().extend(file.items);
    Ok(())
}

fn read_items(items: &[Item], module: Vec<String>, directory: &Path, modules: &mut Modules) -> Result<()> {
    for item in items {
        let Item::Mod(declared) = item else { continue };
        if is_for_tests(&declared.attrs) {
            continue;
        }
        let name = declared.ident.to_string();
        let mut inner = module.clone();
        inner.push(name.clone());
        if let Some((_, items)) = &declared.content {
            read_items(items, inner.clone(), &directory.join(&name), modules)?;
            modules.entry(inner).or_default().extend(items.iter().cloned());
            continue;
        }
        // A module that is not there is behind a `cfg`, or made by a build script.
        if let Some((path, at_root)) = file_of(declared, directory) {
            read_file(&path, inner, at_root, modules)?;
        }
    }
    Ok(())
}

fn file_of(declared: &ItemMod, directory: &Path) -> Option<(PathBuf, bool)> {
    let named = declared.attrs.iter().find_map(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { return None };
        pair.path.is_ident("path").then(|| directory.join(text.value()))
    });
    if let Some(path) = named {
        return path.exists().then_some((path, true));
    }
    let name = declared.ident.to_string();
    let (file, inner) = (directory.join(format!("{name}.rs")), directory.join(&name).join("mod.rs"));
    match (file.exists(), inner.exists()) {
        (true, _) => Some((file, false)),
        (_, true) => Some((inner, true)),
        _ => None,
    }
}

/// Whether an item is there in tests only.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("cfg") && matches!(list.tokens.to_string().as_str(), "test" | "loom" | "shuttle")
    })
}
