//! What a check found.

use std::fmt;
use std::time::Duration;

use crate::engine::limits::Exhausted;
use crate::value::Value;

/// The answer for one history, with the answer for every part it was split into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The parts in the order their keys first appear; one part without a key if the history was not split.
    pub parts: Vec<Part>,
    /// Why the history was or was not split.
    pub partitioning: String,
}

/// The answer for one part of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What the operations of the part have in common.
    pub key: Option<Value>,
    /// The indices of its operations in the history.
    pub operations: Vec<usize>,
    /// Whether it keeps the contract.
    pub verdict: Verdict,
    /// How that was decided.
    pub method: Method,
    /// Why that method was taken.
    pub reason: String,
    /// Configurations expanded; 0 for a monitor.
    pub steps: u64,
    /// The most configurations held at once; 0 for a monitor.
    pub widest: usize,
    /// How long it took.
    pub time: Duration,
}

/// Whether a history keeps a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Accepted,
    /// It does not.
    Violation(Violation),
    /// A limit was reached first.
    Unknown(Progress),
}

/// Why a check could not be made: the contract, the model and the history do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub(crate) String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// How far a check got before a limit ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which limit.
    pub limit: Exhausted,
    /// Calls and returns that were worked off. All operations that ended before are explained.
    pub events: usize,
    /// Calls and returns there are.
    pub of: usize,
}

/// Why a history breaks its contract. Operations are named by their index in the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violation {
    /// The first operation to return that no order has a place for, if there is one such.
    pub operation: Option<usize>,
    /// How many calls and returns of this part, first to last, are already wrong, whatever operations that are open
    /// then return. The shortest prefix that is, if a search decided and no limit was reached.
    pub prefix: usize,
    /// Operations that contradict each other by themselves, with everything else left out; may be empty.
    pub core: Vec<usize>,
    /// What the contradiction is, in words.
    pub summary: String,
    /// The longest ways to order the operations before nothing fits any more.
    pub attempts: Vec<PartialOrder>,
}

/// Some operations in an order that the model allows, which cannot be continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialOrder {
    /// The operations, first to last.
    pub order: Vec<usize>,
    /// The states after the last of them, in words; as many as are worth showing.
    pub states: Vec<String>,
    /// The operations that time would allow next.
    pub rejected: Vec<Rejection>,
}

/// An operation that could come next in a [`PartialOrder`], but for the model or what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The operation.
    pub operation: usize,
    /// Whether it fits the state. Then it is what comes after it that does not.
    pub fits: bool,
    /// What it would have had to return there instead, in words; empty if it fits or the model does not say.
    pub expected: Vec<String>,
}

/// How a verdict was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A monitor for this kind of collection.
    Monitor(&'static str),
    /// Frontier search in real-time order.
    Frontier,
    /// Depth-first search over the operations that may come next.
    Chains,
    /// The search over two orders at once that quasi-linearizability needs.
    TwoOrders,
    /// Depth-first search over the sets of operations that may come next.
    Sets,
    /// Nothing had to be decided.
    Nothing,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = match self.limit {
            Exhausted::Time => "time",
            Exhausted::Memory => "memory",
        };
        write!(f, "the {limit} limit was reached after {} of {} events", self.events, self.of)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Monitor(name) => write!(f, "{name} monitor"),
            Method::Frontier => f.write_str("frontier search"),
            Method::Chains => f.write_str("chain search"),
            Method::TwoOrders => f.write_str("two-order search"),
            Method::Sets => f.write_str("set search"),
            Method::Nothing => f.write_str("definition"),
        }
    }
}

impl Report {
    /// The verdict on the whole: a violation in any part is one, then an unknown part leaves it unknown.
    pub fn verdict(&self) -> &Verdict {
        let of = |wanted: fn(&Verdict) -> bool| self.parts.iter().map(|p| &p.verdict).find(|v| wanted(v));
        of(|v| matches!(v, Verdict::Violation(_)))
            .or_else(|| of(|v| matches!(v, Verdict::Unknown(_))))
            .unwrap_or(&Verdict::Accepted)
    }

    /// Whether every part keeps the contract.
    pub fn is_accepted(&self) -> bool {
        matches!(self.verdict(), Verdict::Accepted)
    }

    /// Whether some part breaks the contract.
    pub fn is_violation(&self) -> bool {
        matches!(self.verdict(), Verdict::Violation(_))
    }

    /// Whether a limit was reached before an answer.
    pub fn is_unknown(&self) -> bool {
        matches!(self.verdict(), Verdict::Unknown(_))
    }
}
