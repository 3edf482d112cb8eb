//! Programs as Rust.

use crate::program::Program;

/// A closure body that runs the program.
pub fn source(program: &Program) -> String {
    format!("{program:#?}")
}
