//! What can be wrong with accesses to memory: [data races](race), and accesses to memory that is not there ([`fault`]).

pub mod fault;
pub mod race;
