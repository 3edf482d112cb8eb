use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::calls::{Call, call_before};
use crate::classify::{Around, classify, classify_tail_call, exchange};
use crate::dwarf::{self, Dwarf, Entry, Sections};
use crate::function::{At, Names};
use crate::image::Image;
use crate::objects::Entity;
use crate::statics;
use crate::symbols::Symbols;
use crate::types::Types;
use crate::units::{UnitIndex, UnitTable};
use crate::{Exchange, Frame, Memory, ReflectError, Site, locals, names, paths};

/// A program with its debug information, loaded at some address.
///
/// All addresses are those of the running program. Unknown answers are `None` or empty: so are all answers for a
/// program without debug information.
pub struct Program {
    image: Image,
    bias: u64,
    pub(crate) running_in: Option<PathBuf>,
    sections: OnceLock<Sections>,
    index: OnceLock<UnitIndex>,
    unit_offsets: OnceLock<Vec<usize>>,
    tables: Mutex<HashMap<usize, Arc<UnitTable>>>,
    /// The names of functions, by the positions of their entries.
    names: Mutex<HashMap<usize, Arc<Names>>>,
    symbols: OnceLock<Symbols>,
    /// The memory of the program, if it is the running one.
    memory: Option<Memory>,
}

impl Program {
    /// Opens a program file; `load_bias` is the loader's offset from the addresses in the file.
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
        Ok(Program { memory: Memory::own().ok(), ..Program::of(image, bias) })
    }

    /// The program's identity, in hexadecimal: its GNU build id, or a hash of its code if the linker wrote none.
    pub fn build_id(&self) -> String {
        self.image.build_id()
    }

    /// The functions at a return address, innermost inlined one first, with their lines.
    ///
    /// The looked-up address is that of the call, not of the instruction after it.
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

    /// The class of an atomic access whose callback returns to this address.
    pub fn classify(&self, return_address: u64) -> Site {
        self.classify_with(return_address, &|_| false)
    }

    /// [`classify`](Program::classify), where `is_marked` recognises functions that count references, by their path or
    /// that of the type that they clone or drop.
    pub fn classify_with(&self, return_address: u64, is_marked: &dyn Fn(&str) -> bool) -> Site {
        self.classify_frames([return_address], is_marked)
    }

    /// The class of an atomic access, by the return addresses of its callback and of the functions around it, innermost
    /// first. Takes no more of them than it needs; never [`Site::Plumbing`] unless all of them are.
    pub fn classify_stack(&self, return_addresses: impl IntoIterator<Item = u64>) -> Site {
        self.classify_frames(return_addresses, &|_| false)
    }

    fn classify_frames(
        &self,
        return_addresses: impl IntoIterator<Item = u64>,
        is_marked: &dyn Fn(&str) -> bool,
    ) -> Site {
        for return_address in return_addresses {
            let Some(address) = self.in_file(return_address) else { return Site::User };
            let site = self.at(address, |at| {
                let chain = at.chain();
                let around = chain.iter().map(|call| Around { path: call.path(), name: &call.name });
                match classify(around, is_marked) {
                    Site::User if !at.has_line() => Site::Merged,
                    site => site,
                }
            });
            match site.unwrap_or(Site::User) {
                Site::Plumbing => {}
                site @ (Site::User | Site::Merged) => return site,
                site => {
                    return self.tail_call(return_address, is_marked).unwrap_or(site);
                }
            }
        }
        Site::Plumbing
    }

    /// The class of an access, if the call before a return address goes to a function that neither makes nor passes on
    /// an access: that function ended in a jump to the one that does (a tail call), and the code around the call tells
    /// nothing.
    fn tail_call(&self, return_address: u64, is_marked: &dyn Fn(&str) -> bool) -> Option<Site> {
        let target = match call_before(&self.image, return_address.checked_sub(self.bias)?)? {
            Call::To(target) => target,
            Call::ByTable(slot) => self.in_table(slot)?,
            Call::ThroughPointer => return Some(Site::User),
        };
        let name = &self.symbols().function(&self.image, target)?.name(&self.image);
        if ["__tsan_", "__asan_"].iter().any(|prefix| name.starts_with(prefix)) {
            return None;
        }
        let called = self.at(target, |at| at.chain().pop()).flatten();
        let function = match &called {
            Some(called) => Around { path: called.path(), name: &called.name },
            None => Around { path: names::demangle(name), name: "" },
        };
        classify_tail_call(function, is_marked)
    }

    /// The function whose address is in a slot of the global offset table, if the program runs here and the function is its own.
    fn in_table(&self, slot: u64) -> Option<u64> {
        self.memory.as_ref()?.read(slot + self.bias)?.checked_sub(self.bias)
    }

    /// The strength of a compare-exchange whose callback returns to this address.
    pub fn exchange(&self, return_address: u64) -> Exchange {
        let chain = |address| self.at(address, |at| exchange(at.chain().iter().map(|call| call.path())));
        self.in_file(return_address).and_then(chain).unwrap_or(Exchange::Strong)
    }

    /// The address of a static, by a part of its linkage name.
    pub fn static_address(&self, part_of_name: &str) -> Option<u64> {
        Some(Symbols::find_object(&self.image, part_of_name)? + self.bias)
    }

    /// The static at an address: `my_crate::QUEUE`, `my_crate::STATE.ready`, `my_crate::TABLE[2]`, or
    /// `my_crate::BYTES+8` where its type does not tell.
    pub fn static_name(&self, address: u64) -> Option<String> {
        let address = address.checked_sub(self.bias)?;
        let symbol = self.symbols().object(&self.image, address)?;
        let name = names::demangle(&symbol.name(&self.image));
        let offset = address - symbol.address;
        let path = match self.static_path(symbol.address, offset) {
            Some(path) => path,
            None if offset == 0 => String::new(),
            None => format!("+{offset}"),
        };
        Some(names::shorten(&name) + &path)
    }

    /// The local or parameter, with its field, that an address in a frame belongs to.
    ///
    /// The frame is that of the function containing `return_address`, and `frame_pointer` is that function's own (rbp
    /// on x86-64). Only locals with an offset in the frame have names, as in unoptimised code.
    pub fn local_name(&self, return_address: u64, frame_pointer: u64, address: u64) -> Option<String> {
        self.local_name_via(return_address, frame_pointer, address, |_| None)
    }

    /// As [`Program::local_name`], and also names the targets of locals (`self.head`, `queue.tail`), through
    /// references, boxes and `Arc`s.
    ///
    /// `read` reads eight bytes of the program's memory. It must return `None` for unreadable addresses, which occur
    /// while a local has no value yet.
    pub fn local_name_via(
        &self,
        return_address: u64,
        frame_pointer: u64,
        address: u64,
        mut read: impl FnMut(u64) -> Option<u64>,
    ) -> Option<String> {
        let code = self.in_file(return_address)?;
        self.at(code, |at| {
            let unit = at.table.unit(at.dwarf).ok()?;
            let types = Types { dwarf: at.dwarf, unit: &unit, table: at.table };
            let locals = locals::in_scope(&types, at.function.start, code);
            let with_address =
                |local| Some((local, locals::Local::address(local, frame_pointer, &mut read)?));
            let mut locals: Vec<_> = locals.iter().rev().filter_map(with_address).collect();
            // The frame itself first: its contents are surer than the target of a pointer.
            locals.sort_by_key(|(local, _)| !local.is_in_frame());
            for &(local, base) in &locals {
                if let Some(offset) = address.checked_sub(base)
                    && offset < types.size(local.of).unwrap_or(0)
                {
                    return Some(local.name.clone() + &types.path(local.of, offset));
                }
            }
            locals.iter().find_map(|&(local, base)| {
                let path = types.path_via(local.of, base, address, &mut read)?;
                Some(local.name.clone() + &path)
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
            unit_offsets: OnceLock::new(),
            tables: Mutex::default(),
            names: Mutex::default(),
            symbols: OnceLock::new(),
            memory: None,
        }
    }

    /// The address in the file of the call that returns to an address.
    pub(crate) fn in_file(&self, return_address: u64) -> Option<u64> {
        return_address.checked_sub(self.bias)?.checked_sub(1)
    }

    pub(crate) fn dwarf(&self) -> Dwarf<'_> {
        Dwarf::new(self.sections.get_or_init(|| dwarf::read_sections(&self.image)), &self.image)
    }

    fn index(&self, dwarf: &Dwarf<'_>) -> &UnitIndex {
        self.index.get_or_init(|| UnitIndex::read(dwarf))
    }

    /// The beginnings of units in `.debug_info`, in order.
    pub(crate) fn unit_offsets(&self, dwarf: &Dwarf<'_>) -> &[usize] {
        self.unit_offsets.get_or_init(|| dwarf.unit_offsets())
    }

    fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(|| Symbols::read(&self.image))
    }

    pub(crate) fn names(&self) -> MutexGuard<'_, HashMap<usize, Arc<Names>>> {
        // A panic while the lock was held left the map as it was.
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    pub(crate) fn table(&self, dwarf: &Dwarf<'_>, unit: usize) -> Option<Arc<UnitTable>> {
        // A panic while the lock was held left the map as it was.
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.get(&unit) {
            return Some(table.clone());
        }
        let table = Arc::new(UnitTable::read(dwarf, unit).ok()?);
        tables.insert(unit, table.clone());
        Some(table)
    }

    /// Runs a query about the function at an address in the file.
    pub(crate) fn at<T>(&self, address: u64, answer: impl FnOnce(&At<'_, '_>) -> T) -> Option<T> {
        let dwarf = self.dwarf();
        let table = self.table(&dwarf, self.index(&dwarf).find(address)?)?;
        let function = table.function(address)?;
        Some(answer(&At { program: self, dwarf: &dwarf, table: &table, function, address }))
    }

    fn frame_from_symbol(&self, address: u64) -> Option<Frame> {
        let symbol = self.symbols().function(&self.image, address)?;
        let path = names::demangle(&symbol.name(&self.image));
        // Code without debug information is the system's, or as foreign.
        Some(Frame {
            function: names::shorten(&path),
            file: None,
            line: None,
            internal: true,
            dependency: false,
        })
    }

    fn static_path(&self, address: u64, offset: u64) -> Option<String> {
        self.path_in(self.static_type(address)?, offset)
    }

    /// The type of the static at an address in the file.
    fn static_type(&self, address: u64) -> Option<Entity> {
        let dwarf = self.dwarf();
        let table = self.table(&dwarf, self.index(&dwarf).find(address)?)?;
        let entry = *table.statics.get_or_init(|| statics::read(&dwarf, &table)).get(&address)?;
        Some(Entity { unit: table.offset, entry })
    }

    /// The path to an offset within a value of a type.
    pub(crate) fn path_in(&self, of: Entity, offset: u64) -> Option<String> {
        let dwarf = self.dwarf();
        let table = self.table(&dwarf, of.unit)?;
        let unit = table.unit(&dwarf).ok()?;
        let types = Types { dwarf: &dwarf, unit: &unit, table: &table };
        (offset < types.size(of.entry)?).then(|| types.path(of.entry, offset))
    }

    /// The static that contains an address: its name, address and type.
    pub(crate) fn static_at(&self, address: u64) -> Option<(String, u64, Entity)> {
        let address = address.checked_sub(self.bias)?;
        let symbol = self.symbols().object(&self.image, address)?;
        let of = self.static_type(symbol.address)?;
        Some((names::demangle(&symbol.name(&self.image)), symbol.address + self.bias, of))
    }

    /// Whether a unit belongs to a dependency that cargo has fetched.
    pub(crate) fn is_of_registry(&self, unit: usize) -> bool {
        let dwarf = self.dwarf();
        let Some(table) = self.table(&dwarf, unit) else { return false };
        table.compiled_in(&dwarf).is_some_and(|path| paths::is_fetched(&(path + "/")))
    }

    /// The type whose methods the table at an address holds.
    pub(crate) fn vtable(&self, address: u64) -> Option<Entity> {
        let of = self.static_type(address.checked_sub(self.bias)?)?;
        let dwarf = self.dwarf();
        let table = self.table(&dwarf, of.unit)?;
        let unit = table.unit(&dwarf).ok()?;
        self.referred(of.unit, &unit.entry(of.entry).ok()?, gimli::DW_AT_containing_type)
    }

    /// The first generic argument of the function that begins at an address.
    pub(crate) fn first_argument(&self, function: u64) -> Option<Entity> {
        self.at(function.checked_sub(self.bias)?, |at| {
            let unit = at.table.unit(at.dwarf).ok()?;
            let types = Types { dwarf: at.dwarf, unit: &unit, table: at.table };
            let mut argument = None;
            types.for_children(at.function.start, |entry| {
                if entry.tag() == gimli::DW_TAG_template_type_parameter {
                    argument = argument.or_else(|| self.referred(at.table.offset, entry, gimli::DW_AT_type));
                }
            });
            argument
        })?
    }

    /// The entry that an attribute of an entry refers to, in its own unit or, in optimised programs, in another one.
    pub(crate) fn referred(&self, unit: usize, entry: &Entry<'_>, at: gimli::DwAt) -> Option<Entity> {
        match entry.attr_value(at)? {
            gimli::AttributeValue::UnitRef(entry) => Some(Entity { unit, entry }),
            gimli::AttributeValue::DebugInfoRef(offset) => {
                let units = self.unit_offsets(&self.dwarf());
                let unit = *units[..units.partition_point(|&unit| unit <= offset.0)].last()?;
                Some(Entity { unit, entry: gimli::UnitOffset(offset.0 - unit) })
            }
            _ => None,
        }
    }
}

/// The load address of the running program: the beginning of the mapping of its file's beginning.
fn own_load_bias() -> Result<u64, ReflectError> {
    let unreadable = |path: &str| {
        let path = PathBuf::from(path);
        move |error| ReflectError::Unreadable { path, error }
    };
    let program = std::fs::read_link("/proc/self/exe").map_err(unreadable("/proc/self/exe"))?;
    let maps = File::open("/proc/self/maps").map_err(unreadable("/proc/self/maps"))?;
    // The kernel makes the lines that are read: there are many behind that of the program.
    BufReader::with_capacity(1024, maps)
        .lines()
        .map_while(Result::ok)
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
