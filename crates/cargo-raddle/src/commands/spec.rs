//! `cargo raddle spec`: a specification from the code, to be edited.

use clap::Args;

use crate::cargo::{Cargo, CargoOptions, RustcVersion};
use crate::error::{Error, Result, exit};
use crate::refine::extract::{Crates, extract, resolve, write};

/// `cargo raddle spec`
#[derive(Args, Debug)]
pub(crate) struct SpecArgs {
    /// The path of the type, in this workspace or in one of its dependencies: my_crate::Map
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) manifest: crate::cargo::options::Manifest,
}

/// Prints the specification of a type, and on standard error what could not be mapped.
pub(crate) fn spec(args: SpecArgs) -> Result<u8> {
    let options = CargoOptions { manifest: args.manifest, ..CargoOptions::default() };
    let host = RustcVersion::of("rustc".as_ref())?.host;
    let metadata = Cargo::from_env().metadata(&options, &host)?;
    let crates = Crates::new(&metadata);
    let path = args.path.split('<').next().unwrap_or_default().trim();
    let found = resolve(&crates, path)?;
    let extracted = extract(&found, path);
    let name = path.split("::").next().unwrap_or_default();
    let package = crates.package(name).ok_or_else(|| Error::usage("the crate has no package"))?;
    for note in &extracted.notes {
        eprintln!("note: {note}");
    }
    if extracted.methods.is_empty() {
        return Err(Error::usage(format_args!("`{path}` has no method that a specification could have")));
    }
    let is_member = metadata.members().any(|member| member.id == package.id);
    print!("{}", write(path, package, is_member, &extracted));
    Ok(exit::PASSED)
}
