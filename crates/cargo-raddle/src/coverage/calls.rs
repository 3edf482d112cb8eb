//! Calls of code that is not instrumented, from code that is.
//!
//! Accesses that such code makes are not seen, so a pass says nothing about them. The calls are found in the machine code of a test
//! binary: those that name their target, directly, in the table that the loader fills in, or in a register that was loaded just
//! before. Calls by a pointer that came from elsewhere, such as methods of a `dyn Trait`, are not found.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::elf::{Elf, Filled, Function};
use super::units::{Origin, Units, package_of};
use crate::error::{Error, Result};
use crate::instrument::Uninstrumented;

/// The calls of a program.
pub(super) struct Calls {
    pub(super) calls: Vec<Call>,
    pub(super) callees: Vec<Callee>,
    /// Whether the loader places the program where it likes.
    pub(super) is_relocatable: bool,
}

/// A call instruction in instrumented code.
#[derive(Debug, PartialEq)]
pub(super) struct Call {
    /// The address in the file.
    pub(super) address: u64,
    /// The number of the callee.
    pub(super) callee: usize,
}

/// A function that is not instrumented.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Callee {
    pub(super) name: String,
    pub(super) origin: Origin,
}

impl Calls {
    /// Reads a test binary.
    ///
    /// # Errors
    /// If there is no such file, or it is not a program.
    pub(super) fn read(executable: &Path, uninstrumented: &Uninstrumented) -> Result<Calls> {
        let bytes = fs::read(executable).map_err(Error::file("read", executable))?;
        let elf = Elf::parse(bytes).ok_or_else(|| {
            Error::usage(format_args!("`{}` is not a program: build it again", executable.display()))
        })?;
        let units = Units::read(&elf, uninstrumented);
        let libraries = uninstrumented.engine.iter().map(|source| package_of(source)).collect();
        let program =
            Program { functions: elf.functions(), filled: elf.filled(), units: &units, elf: &elf, libraries };
        let mut found =
            Calls { calls: Vec::new(), callees: Vec::new(), is_relocatable: elf.is_relocatable() };
        let mut numbers = HashMap::new();
        for function in &program.functions {
            if *units.origin(function.code.start) != Origin::Instrumented {
                continue;
            }
            for (address, target) in program.calls_of(function) {
                let Some(callee) = program.callee(&target) else { continue };
                let number = *numbers.entry(callee.name.clone()).or_insert_with(|| {
                    found.callees.push(callee);
                    found.callees.len() - 1
                });
                found.calls.push(Call { address, callee: number });
            }
        }
        Ok(found)
    }
}

/// Where a call goes.
#[derive(Clone, Debug, PartialEq)]
enum Target {
    /// Code of the program.
    Code(u64),
    /// A function of a shared library.
    Imported(String),
}

struct Program<'a> {
    elf: &'a Elf,
    units: &'a Units,
    functions: Vec<Function>,
    filled: HashMap<u64, Filled>,
    /// Raddle's own crates, and those that they are made of. They have no debug information.
    libraries: BTreeSet<String>,
}

impl Program<'_> {
    /// The calls of a function, jumps out of it among them.
    fn calls_of(&self, function: &Function) -> Vec<(u64, Target)> {
        let mut calls = Vec::new();
        let mut loaded: HashMap<Register, Target> = HashMap::new();
        let code = self.elf.code(&function.code);
        for instruction in &mut Decoder::with_ip(64, code, function.code.start, DecoderOptions::NONE) {
            let target = match instruction.flow_control() {
                FlowControl::Call => self.resolve(instruction.near_branch_target()),
                FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                    let target = instruction.near_branch_target();
                    (!function.code.contains(&target)).then(|| self.resolve(target)).flatten()
                }
                FlowControl::IndirectCall | FlowControl::IndirectBranch => match instruction.op0_kind() {
                    OpKind::Register => loaded.get(&instruction.op0_register()).cloned(),
                    OpKind::Memory => self.read_from(&instruction),
                    _ => None,
                },
                _ => {
                    self.follow(&instruction, &mut loaded);
                    continue;
                }
            };
            calls.extend(target.map(|target| (instruction.ip(), target)));
        }
        calls
    }

    /// Follows addresses of functions into registers.
    fn follow(&self, instruction: &Instruction, loaded: &mut HashMap<Register, Target>) {
        if instruction.op_count() == 0 || instruction.op0_kind() != OpKind::Register {
            return;
        }
        let register = instruction.op0_register().full_register();
        let target = match instruction.mnemonic() {
            Mnemonic::Lea if instruction.is_ip_rel_memory_operand() => {
                self.resolve(instruction.ip_rel_memory_address()).filter(|target| self.is_function(target))
            }
            Mnemonic::Mov => self.read_from(instruction),
            // They have their first operand as an input only.
            Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push => return,
            _ => None,
        };
        match target {
            Some(target) => _ = loaded.insert(register, target),
            None => _ = loaded.remove(&register),
        }
    }

    fn is_function(&self, target: &Target) -> bool {
        match target {
            Target::Code(address) => {
                self.functions.binary_search_by_key(address, |function| function.code.start).is_ok()
            }
            Target::Imported(_) => true,
        }
    }

    /// What the loader wrote where an instruction reads, relative to its own address.
    fn read_from(&self, instruction: &Instruction) -> Option<Target> {
        if !instruction.is_ip_rel_memory_operand() {
            return None;
        }
        match self.filled.get(&instruction.ip_rel_memory_address())? {
            Filled::Imported(name) => Some(Target::Imported(name.clone())),
            Filled::Own(address) => self.resolve(*address).filter(|target| self.is_function(target)),
        }
    }

    /// The function behind an address: an entry of a linkage table jumps to that of a shared library.
    fn resolve(&self, address: u64) -> Option<Target> {
        if !self.elf.is_linkage_table(address) {
            return Some(Target::Code(address));
        }
        let code = self.elf.code(&(address..address + 16));
        let mut entry = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
        let jump = entry.iter().find(|instruction| instruction.mnemonic() == Mnemonic::Jmp)?;
        self.read_from(&jump)
    }

    /// The function that a call reaches, unless it is instrumented or Raddle's.
    fn callee(&self, target: &Target) -> Option<Callee> {
        let address = match target {
            Target::Imported(name) => {
                return Some(Callee { name: name.clone(), origin: Origin::Imported });
            }
            Target::Code(address) => *address,
        };
        let found = self.functions.binary_search_by_key(&address, |function| function.code.start);
        let symbol = found.map_or("", |index| &self.functions[index].symbol);
        let name = match symbol {
            "" => format!("{address:#x}"),
            symbol => format!("{:#}", rustc_demangle::demangle(symbol)),
        };
        let origin = match self.units.origin(address) {
            Origin::Instrumented | Origin::Raddle => return None,
            // The definitions that every program is linked with; each is replaced by the engine's, or does what the original does.
            Origin::Unknown if is_intercepted(symbol) => return None,
            Origin::Unknown if is_of_toolchain(&name) => Origin::Std,
            Origin::Unknown => match crate_of(&name) {
                of if of == "raddle" || of.starts_with("raddle_") => return None,
                of if self.libraries.contains(of) => Origin::Crate(of.to_owned()),
                _ => Origin::Unknown,
            },
            origin => origin.clone(),
        };
        Some(Callee { name, origin })
    }
}

