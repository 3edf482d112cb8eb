//! The searches of one exploration: one with the strategy that was asked for, or the portfolio of [`Strategy::Auto`].
//!
//! The portfolio for a closure:
//!
//! 1. Partial order sampling under sequential consistency, briefly.
//! 2. Exhaustive search under RC11. After a while the engine estimates the number of executions. If two thirds of the remaining
//!    budget suffice for them, the search may take that; if not even ten times as much does, the search ends. If it is
//!    exhausted, the only search that follows is the same one with memory that is reused at once.
//! 3. Otherwise samples of several kinds, under both memory models and both allocation policies.
//!
//! The portfolio for a scenario of a declarative test differs in one respect: executions under sequential consistency are no part of
//! those under RC11, because real time orders the operations of the former only. So both models are searched to the end, if they
//! have one.
//!
//! The portfolio ends early if it is quiet: no search has reached a new site, a new pair of accesses by two threads or a new outcome for as
//! long as all before took ([`raddle_engine::coverage`]). Whoever gives a budget gets all of it.
//!
//! Huberman, Lukose and Hogg, *An economics approach to hard computational problems*, Science 1997, is the origin of the idea.

use std::time::{Duration, Instant};

use raddle_engine::coverage;
use raddle_engine::exploration::Effort;
use raddle_engine::platform::global::GLOBAL;
use raddle_engine::{LeftOut, SearchReport};
use raddle_options::Values;

use super::attempt::Searched;
use super::completeness::is_exhausted;
use super::phases::{CLOSURE, FIRST_ROUND, Phase, SCENARIO};
use super::summary::SearchSummary;
use crate::options::{Allocation, Backend, Isolation, Memory, Options, Strategy};
use crate::output::say;

use Allocation::{Quarantine, Reuse};
use Memory::{Rc11, Sc};

/// The result of all searches of an exploration.
pub(crate) struct Explored<F> {
    pub(crate) searches: Vec<SearchSummary>,
    /// The sums of all searches; whether the exploration is complete and exhausted; what was left out.
    pub(crate) report: SearchReport,
    pub(crate) failure: Option<F>,
    /// How long nothing new was found, if the exploration ended for that.
    pub(crate) quiet: Option<Duration>,
}

/// Makes the searches that the options ask for, until one of them finds a failure. A scenario has a scope.
pub(crate) fn explore<F>(
    options: &Options,
    scope: Option<Scope>,
    search: impl FnMut(&Options) -> Searched<F>,
) -> Explored<F> {
    explore_as(options, scope, GLOBAL.instrumented.get(), search)
}

/// [`explore`], of code that is instrumented or not: what is not cannot be searched exhaustively.
fn explore_as<F>(
    options: &Options,
    scope: Option<Scope>,
    instrumented: bool,
    mut search: impl FnMut(&Options) -> Searched<F>,
) -> Explored<F> {
    if options.strategy != Strategy::Auto {
        let Searched { summary, mut report, failure } = search(options);
        report.exhausted = is_exhausted(&report, summary.given_up);
        report.complete = summary.complete;
        return Explored { searches: vec![summary], report, failure, quiet: None };
    }
    let begin = Instant::now();
    let mut portfolio = Portfolio::new(options, scope);
    let (mut searches, mut all) = (Vec::new(), SearchReport::default());
    // The outcome classes of the first search that made every execution.
    let mut exhaustive: Option<Vec<u64>> = None;
    while let Some(next) = portfolio.next(options, instrumented) {
        let Searched { summary, report, failure } = search(&next);
        portfolio.made(&summary, &report);
        if summary.is_exhaustive() && summary.preemptions.is_none() && exhaustive.is_none() {
            exhaustive = Some(report.outcome_counts.clone());
        }
        add(&mut all, &report);
        searches.push(summary);
        if failure.is_some() {
            return Explored { searches, report: all, failure, quiet: None };
        }
    }
    all.elapsed = begin.elapsed();
    all.complete = portfolio.is_complete(options);
    all.exhausted = portfolio.ended || all.complete;
    all.left_out = portfolio.left_out;
    if let Some(exhaustive) = exhaustive.filter(|_| all.complete)
        && has_more(&all.outcome_counts, &exhaustive)
    {
        all.complete = false;
        say(
            "raddle: a sample had an outcome that the exhaustive search lacks, so that is not complete; this is a bug of Raddle: \
             please report it with the closure that was explored",
        );
    }
    all.estimate =
        searches.iter().filter(|search| search.preemptions.is_none()).find_map(|search| search.estimate);
    let quiet = portfolio.is_quiet() && !all.complete;
    let quiet = quiet.then(|| all.elapsed.saturating_sub(portfolio.last_news));
    Explored { searches, report: all, failure: None, quiet }
}

