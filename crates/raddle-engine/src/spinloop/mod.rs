//! Spinloops: loops in which a thread only waits for others.
//!
//! | module | what it is |
//! |---|---|
//! | [`watch`] | the reads of a thread since its last effect, where executions are interleavings |
//! | `rounds` | the iterations of a loop, where executions follow a graph |
//! | `liveness` | the values that the code of a thread will still read, from its machine code |

pub(crate) mod liveness;
pub(crate) mod rounds;
pub mod watch;
