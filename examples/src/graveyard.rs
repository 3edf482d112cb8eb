//! Where lock-free structures put nodes that they unlinked: others may still look at them, so they are freed with the
//! structure and not before.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::AcqRel};

/// What a node must have to be buried.
pub(crate) trait Bury: Sized {
    /// The link between buried nodes. Nothing else uses it.
    fn below(&self) -> &UnsafeCell<*mut Self>;
}

/// Buried nodes, linked.
pub(crate) struct Graveyard<N: Bury>(AtomicPtr<N>);

impl<N: Bury> Graveyard<N> {
    pub(crate) fn new() -> Graveyard<N> {
        Graveyard(AtomicPtr::new(ptr::null_mut()))
    }

    /// Takes over a node.
    ///
    /// # Safety
    /// The node came from a `Box`, and is buried once.
    pub(crate) unsafe fn bury(&self, node: *mut N) {
        let below = self.0.swap(node, AcqRel);
        // SAFETY: only who buries a node writes its link, and only `drop` reads it.
        unsafe { *(*node).below().get() = below };
    }
}

impl<N: Bury> Drop for Graveyard<N> {
    fn drop(&mut self) {
        let mut node = *self.0.get_mut();
        while !node.is_null() {
            // SAFETY: nobody else is left, and each node was buried once.
            node = unsafe { *Box::from_raw(node).below().get() };
        }
    }
}
