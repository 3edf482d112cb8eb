//! The parts of the table, in order.

mod cost;
mod declarative;
mod exploration;
mod memory;
mod passive;

use crate::cell::Bench;

/// Each measures and prints one part.
pub(crate) const ALL: &[fn(&Bench)] = &[
    exploration::print,
    cost::print_parts,
    cost::print_events,
    passive::print,
    memory::print,
    declarative::print_failures,
    declarative::print_verification,
    declarative::print_memory,
];
