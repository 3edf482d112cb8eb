//! Events, the nodes of an execution graph.

use crate::op::{Int, Order, Rmw, ThreadId};

/// The index of an event in its graph. Program order and reads-from go from lower to higher indices.
pub(crate) type EventId = u32;

/// The number of a memory location.
pub(crate) type LocationId = u32;

/// The initial write of a location, where an [`EventId`] names a write. No event has this id.
pub(crate) const INIT: EventId = EventId::MAX;

/// The absence of an event or of a location. No event and no location has this number. All numbers of events are smaller than
/// `NONE`, which is smaller than [`INIT`].
pub(crate) const NONE: u32 = u32::MAX - 1;

/// The event with this id. None for [`INIT`] and [`NONE`].
#[inline]
pub(super) fn event_id(id: EventId) -> Option<EventId> {
    (id < NONE).then_some(id)
}

/// The instruction of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// A load.
    Load,
    /// A load of the number of operations that another thread of a scenario has completed. Consecutive loads of this kind take
    /// place at the same instant.
    ReadCompletions,
    /// A store of a value.
    Store(u64),
    /// A read-modify-write with an operand.
    Rmw(Rmw, u64),
    /// A compare-exchange. One that fails is a load of order `failure`.
    Cas { expected: u64, new: u64, failure: Order },
    /// A load that blocks until the location holds a greater value than this.
    AwaitGreater(u64),
    /// A load that blocks until the location holds another value than this.
    AwaitNotEqual(u64),
    /// The lock of a mutex: blocks until the location holds 0, then stores this value.
    Lock(u64),
    /// `RwLock::read`: blocks while a writer holds the lock or waits for it, then adds a reader.
    RwLockRead,
    /// `RwLock::write`: blocks while a thread holds the lock, then locks it for writing.
    RwLockWrite,
    /// The first step of `RwLock::write`: locks a free lock for writing, and marks a held one as awaited by a writer.
    RwLockRequestWrite,
    /// [`Access::RwLockWrite`] after [`Access::RwLockRequestWrite`] failed. The lock stays marked as awaited by a writer, because
    /// other writers may wait.
    RwLockWriteAfterRequest,
    /// The release of an `RwLock`: adds this number to the holders. The last holder to leave wakes the writers that wait, and
    /// removes their mark.
    RwLockUnlock(u32),
    /// `RwLock::try_read`: fails while a writer holds the lock or waits for it.
    RwLockTryRead,
    /// `RwLock::try_write`: fails while a thread holds the lock.
    RwLockTryWrite,
    /// The decrement of a reference count. Only the final decrement observes the others.
    Decrement,
    /// A fence.
    Fence,
    /// The spawn of a thread.
    Spawn(ThreadId),
    /// The first event of a thread.
    Begin,
    /// The join of a thread.
    Join(ThreadId),
    /// The end of the part of a scoped thread for which its scope waits.
    LeaveScope,
    /// The end of a scope, after this thread left it.
    EndScope(ThreadId),
    /// A choice among this many alternatives. The event reads the index of the chosen one.
    Choose(u16),
    /// The end of a wait that another thread ended.
    Woken,
    /// The end of a wait by timeout. The clock moves only when no thread can go on, so all earlier events precede this one.
    TimedOut,
}

impl Access {
    /// Whether the instruction reads memory.
    pub(crate) fn reads(self) -> bool {
        use Access::*;
        let locks = matches!(self, Lock(_) | RwLockRead | RwLockWrite | RwLockRequestWrite)
            || matches!(self, RwLockWriteAfterRequest | RwLockUnlock(_) | RwLockTryRead | RwLockTryWrite);
        let awaits = matches!(self, AwaitGreater(_) | AwaitNotEqual(_));
        locks || awaits || matches!(self, Load | ReadCompletions | Rmw(..) | Cas { .. })
    }

    /// Whether the instruction is a plain load.
    pub(crate) fn reads_only(self) -> bool {
        self == Access::Load
    }

    /// The value that the instruction writes after it read `read`. None if it does not write.
    pub(crate) fn writes(self, read: u64, size: u8) -> Option<u64> {
        match self {
            Access::Store(value) | Access::Lock(value) => Some(value),
            Access::RwLockRead => Some(read + 1),
            Access::RwLockWrite => Some(read | RWLOCK_HOLDERS),
            Access::RwLockRequestWrite => {
                Some(read | if is_free(read) { RWLOCK_HOLDERS } else { WRITERS_WAITING })
            }
            Access::RwLockWriteAfterRequest => Some(read | RWLOCK_HOLDERS | WRITERS_WAITING),
            Access::RwLockUnlock(added) => {
                let left = u64::from((read as u32).wrapping_add(added));
                Some(if is_free(left) { left & !WRITERS_WAITING } else { left })
            }
            Access::RwLockTryRead => is_readable(read).then_some(read + 1),
            Access::RwLockTryWrite => is_free(read).then_some(read | RWLOCK_HOLDERS),
            Access::Rmw(op, operand) => Some(apply(op, read, operand, size)),
            Access::Cas { expected, new, .. } => (read == expected).then_some(new),
            _ => None,
        }
    }

