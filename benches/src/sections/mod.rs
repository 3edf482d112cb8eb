//! The parts of the table, in order.

mod cost;
mod declarative;
mod exhaustive;
mod exploration;
mod memory;
mod miri;
mod passive;
mod report;
mod stress;
mod teaching;

use crate::cell::Bench;

/// Measures and prints one part.
type Print = fn(&Bench);

/// The parts, by name.
pub(crate) const ALL: &[(&str, Print)] = &[
    ("exploration", exploration::print),
    ("miri", miri::print),
    ("exhaustive", exhaustive::print),
    ("parts", cost::print_parts),
    ("events", cost::print_events),
    ("passive", passive::print),
    ("memory", memory::print),
    ("failures", declarative::print_failures),
    ("verification", declarative::print_verification),
    ("scenarios", declarative::print_memory),
    ("report", report::print),
    ("schedules", teaching::print),
    ("stress", stress::print),
];
