use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::classify::{Around, classify};
use crate::dwarf::{self, Dwarf, Entry, Offset, Sections, Unit};
use crate::image::Image;
use crate::lines::{Lines, file_path};
use crate::statics::{self, Statics};
use crate::symbols::Symbols;
use crate::types::Types;
use crate::units::{Part, UnitIndex, UnitTable};
use crate::{Frame, ReflectError, Site, locals, names, paths};

/// A program with its debug information, loaded at some address.
///
/// All addresses asked about are those of the running program. What is not known is `None` or empty: a program
/// without debug information answers everything, with nothing.
pub struct Program {
    image: Image,
    bias: u64,
    running_in: Option<PathBuf>,
    sections: OnceLock<Sections>,
    index: OnceLock<UnitIndex>,
    tables: Mutex<HashMap<usize, Arc<UnitTable>>>,
    symbols: OnceLock<Symbols>,
    units_by_crate: OnceLock<HashMap<String, Vec<usize>>>,
    statics: Mutex<HashMap<String, Arc<Statics>>>,
}

impl Program {
    /// Opens a program file; `load_bias` is what its loader added to the addresses in the file.
    ///
    /// Reads the table of sections only.
    pub fn open(path: &Path, load_bias: u64) -> Result<Program, ReflectError> {
        Ok(Program::of(Image::open(path)?, load_bias))
    }

    /// Opens the running program.
    ///
    /// ```
    /// let program = raddle_reflect::Program::current().unwrap();
    /// assert!(!program.build_id().is_empty());
    /// ```
    pub fn current() -> Result<Program, ReflectError> {
        let image = Image::open(Path::new("/proc/self/exe"))?;
        let bias = if image.relocatable { own_load_bias()? } else { 0 };
        Ok(Program::of(image, bias))
    }

    /// The program's identity, in hexadecimal: its GNU build id, or a hash of its code if the linker wrote none.
    pub fn build_id(&self) -> String {
        self.image.build_id()
    }

    /// The functions at a return address, innermost inlined one first, with their lines.
    ///
    /// The call that returns there is what is looked up, not the instruction after it.
    pub fn frames(&self, return_address: u64) -> Vec<Frame> {
        let Some(address) = self.in_file(return_address) else { return Vec::new() };
        self.at(address, |at| at.frames())
            .unwrap_or_else(|| self.frame_from_symbol(address).into_iter().collect())
    }

    /// The function whose code is at a return address: the one that was called, not one inlined into it.
    pub fn function(&self, return_address: u64) -> Option<String> {
        let address = self.in_file(return_address)?;
        let path = self.at(address, |at| at.chain().pop().map(|call| call.path()));
        match path.flatten() {
            Some(path) => Some(names::shorten(&path)),
            None => self.frame_from_symbol(address).map(|frame| frame.function),
        }
    }

    /// What an atomic access that returns to this address is.
    pub fn classify(&self, return_address: u64) -> Site {
        self.classify_stack([return_address])
    }

    /// What an atomic access is, by the return addresses of its call and of the functions around it, innermost first.
    /// Takes no more of them than it needs; never [`Site::Plumbing`] unless all of them are.
    pub fn classify_stack(&self, return_addresses: impl IntoIterator<Item = u64>) -> Site {
        for return_address in return_addresses {
            let Some(address) = self.in_file(return_address) else { return Site::User };
            let site = self.at(address, |at| {
                let chain = at.chain();
                classify(chain.iter().map(|call| Around { path: call.path(), name: call.name }))
            });
            match site.unwrap_or(Site::User) {
                Site::Plumbing => {}
                site => return site,
            }
        }
        Site::Plumbing
    }

    /// Where a static lies, by a part of its linkage name.
    pub fn static_address(&self, part_of_name: &str) -> Option<u64> {
        let symbols = self.symbols();
        Some(symbols.object_named(part_of_name)?.address + self.bias)
    }