    /// Whether the instruction blocks at some values.
    pub(super) fn may_block(self) -> bool {
        use Access::*;
        matches!(self, AwaitGreater(_) | AwaitNotEqual(_) | Lock(_))
            || matches!(self, RwLockRead | RwLockWrite | RwLockWriteAfterRequest)
    }

    /// Whether the instruction can read this value without blocking.
    pub(crate) fn accepts(self, read: u64) -> bool {
        match self {
            Access::AwaitGreater(value) => read > value,
            Access::AwaitNotEqual(value) => read != value,
            Access::Lock(_) => read == 0,
            Access::RwLockRead => is_readable(read),
            Access::RwLockWrite | Access::RwLockWriteAfterRequest => is_free(read),
            _ => true,
        }
    }
}

/// The bits in which std's `RwLock` counts its readers. All of them are set while a writer holds the lock.
pub(crate) const RWLOCK_HOLDERS: u64 = (1 << 30) - 1;

/// The bit that std's `RwLock` sets while writers wait.
const WRITERS_WAITING: u64 = 1 << 31;

/// The bit that std's `RwLock` sets while readers wait.
const READERS_WAITING: u64 = 1 << 30;

fn is_readable(rwlock: u64) -> bool {
    rwlock & RWLOCK_HOLDERS < RWLOCK_HOLDERS - 1 && rwlock & (WRITERS_WAITING | READERS_WAITING) == 0
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

/// An event, or a blocked read (see [`Event::blocked`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) thread: ThreadId,
    pub(crate) access: Access,
    /// The memory order in effect: the order of failure for a compare-exchange that failed.
    pub(crate) order: Order,
    /// The memory order of the instruction, which is that of success for a compare-exchange.
    pub(crate) declared_order: Order,
    /// The location that the event accesses. [`NONE`] if it accesses no memory.
    pub(crate) location: LocationId,
    pub(crate) size: u8,
    /// The index of the event in program order.
    pub(crate) po: u32,
    /// A hash of all values that the thread has read up to and including this event. The future of the thread depends on nothing
    /// else.
    pub(crate) reads_hash: u64,
    /// The position of the event in the order in which events were added (see [`Graph::revisits`](super::Graph::revisits)).
    /// [`NONE`] before the event is added.
    pub(crate) stamp: u32,
    /// The source of the event: for a read, the write that it reads from, or [`INIT`]; for a beginning, the spawn; for a join,
    /// the last event of the joined thread; for other events that follow an event of another thread, that event. [`NONE`]
    /// otherwise.
    pub(crate) rf: EventId,
    /// The value read; the index of the alternative of a [`Access::Choose`]; 1 for the final one of the
    /// [`Access::Decrement`]s of a location, 0 for the others.
    pub(crate) read: u64,
    pub(crate) written: Option<u64>,
    /// Marks a *blocked read*: the entry stands for a thread that is blocked at this access and last could have read from `rf`.
    /// It is listed among the graph's events to have a stamp, but no event of its thread: it is in no program order, writes
    /// nothing, and an execution does not make it.
    pub(crate) blocked: bool,
}

impl Event {
    pub(crate) fn reads(&self) -> bool {
        self.access.reads()
    }

    pub(crate) fn writes(&self) -> bool {
        self.written.is_some()
    }

    /// Whether the event has a position in the modification order of its location.
    #[inline]
    pub(super) fn is_in_co(&self) -> bool {
        self.writes() && !self.blocked
    }

    /// Whether the event is a read-modify-write that writes.
    pub(crate) fn is_rmw(&self) -> bool {
        self.writes() && self.reads()
    }

    /// The event that `rf` names. None for the initial write, and for events without a source.
    #[inline]
    pub(crate) fn source(&self) -> Option<EventId> {
        event_id(self.rf)
    }

    /// Whether the event brings a reference count to zero.
    pub(crate) fn is_final_decrement(&self) -> bool {
        self.access == Access::Decrement && self.read != 0
    }

    /// The same decrement, as the final one of its location or as another.
    pub(crate) fn as_decrement(self, is_final: bool) -> Event {
        Event { read: is_final.into(), ..self }
    }

    /// The hash of all values that the thread has read after this event, given the hash before.
    pub(super) fn reads_hash_after(&self, before: u64) -> u64 {
        let tag = if self.access == Access::TimedOut { 2 } else { u64::from(self.reads()) };
        (before.rotate_left(7) ^ self.read ^ (tag << 62)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Sets the source of a read, the value written and the memory order in effect.
    pub(crate) fn set_source(&mut self, rf: EventId, value: u64) {
        self.rf = rf;
        self.read = value;
        self.written = self.access.writes(value, self.size);
        self.order = match self.access {
            Access::Cas { failure, .. } if self.written.is_none() => failure,
            Access::RwLockTryRead | Access::RwLockTryWrite if self.written.is_none() => Order::Relaxed,
            _ => self.declared_order,
        };
    }
}
