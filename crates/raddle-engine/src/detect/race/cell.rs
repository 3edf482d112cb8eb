//! Shadow cells: the accesses to eight bytes that a later access may race with.

use super::{Calls, Earlier};
use crate::detect::fault::{Access, AccessKind};
use crate::op::ThreadId;

/// Number of accesses that a cell has room for. More are rarely unordered.
pub(super) const ACCESSES: usize = 4;

/// A shadow cell: the accesses to eight bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct ShadowCell {
    pub(super) accesses: [ShadowAccess; ACCESSES],
    /// The index of further accesses in [`Races::overflow`](super::Races), if the next field says that there are any.
    pub(super) overflow: u32,
    /// The base of the execution that `overflow` belongs to, plus one.
    pub(super) overflow_of: u32,
    /// The calls of each access: indices in [`Races::calls`](super::Races).
    pub(super) calls: [u32; ACCESSES],
    /// The base of the execution that last recorded an access, plus one.
    pub(super) used_in: u32,
}

// A cell is one cache line.
const _: () = assert!(size_of::<ShadowCell>() == 64);

#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedAccess {
    pub(super) access: ShadowAccess,
    pub(super) calls: u32,
}

/// An access in 64 bits: time in the lowest 32 bits, then thread (16), bytes (8), whether it writes, whether it is
/// atomic, whether it frees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShadowAccess(u64);

const WRITES: u64 = 1 << 56;
const ATOMIC: u64 = 1 << 57;
const FREES: u64 = 1 << 58;

impl ShadowAccess {
    pub(super) const NONE: ShadowAccess = ShadowAccess(0);

    #[inline(always)]
    pub(super) fn new(thread: ThreadId, time: u32, mask: u8, kind: AccessKind) -> ShadowAccess {
        let writes = if kind.writes() { WRITES } else { 0 };
        let atomic = if kind.is_atomic() { ATOMIC } else { 0 };
        let frees = if kind == AccessKind::Free { FREES } else { 0 };
        ShadowAccess(
            u64::from(time) | u64::from(thread) << 32 | u64::from(mask) << 48 | writes | atomic | frees,
        )
    }

    #[inline(always)]
    pub(super) fn time(self) -> u32 {
        self.0 as u32
    }

    /// The access of an execution with the base `old`, for one with the base `new`. None, if it is of an earlier execution.
    #[inline(always)]
    pub(super) fn rebased(self, old: u32, new: u32) -> ShadowAccess {
        let moved = self.0.wrapping_sub(old.into()).wrapping_add(new.into());
        if self.time() > old { ShadowAccess(moved) } else { ShadowAccess::NONE }
    }

    #[inline(always)]
    pub(super) fn thread(self) -> ThreadId {
        (self.0 >> 32) as ThreadId
    }

    #[inline(always)]
    pub(super) fn mask(self) -> u8 {
        (self.0 >> 48) as u8
    }

    #[inline(always)]
    pub(super) fn same_epoch(self, other: ShadowAccess) -> bool {
        (self.0 ^ other.0) << 16 == 0
    }

    /// Whether two unordered accesses are a race.
    #[inline(always)]
    pub(super) fn conflicts(self, other: ShadowAccess) -> bool {
        self.mask() & other.mask() != 0 && (self.0 | other.0) & WRITES != 0 && self.0 & other.0 & ATOMIC == 0
    }

    /// Whether every access that conflicts with `other` conflicts with this one too.
    #[inline(always)]
    pub(super) fn subsumes(self, other: ShadowAccess) -> bool {
        other.mask() & !self.mask() == 0
            && (self.0 & WRITES != 0 || other.0 & WRITES == 0)
            && (self.0 & ATOMIC == 0 || other.0 & ATOMIC != 0)
    }

    pub(super) fn earlier(self, cell: usize, calls: Calls) -> Earlier {
        let kind = match (self.0 & WRITES != 0, self.0 & ATOMIC != 0) {
            _ if self.0 & FREES != 0 => AccessKind::Free,
            (false, false) => AccessKind::Read,
            (true, false) => AccessKind::Write,
            (false, true) => AccessKind::AtomicRead,
            (true, true) => AccessKind::AtomicWrite,
        };
        let first = self.mask().trailing_zeros() as usize;
        let size = (self.mask() >> first).trailing_ones() as usize;
        Earlier { access: Access { thread: self.thread(), address: cell + first, size, kind }, calls }
    }
}

/// A mask of `size` bytes from `offset` on.
#[inline(always)]
pub(super) fn bytes(offset: usize, size: usize) -> u8 {
    (((1u32 << size) - 1) << offset) as u8
}
