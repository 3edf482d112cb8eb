//! Debug information of the running program: the lines and inlined functions at a code address, the class of an atomic
//! access there, and the static, local or field at a data address.
//!
//! ```
//! # fn main() -> Result<(), raddle_reflect::ReflectError> {
//! let program = raddle_reflect::Program::current()?;
//! println!("build {}", program.build_id());
//! for frame in program.frames(main as fn() -> _ as usize as u64 + 1) {
//!     println!("{} at {:?}:{:?}", frame.function, frame.file, frame.line);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **Invariants:** nothing here knows of scheduling or events. Everything is lazy: opening a program reads its table of
//! sections, the first query reads the sections it needs, and only the compilation units that hold a requested address
//! are parsed. The answer to a query beyond the debug information is `None` or empty, never an error.
//!
//! Linked into users' test binaries, so `gimli` (parsing) and `rustc-demangle` are the only dependencies, and no
//! memory is mapped: the code is free of `unsafe`.
#![forbid(unsafe_code)]

mod calls;
mod classify;
mod dwarf;
mod entries;
mod error;
mod function;
mod image;
mod lines;
mod locals;
mod memory;
mod names;
pub mod objects;
mod paths;
mod program;
mod statics;
mod symbols;
mod types;
mod units;

pub use classify::{Exchange, Site};
pub use error::ReflectError;
pub use memory::Memory;
pub use program::Program;
pub use raddle_report::failure::Frame;
