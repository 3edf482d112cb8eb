//! What can be wrong with an access to memory.

use std::ops::Range;

use crate::isolate::heap::Block;
use crate::op::ThreadId;

/// Something that no correct program does to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Two accesses to the same bytes, at least one of them a write and at least one of them not atomic, and neither
    /// happened before the other.
    DataRace {
        /// The access that was made first in this execution.
        first: Access,
        /// The access that was made when the race was seen.
        second: Access,
        /// The block that they access, if it is one.
        block: Option<Block>,
    },
    /// An access to a block that was freed.
    UseAfterFree {
        /// The access.
        access: Access,
        /// The block.
        block: Block,
    },
    /// A block was freed again.
    DoubleFree {
        /// The thread that freed it again.
        thread: ThreadId,
        /// The block.
        block: Block,
    },
    /// Something was freed that is no block.
    InvalidFree {
        /// The thread that freed it.
        thread: ThreadId,
        /// What it freed.
        address: usize,
        /// The block that the address lies in, if there is one.
        block: Option<Block>,
    },
    /// Blocks were left that nothing refers to.
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
    /// Where.
    pub address: usize,
    /// How many bytes.
    pub size: usize,
    /// What it did.
    pub kind: AccessKind,
}

/// What an access does.
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
    /// Whether it changes the memory.
    #[inline(always)]
    pub fn writes(self) -> bool {
        matches!(self, AccessKind::Write | AccessKind::AtomicWrite | AccessKind::Free)
    }

    /// Whether it is atomic.
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

/// What to record of an execution that is made again because of a fault: everything that explains it, which is too much to
/// record of every place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Plain accesses to these bytes.
    pub bytes: Range<usize>,
    /// Allocations and frees of blocks that begin here.
    pub blocks: Range<usize>,
    /// Whether these are too many to be shown among the events.
    pub is_aside: bool,
}

impl Fault {
    /// What explains the fault.
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
