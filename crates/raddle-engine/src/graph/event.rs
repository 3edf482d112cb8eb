//! The events of an execution graph.

use crate::op::{Int, Order, Rmw, ThreadId};

/// The number of an event: its place in the order in which the execution is made.
pub(crate) type EventId = u32;

/// The number of a place in memory.
pub(crate) type LocationId = u32;

/// Stands for the value that a place has before any write, where a write is named.
pub(crate) const INIT: EventId = EventId::MAX;

/// Stands for no event or no place.
pub(crate) const NONE: u32 = u32::MAX - 1;

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads.
    Load,
    /// Reads how many operations of another thread have ended. Those in a row are one moment.
    Look,
    /// Writes this value.
    Store(u64),
    /// Reads, and writes what the operation makes of it.
    Rmw(Rmw, u64),
    /// Reads, and writes `new` if that was `expected`; else it is a load of order `failure`.
    Cas { expected: u64, new: u64, failure: Order },
    /// Waits until the place holds more than this, and reads.
    Await(u64),
    /// Waits until the place holds something else than this, and reads.
    AwaitOther(u64),
    /// Waits until the place holds 0, and writes this value.
    Lock(u64),
    /// Waits until no writer holds the `std::sync::RwLock` at the place or waits for it, and counts as one more reader.
    LockShared,
    /// Waits until nobody holds the `std::sync::RwLock` at the place, and locks it for writing.
    LockAlone,
    /// Locks the `std::sync::RwLock` at the place for writing if nobody holds it, and else says that a writer waits.
    AskAlone,
    /// What [`Access::LockAlone`] does, for a writer that has waited: others might, so it says so.
    LockAsked,
    /// Adds this to the count of those who hold the `std::sync::RwLock` at the place. If nobody is left, writers that wait have been
    /// woken, and none is said to wait.
    Unlock(u32),
    /// Counts as one more reader of the `std::sync::RwLock` at the place, unless a writer holds it or waits for it.
    TryLockShared,
    /// Locks the `std::sync::RwLock` at the place for writing, unless somebody holds it.
    TryLockAlone,
    /// Gives up one of the handles that are counted at the place. Only the last one sees more of the others than that.
    Drop,
    /// Orders accesses.
    Fence,
    /// Makes a thread.
    Spawn(ThreadId),
    /// The beginning of a thread.
    Begin,
    /// Waits for the end of a thread.
    Join(ThreadId),
    /// Does what a scope waits for.
    LeaveScope,
    /// Ends a scope, after a thread has done what that waits for.
    EndScope(ThreadId),
    /// Goes on in one of so many ways, which is what it reads.
    Choose(u16),
    /// Goes on after a wait that another thread ended.
    Woken,
    /// Goes on after a wait that the clock ended when no thread could go on, and so after everything else.
    TimedOut,
}

impl Access {
    /// Whether the instruction reads memory.
    pub(crate) fn reads(self) -> bool {
        use Access::*;
        let locks = matches!(self, Lock(_) | LockShared | LockAlone | AskAlone | LockAsked | Unlock(_));
        let tries = matches!(self, TryLockShared | TryLockAlone | Await(_) | AwaitOther(_));
        locks || tries || matches!(self, Load | Look | Rmw(..) | Cas { .. })
    }

    /// Whether the instruction never writes.
    pub(crate) fn reads_only(self) -> bool {
        self == Access::Load
    }

    /// What the instruction writes when it reads `read`; none if it does not write.
    pub(crate) fn writes(self, read: u64, size: u8) -> Option<u64> {
        match self {
            Access::Store(value) | Access::Lock(value) => Some(value),
            Access::LockShared => Some(read + 1),
            Access::LockAlone => Some(read | RWLOCK_HOLDERS),
            Access::AskAlone => Some(read | if is_free(read) { RWLOCK_HOLDERS } else { WRITER_WAITS }),
            Access::LockAsked => Some(read | RWLOCK_HOLDERS | WRITER_WAITS),
            Access::Unlock(added) => {
                let left = u64::from((read as u32).wrapping_add(added));
                Some(if is_free(left) { left & !WRITER_WAITS } else { left })
            }
            Access::TryLockShared => can_be_shared(read).then_some(read + 1),
            Access::TryLockAlone => is_free(read).then_some(read | RWLOCK_HOLDERS),
            Access::Rmw(op, operand) => Some(apply(op, read, operand, size)),
            Access::Cas { expected, new, .. } => (read == expected).then_some(new),
            _ => None,
        }
    }

