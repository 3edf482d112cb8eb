//! The memory that a session shares: instances of the state, and what actors returned.
//!
//! ```text
//!   states    [ 0 ][ 1 ][ 2 ] ...        each with cache lines of its own
//!   results   actor 0: 0 1 2 3 ...       each actor writes an array of its own, so that no two write the same line
//!             actor 1: 0 1 2 3 ...
//!             arbiter: 0 1 2 3 ...
//! ```
//!
//! Who may touch what changes at each rendezvous of the [session](crate::session):
//!
//! | step | states | results |
//! |---|---|---|
//! | fill | each thread writes those of its slice | nobody |
//! | stride | all threads read those of the stride | each thread writes those of its actor in the stride |
//! | count | each thread reads and drops those of its slice | each thread takes those of its slice, of all actors |
//!
//! The methods are unsafe because they rely on this table.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Range;

/// An instance of the state. It shares no cache line with its neighbours.
#[repr(align(64))]
pub(crate) struct Slot<S>(UnsafeCell<MaybeUninit<S>>);

impl<S> Slot<S> {
    /// The instance.
    ///
    /// # Safety
    /// The slot is filled, and nobody writes it while the reference lives.
    #[inline]
    pub(crate) unsafe fn get(&self) -> &S {
        // SAFETY: as the caller promises.
        unsafe { (*self.0.get()).assume_init_ref() }
    }

    /// Puts an instance into a slot that is empty.
    ///
    /// # Safety
    /// Nobody else uses the slot.
    #[inline]
    pub(crate) unsafe fn fill(&self, state: S) {
        // SAFETY: as the caller promises.
        unsafe { (*self.0.get()).write(state) };
    }

    /// Drops the instance.
    ///
    /// # Safety
    /// The slot is filled, and nobody else uses it. It is empty afterwards.
    #[inline]
    pub(crate) unsafe fn clear(&self) {
        // SAFETY: as the caller promises.
        unsafe { (*self.0.get()).assume_init_drop() };
    }
}

/// The result of an actor on an instance. Empty if it has none yet, or if it panicked.
pub(crate) struct Reply<T>(UnsafeCell<Option<T>>);

impl<T> Reply<T> {
    /// Notes what the actor returned.
    ///
    /// # Safety
    /// Nobody else uses the cell.
    #[inline]
    pub(crate) unsafe fn put(&self, value: T) {
        // SAFETY: as the caller promises.
        unsafe { *self.0.get() = Some(value) };
    }

    /// The result.
    ///
    /// # Safety
    /// Nobody writes the cell while the reference lives.
    #[inline]
    pub(crate) unsafe fn get(&self) -> Option<&T> {
        // SAFETY: as the caller promises.
        unsafe { (*self.0.get()).as_ref() }
    }

    /// Empties the cell.
    ///
    /// # Safety
    /// Nobody else uses the cell.
    #[inline]
    pub(crate) unsafe fn clear(&self) {
        // SAFETY: as the caller promises.
        unsafe { *self.0.get() = None };
    }
}

/// The states and results of a session.
pub(crate) struct Arena<S, T> {
    states: Box<[Slot<S>]>,
    /// By actor; those of the arbiter last.
    results: Vec<Box<[Reply<T>]>>,
    /// Cells of each array before the first and after the last in use: the neighbouring allocation has other cache lines.
    margin: usize,
}

// SAFETY: the table above says which thread uses what, and the rendezvous orders their uses. States are shared between threads and
// dropped by any of them; results move from one thread to another.
unsafe impl<S: Send + Sync, T: Send> Sync for Arena<S, T> {}
// SAFETY: as above.
unsafe impl<S: Send, T: Send> Send for Arena<S, T> {}

impl<S, T> Arena<S, T> {
    /// Space for so many instances, all of them empty. Slots that are never filled occupy no memory.
    pub(crate) fn new(instances: usize, actors: usize) -> Arena<S, T> {
        // SAFETY: a slot without a state is a valid slot.
        let states = unsafe { Box::new_uninit_slice(instances).assume_init() };
        let margin = 128 / size_of::<Reply<T>>().max(1) + 1;
        let cells = || (0..instances + 2 * margin).map(|_| Reply(UnsafeCell::new(None))).collect();
        Arena { states, results: (0..actors).map(|_| cells()).collect(), margin }
    }

    pub(crate) fn states(&self, range: Range<usize>) -> &[Slot<S>] {
        &self.states[range]
    }

    /// The results of an actor.
    pub(crate) fn results(&self, actor: usize, range: Range<usize>) -> &[Reply<T>] {
        &self.results[actor][range.start + self.margin..range.end + self.margin]
    }

    /// Bytes that an instance occupies, besides what it allocates.
    pub(crate) fn bytes_of_instance(actors: usize) -> usize {
        size_of::<Slot<S>>() + actors * size_of::<Reply<T>>()
    }
}
