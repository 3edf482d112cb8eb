//! What a test that passed has covered.

use std::fmt::{Display, Formatter};
use std::time::Duration;

use raddle_check::Contract;

use crate::options::{Allocation, Memory};
use crate::search::reach::Reach;
use crate::search::summary::SearchSummary;

/// What was tried, and that nothing failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// The scenarios, in the order in which they were tried.
    pub scenarios: Vec<ScenarioCoverage>,
    /// How long it took.
    pub elapsed: Duration,
    /// The seed that makes the same scenarios again.
    pub seed: u64,
    /// What the executions kept.
    pub contract: Contract,
    /// What model checking reached of the code.
    pub reach: Reach,
}

/// What was tried of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioCoverage {
    /// The scenario in one line.
    pub scenario: String,
    /// Executions by model checking.
    pub executions: u64,
    /// Whether those are all that there are: within the bounds of the strategy that was asked for, or without any for
    /// [`Strategy::Auto`](crate::Strategy::Auto), under each memory model.
    pub complete: bool,
    /// The searches that made them.
    pub searches: Vec<SearchSummary>,
    /// Executions on real threads.
    pub stress: u64,
    /// What the executions kept.
    pub contract: Contract,
}

impl ScenarioCoverage {
    /// How many executions there are under a memory model, if all of them were made.
    ///
    /// Under sequential consistency, executions count as different if threads see each other's writes in another order, or if
    /// another operation ended before another began. Under RC11, only what is seen counts, and which read saw which write.
    pub fn all(&self, memory: Memory) -> Option<u64> {
        let all = |ran: &&SearchSummary| {
            let quarantine = ran.allocation == Allocation::Quarantine;
            ran.is_exhaustive() && ran.preemptions.is_none() && ran.memory == memory && quarantine
        };
        self.searches.iter().find(all).map(|ran| ran.executions)
    }

    /// The memory models under which all executions were made, and how many those are.
    fn models(&self) -> impl Iterator<Item = (Memory, u64)> + '_ {
        [Memory::Sc, Memory::Rc11].into_iter().filter_map(|memory| Some((memory, self.all(memory)?)))
    }

    /// The different executions, if those are all; else those that were made.
    fn claimed(&self) -> u64 {
        let all: u64 = self.models().map(|(_, all)| all).sum();
        if self.complete && all > 0 { all } else { self.executions }
    }
}

impl Coverage {
    /// The coverage of a test that was not run.
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(raddle_unsupported_platform))))]
    pub(super) fn none(seed: u64, contract: Contract) -> Coverage {
        Coverage { scenarios: Vec::new(), elapsed: Duration::ZERO, seed, contract, reach: Reach::default() }
    }

    /// Executions of all scenarios by model checking.
    pub fn executions(&self) -> u64 {
        self.scenarios.iter().map(|covered| covered.executions).sum()
    }

    /// Executions of all scenarios on real threads.
    pub fn stress(&self) -> u64 {
        self.scenarios.iter().map(|covered| covered.stress).sum()
    }

    /// Scenarios of which every execution was made.
    pub fn complete(&self) -> usize {
        self.scenarios.iter().filter(|covered| covered.complete).count()
    }
}

/// That something is as the contract says.
fn kept(contract: Contract) -> String {
    let name = contract.to_string();
    match contract {
        Contract::Anything => "end without a panic".to_owned(),
        _ if name.contains(':') => format!("keep contract `{name}`"),
        _ => format!("are {name}"),
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// `all 24 executions of this scenario are linearizable (sc 14, rc11 10): [push(1)] || [pop()]`
impl Display for ScenarioCoverage {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let searches: Vec<String> = match self.complete {
            true if self.models().next().is_some() => {
                self.models().map(|(memory, all)| format!("{memory} {all}")).collect()
            }
            _ => self.searches.iter().map(SearchSummary::to_string).collect(),
        };
        let all = if self.complete { "all " } else { "" };
        write!(f, "{all}{} executions of this scenario {}", self.claimed(), kept(self.contract))?;
        write!(f, " ({})", searches.join(", "))?;
        write!(f, ": {}", self.scenario)
    }
}

impl Display for Coverage {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if let ([covered], 0) = (&self.scenarios[..], self.stress()) {
            write!(f, "{covered}")?;
            return self.end(f);
        }
        let (scenarios, complete) = (self.scenarios.len(), self.complete());
        write!(f, "{scenarios} scenario{}", plural(scenarios))?;
        if complete > 0 {
            let covered = self.scenarios.iter().filter(|covered| covered.complete);
            let all: u64 = covered.map(ScenarioCoverage::claimed).sum();
            let which = if complete == scenarios { "them".to_owned() } else { complete.to_string() };
            write!(f, ": all {all} executions of {which} {}", kept(self.contract))?;
        }
        if complete < scenarios && self.executions() > 0 {
            let covered = self.scenarios.iter().filter(|covered| !covered.complete);
            let some: u64 = covered.map(|covered| covered.executions).sum();
            write!(f, "; {some} executions of {}", if complete > 0 { "the others" } else { "them" })?;
        }
        if self.stress() > 0 {
            write!(f, "; {} on real threads", self.stress())?;
        }
        self.end(f)
    }
}

impl Coverage {
    /// The end of the line: what was reached, and how to get there again.
    fn end(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if self.executions() > 0 {
            write!(f, "; {}", self.reach)?;
        }
        write!(f, "; seed {}, {:.1} s", self.seed, self.elapsed.as_secs_f64())
    }
}
