//! Memory errors: [data races](race), and accesses to memory that is not allocated ([`fault`]).

pub mod fault;
pub mod race;
