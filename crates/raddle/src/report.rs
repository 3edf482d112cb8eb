//! What an exploration without failure says.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::search::reach::Reach;
use crate::search::summary::SearchSummary;
use crate::suppress::Suppressed;

/// What was explored, and what the closure returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report<T> {
    /// Executions.
    pub executions: u64,
    /// Those of them that were [recognised](crate::Explorer::recognise): they took only steps that others had taken before from the same
    /// states, and were not made again.
    pub recognised: u64,
    /// Explorations that were cut because a thread only waited for what another execution shows too. They are not counted
    /// as executions.
    pub blocked: u64,
    /// Explorations that were cut, and executions that are not counted, because they take more than the
    /// [`preemptions`](crate::Explorer::preemptions) asked for. If there are none, the bound did not matter.
    pub exceeded: u64,
    /// Whether every execution within the bounds was made: whether the search is [`exhausted`](Self::exhausted) and nothing is
    /// [left out](Self::left_out). The bound is that of [`preemptions`](crate::Explorer::preemptions);
    /// [`Strategy::Bounded`](crate::Strategy::Bounded) is complete only if nothing lies beyond its bound.
    pub complete: bool,
    /// Whether an exhaustive search came to its end: whether all was made that it tries.
    pub exhausted: bool,
    /// What was not tried although it is possible.
    pub left_out: Vec<&'static str>,
    /// About how many executions there are, if an exhaustive search ended early that took long enough to be estimated. That
    /// is the mean of a few hundred random descents into the tree of the search: the order of magnitude, not more.
    pub estimate: Option<u64>,
    /// What the closure returned, and how often.
    pub outcomes: BTreeMap<T, u64>,
    /// Events of all executions together.
    pub events: u64,
    /// Changes of thread in all executions together.
    pub switches: u64,
    /// How long the search took.
    pub elapsed: Duration,
    /// The seed that makes the same search again.
    pub seed: u64,
    /// The searches that [`Strategy::Auto`](crate::Strategy::Auto) chose, in order; none for other strategies.
    pub searches: Vec<SearchSummary>,
    /// What was reached of the code.
    pub reach: Reach,
    /// What was asked not to be reported, and how often it was seen.
    pub suppressed: Vec<Suppressed>,
}
