//! The choices that make an execution.

use crate::thread::ThreadId;

/// What has to be chosen to make an execution again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The thread taken at each point where more than one could go on; under the exhaustive search, that of each event.
    pub threads: Vec<ThreadId>,
    /// At each access that had a choice (under the exhaustive search, at each access): how far back in modification order it went. 0 is the newest.
    pub look_back: Vec<u16>,
    /// Under the exhaustive search: how each access to a count of references was made, as far as any was an event
    /// (see `graph::counts`).
    pub counts: Vec<u16>,
}