    /// The static at an address: `my_crate::QUEUE`, `my_crate::STATE.ready`, `my_crate::TABLE[2]`, or
    /// `my_crate::BYTES+8` where its type does not tell.
    pub fn static_name(&self, address: u64) -> Option<String> {
        let address = address.checked_sub(self.bias)?;
        let symbols = self.symbols();
        let symbol = symbols.object(address)?;
        let name = names::demangle(symbols.name(symbol));
        let offset = address - symbol.address;
        let path = match self.static_path(&name, symbol.address, offset) {
            Some(path) => path,
            None if offset == 0 => String::new(),
            None => format!("+{offset}"),
        };
        Some(names::shorten(&name) + &path)
    }

    /// The local or parameter, with its field, that an address in a frame belongs to.
    ///
    /// The frame is that of the function containing `return_address`, and `frame_pointer` is that function's own (rbp
    /// on x86-64). Only names what has a place in the frame: what unoptimised code keeps there.
    pub fn local_name(&self, return_address: u64, frame_pointer: u64, address: u64) -> Option<String> {
        self.local_name_via(return_address, frame_pointer, address, |_| None)
    }

    /// As [`Program::local_name`], and also names what locals point to (`self.head`, `queue.tail`), through references,
    /// boxes and `Arc`s.
    ///
    /// `read` reads eight bytes of the program's memory; it must answer `None` for addresses that cannot be read, which
    /// it will be asked for when a local has not been given its value yet.
    pub fn local_name_via(
        &self,
        return_address: u64,
        frame_pointer: u64,
        address: u64,
        mut read: impl FnMut(u64) -> Option<u64>,
    ) -> Option<String> {
        let code = self.in_file(return_address)?;
        self.at(code, |at| {
            let types = at.types();
            let locals = locals::in_scope(&types, at.function, code);
            let bases: Vec<u64> =
                locals.iter().map(|local| frame_pointer.wrapping_add_signed(local.offset)).collect();
            // The frame itself first: what lies in it is surer than what something points to.
            for (local, &base) in locals.iter().zip(&bases).rev() {
                if let Some(offset) = address.checked_sub(base)
                    && offset < types.size(local.of).unwrap_or(0)
                {
                    return Some(local.name.to_owned() + &types.path(local.of, offset));
                }
            }
            locals.iter().zip(&bases).rev().find_map(|(local, &base)| {
                let path = types.path_via(local.of, base, address, &mut read)?;
                Some(local.name.to_owned() + &path)
            })
        })?
    }

    fn of(image: Image, bias: u64) -> Program {
        Program {
            image,
            bias,
            running_in: std::env::current_dir().ok(),
            sections: OnceLock::new(),
            index: OnceLock::new(),
            tables: Mutex::default(),
            symbols: OnceLock::new(),
            units_by_crate: OnceLock::new(),
            statics: Mutex::default(),
        }
    }

    /// The address in the file of the call that returns to an address.
    fn in_file(&self, return_address: u64) -> Option<u64> {
        return_address.checked_sub(self.bias)?.checked_sub(1)
    }

