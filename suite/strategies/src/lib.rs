//! The list of strategies that the suites run, and the claims of each.
//!
//! [`list`] is the only place where a suite names strategies in general. Conformance tests, broken programs, real crates, the
//! differential fuzzer and the regression net select from it by claim, so a new strategy is one new row.
#![forbid(unsafe_code)]

use raddle_options::{Memory, Strategy};

/// A strategy and its claims.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The strategy, with its parameter.
    pub strategy: Strategy,
    /// The bugs that the strategy must find.
    pub finds: Finds,
    /// The executions that a search covers.
    pub scope: Scope,
    /// Whether an execution depends on the seed and its number alone. Workers then share a search, and their number does not
    /// change the result.
    pub is_indexed: bool,
    /// The searches that the regression net records: memory model and number of executions.
    pub recorded: &'static [(Memory, u64)],
}

/// The bugs that a strategy must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finds {
    /// None: the row is there because no strategy may raise a false alarm.
    Nothing,
    /// Bugs of nearly every schedule.
    Obvious,
    /// Bugs of few schedules, too.
    Hidden,
}

/// The executions that a search covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// As many executions as asked for.
    Samples,
    /// All executions within a bound.
    Bounded,
    /// All executions under each of these memory models.
    All(&'static [Memory]),
    /// A portfolio of other strategies.
    Portfolio,
}

/// All strategies.
pub fn list() -> Vec<Entry> {
    use Finds::{Hidden, Nothing, Obvious};
    use Memory::{Rc11, Sc};
    use Scope::{All, Bounded, Portfolio, Samples};
    let entry =
        |strategy, finds, scope, is_indexed, recorded| Entry { strategy, finds, scope, is_indexed, recorded };
    vec![
        entry(Strategy::Random, Hidden, Samples, true, &[(Sc, 100), (Rc11, 100)]),
        entry(Strategy::Pct(1), Nothing, Samples, true, &[]),
        entry(Strategy::Pct(2), Nothing, Samples, true, &[]),
        entry(Strategy::Pct(3), Hidden, Samples, true, &[(Sc, 100)]),
        entry(Strategy::Pos, Hidden, Samples, true, &[(Sc, 100)]),
        entry(Strategy::RoundRobin, Obvious, Samples, false, &[]),
        entry(Strategy::Bounded(2), Hidden, Bounded, false, &[(Sc, 300)]),
        entry(Strategy::Bounded(usize::MAX), Hidden, All(&[Sc]), false, &[]),
        entry(Strategy::Exhaustive, Hidden, All(&[Sc, Rc11]), false, &[(Sc, 1000), (Rc11, 1000)]),
        entry(Strategy::Auto, Hidden, Portfolio, false, &[]),
    ]
}

impl Entry {
    /// Whether a search may make fewer executions than asked for: the search has covered its scope.
    pub fn can_end(&self) -> bool {
        self.scope != Scope::Samples
    }

    /// The memory models under which the strategy can claim to be complete.
    pub fn complete_under(&self) -> &'static [Memory] {
        match self.scope {
            Scope::All(memories) => memories,
            _ => &[],
        }
    }
}

/// The entry of a strategy.
///
/// # Panics
/// If the strategy is not in the list.
pub fn entry(strategy: &Strategy) -> Entry {
    let known = list().into_iter().find(|entry| entry.strategy == *strategy);
    known.unwrap_or_else(|| panic!("`{strategy}` is not in the list of the suites"))
}

fn select(is_selected: impl Fn(&Entry) -> bool) -> Vec<Strategy> {
    list().into_iter().filter(is_selected).map(|entry| entry.strategy).collect()
}

/// Strategies that sample and must find hidden bugs.
pub fn sampling() -> Vec<Strategy> {
    select(|entry| entry.scope == Scope::Samples && entry.finds == Finds::Hidden)
}

/// Strategies that sample, or search within a bound, and must find hidden bugs.
pub fn searching() -> Vec<Strategy> {
    select(|entry| entry.finds == Finds::Hidden && matches!(entry.scope, Scope::Samples | Scope::Bounded))
}

/// Strategies that sample, or search within a bound, and must find at least obvious bugs.
pub fn basic() -> Vec<Strategy> {
    select(|entry| entry.finds >= Finds::Obvious && matches!(entry.scope, Scope::Samples | Scope::Bounded))
}

/// Portfolios of other strategies.
pub fn portfolios() -> Vec<Strategy> {
    select(|entry| entry.scope == Scope::Portfolio)
}

/// Searches of all executions.
pub fn complete() -> Vec<(Strategy, Memory)> {
    let searches =
        |entry: Entry| entry.complete_under().iter().map(move |&memory| (entry.strategy.clone(), memory));
    list().into_iter().flat_map(searches).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message about an unknown strategy names all of them.
    #[test]
    fn every_strategy_that_can_be_named_is_in_the_list() {
        let message = "no such strategy".parse::<Strategy>().unwrap_err();
        let name = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
        let listed: Vec<String> = list().iter().map(|entry| name(&entry.strategy.to_string())).collect();
        for known in message.split('`').skip(1).step_by(2).map(name) {
            // Schedules and turns name one execution: replays are tested with every strategy, turns by the suite of teaching.
            let is_one_execution = ["schedule", "turns"].contains(&known.as_str());
            assert!(
                is_one_execution || listed.contains(&known),
                "`{known}` is not in the list of the suites"
            );
        }
    }
}
