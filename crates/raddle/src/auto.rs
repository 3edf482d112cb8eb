//! The portfolio behind [`Strategy::Auto`]: which searches are made, one after another, and how much each may cost.
//!
//! 1. Partial order sampling under sequential consistency, briefly: most bugs are shallow, and their traces are simple.
//! 2. Exhaustive search under the weak memory model. After a while it is estimated how many executions there are: if two thirds of
//!    what is left are enough for them, the search may take that; if not even ten times as much is, it ends at once. If it
//!    comes to its end, everything is known; memory that is used again at once is then looked at in the same way, and that is all.
//! 3. Otherwise samples of several kinds, under both memory models and with both ways to treat freed memory: a little of
//!    each, so that what one of them finds soon is found soon, and then more of each.
//!
//! Scenarios of declarative tests have a portfolio of their own. Sequential consistency is not part of the weak memory model
//! there: it orders operations by time, which that does not know. So both are searched to the end, if they have one.

use std::fmt;
use std::time::{Duration, Instant};

use raddle_engine::exploration::Effort;
use raddle_engine::{LeftOut, SearchReport};
use raddle_options::Values;

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
    /// About how many executions there are, if the search ended early and was estimated.
    pub estimate: Option<u64>,
}

impl Ran {
    /// The search with these options came to this.
    pub(crate) fn of(options: &Options, report: &SearchReport, complete: bool, given_up: bool) -> Ran {
        let counted = options.strategy == Strategy::Exhaustive;
        Ran {
            strategy: options.strategy.clone(),
            memory: options.memory(),
            allocation: options.allocation,
            executions: report.executions,
            complete,
            given_up,
            preemptions: options.preemptions.filter(|_| !counted || report.exceeded > 0),
            estimate: report.estimate.filter(|&estimate| !complete && estimate > report.executions),
        }
    }

    /// Whether everything is known that there is under the memory model, within the preemptions that were asked for.
    pub(crate) fn is_exhaustive(&self) -> bool {
        self.complete && self.is_of_all()
    }

    /// Whether the search makes all executions there are, if it comes to its end.
    fn is_of_all(&self) -> bool {
        matches!(self.strategy, Strategy::Exhaustive | Strategy::Bounded(usize::MAX))
    }
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
        if self.given_up {
            return write!(f, " (given up)");
        }
        let all = if self.complete { "all " } else { "" };
        write!(f, " ({all}{}", self.executions)?;
        if let Some(estimate) = self.estimate {
            write!(f, " of about {}", rounded(estimate))?;
        }
        let counted = self.complete || self.strategy == Strategy::Exhaustive;
        if let Some(most) = self.preemptions.filter(|_| counted) {
            write!(f, " that take at most {most} preemptions")?;
        }
        f.write_str(")")
    }
}