/// Adds the counts of a search.
fn add(all: &mut SearchReport, report: &SearchReport) {
    all.executions += report.executions;
    all.recognised += report.recognised;
    all.blocked += report.blocked;
    all.exceeded += report.exceeded;
    all.steps += report.steps;
    all.switches += report.switches;
    all.outcome_counts.resize(all.outcome_counts.len().max(report.outcome_counts.len()), 0);
    all.outcome_counts.iter_mut().zip(&report.outcome_counts).for_each(|(all, count)| *all += count);
}

/// Whether there are executions of an outcome class of which the others have none.
fn has_more(counts: &[u64], others: &[u64]) -> bool {
    let is_new =
        |(kind, &count): (usize, &u64)| count > 0 && others.get(kind).is_none_or(|&other| other == 0);
    counts.iter().enumerate().any(is_new)
}

/// What is known of a scenario before the first search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// A lower bound on the number of real-time orders of the operations.
    pub(crate) orders: u64,
    /// Whether the contract can be decided by happens-before instead of real time.
    pub(crate) weak: bool,
    /// Whether what the test asks for can be seen in execution graphs.
    pub(crate) exhaustible: bool,
}

/// The searches made and the budget left.
struct Portfolio {
    phases: &'static [Phase],
    scope: Option<Scope>,
    /// Executions left.
    executions: u64,
    /// Time for all searches, since `begin`.
    budget: Option<Duration>,
    begin: Instant,
    next: usize,
    /// Whether the user bounded the preemptions.
    bounded: bool,
    /// The memory models of which an exhausted search made every execution.
    exhausted: Vec<Memory>,
    /// The behaviours that exhausted searches left out.
    left_out: LeftOut,
    /// Whether an exhaustive search was given up.
    given_up: bool,
    /// Whether an exhaustive search was exhausted, whatever it left out.
    ended: bool,
    /// Events of an execution, on average over the first search.
    events: Option<u64>,
    /// Whether the budget is that of the user, and all of it is to be used.
    spends_all: bool,
    /// What was covered for the first time: a count, and when it was last seen to change.
    news: u64,
    last_news: Duration,
    /// The largest number of outcomes of a search.
    outcomes: u64,
}

/// The time for which every exploration samples, even if it finds nothing new.
const LEAST: Duration = Duration::from_millis(1500);

impl Portfolio {
    fn new(options: &Options, scope: Option<Scope>) -> Portfolio {
        let Effort { executions, time: budget } = options.effort();
        Portfolio {
            phases: if scope.is_some() { &SCENARIO } else { &CLOSURE },
            scope,
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
            spends_all: options.budget.is_some() || scope.is_some(),
            news: 0,
            last_news: Duration::ZERO,
            outcomes: 0,
        }
    }

    /// Whether no search has found anything new for as long as it took to find all that is known. Every phase of the first round was
    /// tried then.
    fn is_quiet(&self) -> bool {
        let elapsed = self.begin.elapsed();
        !self.spends_all && self.next >= FIRST_ROUND && elapsed >= LEAST.max(2 * self.last_news)
    }

