//! The events of execution graphs.

use std::sync::atomic::Ordering;

/// An event.
///
/// The writes to a location are numbered in modification order: the initial value, which is no event, has index 0, and the
/// first write has index 1. The indices of two events decide every relation between them that concerns memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The thread, numbered from 0.
    pub thread: u32,
    /// The kind of the event.
    pub kind: Kind,
    /// The memory order. That of a failure, for a compare-exchange that failed.
    pub order: Ordering,
    /// The memory location; none for fences, and for accesses of which nothing else is known.
    pub location: Option<u32>,
    /// The index of the write that the event reads from; none if the event does not read.
    pub read_index: Option<u32>,
    /// The index of the event's own write; none if the event does not write.
    pub write_index: Option<u32>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An atomic access to memory.
    Access,
    /// A fence.
    Fence,
    /// An event without a memory order, such as the beginning of a thread.
    Other,
}

impl Event {
    /// A fence.
    pub fn fence(thread: u32, order: Ordering) -> Event {
        Event { kind: Kind::Fence, order, ..Event::other(thread) }
    }

    /// An event without a memory order.
    #[inline]
    pub fn other(thread: u32) -> Event {
        Event {
            thread,
            kind: Kind::Other,
            order: Ordering::Relaxed,
            location: None,
            read_index: None,
            write_index: None,
        }
    }

    /// `[SC]`: whether the event is a sequentially consistent access or fence.
    #[inline]
    pub fn is_sc(&self) -> bool {
        self.order == Ordering::SeqCst && self.kind != Kind::Other
    }

    /// `[F]`: whether the event is a fence.
    #[inline]
    pub fn is_fence(&self) -> bool {
        self.kind == Kind::Fence
    }

    /// `[RMW]`: whether the event is a read-modify-write.
    #[inline]
    pub fn is_rmw(&self) -> bool {
        self.read_index.is_some() && self.write_index.is_some()
    }
}

/// Whether both events access the same location.
#[inline]
pub fn same_location(a: &Event, b: &Event) -> bool {
    a.location.is_some() && a.location == b.location
}

/// Reads-from: whether `b` reads from the write of `a`.
#[inline]
pub fn rf(a: &Event, b: &Event) -> bool {
    same_location(a, b) && a.write_index.is_some() && a.write_index == b.read_index
}

/// Modification order: whether the write of `a` comes before that of `b`.
#[inline]
pub fn mo(a: &Event, b: &Event) -> bool {
    same_location(a, b) && is_less(a.write_index, b.write_index)
}

/// From-read: whether `a` reads from a write that comes before that of `b` in modification order. A read-modify-write is not
/// related to itself.
#[inline]
pub fn fr(a: &Event, b: &Event) -> bool {
    same_location(a, b) && a.write_index != b.write_index && is_less(a.read_index, b.write_index)
}

/// Extended coherence order: whether `a` precedes `b` in (rf ∪ mo ∪ fr)⁺.
///
/// Atomicity makes that `rf ∪ (mo ∪ fr) ; rf?`: a chain of the relations ends with the last write of the chain, or with a read of
/// it.
#[inline]
pub fn eco(a: &Event, b: &Event) -> bool {
    let mo_rf = matches!((a.write_index, b.read_index), (Some(x), Some(y)) if x <= y);
    let fr_rf = is_less(a.read_index, b.read_index);
    mo(a, b) || fr(a, b) || same_location(a, b) && (mo_rf || fr_rf)
}

#[inline]
fn is_less(x: Option<u32>, y: Option<u32>) -> bool {
    matches!((x, y), (Some(x), Some(y)) if x < y)
}

/// Whether a memory order includes acquire.
#[inline]
pub fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

/// Whether a memory order includes release.
#[inline]
pub fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

/// An execution graph as the axioms see it: events that are numbered from 0, and happens-before between them.
///
/// The events may be part of a larger execution. A violation among them is a violation of the whole.
pub trait Graph {
    /// The number of events.
    fn event_count(&self) -> usize;

    /// The event with a number.
    fn event(&self, event: usize) -> Event;

    /// The events that happen before an event, as a predicate. Program order is part of happens-before.
    fn past(&self, event: usize) -> impl Fn(usize) -> bool;
}
