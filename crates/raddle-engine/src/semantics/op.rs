//! The record of an atomic access.

use crate::detect::fault::AccessKind;
use crate::execution::Engine;
use crate::graph::event::Access;
use crate::location_table::MemoryLocation;
use crate::op::{Caller, Int, Order, Rmw};
use crate::site::Site;
use crate::trace::Action;

/// An atomic access of instrumented code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomicOp<T> {
    /// The calling code.
    pub(crate) caller: Caller,
    /// The class of the calling code.
    pub(crate) site: Site,
    pub(crate) location: *mut T,
    pub(crate) kind: AtomicKind<T>,
    /// The memory order; for a compare-exchange, that of success.
    pub(crate) order: Order,
}

/// The kind of an atomic access.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AtomicKind<T> {
    Load,
    Store(T),
    Rmw(Rmw, T),
    Cas { expected: T, new: T, failure: Order },
}

impl<T: Int> AtomicOp<T> {
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        self.location.addr()
    }

    #[inline(always)]
    pub(crate) fn memory_location(&self) -> MemoryLocation {
        MemoryLocation { address: self.address(), size: size_of::<T>() as u8 }
    }

    /// The value that the access writes if it reads `read`.
    #[inline(always)]
    pub(crate) fn written(&self, read: T) -> Option<T> {
        match self.kind {
            AtomicKind::Load => None,
            AtomicKind::Store(value) => Some(value),
            AtomicKind::Rmw(op, operand) => Some(read.apply(op, operand)),
            AtomicKind::Cas { expected, new, .. } => (read == expected).then_some(new),
        }
    }

    /// The kind of access that memory errors are reported for.
    #[inline(always)]
    pub(super) fn access_kind(&self) -> AccessKind {
        if matches!(self.kind, AtomicKind::Load) { AccessKind::AtomicRead } else { AccessKind::AtomicWrite }
    }

    /// The access as an event of an execution graph.
    #[inline(always)]
    pub(crate) fn label(&self) -> Access {
        match self.kind {
            AtomicKind::Load => Access::Load,
            AtomicKind::Store(value) => Access::Store(value.widen() as u64),
            AtomicKind::Rmw(op, operand) => Access::Rmw(op, operand.widen() as u64),
            AtomicKind::Cas { expected, new, failure } => {
                Access::Cas { expected: expected.widen() as u64, new: new.widen() as u64, failure }
            }
        }
    }

    /// The action to record. The access read `read`, when `newest` was the newest value; for a store, when it had
    /// become so.
    pub(crate) fn action(&self, read: T, newest: T) -> Action {
        let (address, size, order) = (self.address(), size_of::<T>() as u8, self.order);
        let (read, newest) = (read.widen(), newest.widen());
        match self.kind {
            AtomicKind::Load => Action::Load { address, size, order, value: read, newest },
            AtomicKind::Store(value) => Action::Store { address, size, order, value: value.widen(), newest },
            AtomicKind::Rmw(op, operand) => {
                let written = T::narrow(read).apply(op, operand).widen();
                Action::Rmw { address, size, order, op, read, written }
            }
            AtomicKind::Cas { expected, new, .. } => {
                let (expected, new) = (expected.widen(), new.widen());
                Action::Cas { address, size, order, expected, new, read, newest }
            }
        }
    }

    /// The values of an unlocked and of a locked mutex, if the access locks a `std::sync::Mutex`.
    #[inline(always)]
    pub(super) fn locks_mutex(&self) -> Option<[T; 2]> {
        match self.kind {
            AtomicKind::Cas { expected, new, .. }
                if self.site == Site::MutexLock && size_of::<T>() == size_of::<u32>() =>
            {
                Some([expected, new])
            }
            _ => None,
        }
    }

    /// Whether the access is the load of `JoinHandle::is_finished`.
    #[inline(always)]
    pub(super) fn is_finished_load(&self, engine: &Engine) -> bool {
        matches!(self.kind, AtomicKind::Load)
            && (self.site == Site::IsFinished
                || (self.site == Site::Merged && engine.counts_handles(self.address())))
    }

    /// Whether the access reads the thread count of a scope at its end. A scope also reads a smaller flag: whether one
    /// of its threads has panicked.
    #[inline(always)]
    pub(super) fn is_scope_end(&self) -> bool {
        matches!(self.kind, AtomicKind::Load)
            && self.site == Site::ScopeEnd
            && size_of::<T>() == size_of::<usize>()
    }
}
