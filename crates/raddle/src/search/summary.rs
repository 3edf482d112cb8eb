//! Searches in words: one at a time, and those of a portfolio in a line.

use std::fmt;

use crate::options::{Allocation, Memory, Strategy};

/// One of the searches that an exploration made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchSummary {
    /// How schedules were picked.
    pub strategy: Strategy,
    /// Which values reads could see.
    pub memory: Memory,
    /// What became of freed memory.
    pub allocation: Allocation,
    /// How many executions were made.
    pub executions: u64,
    /// Whether these are all that there are.
    pub complete: bool,
    /// Whether the search had to be given up, because the program does something that it cannot follow.
    pub given_up: bool,
    /// How many preemptions executions could take, if there are others that take more.
    pub preemptions: Option<usize>,
    /// About how many executions there are, if the search ended early and was estimated.
    pub estimate: Option<u64>,
}

impl SearchSummary {
    /// Whether every execution under the memory model was made, within the preemptions that were asked for.
    pub(crate) fn is_exhaustive(&self) -> bool {
        self.complete && self.is_of_all()
    }

    /// Whether the strategy makes every execution, if the search is exhausted.
    pub(crate) fn is_of_all(&self) -> bool {
        matches!(self.strategy, Strategy::Exhaustive | Strategy::Bounded(usize::MAX))
    }
}

impl fmt::Display for SearchSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.strategy)?;
        if self.memory != Memory::Sc {
            write!(f, " {}", self.memory)?;
        }
        if self.allocation != Allocation::Quarantine {
            write!(f, " {}", self.allocation)?;
        }
        if self.given_up {
            return write!(f, " (given up)");
        }
        let all = if self.complete { "all " } else { "" };
        write!(f, " ({all}{}", self.executions)?;
        if let Some(estimate) = self.estimate {
            write!(f, " of about {}", rounded(estimate))?;
        }
        let is_bounded = self.complete || self.strategy == Strategy::Exhaustive;
        if let Some(most) = self.preemptions.filter(|_| is_bounded) {
            write!(f, " that take at most {most} preemptions")?;
        }
        f.write_str(")")
    }
}

/// An estimate with the two digits that mean something, and not longer than people can read.
pub(crate) fn rounded(estimate: u64) -> u64 {
    let unit = 10u64.pow(estimate.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (estimate / unit * unit).min(1_000_000_000_000_000)
}

/// The searches in a line. Searches with the same strategy, memory and bounds are summed up.
pub(crate) fn in_a_line(searches: &[SearchSummary]) -> String {
    let mut kinds: Vec<SearchSummary> = Vec::new();
    for search in searches {
        let same = |kind: &&mut SearchSummary| {
            (&kind.strategy, kind.memory, kind.allocation, kind.preemptions)
                == (&search.strategy, search.memory, search.allocation, search.preemptions)
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => {
                kind.executions += search.executions;
                kind.estimate = kind.estimate.or(search.estimate);
            }
            None => kinds.push(search.clone()),
        }
    }
    kinds.iter().map(SearchSummary::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(strategy: Strategy, executions: u64) -> SearchSummary {
        SearchSummary {
            memory: if strategy == Strategy::Exhaustive { Memory::Rc11 } else { Memory::Sc },
            strategy,
            allocation: Allocation::Quarantine,
            executions,
            complete: false,
            given_up: false,
            preemptions: None,
            estimate: None,
        }
    }

    #[test]
    fn searches_of_one_kind_are_summed_up() {
        let random = SearchSummary { memory: Memory::Rc11, ..summary(Strategy::Random, 7) };
        let exhaustive = SearchSummary { complete: true, ..summary(Strategy::Exhaustive, 7) };
        let searches = [summary(Strategy::Pos, 7), exhaustive, random, summary(Strategy::Pos, 7)];
        assert_eq!(in_a_line(&searches), "pos (14), exhaustive rc11 (all 7), random rc11 (7)");
    }

    #[test]
    fn an_estimate_is_shown() {
        let estimated = SearchSummary { estimate: Some(4_123_456), ..summary(Strategy::Exhaustive, 12_000) };
        assert_eq!(estimated.to_string(), "exhaustive rc11 (12000 of about 4100000)");
        let bounded = SearchSummary { preemptions: Some(2), ..estimated };
        assert_eq!(
            bounded.to_string(),
            "exhaustive rc11 (12000 of about 4100000 that take at most 2 preemptions)"
        );
        assert_eq!([0, 7, 94, 123, u64::MAX].map(rounded), [0, 7, 94, 120, 1_000_000_000_000_000]);
    }
}
