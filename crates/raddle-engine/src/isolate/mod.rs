//! Isolation: roll-back of the process after each execution.
//!
//! Three kinds of memory persist. Allocations of the code under test come from a [`heap`] that is reset. Memory that
//! existed before the exploration (statics, and heap blocks allocated earlier) is rolled back page by page ([`pages`]),
//! and so are the locals that the closure borrows ([`borrowed`]). Thread-locals are restored from an image
//! ([`crate::platform::tls_donor`]).
//!
//! Where the next execution begins at a checkpoint, memory is restored from the checkpoint's [`image`] instead.
//!
//! The [`environment`] is one list of variables for each execution.
//!
//! Unmanaged threads of the process are held meanwhile ([`unmanaged_threads`]).
//!
//! **Invariant:** the engine itself allocates from a second arena, so that none of its memory lies on a page that is
//! rolled back.

pub mod borrowed;
pub(crate) mod environment;
pub mod heap;
pub(crate) mod image;
pub mod pages;
pub mod unmanaged_threads;
