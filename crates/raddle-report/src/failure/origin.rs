//! The origin of a failure: the program and the search.

use serde::{Deserialize, Serialize};

/// The identity of the program that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The file name of the test binary.
    pub binary: String,
    /// The identity of the binary (its build id, or a hash of its text), in hexadecimal.
    pub id: String,
    /// The cargo package and target of the binary, where known (`my-crate`, `test:counter`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The arguments with which cargo built the binary (`--release`, `--features x`), so that a replay can build it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cargo_args: Vec<String>,
}

/// The search that found the failure, with the options that repeat it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundBy {
    /// The strategy with its parameters, as the `RADDLE_STRATEGY` variable spells it: `random`, `pct:3`.
    pub strategy: String,
    /// The memory model, as `RADDLE_MEMORY` spells it, unless it is `sc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The seed of the search.
    pub seed: u64,
    /// The number of the execution within the search, from 1.
    pub execution: u64,
    /// The number of the exploration within the test, from 0: a test may explore more than once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub exploration: u32,
    /// The treatment of freed memory, as `RADDLE_ALLOCATION` spells it, unless it is `quarantine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<String>,
    /// The code that was declared to count references, as `RADDLE_REFERENCE_COUNTS` spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_counts: Option<String>,
    /// The additional behaviours that were explored, as `RADDLE_ALSO` spells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<String>,
}

impl FoundBy {
    /// The [`strategy`](Self::strategy) of executions on real threads, which are not recorded.
    pub const STRESS: &str = "stress";

    /// Whether the execution ran on real threads, so that it cannot be replayed.
    pub fn is_stress(&self) -> bool {
        self.strategy == FoundBy::STRESS
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
