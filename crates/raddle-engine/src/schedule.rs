//! The choices that make an execution.

use crate::op::ThreadId;

/// The first entry of a schedule from a strategy that claims all interleavings. No thread has this number.
pub const ALL_POINTS: ThreadId = ThreadId::MAX;

/// The choices that make an execution again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The thread taken at each scheduling point where more than one could go on; in graph-driven executions, the
    /// thread of each event. Begins with [`ALL_POINTS`] if increments of `Arc`'s counts were scheduling points.
    pub threads: Vec<ThreadId>,
    /// The position in modification order of each access that had a choice (in graph-driven executions, of each
    /// access), counted back from the newest store, which is 0.
    pub mo_offsets: Vec<u16>,
    /// In graph-driven executions, the abstraction of each access to a reference count or `RwLock`, as far as any was
    /// precise (see [`crate::model_checker`]).
    pub counts: Vec<u16>,
    /// The event from which the execution was fair, if it reached a limit.
    pub fair_since: Option<u64>,
    /// The seed of the random bytes of the code under test, if it differs from the search's.
    pub random: Option<u64>,
}