    fn dwarf(&self) -> Dwarf<'_> {
        dwarf::borrow(self.sections.get_or_init(|| dwarf::read_sections(&self.image)))
    }

    fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(|| Symbols::read(&self.image))
    }

    fn table(&self, dwarf: &Dwarf<'_>, unit: usize) -> Option<Arc<UnitTable>> {
        // A panic while the lock was held left the map as it was.
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.get(&unit) {
            return Some(table.clone());
        }
        let table = Arc::new(UnitTable::read(dwarf, unit).ok()?);
        tables.insert(unit, table.clone());
        Some(table)
    }

    /// Answers a question about the function at an address in the file.
    fn at<T>(&self, address: u64, answer: impl FnOnce(&At<'_, '_>) -> T) -> Option<T> {
        let dwarf = self.dwarf();
        let index = self.index.get_or_init(|| UnitIndex::read(&dwarf));
        let table = self.table(&dwarf, index.find(&dwarf, address)?)?;
        let function = table.function(address)?;
        let unit = table.unit(&dwarf).ok()?;
        Some(answer(&At { program: self, dwarf: &dwarf, unit: &unit, table: &table, function, address }))
    }

    fn frame_from_symbol(&self, address: u64) -> Option<Frame> {
        let symbol = self.symbols().function(address)?;
        let path = names::demangle(self.symbols().name(symbol));
        // Without debug information it is the system's, or as far away.
        Some(Frame { function: names::shorten(&path), file: None, line: None, internal: true })
    }

    fn static_path(&self, name: &str, address: u64, offset: u64) -> Option<String> {
        let of_crate = names::owner(name).split("::").next()?;
        let dwarf = self.dwarf();
        let statics = self.statics_of(&dwarf, of_crate)?;
        let found = statics.get(&address)?;
        let unit = found.table.unit(&dwarf).ok()?;
        let types = Types { dwarf: &dwarf, unit: &unit, table: &found.table };
        (offset < types.size(found.of)?).then(|| types.path(found.of, offset))
    }

    fn statics_of(&self, dwarf: &Dwarf<'_>, of_crate: &str) -> Option<Arc<Statics>> {
        if let Some(statics) = self.statics.lock().unwrap_or_else(PoisonError::into_inner).get(of_crate) {
            return Some(statics.clone());
        }
        let units = self.units_by_crate.get_or_init(|| statics::units_by_crate(dwarf)).get(of_crate)?;
        let tables: Vec<_> = units.iter().filter_map(|&unit| self.table(dwarf, unit)).collect();
        let statics = Arc::new(statics::read(dwarf, &tables));
        let mut known = self.statics.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(of_crate.to_owned(), statics.clone());
        Some(statics)
    }
}

/// A function's entry and an address in it.
struct At<'a, 'd> {
    program: &'a Program,
    dwarf: &'a Dwarf<'d>,
    unit: &'a Unit<'d>,
    table: &'a UnitTable,
    function: Offset,
    address: u64,
}

/// A function, inlined or not, and where it was inlined.
struct Call<'d> {
    linkage_name: &'d str,
    name: &'d str,
    /// File (as the unit's line program numbers it) and line, for an inlined function.
    called_from: Option<(u64, Option<u32>)>,
    part: Option<Part>,
}

impl Call<'_> {
    fn path(&self) -> String {
        if self.linkage_name.is_empty() { self.name.to_owned() } else { names::demangle(self.linkage_name) }
    }
}

