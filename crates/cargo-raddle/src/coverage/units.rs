//! The origin of code: the crate or the source file that it was compiled from, and whether that was instrumented.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use gimli::{AttributeValue, EndianSlice, LittleEndian};

use super::elf::Elf;
use crate::instrument::Uninstrumented;

/// Where code comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    Instrumented,
    /// Raddle itself.
    Raddle,
    /// The standard library, as the toolchain has it.
    Std,
    /// A crate that was compiled without instrumentation.
    Crate(String),
    /// A source file in another language.
    Foreign(String),
    /// A shared library.
    Imported,
    /// Code without debug information: assembly, or a library that was compiled elsewhere.
    Unknown,
}

/// The origin of each part of a program's code, from its debug information.
pub(super) struct Units {
    /// By address.
    ranges: Vec<(Range<u64>, usize)>,
    origins: Vec<Origin>,
}

type Slice<'a> = EndianSlice<'a, LittleEndian>;

impl Units {
    /// Reads the debug information; units that cannot be read have no known code.
    pub(super) fn read(elf: &Elf, uninstrumented: &Uninstrumented) -> Units {
        let mut units = Units { ranges: Vec::new(), origins: Vec::new() };
        let load = |id: gimli::SectionId| -> gimli::Result<Slice<'_>> {
            Ok(EndianSlice::new(elf.section(id.name()), LittleEndian))
        };
        let Ok(dwarf) = gimli::Dwarf::load(load) else { return units };
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let _ = units.add(&dwarf, header, uninstrumented);
        }
        units.ranges.sort_by_key(|(range, _)| range.start);
        units
    }

    fn add<'a>(
        &mut self,
        dwarf: &gimli::Dwarf<Slice<'a>>,
        header: gimli::UnitHeader<Slice<'a>>,
        uninstrumented: &Uninstrumented,
    ) -> gimli::Result<()> {
        let unit = dwarf.unit(header)?;
        let mut entries = unit.entries();
        let Some(root) = entries.next_dfs()? else { return Ok(()) };
        let is_rust =
            root.attr_value(gimli::DW_AT_language) == Some(AttributeValue::Language(gimli::DW_LANG_Rust));
        let path =
            |slice: Option<Slice<'a>>| slice.map_or(Cow::Borrowed(""), |slice| slice.to_string_lossy());
        let (name, directory) = (path(unit.name), path(unit.comp_dir));
        let origin = origin(is_rust, &name, &directory, uninstrumented);
        let mut ranges = dwarf.unit_ranges(&unit)?;
        while let Some(range) = ranges.next()? {
            // The linker leaves code that it removed at zero.
            if range.begin != 0 && range.begin < range.end {
                self.ranges.push((range.begin..range.end, self.origins.len()));
            }
        }
        self.origins.push(origin);
        Ok(())
    }

    /// The origin of the code at an address.
    pub(super) fn origin(&self, address: u64) -> &Origin {
        let after = self.ranges.partition_point(|(range, _)| range.start <= address);
        match self.ranges[..after].last() {
            Some((range, unit)) if range.contains(&address) => &self.origins[*unit],
            _ => &Origin::Unknown,
        }
    }
}

/// The origin of a unit. The compiler names units `src/lib.rs/@/name_of_crate.1d5b6a-cgu.3`, and in incremental builds
/// `src/lib.rs/@/0628ya7y7u42hp9jyyh3amjog`.
fn origin(is_rust: bool, name: &str, directory: &str, uninstrumented: &Uninstrumented) -> Origin {
    if !is_rust {
        return Origin::Foreign(name.to_owned());
    }
    let (source, unit) = name.split_once("/@/").unwrap_or((name, ""));
    let source = Path::new(directory).join(source);
    if ["/rustc/", "/rust/"].iter().any(|prefix| source.starts_with(prefix)) {
        return Origin::Std;
    }
    let canonical: PathBuf = source.canonicalize().unwrap_or_else(|_| source.clone());
    let is_listed = [&uninstrumented.engine, &uninstrumented.listed]
        .iter()
        .any(|sources| sources.contains(&source) || sources.contains(&canonical));
    let name = match unit.split_once('.') {
        Some((name, _)) => name.to_owned(),
        None => package_of(&source),
    };
    match (is_listed, name) {
        (false, name) if name == PASSTHROUGH => Origin::Raddle,
        (false, _) => Origin::Instrumented,
        (true, name) if name == "raddle" || name.starts_with("raddle_") => Origin::Raddle,
        (true, name) => Origin::Crate(name),
    }
}

/// The name of the package that a source file belongs to, by its directory, which has a version behind the name in the registry.
pub(super) fn package_of(source: &Path) -> String {
    let directory = source.ancestors().skip(1).find(|directory| !directory.ends_with("src"));
    let name = directory.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = match name.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => &name,
    };
    name.replace('-', "_")
}

/// The crate that is linked to every program for what instrumented code calls.
const PASSTHROUGH: &str = "raddle_passthrough";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_named_by_their_crate() {
        let uninstrumented = Uninstrumented {
            engine: ["/r/raddle-engine/src/lib.rs".into(), "/c/rustc-hash/src/lib.rs".into()].into(),
            listed: ["/w/quick/src/lib.rs".into()].into(),
        };
        let of = |name: &str, directory: &str| origin(true, name, directory, &uninstrumented);
        assert_eq!(of("tests/a.rs/@/a.12-cgu.0", "/w"), Origin::Instrumented);
        assert_eq!(of("quick/src/lib.rs/@/quick.12-cgu.0", "/w"), Origin::Crate("quick".to_owned()));
        assert_eq!(of("src/lib.rs/@/raddle_engine.12-cgu.0", "/r/raddle-engine"), Origin::Raddle);
        let hash = "/c/rustc-hash/src/lib.rs/@/rustc_hash.12-cgu.0";
        assert_eq!(of(hash, "/w"), Origin::Crate("rustc_hash".to_owned()));
        assert_eq!(of("library/std/src/lib.rs/@/std.12-cgu.0", "/rustc/59807616e"), Origin::Std);
        assert_eq!(of("src/lib.rs/@/0628ya7y7u42hp9jyyh3amjog", "/r/raddle-engine"), Origin::Raddle);
        assert_eq!(
            of("quick/src/lib.rs/@/0628ya7y7u42hp9jyyh3amjog", "/w"),
            Origin::Crate("quick".to_owned())
        );
        assert_eq!(package_of(Path::new("/c/rustc-hash-2.1.1/src/lib.rs")), "rustc_hash");
        assert_eq!(origin(false, "zip.c", "/c", &uninstrumented), Origin::Foreign("zip.c".to_owned()));
    }
}
