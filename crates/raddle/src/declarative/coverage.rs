//! What a test that passed has covered.

use std::fmt::{Display, Formatter};
use std::time::Duration;

/// What was tried, and that nothing failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// The scenarios, in the order in which they were tried.
    pub scenarios: Vec<Covered>,
    /// How long it took.
    pub elapsed: Duration,
    /// The seed that makes the same scenarios again.
    pub seed: u64,
}

/// What was tried of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Covered {
    /// The scenario in one line.
    pub scenario: String,
    /// Executions by model checking.
    pub executions: u64,
    /// Whether those are all that there are, within the bounds.
    pub complete: bool,
    /// The bounds: the strategy by its name.
    pub strategy: String,
    /// Executions on real threads.
    pub stress: u64,
}

impl Coverage {
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

impl Display for Coverage {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let scenarios = self.scenarios.len();
        write!(f, "{scenarios} scenario{}", if scenarios == 1 { "" } else { "s" })?;
        if self.executions() > 0 {
            write!(f, ", {} executions", self.executions())?;
            if let Some(covered) = self.scenarios.iter().find(|covered| covered.executions > 0) {
                write!(f, " ({} scenarios in full, strategy {})", self.complete(), covered.strategy)?;
            }
        }
        if self.stress() > 0 {
            write!(f, ", {} on real threads", self.stress())?;
        }
        write!(f, ", seed {}, {:.1} s", self.seed, self.elapsed.as_secs_f64())
    }
}
