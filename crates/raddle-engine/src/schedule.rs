//! The choices that make an execution.

use crate::op::ThreadId;

/// The first entry of a schedule that was found by a strategy that claims all interleavings; no thread has this number.
pub const ALL_POINTS: ThreadId = ThreadId::MAX;

/// What has to be chosen to make an execution again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The thread taken at each point where more than one could go on; under the exhaustive search, that of each event. It begins with
    /// [`ALL_POINTS`] if threads could change where a handle of an `Arc` is made.
    pub threads: Vec<ThreadId>,
    /// At each access that had a choice (under the exhaustive search, at each access): how far back in modification order it went. 0 is the newest.
    pub mo_offsets: Vec<u16>,
    /// Under the exhaustive search: how each access to a count of references was made, as far as any was an event
    /// (see `model_checker::abstraction_log`).
    pub counts: Vec<u16>,
    /// Since which event the execution went on fairly, if it reached a limit.
    pub fair_since: Option<u64>,
    /// The seed of the random bytes that the code under test got, if it is not that of the search.
    pub random: Option<u64>,
}
