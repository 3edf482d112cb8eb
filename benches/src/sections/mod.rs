//! The parts of the table, in order.

mod cost;
mod declarative;
mod exhaustive;
mod exploration;
mod memory;
mod passive;

use crate::cell::Bench;

/// Each measures and prints one part.
pub(crate) const ALL: &[(&str, fn(&Bench))] = &[
    ("exploration", exploration::print),
    ("exhaustive", exhaustive::print),
    ("parts", cost::print_parts),
    ("events", cost::print_events),
    ("passive", passive::print),
    ("memory", memory::print),
    ("failures", declarative::print_failures),
    ("verification", declarative::print_verification),
    ("scenarios", declarative::print_memory),
];
