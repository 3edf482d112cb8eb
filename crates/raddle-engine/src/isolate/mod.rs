//! Isolation: after an execution, the process is as it was before it.
//!
//! Three kinds of memory can remember something. What the code under test allocates comes from a [`heap`] that is reset.
//! What existed before the exploration (statics, and heap blocks allocated earlier) is rolled back page by page
//! ([`pages`]), and so are the locals that the closure borrows ([`borrowed`]). Thread-locals are restored from an image ([`crate::platform::tls_donor`]).
//!
//! Where the next execution begins like an earlier one, memory can be put into the state in which that stood at some point instead
//! ([`image`]).
//!
//! The [`environment`] is one list of variables for each execution.
//!
//! Other threads of the process stand still meanwhile ([`unmanaged_threads`]).
//!
//! The engine itself allocates from a second arena, so that nothing it keeps lies on a page that is rolled back.

pub mod borrowed;
pub(crate) mod environment;
pub mod heap;
pub(crate) mod image;
pub mod pages;
pub mod unmanaged_threads;
