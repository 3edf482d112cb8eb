//! How large an exhaustive search is, and whether it is worth going on.

use std::time::Duration;

use super::{Found, Search, SearchReport};
use crate::execution::Judge;
use crate::model_checker::ModelChecker;

/// Events of a search before it is first estimated: what ends sooner needs no estimate. Then again after each so many times more,
/// up to this many: by then it is known, or will not be.
pub(super) const FIRST: u64 = 250_000;
pub(super) const TIMES_MORE: u64 = 4;
const LAST: u64 = FIRST * TIMES_MORE.pow(3);

/// Which part of the events of a search may be made again to estimate it. After the first time, only those count that are made:
/// executions of a search begin later than those that estimate it.
const PART: u64 = 8;

/// So many times more than there is room for is too much even if the estimate is wrong.
const FAR: f64 = 10.0;

/// What a search may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How many executions at most.
    pub executions: u64,
    /// How long at most.
    pub time: Option<Duration>,
}

/// What an estimate says about the end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prospect {
    /// It comes within the effort.
    Near,
    /// It may or may not.
    Unsure,
    /// It does not.
    Far,
}

impl Effort {
    /// Whether a search ends within the effort that has about so many executions, and made some in this time.
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
    /// Whether it is time for an estimate. When half of what a search may cost is spent, it has to be known whether it may cost
    /// more.
    pub(super) fn wants_estimate(&self, due: u64, events: u64, is_half_spent: bool) -> bool {
        let Some(graphs) = self.graphs() else { return false };
        let has_to_know = is_half_spent && self.config.reach.is_some() && due == FIRST;
        has_to_know || (events >= due && due <= LAST && !graphs.is_well_estimated())
    }

    /// Estimates how large the search is by executions that are not part of it. Returns the failure, if one of them fails.
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
        self.graphs()?.begin_probes(self.config.seed);
        while failure.is_none() && may_go_on(&made) && !self.graphs()?.is_well_estimated() {
            self.graphs()?.begin();
            made.executions = 1;
            failure = self.execute_here(body, judge, report.executions, &mut made);
            if made.executions > 0 {
                self.graphs()?.probe_completed();
            }
            if std::mem::take(&mut made.anew) {
                (report.executions, report.blocked, report.anew) = (0, 0, true);
            }
        }
        report.executions += u64::from(failure.is_some());
        self.graphs()?.end_probes();
        failure
    }

    /// About how many executions the search has, if it is known.
    pub(super) fn estimated(&self) -> Option<u64> {
        self.graphs()?.estimate().map(|estimate| estimate.round() as u64)
    }

    /// What the estimate says about the end of the search, which has made so many executions.
    pub(super) fn prospect(&self, executions: u64, elapsed: Duration) -> Prospect {
        let estimate = self.graphs().and_then(|graphs| graphs.estimate());
        match (self.config.reach, estimate) {
            (Some(reach), Some(estimate)) => reach.prospect(estimate, executions, elapsed),
            _ => Prospect::Unsure,
        }
    }

    #[allow(clippy::mut_from_ref, reason = "the engine is not part of the search, which only points to it")]
    fn graphs(&self) -> Option<&mut ModelChecker> {
        // SAFETY: the engine lives as long as `self`; references end with each statement.
        unsafe { (*self.engine).exhaustive.as_deref_mut() }
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
