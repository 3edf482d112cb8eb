//! The estimated size of an exhaustive search, and whether to go on.

use std::time::Duration;

use super::{Found, Search, SearchReport};
use crate::execution::Judge;

/// Events of a search before its first estimate: a shorter search needs none. The next estimates follow at multiples of
/// that, up to the last: by then the size is known, or will not be. Where the effort does not depend on estimates, only events
/// count that are made: an estimate begins at the beginning, and would take as long as a search behind its checkpoints.
pub(super) const FIRST: u64 = 250_000;
pub(super) const TIMES_MORE: u64 = 4;
const LAST: u64 = FIRST * TIMES_MORE.pow(3);

/// Inverse fraction of a search's events that an estimate may make. After the first estimate, only events count that
/// are made: executions of a search begin at later checkpoints than those of an estimate.
const PART: u64 = 8;

/// Factor by which an estimate must exceed the effort to end the search, because estimates may be wrong.
const FAR: f64 = 10.0;

/// The effort that a search may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How many executions at most.
    pub executions: u64,
    /// How long at most.
    pub time: Option<Duration>,
}

/// The prospect of a search to end within an effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prospect {
    /// It ends within the effort.
    Near,
    /// Unknown.
    Unsure,
    /// It does not end within the effort.
    Far,
}

impl Effort {
    /// The prospect of a search with this estimated size, which made `executions` in the time `elapsed`.
    fn prospect(&self, estimate: f64, executions: u64, elapsed: Duration) -> Prospect {
        let of_executions = estimate / self.executions as f64;
        let needed = elapsed.as_secs_f64() * estimate / executions.max(1) as f64;
        let of_time = self.time.map_or(0.0, |time| needed / time.as_secs_f64());
        match of_executions.max(of_time) {
            part if part <= 1.0 => Prospect::Near,
            part if part > FAR => Prospect::Far,
            _ => Prospect::Unsure,
        }
    }
}

impl Search<'_> {
    /// The events of the search that count for when estimates are due.
    pub(super) fn events_for_estimates(&self, report: &SearchReport) -> u64 {
        match self.config.extended_effort {
            Some(_) => report.steps,
            None => report.steps_made,
        }
    }

    /// Whether an estimate is due. One must be known when half of the effort is spent, to decide whether the effort is
    /// extended.
    pub(super) fn wants_estimate(&self, due: u64, events: u64, is_half_spent: bool) -> bool {
        let Some(checker) = self.checker() else { return false };
        let has_to_know = is_half_spent && self.config.extended_effort.is_some() && due == FIRST;
        has_to_know || (events >= due && due <= LAST && !checker.is_well_estimated())
    }

    /// Estimates the size of the search by random probes, which are executions beside the search. Returns the failure,
    /// if one of them fails.
    pub(super) fn estimate(
        &mut self,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        report: &mut SearchReport,
    ) -> Option<Found> {
        let may_go_on =
            |made: &SearchReport| made.steps < FIRST / PART || made.steps_made < report.steps_made / PART;
        let mut made = SearchReport::default();
        let mut failure = None;
        self.checker()?.begin_probes(self.config.seed);
        while failure.is_none() && may_go_on(&made) && !self.checker()?.is_well_estimated() {
            self.checker()?.begin();
            made.executions = 1;
            failure = self.execute_here(body, judge, report.executions, &mut made);
            if made.executions > 0 {
                self.checker()?.probe_completed();
            }
            if std::mem::take(&mut made.restarted) {
                (report.executions, report.blocked, report.restarted) = (0, 0, true);
            }
        }
        report.executions += u64::from(failure.is_some());
        self.checker()?.end_probes();
        failure
    }

    /// The estimated number of executions of the search, if known.
    pub(super) fn estimated(&self) -> Option<u64> {
        self.checker()?.estimate().map(|estimate| estimate.round() as u64)
    }

    /// The prospect of the search, which has made `executions`.
    pub(super) fn prospect(&self, executions: u64, elapsed: Duration) -> Prospect {
        let estimate = self.checker().and_then(|checker| checker.estimate());
        match (self.config.extended_effort, estimate) {
            (Some(effort), Some(estimate)) => effort.prospect(estimate, executions, elapsed),
            _ => Prospect::Unsure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_takes_ten_times_the_effort() {
        let effort = Effort { executions: 1000, time: Some(Duration::from_secs(10)) };
        let prospect = |estimate, seconds| effort.prospect(estimate, 100, Duration::from_secs(seconds));
        assert_eq!(prospect(900.0, 1), Prospect::Near);
        assert_eq!(prospect(900.0, 2), Prospect::Unsure);
        assert_eq!(prospect(9_000.0, 0), Prospect::Unsure);
        assert_eq!(prospect(11_000.0, 0), Prospect::Far);
        assert_eq!(prospect(900.0, 12), Prospect::Far);
    }
}
