//! Schemas as text.

use std::fmt;

use super::{Invocation, Schema};

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (p, phase) in self.phases.iter().enumerate() {
            f.write_str(if p > 0 { "; " } else { "" })?;
            for (s, sequence) in phase.iter().enumerate() {
                f.write_str(if s > 0 { " || { " } else { "{ " })?;
                for (i, invocation) in sequence.iter().enumerate() {
                    f.write_str(if i > 0 { "; " } else { "" })?;
                    write!(f, "{invocation}")?;
                }
                f.write_str(" }")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.method)?;
        for (number, argument) in self.arguments.iter().enumerate() {
            write!(f, "{}{argument}", if number > 0 { "," } else { "" })?;
        }
        f.write_str(")")
    }
}
