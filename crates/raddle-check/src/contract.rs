//! What makes a history correct.
//!
//! Every contract is the same question, whether the operations can be put in an order that the model allows, under
//! another relation between that order and what was observed. Each has a file with its definition.

pub(crate) mod durable;
pub(crate) mod interval;
pub(crate) mod linearizable;
pub(crate) mod order;
pub(crate) mod partial_order;
pub(crate) mod quasi;
pub(crate) mod quiescent;
pub(crate) mod relaxed;
pub(crate) mod sequential;
pub(crate) mod serializable;

use std::fmt;
use std::str::FromStr;

pub use durable::Durability;
pub use quasi::Domain;
pub use relaxed::{Cost, Measure, PathCost, Relaxation};

use interval::Stretch;

use crate::engine::Attempt;
use crate::engine::limits::{Budget, Exhausted};
use crate::engine::lts::{Class, Lts};
use crate::history::Operation;
use crate::model::Model;
use crate::timeline::Timeline;

/// The relation between a history and the model that has to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Contract {
    /// Each operation takes effect at one instant between its call and its return (Herlihy and Wing 1990).
    #[default]
    Linearizable,
    /// The operations take effect in some order that keeps the order of each process (Lamport 1979).
    Sequential,
    /// The operations, here transactions, take effect one after another in any order.
    Serializable,
    /// [`Serializable`](Contract::Serializable) in an order that real time does not contradict. For transactions on
    /// one object this is [`Linearizable`](Contract::Linearizable), and it is checked the same way.
    StrictlySerializable,
    /// Operations separated by an instant at which nothing is open take effect in that order; others in any, if they are
    /// [marked](Model::is_relaxed) for it.
    Quiescent,
    /// Linearizable but for deviations of bounded cost (Henzinger et al. 2013).
    Relaxed(Relaxation),
    /// Quasi-linearizable (Afek, Korland and Yanovsky 2010): an order that the model allows differs from one that
    /// real time allows in no operation's place by more than this, or than its own [bound](Model::domains).
    Quasi(usize),
    /// Operations that overlap may take effect at one instant together (Neiger 1994), see [`Model::step_together`].
    SetLinearizable,
    /// Operations that overlap may take effect together in part (Castañeda, Rajsbaum and Raynal 2018), see
    /// [`Model::step_interval`].
    IntervalLinearizable,
    /// What survives crashes of the whole system is linearizable (Izraelevitz, Mendes and Scott 2016).
    Durable(Durability),
    /// Nothing is asked of results: for tests that look for panics, deadlocks and the like only.
    Anything,
}

impl Contract {
    /// Whether a history keeps the contract if and only if each of its independent parts does.
    pub(crate) fn is_local(self) -> bool {
        match self {
            Contract::Linearizable
            | Contract::StrictlySerializable
            | Contract::Relaxed(_)
            | Contract::Anything => true,
            Contract::Durable(durability) => durability != Durability::Buffered,
            Contract::Sequential
            | Contract::Serializable
            | Contract::Quiescent
            | Contract::Quasi(_)
            | Contract::SetLinearizable
            | Contract::IntervalLinearizable => false,
        }
    }

    /// The deviations that it allows, if any.
    pub(crate) fn relaxation(self) -> Option<Relaxation> {
        match self {
            Contract::Relaxed(relaxation) if relaxation.k > 0 => Some(relaxation),
            _ => None,
        }
    }

    /// Why it cannot be asked of `model`, if it cannot.
    pub(crate) fn refusal<M: Model>(self, model: &M) -> Option<String> {
        let needs_costs = matches!(self, Contract::Relaxed(Relaxation { measure: Measure::OutOfOrder, .. }));
        (needs_costs && !model.has_costs()).then(|| {
            format!(
                "the model does not say what a step out of order costs, which {self} needs: \
                 queues, stacks and priority queues do"
            )
        })
    }

    /// Whether the monitors, which decide linearizability, decide it.
    pub(crate) fn is_linearizability(self) -> bool {
        matches!(
            self,
            Contract::Linearizable
                | Contract::StrictlySerializable
                | Contract::Relaxed(Relaxation { k: 0, .. })
                | Contract::Durable(Durability::Plain)
        )
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contract::Linearizable => f.write_str("linearizable"),
            Contract::Sequential => f.write_str("sequential"),
            Contract::Serializable => f.write_str("serializable"),
            Contract::StrictlySerializable => f.write_str("strictly-serializable"),
            Contract::Quiescent => f.write_str("quiescent"),
            Contract::Relaxed(relaxation) => write!(f, "{relaxation}"),
            Contract::Quasi(k) => write!(f, "quasi:{k}"),
            Contract::SetLinearizable => f.write_str("set-linearizable"),
            Contract::IntervalLinearizable => f.write_str("interval-linearizable"),
            Contract::Durable(Durability::Plain) => f.write_str("durable"),
            Contract::Durable(Durability::Strict) => f.write_str("strictly-durable"),
            Contract::Durable(Durability::Buffered) => f.write_str("buffered-durable"),
            Contract::Anything => f.write_str("anything"),
        }
    }
}

