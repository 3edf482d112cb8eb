//! Memory errors and data races.

use serde::{Deserialize, Serialize};

use super::Location;

/// A memory error or data race: the memory in question, and the steps that led to the error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The accessed bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Location>,
    /// The blocks of memory in question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// The steps that explain the error, in order.
    pub steps: Vec<FaultStep>,
}

/// A block of memory that the code under test allocated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The address, which is the same in every replay.
    pub address: u64,
    /// The size in bytes.
    pub size: u64,
    /// The type of the allocated value (`Box<my_crate::Node>`), where debug information gives it.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
}

/// One step towards a memory error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultStep {
    /// The thread that took the step.
    pub thread: u32,
    /// The kind of the step.
    pub did: Did,
    /// The address of the block or of the accessed bytes.
    pub address: u64,
    /// The number of bytes.
    pub size: u64,
    /// The call stack: an index into [`Trace::stacks`](super::Trace::stacks).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
}

/// The kinds of steps: memory management and accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "they say what they mean")]
pub enum Did {
    Allocate,
    Free,
    Read,
    Write,
    AtomicRead,
    AtomicWrite,
}
