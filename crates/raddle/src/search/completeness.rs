//! Whether a search made every execution.
//!
//! Two questions have different answers:
//!
//! - A search is *exhausted* if its strategy has nothing left to try, and its answer counts. The engine calls this
//!   [`SearchReport::complete`]; a search that was given up is never exhausted.
//! - A search is *complete* if it is exhausted and nothing was left out: it made every execution within its bounds.
//!
//! The bounds are those that the user set. [`Strategy::Exhaustive`](crate::Strategy::Exhaustive) with
//! [`preemptions`](crate::Explorer::preemptions) is complete when all executions within the bound were made, and counts those that it
//! saw beyond. [`Strategy::Bounded`](crate::Strategy::Bounded) has the bound in its name and does not count what lies beyond: it is
//! exhausted only if no interleaving exceeds the bound, so that `complete` is never said of a part of the program.
//!
//! A saved search ([`resume`](super::resume)) is removed when the engine has nothing left to do, whatever was left out: no later
//! process could try more.

use raddle_engine::SearchReport;

use super::summary::SearchSummary;
use crate::options::{Options, Strategy};

/// Whether the strategy has nothing left to try.
pub(crate) fn is_exhausted(report: &SearchReport, given_up: bool) -> bool {
    report.complete && !given_up
}

/// Whether every execution within the bounds was made.
pub(crate) fn is_complete(report: &SearchReport, given_up: bool) -> bool {
    is_exhausted(report, given_up) && report.left_out.is_empty()
}

impl SearchSummary {
    /// The summary of a search with these options.
    pub(crate) fn of(options: &Options, report: &SearchReport, given_up: bool) -> SearchSummary {
        let complete = is_complete(report, given_up);
        let counts_exceeding = options.strategy == Strategy::Exhaustive;
        SearchSummary {
            strategy: options.strategy.clone(),
            memory: options.memory(),
            allocation: options.allocation,
            executions: report.executions,
            complete,
            given_up,
            preemptions: options.preemptions.filter(|_| !counts_exceeding || report.exceeded > 0),
            estimate: report.estimate.filter(|&estimate| !complete && estimate > report.executions),
        }
    }
}

#[cfg(test)]
mod tests {
    use raddle_engine::left_out::Reason;

    use super::*;

    #[test]
    fn a_search_that_left_something_out_is_exhausted_but_not_complete() {
        let mut report = SearchReport { complete: true, ..SearchReport::default() };
        assert!(is_exhausted(&report, false) && is_complete(&report, false));
        assert!(!is_exhausted(&report, true) && !is_complete(&report, true));
        report.left_out.add(Reason::Timeouts);
        assert!(is_exhausted(&report, false) && !is_complete(&report, false));
    }
}