impl FromStr for Contract {
    type Err = String;

    fn from_str(name: &str) -> Result<Contract, String> {
        let (base, rest) = name.split_once(':').map_or((name, None), |(base, rest)| (base, Some(rest)));
        let plain = |contract: Contract| match rest {
            None => Ok(contract),
            Some(_) => Err(format!("contract `{base}` takes no number")),
        };
        match base {
            "linearizable" => plain(Contract::Linearizable),
            "sequential" => plain(Contract::Sequential),
            "serializable" => plain(Contract::Serializable),
            "strictly-serializable" | "strict-serializable" => plain(Contract::StrictlySerializable),
            "quiescent" => plain(Contract::Quiescent),
            "k-relaxed" | "lateness" | "stuttering" => Relaxation::parse(base, rest).map(Contract::Relaxed),
            "quasi" => match rest.map(str::parse) {
                Some(Ok(k)) => Ok(Contract::Quasi(k)),
                _ => Err(format!("contract `{base}` needs a number: `{base}:2`")),
            },
            "set-linearizable" => plain(Contract::SetLinearizable),
            "interval-linearizable" => plain(Contract::IntervalLinearizable),
            "durable" => plain(Contract::Durable(Durability::Plain)),
            "strictly-durable" | "strict-durable" => plain(Contract::Durable(Durability::Strict)),
            "buffered-durable" => plain(Contract::Durable(Durability::Buffered)),
            "anything" => plain(Contract::Anything),
            _ => Err(format!(
                "no contract is called `{base}`: there are linearizable, sequential, serializable, \
                 strictly-serializable, quiescent, k-relaxed:K, lateness:K, stuttering:K, quasi:K, \
                 set-linearizable, interval-linearizable, durable, strictly-durable, buffered-durable, anything"
            )),
        }
    }
}

/// A history to be ordered, or a part of one.
pub(crate) struct Problem<'a, M: Model> {
    pub(crate) operations: &'a [&'a Operation<M::Input, M::Output>],
    pub(crate) timeline: &'a Timeline,
    pub(crate) model: &'a M,
    pub(crate) lts: &'a mut Lts<M>,
    pub(crate) budget: &'a mut Budget,
    /// Whether a rejection should come with the attempts that led to it.
    pub(crate) explain: bool,
    /// The most configurations held at once, as the search found.
    pub(crate) widest: usize,
}

impl<M: Model> Problem<'_, M> {
    fn class(&mut self, op: usize) -> Class {
        let operation = self.operations[op];
        self.lts.class(self.model, &operation.input, operation.output())
    }
}

/// What a search found.
pub(crate) enum Finding {
    Accepted,
    Rejected(Rejected),
    Unknown { limit: Exhausted, events: usize },
}

/// What a search knows about a history it rejects. Operations are positions in the problem.
#[derive(Default)]
pub(crate) struct Rejected {
    /// The first to return that no order has a place for.
    pub(crate) operation: Option<usize>,
    /// How many events are already wrong.
    pub(crate) prefix: usize,
    /// Operations that are wrong by themselves.
    pub(crate) core: Vec<usize>,
    pub(crate) summary: Option<String>,
    pub(crate) attempts: Vec<Attempt>,
}

pub(crate) fn check<M: Model>(contract: Contract, problem: &mut Problem<'_, M>) -> Finding {
    match contract {
        // The model has been replaced by one that may deviate.
        Contract::Linearizable | Contract::StrictlySerializable | Contract::Relaxed(_) => {
            linearizable::check(problem)
        }
        Contract::Sequential => sequential::check(problem),
        Contract::Serializable => serializable::check(problem),
        Contract::Quiescent => quiescent::check(problem),
        Contract::Quasi(k) => quasi::check(problem, k),
        Contract::SetLinearizable => interval::check(problem, Stretch::One),
        Contract::IntervalLinearizable => interval::check(problem, Stretch::Any),
        Contract::Durable(durability) => durable::check(problem, durability),
        Contract::Anything => Finding::Accepted,
    }
}
