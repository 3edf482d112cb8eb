//! What a running program's own debug information says about its addresses: which lines and inlined functions a code
//! address stands for, what role an atomic access there plays, and which static, local or field a data address is.
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
//! **Invariants.** Nothing here knows about scheduling or events. Everything is lazy: opening a program reads its table
//! of sections, the first question reads the sections it needs, and only the compilation units that hold an asked-for
//! address are parsed. A question that the debug information cannot answer is `None` or empty, never an error.
//!
//! Linked into users' test binaries, so `gimli` (parsing) and `rustc-demangle` are the only dependencies, and no
//! memory is mapped: the code is free of `unsafe`.
#![forbid(unsafe_code)]

mod calls;
mod classify;
mod dwarf;
mod error;
mod function;
mod image;
mod lines;
mod locals;
mod memory;
mod names;
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