impl<'d> At<'_, 'd> {
    fn types(&self) -> Types<'_, 'd> {
        Types { dwarf: self.dwarf, unit: self.unit, table: self.table }
    }

    fn frames(&self) -> Vec<Frame> {
        let lines = self.table.lines.get_or_init(|| Lines::read(self.unit));
        let mut position = lines.find(self.address);
        let mut frames = Vec::new();
        for call in self.chain() {
            let path = call.path();
            let file = position.and_then(|(file, _)| file_path(self.dwarf, self.unit, file));
            let compiled_in = self.unit.comp_dir.map(|directory| directory.to_string_lossy());
            let file = file.map(|file| {
                paths::shorten(&file, compiled_in.as_deref(), self.program.running_in.as_deref())
            });
            frames.push(Frame {
                function: names::shorten(&path),
                // What has no line was made by the compiler.
                internal: call.part.is_some() || file.as_ref().is_none_or(|(_, of_std)| *of_std),
                file: file.map(|(file, _)| file),
                line: position.and_then(|(_, line)| line),
            });
            position = call.called_from;
        }
        frames
    }

    /// The functions at the address, innermost first; the last is the one whose code it is.
    fn chain(&self) -> Vec<Call<'d>> {
        let mut chain = Vec::new();
        // Damaged information gives what was read until then.
        let _ = self.read_chain(&mut chain);
        chain.reverse();
        chain
    }

    fn read_chain(&self, chain: &mut Vec<Call<'d>>) -> gimli::Result<()> {
        let mut entries = self.unit.entries_raw(Some(self.function))?;
        let mut entry = Entry::null();
        entries.read_entry(&mut entry)?;
        chain.push(self.call(&entry));
        if !entry.has_children() {
            return Ok(());
        }
        // The depth of a scope that does not hold the address: everything below it is stepped over.
        let mut outside = isize::MAX;
        while entries.next_depth() > 0 {
            if !entries.read_entry(&mut entry)? || entry.depth() > outside {
                continue;
            }
            outside = isize::MAX;
            match entry.tag() {
                gimli::DW_TAG_inlined_subroutine
                    if dwarf::covers(self.dwarf, self.unit, &entry, self.address) =>
                {
                    chain.push(self.call(&entry));
                }
                gimli::DW_TAG_lexical_block if dwarf::covers(self.dwarf, self.unit, &entry, self.address) => {
                }
                _ => outside = entry.depth(),
            }
        }
        Ok(())
    }

    fn call(&self, entry: &Entry<'d>) -> Call<'d> {
        let file = dwarf::number(entry, gimli::DW_AT_call_file);
        let line = dwarf::number(entry, gimli::DW_AT_call_line).map(|line| line as u32);
        let mut call =
            Call { linkage_name: "", name: "", called_from: file.map(|file| (file, line)), part: None };
        self.name(entry, self.unit, &mut call, 4);
        // A declaration in another unit was not followed into its namespace: the name must do.
        if call.part.is_none() {
            call.part = Part::of_crate(of_crate(&call.path()));
        }
        call
    }

    /// Takes the names from an entry, or from where it says that it was declared, perhaps in another unit.
    fn name(&self, entry: &Entry<'d>, unit: &Unit<'d>, call: &mut Call<'d>, hops: u32) {
        if let Some(name) = dwarf::text(self.dwarf, unit, entry, gimli::DW_AT_linkage_name) {
            call.linkage_name = name;
        }
        if let Some(name) = dwarf::text(self.dwarf, unit, entry, gimli::DW_AT_name) {
            call.name = name;
        }
        // An unmangled function is known by where it is declared only; an inlined call lies wherever it was inlined.
        let declares = entry.tag() == gimli::DW_TAG_subprogram;
        if declares && unit.header.offset() == self.unit.header.offset() {
            call.part = call.part.or_else(|| self.table.part(entry.offset()));
        }
        if hops == 0 {
            return;
        }
        for at in [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification] {
            if let Some(origin) = dwarf::reference(unit, entry, at) {
                if let Ok(entry) = unit.entry(origin) {
                    self.name(&entry, unit, call, hops - 1);
                }
            } else if let Some(gimli::AttributeValue::DebugInfoRef(offset)) = entry.attr_value(at) {
                self.name_in_other_unit(offset, call, hops - 1);
            }
        }
    }

    fn name_in_other_unit(&self, offset: gimli::DebugInfoOffset, call: &mut Call<'d>, hops: u32) {
        let mut headers = self.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Some(within) = offset.to_unit_offset(&header) else { continue };
            if let Ok(unit) = self.dwarf.unit(header)
                && let Ok(entry) = unit.entry(within)
            {
                self.name(&entry, &unit, call, hops);
            }
            return;
        }
    }
}

/// Where the running program was loaded: the beginning of the mapping of its file's beginning.
fn own_load_bias() -> Result<u64, ReflectError> {
    let unreadable = |path: &str| {
        let path = PathBuf::from(path);
        move |error| ReflectError::Unreadable { path, error }
    };
    let program = std::fs::read_link("/proc/self/exe").map_err(unreadable("/proc/self/exe"))?;
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(unreadable("/proc/self/maps"))?;
    maps.lines()
        .find_map(|line| {
            // `55d0c8a00000-55d0c8a2b000 r--p 00000000 08:01 1234   /path/to/program`
            let (range, rest) = line.split_once(' ')?;
            let path = line.find('/').map(|at| &line[at..])?;
            let offset = rest.split_ascii_whitespace().nth(1)?;
            if Path::new(path) != program || u64::from_str_radix(offset, 16) != Ok(0) {
                return None;
            }
            u64::from_str_radix(range.split('-').next()?, 16).ok()
        })
        .ok_or(ReflectError::NotMapped)
}

/// The crate that a function belongs to, by its name.
fn of_crate(path: &str) -> &str {
    names::owner(path).split("::").next().unwrap_or_default()
}