/// An estimate, as far as it says something: two digits, and no more than a number that people can read.
pub(crate) fn rounded(estimate: u64) -> u64 {
    let unit = 10u64.pow(estimate.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (estimate / unit * unit).min(1_000_000_000_000_000)
}

/// What ran, in a line: searches of the same kind are one.
pub(crate) fn summary(searches: &[Ran]) -> String {
    let mut kinds: Vec<Ran> = Vec::new();
    for ran in searches {
        let same = |kind: &&mut Ran| {
            (&kind.strategy, kind.memory, kind.allocation, kind.preemptions)
                == (&ran.strategy, ran.memory, ran.allocation, ran.preemptions)
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => {
                kind.executions += ran.executions;
                kind.estimate = kind.estimate.or(ran.estimate);
            }
            None => kinds.push(ran.clone()),
        }
    }
    kinds.iter().map(Ran::to_string).collect::<Vec<_>>().join(", ")
}

/// A search to be made.
#[derive(Clone, Copy)]
pub(crate) struct Phase {
    strategy: fn() -> Strategy,
    memory: Memory,
    allocation: Allocation,
    /// Its part of what the whole may cost, beside those of the others.
    share: u32,
    /// Executions at most.
    most: u64,
    /// Preemptions in one execution at most, if the search is exhaustive.
    preemptions: Option<usize>,
    /// Which time round it is: samples of the second are others.
    round: u64,
}

use Allocation::{Quarantine, Reuse};
use Memory::{Rc11, Sc};

const fn phase(strategy: fn() -> Strategy, memory: Memory, allocation: Allocation, share: u32) -> Phase {
    Phase { strategy, memory, allocation, share, most: u64::MAX, preemptions: None, round: 0 }
}

const fn again(strategy: fn() -> Strategy, memory: Memory, allocation: Allocation, share: u32) -> Phase {
    Phase { round: 1, ..phase(strategy, memory, allocation, share) }
}

/// Executions of the first look.
const FIRST_LOOK: u64 = 500;

/// In order; what a search leaves of its part is given to those that follow.
const PHASES: [Phase; 16] = [
    Phase { most: FIRST_LOOK, ..phase(|| Strategy::Pos, Sc, Quarantine, 2) },
    phase(|| Strategy::Exhaustive, Rc11, Quarantine, 8),
    phase(|| Strategy::Exhaustive, Rc11, Reuse, 8),
    // A little of everything.
    Phase { preemptions: Some(2), ..phase(|| Strategy::Exhaustive, Rc11, Quarantine, 5) },
    again(|| Strategy::Pos, Sc, Quarantine, 5),
    phase(|| Strategy::Pos, Rc11, Quarantine, 5),
    phase(|| Strategy::Pct(3), Sc, Quarantine, 5),
    phase(|| Strategy::Bounded(2), Sc, Quarantine, 8),
    phase(|| Strategy::Pct(2), Rc11, Reuse, 4),
    phase(|| Strategy::Random, Rc11, Reuse, 3),
    // And then more of it.
    again(|| Strategy::Pct(3), Sc, Quarantine, 14),
    again(|| Strategy::Pos, Rc11, Quarantine, 14),
    Phase { round: 2, ..phase(|| Strategy::Pos, Sc, Quarantine, 10) },
    phase(|| Strategy::Pct(4), Rc11, Quarantine, 8),
    phase(|| Strategy::Pos, Sc, Reuse, 6),
    again(|| Strategy::Random, Rc11, Reuse, 6),
];

/// Those of a scenario: interleavings with few changes of thread first, because they are easy to understand.
const SCENARIO: [Phase; 8] = [
    phase(|| Strategy::Bounded(2), Sc, Quarantine, 8),
    phase(|| Strategy::Exhaustive, Sc, Quarantine, 30),
    phase(|| Strategy::Exhaustive, Rc11, Quarantine, 24),
    phase(|| Strategy::Exhaustive, Rc11, Reuse, 8),
    phase(|| Strategy::Pos, Rc11, Quarantine, 10),
    phase(|| Strategy::Pct(3), Sc, Quarantine, 10),
    phase(|| Strategy::Random, Rc11, Reuse, 6),
    phase(|| Strategy::Bounded(usize::MAX), Sc, Quarantine, 12),
];

/// What is known of a scenario before it is searched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// In so many ways at least its operations come before one another in time.
    pub(crate) orders: u64,
    /// Whether the contract can do without time.
    pub(crate) weak: bool,
    /// Whether what is asked can be seen in execution graphs.
    pub(crate) exhaustible: bool,
}

/// What was done and what is left to do.
pub(crate) struct Portfolio {
    phases: &'static [Phase],
    scenario: Option<Scope>,
    /// Executions left.
    executions: u64,
    /// The time that all of it may take, from the beginning on.
    budget: Option<Duration>,
    begin: Instant,
    next: usize,
    /// Whether only executions with few preemptions were asked for.
    bounded: bool,
    /// The memory models of which everything is known.
    exhausted: Vec<Memory>,
    /// What the searches left out that came to their end.
    pub(crate) left_out: LeftOut,
    /// Whether an exhaustive search could not follow the program.
    given_up: bool,
    /// Whether one came to its end, be it by assumptions.
    pub(crate) ended: bool,
    /// How many events an execution makes, by the first search.
    events: Option<u64>,
}

