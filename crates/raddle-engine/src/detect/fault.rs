//! Memory errors.

use std::ops::Range;

use crate::isolate::heap::Block;
use crate::op::ThreadId;

/// A memory error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A data race: two accesses to the same bytes, at least one of them a write and at least one of them not atomic,
    /// unordered by happens-before.
    DataRace {
        /// The access that was made first in this execution.
        first: Access,
        /// The access that was made when the race was seen.
        second: Access,
        /// The block that contains the bytes, if any.
        block: Option<Block>,
    },
    /// An access to a block that was freed.
    UseAfterFree {
        /// The access.
        access: Access,
        /// The block.
        block: Block,
    },
    /// A block was freed twice.
    DoubleFree {
        /// The thread that freed it again.
        thread: ThreadId,
        /// The block.
        block: Block,
    },
    /// An address was freed that is no block.
    InvalidFree {
        /// The thread that freed it.
        thread: ThreadId,
        /// The freed address.
        address: usize,
        /// The block that contains the address, if any.
        block: Option<Block>,
    },
    /// Unreachable blocks were not freed.
    Leak {
        /// The blocks, by address.
        blocks: Vec<Block>,
    },
}

/// An access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The thread that made it.
    pub thread: ThreadId,
    /// The first byte.
    pub address: usize,
    /// Number of bytes.
    pub size: usize,
    /// The kind.
    pub kind: AccessKind,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say what they mean")]
pub enum AccessKind {
    Read,
    Write,
    AtomicRead,
    AtomicWrite,
    Free,
}

impl AccessKind {
    /// Whether the access changes the memory.
    #[inline(always)]
    pub fn writes(self) -> bool {
        matches!(self, AccessKind::Write | AccessKind::AtomicWrite | AccessKind::Free)
    }

    /// Whether the access is atomic.
    #[inline(always)]
    pub fn is_atomic(self) -> bool {
        matches!(self, AccessKind::AtomicRead | AccessKind::AtomicWrite)
    }
}

impl Access {
    /// The bytes.
    pub fn bytes(&self) -> Range<usize> {
        self.address..self.address + self.size
    }
}

/// The accesses to record when the execution of a memory error is replayed: those that explain it. All accesses would
/// be too many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Plain accesses to these bytes.
    pub bytes: Range<usize>,
    /// Allocations and frees of blocks that begin here.
    pub blocks: Range<usize>,
    /// Whether these are too many to be listed among the events.
    pub is_aside: bool,
}

impl Fault {
    /// The accesses that explain the error.
    pub fn watch(&self) -> Watch {
        let block = |block: &Block| block.start..block.start + 1;
        match self {
            Fault::DataRace { first, second, block: around } => {
                let (a, b) = (first.bytes(), second.bytes());
                let bytes = a.start.max(b.start)..a.end.min(b.end);
                Watch { blocks: around.as_ref().map_or(0..0, block), bytes, is_aside: false }
            }
            Fault::UseAfterFree { access, block: freed } => {
                Watch { bytes: access.bytes(), blocks: block(freed), is_aside: false }
            }
            Fault::DoubleFree { block: freed, .. } => Watch { blocks: block(freed), ..Watch::default() },
            Fault::InvalidFree { block: around, address, .. } => {
                let start = around.map_or(*address, |around| around.start);
                Watch { blocks: start..address + 1, ..Watch::default() }
            }
            Fault::Leak { .. } => Watch { blocks: 0..usize::MAX, is_aside: true, ..Watch::default() },
        }
    }
}