    /// The options of the next search. None if no phase or no budget is left, or if the search is quiet.
    fn next(&mut self, options: &Options, instrumented: bool) -> Option<Options> {
        loop {
            if self.is_quiet() {
                return None;
            }
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
            let extended =
                Effort { executions: self.executions / 3 * 2, time: time_left.map(|left| left / 3 * 2) };
            let strategy = (phase.strategy)();
            let exhaustive = strategy == Strategy::Exhaustive;
            let possible = !exhaustive
                || (instrumented
                    && !options.only_marked
                    && options.backend == Backend::Coroutines
                    && options.isolation == Isolation::Rollback
                    && self.may_be_exhausted(phase.memory, executions)
                    && !(self.ended && phase.preemptions.is_some()));
            // Once a model is exhausted, only memory that is reused may show more; before, quarantine shows more.
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
                // An execution without an end is left to the other searches, while there is time for them.
                time_limit: budget.filter(|_| exhaustive).unwrap_or(Duration::MAX).min(options.time_limit),
                ..options.values.clone()
            };
            return Some(Options {
                values,
                chosen_by_portfolio: true,
                // A search that the phase bounds is worth its share, exhausted or not.
                extended_effort: Some(extended).filter(|_| exhaustive && phase.preemptions.is_none()),
                suppressed: options.suppressed.clone(),
            });
        }
    }

    /// Whether the options leave room for the phase.
    fn is_chosen(&self, phase: &Phase, options: &Options) -> bool {
        let memory = match self.scope {
            // The exhaustive search of a closure takes the memory model that was asked for.
            None => {
                (phase.strategy)() == Strategy::Exhaustive || self.models(options).contains(&phase.memory)
            }
            Some(_) => self.models(options).contains(&phase.memory),
        };
        memory && (options.allocation == Quarantine || phase.allocation == Reuse)
    }

    /// The memory models to be searched.
    fn models(&self, options: &Options) -> Vec<Memory> {
        let weak = self.scope.is_none_or(|scope| scope.weak);
        let asked = |memory: &Memory| match options.memory {
            Some(asked) => *memory == asked,
            None => *memory == Sc || weak,
        };
        [Sc, Rc11].into_iter().filter(asked).collect()
    }

    /// Whether an exhaustive search of so many executions might be exhausted.
    fn may_be_exhausted(&self, memory: Memory, executions: u64) -> bool {
        let Some(scope) = self.scope else { return !self.given_up };
        scope.exhaustible && !self.given_up && (memory != Sc || scope.orders <= executions)
    }

    /// The largest number of events in an execution of an exhaustive search. Operations that retry until they succeed, and have an
    /// effect each time, would lead a depth-first search into ever longer executions.
    fn most_events(&self, options: &Options) -> u64 {
        let usual = self.events.filter(|_| self.scope.is_some());
        usual.map_or(options.max_steps, |usual| options.max_steps.min(8 * usual + 200))
    }

    /// Whether every execution under a memory model was made. For a closure, executions under sequential consistency are part of
    /// those under RC11.
    fn is_exhausted(&self, memory: Memory) -> bool {
        match self.scope {
            None => !self.exhausted.is_empty(),
            Some(_) => self.exhausted.contains(&memory),
        }
    }

    /// Takes note of a search that was made.
    fn made(&mut self, summary: &SearchSummary, report: &SearchReport) {
        let outcomes = report.outcome_counts.iter().filter(|&&count| count > 0).count() as u64;
        self.outcomes = self.outcomes.max(outcomes);
        let news = coverage::news() + self.outcomes;
        if std::mem::replace(&mut self.news, news) != news {
            self.last_news = self.begin.elapsed();
        }
        self.executions = self.executions.saturating_sub(summary.executions);
        self.events.get_or_insert(report.steps / report.executions.max(1));
        let exhausted = is_exhausted(report, summary.given_up);
        // A bound that the user chose restricts the question; one that a phase chose leaves a part of it open.
        let is_of_all = summary.is_of_all() && (summary.preemptions.is_none() || self.bounded);
        if exhausted && is_of_all {
            self.left_out.join(report.left_out);
            if report.left_out.is_for_others() {
                // Other strategies may try what was left out, but not for long: it is seldom much.
                let spent = self.begin.elapsed();
                self.budget = self.budget.map(|budget| budget.min(3 * spent + Duration::from_secs(1)));
                self.executions = self.executions.min(10 * summary.executions + 10_000);
            } else {
                self.exhausted.push(summary.memory);
            }
        }
        self.given_up |= summary.given_up;
        self.ended |= exhausted && summary.strategy == Strategy::Exhaustive;
    }

    /// Whether every execution that the options ask for was made.
    fn is_complete(&self, options: &Options) -> bool {
        match self.scope {
            _ if !self.left_out.is_empty() => false,
            None => !self.exhausted.is_empty(),
            Some(_) => self.models(options).iter().all(|memory| self.exhausted.contains(memory)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a search of the portfolio that is exhausted, or one that spends its executions.
    fn make(portfolio: &mut Portfolio, options: &Options, complete: bool) {
        let executions = if complete { 3 } else { options.effort().executions };
        let report = SearchReport { executions, complete, ..SearchReport::default() };
        portfolio.made(&SearchSummary::of(options, &report, false), &report);
    }

    fn some_executions() -> Options {
        Values { executions: Some(10_000), ..Values::default() }.into()
    }

    #[test]
    fn everything_is_spent_and_both_models_and_policies_are_tried() {
        let options = some_executions();
        let mut portfolio = Portfolio::new(&options, None);
        let (mut spent, mut seen) = (0, Vec::new());
        while let Some(phase) = portfolio.next(&options, true) {
            spent += phase.effort().executions;
            seen.push((phase.memory(), phase.allocation));
            make(&mut portfolio, &phase, false);
        }
        assert_eq!(spent, options.effort().executions);
        assert!(seen.contains(&(Sc, Quarantine)) && seen.contains(&(Rc11, Reuse)));
    }

    #[test]
    fn a_single_execution_is_made() {
        let options = Options::from(Values { executions: Some(1), ..Values::default() });
        let mut portfolio = Portfolio::new(&options, None);
        let phase = portfolio.next(&options, true).unwrap();
        assert_eq!(phase.effort().executions, 1);
        make(&mut portfolio, &phase, false);
        assert!(portfolio.next(&options, true).is_none());
    }

    #[test]
    fn nothing_follows_an_exhausted_search_but_reused_memory() {
        let options = Options::default();
        let mut portfolio = Portfolio::new(&options, None);
        let mut strategies = Vec::new();
        while let Some(phase) = portfolio.next(&options, true) {
            strategies.push((phase.strategy.clone(), phase.allocation));
            make(&mut portfolio, &phase, phase.strategy == Strategy::Exhaustive);
        }
        let exhaustive = |allocation| (Strategy::Exhaustive, allocation);
        assert_eq!(strategies[1..], [exhaustive(Quarantine), exhaustive(Reuse)]);
        assert!(portfolio.is_complete(&options));
    }

    #[test]
    fn a_memory_model_that_was_asked_for_is_the_only_one() {
        let options = Options::from(Values { memory: Some(Sc), ..Values::default() });
        let mut portfolio = Portfolio::new(&options, None);
        while let Some(phase) = portfolio.next(&options, true) {
            assert_eq!(phase.memory(), Sc);
            make(&mut portfolio, &phase, false);
        }
    }

    /// The number of searches until the portfolio ends, if it has found nothing new for as long as it must look.
    fn searches_when_quiet(options: &Options, instrumented: bool) -> usize {
        let mut portfolio = Portfolio::new(options, None);
        portfolio.begin = Instant::now().checked_sub(LEAST).unwrap();
        let mut searches = 0;
        while let Some(phase) = portfolio.next(options, instrumented) {
            make(&mut portfolio, &phase, false);
            searches += 1;
        }
        searches
    }

    #[test]
    fn a_quiet_portfolio_ends_after_one_round_instrumented_or_not_unless_there_is_a_budget() {
        let some = Values { executions: Some(1 << 40), ..Values::default() };
        let with_budget = Values { budget: Some(Duration::from_secs(3600)), ..some.clone() };
        for instrumented in [true, false] {
            let (quiet, all) = (
                searches_when_quiet(&some.clone().into(), instrumented),
                searches_when_quiet(&with_budget.clone().into(), instrumented),
            );
            assert!(quiet > 2 && quiet <= FIRST_ROUND && quiet < all, "{quiet} of {all}");
        }
    }

    fn scenario(options: &Options, orders: u64) -> Portfolio {
        Portfolio::new(options, Some(Scope { orders, weak: true, exhaustible: true }))
    }

    #[test]
    fn a_scenario_is_complete_when_it_is_under_both_models() {
        let options = Options::default();
        let mut portfolio = scenario(&options, 3);
        let mut models = Vec::new();
        while let Some(phase) = portfolio.next(&options, true) {
            let exhaustive = phase.strategy == Strategy::Exhaustive;
            assert_eq!(portfolio.is_complete(&options), models.contains(&(Rc11, Quarantine)));
            make(&mut portfolio, &phase, exhaustive);
            models.extend(exhaustive.then_some((phase.memory(), phase.allocation)));
        }
        assert_eq!(models, [(Sc, Quarantine), (Rc11, Quarantine), (Rc11, Reuse)]);
        assert!(portfolio.is_complete(&options));
    }

    #[test]
    fn an_exhaustive_search_that_cannot_be_exhausted_is_not_tried() {
        let options = some_executions();
        let mut portfolio = scenario(&options, 1 << 40);
        let mut spent = 0;
        while let Some(phase) = portfolio.next(&options, true) {
            assert_ne!((phase.memory(), phase.strategy.clone()), (Sc, Strategy::Exhaustive));
            spent += phase.effort().executions;
            make(&mut portfolio, &phase, false);
        }
        assert_eq!(spent, options.effort().executions);
        assert!(!portfolio.is_complete(&options));
    }

    #[test]
    fn a_contract_that_needs_real_time_is_searched_under_sequential_consistency_only() {
        let options = Options::default();
        let scope = Scope { orders: 3, weak: false, exhaustible: true };
        let mut portfolio = Portfolio::new(&options, Some(scope));
        while let Some(phase) = portfolio.next(&options, true) {
            assert_eq!(phase.memory(), Sc);
            make(&mut portfolio, &phase, phase.strategy == Strategy::Exhaustive);
        }
        assert!(portfolio.is_complete(&options));
    }

    /// A search whose executions have these outcome classes.
    fn searched(options: &Options, complete: bool, kinds: &[u64]) -> Searched<()> {
        let executions = kinds.iter().sum();
        let report =
            SearchReport { executions, complete, outcome_counts: kinds.to_vec(), ..SearchReport::default() };
        Searched::new(options, report, false, None)
    }

    #[test]
    fn a_sample_that_shows_more_than_the_exhaustive_search_refutes_its_claim() {
        let options = some_executions();
        for (sampled, complete) in [([1, 0], true), ([1, 1], false)] {
            let explored = explore_as(&options, None, true, |options| match options.strategy {
                Strategy::Exhaustive => searched(options, true, &[1, 0]),
                _ => searched(options, false, &sampled),
            });
            assert_eq!(explored.report.complete, complete, "{:?}", explored.searches);
        }
    }

    #[test]
    fn no_search_follows_a_failure() {
        let options = some_executions();
        let explored = explore_as(&options, None, true, |options| Searched {
            failure: Some(()),
            ..searched(options, false, &[])
        });
        assert_eq!((explored.searches.len(), explored.failure), (1, Some(())));
    }
}
