//! The portfolio behind [`Strategy::Auto`]: which searches are made, one after another, and how much each may cost.
//!
//! 1. Partial order sampling under sequential consistency, briefly: most bugs are shallow, and their traces are simple.
//! 2. Exhaustive search under the weak memory model. If it comes to its end, everything is known; memory that is used again at
//!    once is then looked at in the same way, and that is all.
//! 3. Otherwise samples of several kinds, under both memory models and with both ways to treat freed memory.

use std::fmt;
use std::time::Duration;

use crate::options::{Allocation, Backend, Isolation, Memory, Options, Strategy};

/// One of the searches that an exploration made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ran {
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
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.strategy)?;
        if self.memory != Memory::Sc {
            write!(f, " {}", self.memory)?;
        }
        if self.allocation != Allocation::Quarantine {
            write!(f, " {}", self.allocation)?;
        }
        match (self.given_up, self.complete, self.preemptions) {
            (true, ..) => write!(f, " (given up)"),
            (_, true, None) => write!(f, " (all {})", self.executions),
            (_, true, Some(most)) => {
                write!(f, " (all {} that take at most {most} preemptions)", self.executions)
            }
            _ => write!(f, " ({})", self.executions),
        }
    }
}

/// A search to be made, with its part of what the whole may cost, in percent.
#[derive(Clone, Copy)]
pub(crate) struct Phase {
    strategy: fn() -> Strategy,
    memory: Memory,
    allocation: Allocation,
    share: u32,
}

use Allocation::{Quarantine, Reuse};
use Memory::{Rc11, Sc};

const fn phase(strategy: fn() -> Strategy, memory: Memory, allocation: Allocation, share: u32) -> Phase {
    Phase { strategy, memory, allocation, share }
}

/// In order; what a search leaves of its part is given to those that follow.
const PHASES: [Phase; 10] = [
    phase(|| Strategy::Pos, Sc, Quarantine, 4),
    phase(|| Strategy::Exhaustive, Rc11, Quarantine, 26),
    phase(|| Strategy::Exhaustive, Rc11, Reuse, 26),
    phase(|| Strategy::Pos, Rc11, Quarantine, 14),
    phase(|| Strategy::Pct(3), Sc, Quarantine, 12),
    phase(|| Strategy::Bounded(2), Sc, Quarantine, 10),
    phase(|| Strategy::Random, Rc11, Reuse, 12),
    phase(|| Strategy::Pct(2), Rc11, Reuse, 8),
    phase(|| Strategy::Pct(4), Rc11, Quarantine, 8),
    phase(|| Strategy::Pos, Sc, Reuse, 8),
];

/// What is left to spend.
pub(crate) struct Portfolio {
    executions: u64,
    budget: Option<Duration>,
    next: usize,
    /// Whether the exhaustive search came to its end.
    exhausted: bool,
}

impl Portfolio {
    pub(crate) fn new(options: &Options) -> Portfolio {
        Portfolio { executions: options.executions, budget: options.budget, next: 0, exhausted: false }
    }

    /// The options of the next search. None if all is done or spent.
    pub(crate) fn next(&mut self, options: &Options, instrumented: bool) -> Option<Options> {
        loop {
            let phase = *PHASES.get(self.next)?;
            self.next += 1;
            let strategy = (phase.strategy)();
            let exhaustive = strategy == Strategy::Exhaustive;
            let possible = !exhaustive
                || (instrumented
                    && options.backend == Backend::Coroutines
                    && options.isolation == Isolation::Rollback);
            // Where nothing is left to be found, only the other way to treat memory may show more; and only then is it worth it.
            let wanted = match (exhaustive, phase.allocation) {
                (true, Reuse) => self.exhausted,
                _ => !self.exhausted,
            };
            let chosen = options.memory.is_none_or(|memory| memory == phase.memory || exhaustive)
                && (options.allocation == Quarantine || phase.allocation == Reuse);
            if !possible || !wanted || !chosen {
                continue;
            }
            let rest: u32 = PHASES[self.next..].iter().map(|phase| phase.share).sum();
            let part = |whole: u128| whole * u128::from(phase.share) / u128::from(phase.share + rest);
            let executions = (part(self.executions.into()) as u64).max(1);
            if self.executions == 0 || self.budget == Some(Duration::ZERO) {
                return None;
            }
            return Some(Options {
                strategy,
                chosen_by_portfolio: true,
                memory: Some(options.memory.unwrap_or(phase.memory)),
                allocation: phase.allocation,
                executions,
                budget: self.budget.map(|budget| Duration::from_nanos(part(budget.as_nanos()) as u64)),
                ..options.clone()
            });
        }
    }

    /// A search was made.
    pub(crate) fn made(&mut self, ran: &Ran, elapsed: Duration) {
        self.executions = self.executions.saturating_sub(ran.executions);
        self.budget = self.budget.map(|budget| budget.saturating_sub(elapsed));
        self.exhausted |= ran.complete && ran.strategy == Strategy::Exhaustive;
    }

    /// Whether everything was explored.
    pub(crate) fn is_complete(&self) -> bool {
        self.exhausted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(options: &Options, complete: bool) -> Ran {
        Ran {
            strategy: options.strategy.clone(),
            memory: options.memory(),
            allocation: options.allocation,
            executions: if complete { 3 } else { options.executions },
            complete,
            given_up: false,
            preemptions: None,
        }
    }

    #[test]
    fn everything_is_spent_and_both_models_and_policies_are_tried() {
        let options = Options::default();
        let mut portfolio = Portfolio::new(&options);
        let (mut spent, mut seen) = (0, Vec::new());
        while let Some(phase) = portfolio.next(&options, true) {
            spent += phase.executions;
            seen.push((phase.memory(), phase.allocation));
            portfolio.made(&ran(&phase, false), Duration::ZERO);
        }
        assert_eq!(spent, options.executions);
        assert!(seen.contains(&(Sc, Quarantine)) && seen.contains(&(Rc11, Reuse)));
    }

    #[test]
    fn a_single_execution_is_made() {
        let options = Options { executions: 1, ..Options::default() };
        let mut portfolio = Portfolio::new(&options);
        let phase = portfolio.next(&options, true).unwrap();
        assert_eq!(phase.executions, 1);
        portfolio.made(&ran(&phase, false), Duration::ZERO);
        assert!(portfolio.next(&options, true).is_none());
    }

    #[test]
    fn nothing_follows_an_exhausted_search_but_memory_used_again() {
        let options = Options::default();
        let mut portfolio = Portfolio::new(&options);
        let mut strategies = Vec::new();
        while let Some(phase) = portfolio.next(&options, true) {
            strategies.push((phase.strategy.clone(), phase.allocation));
            portfolio.made(&ran(&phase, phase.strategy == Strategy::Exhaustive), Duration::ZERO);
        }
        let exhaustive = |allocation| (Strategy::Exhaustive, allocation);
        assert_eq!(strategies[1..], [exhaustive(Quarantine), exhaustive(Reuse)]);
        assert!(portfolio.is_complete());
    }

    #[test]
    fn a_memory_model_that_was_asked_for_is_the_only_one() {
        let options = Options { memory: Some(Sc), ..Options::default() };
        let mut portfolio = Portfolio::new(&options);
        while let Some(phase) = portfolio.next(&options, true) {
            assert_eq!(phase.memory(), Sc);
            portfolio.made(&ran(&phase, false), Duration::ZERO);
        }
    }
}
