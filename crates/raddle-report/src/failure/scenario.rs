//! Scenarios of declarative tests.

use serde::{Deserialize, Serialize};

/// A scenario: the operations that the threads of a declarative test call, with their results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// The operations before the threads start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub init: Vec<Operation>,
    /// The operations of each thread.
    pub parallel: Vec<Vec<Operation>>,
    /// The operations after the threads have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post: Vec<Operation>,
    /// Rust code that makes a test run this scenario first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// One operation with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The call, printed: `push(1)`.
    pub call: String,
    /// The result, printed; none if the operation did not return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The recipe by which the test repeats the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
}

/// The recipe of a call: the operation and the source of its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// The name of the operation.
    pub operation: String,
    /// The numbers that the arguments are generated from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<u64>,
    /// The number of the call in the custom scenarios of the test, if the call comes from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<usize>,
    /// The state in which the operation is cancelled: `suspended` or `woken`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<String>,
}
