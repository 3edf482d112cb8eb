//! Other executions beside the failing one: when the failure became unavoidable, and the nearest execution that passes.

use serde::{Deserialize, Serialize};

use super::{Scenario, Schedule, Trace};

/// The point of no return: from this event on, every execution that was tried fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointOfNoReturn {
    /// The event of the failing trace after which the failure is unavoidable.
    pub event: u32,
    /// The number of executions that continued from a prefix of the failing one.
    pub executions: u64,
    /// Whether every continuation of the prefix was explored, not only a sample.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exhaustive: bool,
}

/// The passing execution that has the longest prefix in common with the failing one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearestPass {
    /// The number of events of the failing execution that both begin with.
    pub common: u32,
    /// The number of events of the passing execution that both begin with: the passing trace has no plain writes.
    pub common_of_pass: u32,
    /// The thread that goes on after the common prefix in the failing execution.
    pub failing_thread: u32,
    /// The thread that goes on after the common prefix in the passing execution.
    pub passing_thread: u32,
    /// The scheduling choices of the passing execution.
    pub schedule: Schedule,
    /// The reads-from choices of the passing execution.
    #[serde(default, skip_serializing_if = "Schedule::is_empty")]
    pub look_back: Schedule,
    /// The scenario with the results of the passing execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Scenario>,
    /// The events of the passing execution.
    pub trace: Trace,
}