impl Portfolio {
    pub(crate) fn new(options: &Options) -> Portfolio {
        let (executions, budget) = options.effort();
        Portfolio {
            phases: &PHASES,
            scenario: None,
            executions,
            budget,
            begin: Instant::now(),
            next: 0,
            bounded: options.preemptions.is_some(),
            exhausted: Vec::new(),
            left_out: LeftOut::default(),
            given_up: false,
            ended: false,
            events: None,
        }
    }

    pub(crate) fn of_scenario(options: &Options, scope: Scope) -> Portfolio {
        Portfolio { phases: &SCENARIO, scenario: Some(scope), ..Portfolio::new(options) }
    }

    /// The options of the next search. None if all is done or spent.
    pub(crate) fn next(&mut self, options: &Options, instrumented: bool) -> Option<Options> {
        loop {
            let phase = *self.phases.get(self.next)?;
            self.next += 1;
            let time_left = self.budget.map(|budget| budget.saturating_sub(self.begin.elapsed()));
            if self.executions == 0 || time_left == Some(Duration::ZERO) {
                return None;
            }
            let rest: u32 = self.phases[self.next..].iter().map(|phase| phase.share).sum();
            let part = |whole: u128| whole * u128::from(phase.share) / u128::from(phase.share + rest);
            let executions = (part(self.executions.into()) as u64).clamp(1, phase.most);
            let budget = time_left.map(|left| Duration::from_nanos(part(left.as_nanos()) as u64));
            let reach =
                Effort { executions: self.executions / 3 * 2, time: time_left.map(|left| left / 3 * 2) };
            let strategy = (phase.strategy)();
            let exhaustive = strategy == Strategy::Exhaustive;
            let possible = !exhaustive
                || (instrumented
                    && options.backend == Backend::Coroutines
                    && options.isolation == Isolation::Rollback
                    && self.may_be_exhausted(phase.memory, executions)
                    && !(self.ended && phase.preemptions.is_some()));
            // Where nothing is left to be found, only the other way to treat memory may show more; and only then is it worth it.
            let wanted = match (exhaustive, phase.allocation) {
                (true, Reuse) if options.allocation == Quarantine => self.is_exhausted(phase.memory),
                _ => !self.is_exhausted(phase.memory),
            };
            if !possible || !wanted || !self.is_chosen(&phase, options) {
                continue;
            }
            let values = Values {
                strategy,
                memory: Some(options.memory.unwrap_or(phase.memory)),
                allocation: phase.allocation,
                seed: options.seed.wrapping_add(phase.round),
                executions: Some(executions),
                preemptions: options.preemptions.or(phase.preemptions),
                max_steps: if exhaustive { self.most_events(options) } else { options.max_steps },
                budget,
                // An execution of which the exhaustive search sees no end is left to the others, in time.
                time_limit: budget.filter(|_| exhaustive).unwrap_or(Duration::MAX).min(options.time_limit),
                ..options.values.clone()
            };
            return Some(Options {
                values,
                chosen_by_portfolio: true,
                // What is bounded anyway is worth its part, whether it comes to its end or not.
                reach: Some(reach).filter(|_| exhaustive && phase.preemptions.is_none()),
                suppressed: options.suppressed.clone(),
            });
        }
    }

    /// Whether the options leave room for the phase.
    fn is_chosen(&self, phase: &Phase, options: &Options) -> bool {
        let memory = match self.scenario {
            // The one exhaustive search takes whatever model is asked for.
            None => {
                (phase.strategy)() == Strategy::Exhaustive || self.models(options).contains(&phase.memory)
            }
            Some(_) => self.models(options).contains(&phase.memory),
        };
        memory && (options.allocation == Quarantine || phase.allocation == Reuse)
    }

    /// The memory models to be searched.
    fn models(&self, options: &Options) -> Vec<Memory> {
        let weak = self.scenario.is_none_or(|scope| scope.weak);
        let asked = |memory: &Memory| match options.memory {
            Some(asked) => *memory == asked,
            None => *memory == Sc || weak,
        };
        [Sc, Rc11].into_iter().filter(asked).collect()
    }