    /// Whether there are values with which the instruction has to wait.
    pub(crate) fn may_wait(self) -> bool {
        use Access::*;
        matches!(self, Await(_) | AwaitOther(_) | Lock(_) | LockShared | LockAlone | LockAsked)
    }

    /// Whether the instruction can be done when it reads this.
    pub(crate) fn accepts(self, read: u64) -> bool {
        match self {
            Access::Await(value) => read > value,
            Access::AwaitOther(value) => read != value,
            Access::Lock(_) => read == 0,
            Access::LockShared => can_be_shared(read),
            Access::LockAlone | Access::LockAsked => is_free(read),
            _ => true,
        }
    }
}

/// The bits in which std's `RwLock` counts its readers; all of them are set while a writer holds it.
pub(crate) const RWLOCK_HOLDERS: u64 = (1 << 30) - 1;

/// The bit by which std's `RwLock` says that a writer waits.
const WRITER_WAITS: u64 = 1 << 31;

/// The one by which it says that readers do.
const READERS_WAIT: u64 = 1 << 30;

fn can_be_shared(rwlock: u64) -> bool {
    rwlock & RWLOCK_HOLDERS < RWLOCK_HOLDERS - 1 && rwlock & (WRITER_WAITS | READERS_WAIT) == 0
}

fn is_free(rwlock: u64) -> bool {
    rwlock & RWLOCK_HOLDERS == 0
}

fn apply(op: Rmw, read: u64, operand: u64, size: u8) -> u64 {
    match size {
        1 => (read as u8).apply(op, operand as u8).into(),
        2 => (read as u16).apply(op, operand as u16).into(),
        4 => (read as u32).apply(op, operand as u32).into(),
        _ => read.apply(op, operand),
    }
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) thread: ThreadId,
    pub(crate) access: Access,
    /// The memory order of what it came to: that of the failure, for a compare-exchange that failed.
    pub(crate) order: Order,
    /// The memory order of the instruction.
    pub(crate) wanted: Order,
    pub(crate) place: LocationId,
    pub(crate) size: u8,
    /// How many events of its thread come before.
    pub(crate) po: u32,
    /// What its thread has read so far, itself included, as a hash: all that the thread's future depends on.
    pub(crate) past: u64,
    /// When it was first added: the order that decides which reads a later write may revisit.
    pub(crate) stamp: u32,
    /// The write that it reads, the spawn of a beginning, the last event of a joined thread.
    pub(crate) rf: EventId,
    pub(crate) read: u64,
    pub(crate) written: Option<u64>,
    /// It is not an event but the note that a thread waits here, having seen `rf` last.
    pub(crate) waits: bool,
}

impl Event {
    pub(crate) fn reads(&self) -> bool {
        self.access.reads()
    }

    pub(crate) fn writes(&self) -> bool {
        self.written.is_some()
    }

    /// A write that is part of a read-modify-write.
    pub(crate) fn is_rmw(&self) -> bool {
        self.writes() && self.reads()
    }

    /// Gives up the last handle, after all others.
    pub(crate) fn is_last_drop(&self) -> bool {
        self.access == Access::Drop && self.read != 0
    }

    /// The same event, as the one that gives up the last handle or as one of the others.
    pub(crate) fn as_drop(self, last: bool) -> Event {
        Event { read: last.into(), ..self }
    }

    /// The hash of what a thread has read, after this event.
    pub(crate) fn past_after(&self, past: u64) -> u64 {
        let tag = if self.access == Access::TimedOut { 2 } else { u64::from(self.reads()) };
        (past.rotate_left(7) ^ self.read ^ (tag << 62)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Sets what it reads, and with it everything that follows from that.
    pub(crate) fn set_source(&mut self, rf: EventId, value: u64) {
        self.rf = rf;
        self.read = value;
        self.written = self.access.writes(value, self.size);
        self.order = match self.access {
            Access::Cas { failure, .. } if self.written.is_none() => failure,
            Access::TryLockShared | Access::TryLockAlone if self.written.is_none() => Order::Relaxed,
            _ => self.wanted,
        };
    }
}