/// Whether a function without debug information is the toolchain's: generated by the compiler, or an instance of a generic function that
/// the standard library's own dependencies have.
fn is_of_toolchain(name: &str) -> bool {
    name.starts_with("__rust") || matches!(crate_of(name), "core" | "alloc" | "std" | "__rustc")
}

/// The crate of a function, by its demangled name.
fn crate_of(name: &str) -> &str {
    name.trim_start_matches(['<', '&', '*', ' ']).split("::").next().unwrap_or_default()
}

/// Whether Raddle defines the function, in place of the C library or for instrumented code.
fn is_intercepted(symbol: &str) -> bool {
    OWN.iter().any(|own| symbol.starts_with(own)) || INTERCEPTED.contains(&symbol)
}

/// What names of functions that only Raddle has begin with.
const OWN: [&str; 4] = ["__tsan_", "__asan_", "__wrap_", "__raddle_"];

/// The functions of the C library that `raddle-intercept` defines.
const INTERCEPTED: &[&str] = &[
    "_Unwind_RaiseException",
    "__cxa_atexit",
    "__cxa_thread_atexit_impl",
    "__register_atfork",
    "abort",
    "aligned_alloc",
    "atexit",
    "calloc",
    "clearenv",
    "clock_gettime",
    "clock_nanosleep",
    "exit",
    "free",
    "getrandom",
    "gettid",
    "gettimeofday",
    "malloc",
    "memalign",
    "mmap",
    "mmap64",
    "munmap",
    "nanosleep",
    "on_exit",
    "posix_memalign",
    "pthread_atfork",
    "pthread_create",
    "pthread_detach",
    "pthread_getattr_np",
    "pthread_getspecific",
    "pthread_join",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_setname_np",
    "pthread_setspecific",
    "putenv",
    "realloc",
    "sched_yield",
    "setenv",
    "sigaltstack",
    "syscall",
    "unsetenv",
    "usleep",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_functions_of_the_toolchain_are_known_by_their_names() {
        for name in
            ["__rust_try", "__rustc::__rust_alloc", "<alloc::vec::Vec<u8> as core::ops::drop::Drop>::drop"]
        {
            assert!(is_of_toolchain(name), "{name}");
        }
        for name in
            ["deflate", "gimli::read::abbrev::parse", "<zip::Reader as core::fmt::Debug>::fmt", "0x1234"]
        {
            assert!(!is_of_toolchain(name), "{name}");
        }
    }

    #[test]
    fn what_raddle_intercepts_is_known() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../raddle-intercept/src");
        let mut names = BTreeSet::new();
        for file in fs::read_dir(sources).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            for item in text.split("no_mangle").skip(1) {
                names.extend(
                    item.split("fn ").nth(1).and_then(|item| item.split('(').next()).map(str::to_owned),
                );
            }
            for item in text.split("with_caller!(").skip(1) {
                names.extend(item.split(',').next().map(str::to_owned));
            }
        }
        let is_name = |name: &&String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let unknown: Vec<_> = names.iter().filter(is_name).filter(|name| !is_intercepted(name)).collect();
        assert!(
            unknown.is_empty() && names.contains("pthread_create") && names.contains("malloc"),
            "{unknown:?}"
        );
    }

    /// This program has debug information, and none of its crates is listed: all of its own code counts as instrumented.
    #[test]
    fn calls_of_this_program_are_found() {
        let uninstrumented = Uninstrumented::default();
        let found = Calls::read(Path::new("/proc/self/exe"), &uninstrumented).unwrap();
        let of =
            |name: &str| found.callees.iter().find(|callee| callee.name == name).map(|callee| &callee.origin);
        assert_eq!(of("_Unwind_Resume"), Some(&Origin::Imported));
        assert_eq!(of("core::panicking::panic"), Some(&Origin::Std));
        assert!(found.callees.iter().all(|callee| !callee.name.contains("calls_of_this_program")));
    }
}