    /// Whether an exhaustive search might come to its end.
    fn may_be_exhausted(&self, memory: Memory, executions: u64) -> bool {
        let Some(scope) = self.scenario else { return !self.given_up };
        scope.exhaustible && !self.given_up && (memory != Sc || scope.orders <= executions)
    }

    /// How many events an execution of an exhaustive search may make. Where operations try again and again until they succeed, and
    /// each time leave something behind, a search that goes deep first would find ever longer executions.
    fn most_events(&self, options: &Options) -> u64 {
        let usual = self.events.filter(|_| self.scenario.is_some());
        usual.map_or(options.max_steps, |usual| options.max_steps.min(8 * usual + 200))
    }

    /// Whether everything is known that there is under a memory model. In a closure, what sequential consistency allows is part
    /// of what the weak model allows.
    fn is_exhausted(&self, memory: Memory) -> bool {
        match self.scenario {
            None => !self.exhausted.is_empty(),
            Some(_) => self.exhausted.contains(&memory),
        }
    }

    /// A search was made.
    pub(crate) fn made(&mut self, ran: &Ran, report: &SearchReport) {
        self.executions = self.executions.saturating_sub(ran.executions);
        self.events.get_or_insert(report.steps / report.executions.max(1));
        // A bound that the user chose is the user's; another leaves something to be found, if it mattered.
        let has_left_out = report.complete && !ran.given_up && !report.left_out.is_empty();
        if (ran.complete || has_left_out) && ran.is_of_all() && (ran.preemptions.is_none() || self.bounded) {
            self.left_out.join(report.left_out);
            if report.left_out.is_for_others() {
                // Others may try what was left out, but not for long: it is seldom more than a little.
                let spent = self.begin.elapsed();
                self.budget = self.budget.map(|budget| budget.min(3 * spent + Duration::from_secs(1)));
                self.executions = self.executions.min(10 * ran.executions + 10_000);
            } else {
                self.exhausted.push(ran.memory);
            }
        }
        self.given_up |= ran.given_up;
        self.ended |= report.complete && ran.strategy == Strategy::Exhaustive;
    }

    /// Whether everything was explored that the options ask for.
    pub(crate) fn is_complete(&self, options: &Options) -> bool {
        match self.scenario {
            _ if !self.left_out.is_empty() => false,
            None => !self.exhausted.is_empty(),
            Some(_) => self.models(options).iter().all(|memory| self.exhausted.contains(memory)),
        }
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
            executions: if complete { 3 } else { options.effort().0 },
            complete,
            given_up: false,
            preemptions: None,
            estimate: None,
        }
    }

    fn some_executions() -> Options {
        Values { executions: Some(10_000), ..Values::default() }.into()
    }

    #[test]
    fn everything_is_spent_and_both_models_and_policies_are_tried() {
        let options = some_executions();
        let mut portfolio = Portfolio::new(&options);
        let (mut spent, mut seen) = (0, Vec::new());
        while let Some(phase) = portfolio.next(&options, true) {
            spent += phase.effort().0;
            seen.push((phase.memory(), phase.allocation));
            portfolio.made(&ran(&phase, false), &SearchReport::default());
        }
        assert_eq!(spent, options.effort().0);
        assert!(seen.contains(&(Sc, Quarantine)) && seen.contains(&(Rc11, Reuse)));
    }

    #[test]
    fn searches_of_one_kind_are_summed_up() {
        let values = Values { executions: Some(7), strategy: Strategy::Pos, ..Values::default() };
        let options = Options::from(values);
        let random = Ran { strategy: Strategy::Random, memory: Rc11, ..ran(&options, false) };
        let exhaustive = Ran { strategy: Strategy::Exhaustive, complete: true, ..random.clone() };
        let searches = [ran(&options, false), exhaustive, random, ran(&options, false)];
        assert_eq!(summary(&searches), "pos (14), exhaustive rc11 (all 7), random rc11 (7)");
    }

    #[test]
    fn what_was_estimated_is_said() {
        let values = Values { strategy: Strategy::Exhaustive, executions: Some(12_000), ..Values::default() };
        let options = Options::from(values);
        let estimated = Ran { estimate: Some(4_123_456), ..ran(&options, false) };
        assert_eq!(estimated.to_string(), "exhaustive rc11 (12000 of about 4100000)");
        let bounded = Ran { preemptions: Some(2), ..estimated };
        assert_eq!(
            bounded.to_string(),
            "exhaustive rc11 (12000 of about 4100000 that take at most 2 preemptions)"
        );
        assert_eq!([0, 7, 94, 123, u64::MAX].map(rounded), [0, 7, 94, 120, 1_000_000_000_000_000]);
    }

    #[test]
    fn a_single_execution_is_made() {
        let options = Options::from(Values { executions: Some(1), ..Values::default() });
        let mut portfolio = Portfolio::new(&options);
        let phase = portfolio.next(&options, true).unwrap();
        assert_eq!(phase.effort().0, 1);
        portfolio.made(&ran(&phase, false), &SearchReport::default());
        assert!(portfolio.next(&options, true).is_none());
    }

    #[test]
    fn nothing_follows_an_exhausted_search_but_memory_used_again() {
        let options = Options::default();
        let mut portfolio = Portfolio::new(&options);
        let mut strategies = Vec::new();
        while let Some(phase) = portfolio.next(&options, true) {
            strategies.push((phase.strategy.clone(), phase.allocation));
            portfolio.made(&ran(&phase, phase.strategy == Strategy::Exhaustive), &SearchReport::default());
        }
        let exhaustive = |allocation| (Strategy::Exhaustive, allocation);
        assert_eq!(strategies[1..], [exhaustive(Quarantine), exhaustive(Reuse)]);
        assert!(portfolio.is_complete(&options));
    }

    #[test]
    fn a_memory_model_that_was_asked_for_is_the_only_one() {
        let options = Options::from(Values { memory: Some(Sc), ..Values::default() });
        let mut portfolio = Portfolio::new(&options);
        while let Some(phase) = portfolio.next(&options, true) {
            assert_eq!(phase.memory(), Sc);
            portfolio.made(&ran(&phase, false), &SearchReport::default());
        }
    }

    fn scenario(options: &Options, orders: u64) -> Portfolio {
        Portfolio::of_scenario(options, Scope { orders, weak: true, exhaustible: true })
    }

    #[test]
    fn a_scenario_is_complete_when_it_is_under_both_models() {
        let options = Options::default();
        let mut portfolio = scenario(&options, 3);
        let mut models = Vec::new();
        while let Some(phase) = portfolio.next(&options, true) {
            let exhaustive = phase.strategy == Strategy::Exhaustive;
            assert_eq!(portfolio.is_complete(&options), models.contains(&(Rc11, Quarantine)));
            portfolio.made(&ran(&phase, exhaustive), &SearchReport::default());
            models.extend(exhaustive.then_some((phase.memory(), phase.allocation)));
        }
        assert_eq!(models, [(Sc, Quarantine), (Rc11, Quarantine), (Rc11, Reuse)]);
        assert!(portfolio.is_complete(&options));
    }

    #[test]
    fn what_cannot_end_in_time_is_not_tried() {
        let options = some_executions();
        let mut portfolio = scenario(&options, 1 << 40);
        let mut spent = 0;
        while let Some(phase) = portfolio.next(&options, true) {
            assert_ne!((phase.memory(), phase.strategy.clone()), (Sc, Strategy::Exhaustive));
            spent += phase.effort().0;
            portfolio.made(&ran(&phase, false), &SearchReport::default());
        }
        assert_eq!(spent, options.effort().0);
        assert!(!portfolio.is_complete(&options));
    }

    #[test]
    fn a_contract_that_needs_time_is_not_held_to_less() {
        let options = Options::default();
        let mut portfolio =
            Portfolio::of_scenario(&options, Scope { orders: 3, weak: false, exhaustible: true });
        while let Some(phase) = portfolio.next(&options, true) {
            assert_eq!(phase.memory(), Sc);
            let exhaustive = phase.strategy == Strategy::Exhaustive;
            portfolio.made(&ran(&phase, exhaustive), &SearchReport::default());
        }
        assert!(portfolio.is_complete(&options));
    }
}
