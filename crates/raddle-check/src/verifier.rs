//! Verifying a great many small histories of one model, as a test does that runs a scenario under every schedule.

use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::contract::relaxed::Graded;
use crate::contract::{self, Contract, Finding, Problem};
use crate::engine::limits::{Budget, Exhausted, Limits};
use crate::engine::lts::Lts;
use crate::history::{History, Operation};
use crate::model::Model;
use crate::partition;
use crate::timeline::{Ties, Timeline};

/// A verifier that learns: the model's states and transitions are computed once for all histories, and a history that
/// came before is not searched again.
///
/// It answers yes or no. For the reasons, give a history that it rejects to a [`Checker`](crate::Checker).
///
/// ```
/// use raddle_check::model::counter::{Counter, CounterOp};
/// use raddle_check::{Contract, History, Verifier};
///
/// let mut verifier = Verifier::new(Counter, Contract::Linearizable);
/// for lost_update in [false, true, true] {
///     let mut history = History::new();
///     let calls = [0, 1].map(|process| history.invoke(process, CounterOp::AddAndGet(1)));
///     history.respond(calls[0], 1.into());
///     history.respond(calls[1], if lost_update { 1 } else { 2 }.into());
///     assert_eq!(verifier.verify(&history), Ok(!lost_update));
/// }
/// assert_eq!(verifier.remembered(), 1);
/// ```
pub struct Verifier<M: Model> {
    model: Graded<Box<M>>,
    contract: Contract,
    limits: Limits,
    lts: Lts<Graded<Box<M>>>,
    /// Verdicts by what was called, in which order, with which results.
    known: FxHashMap<Box<[u32]>, bool>,
    /// The numbering of classes that `known` speaks of.
    generation: u64,
    remembered: u64,
}

/// More verdicts than this are not kept, so that memory does not grow with the number of histories.
const MOST_KNOWN: usize = 1 << 18;

impl<M: Model> Verifier<M> {
    /// A verifier of `contract`.
    ///
    /// # Panics
    /// If the contract is about steps out of order and the model does not say [what they cost](Model::has_costs).
    pub fn new(model: M, contract: Contract) -> Verifier<M> {
        if let Some(refusal) = contract.refusal(&model) {
            panic!("{refusal}");
        }
        Verifier {
            model: Graded { model: Box::new(model), relaxation: contract.relaxation() },
            contract,
            limits: Limits::default(),
            lts: Lts::new(),
            known: FxHashMap::default(),
            generation: 0,
            remembered: 0,
        }
    }

    /// When to give up, for each history anew.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether `history` keeps the contract; the error is the limit that was reached first.
    ///
    /// # Panics
    /// If the contract is durable and an operation returns after a crash that it was called before.
    pub fn verify(&mut self, history: &History<M::Input, M::Output>) -> Result<bool, Exhausted> {
        if matches!(self.contract, Contract::Durable(_)) {
            let survivor = contract::durable::survivor(history);
            assert!(survivor.is_none(), "no operation returns after a crash that it was called before");
        }
        self.tidy();
        let pieces = match self.contract.is_local() {
            true => {
                partition::by_key(history, &*self.model.model).unwrap_or_else(|_| partition::whole(history))
            }
            false => partition::whole(history),
        };
        for piece in pieces {
            let operations: Vec<&Operation<_, _>> =
                piece.operations.iter().map(|&op| &history.operations()[op]).collect();
            let timeline = Timeline::new(&operations, history.crashes(), Ties::default());
            let key = self.key(&operations, &timeline);
            let contract = self.contract;
            if !self.lookup(key, &operations, &timeline, |problem| contract::check(contract, problem))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether `history` keeps the contract if operation `i` is over before operation `j` begins wherever `before(i, j)`,
    /// and only there: for engines that know happens-before, which under a weak memory model is less than the order in
    /// which they ran the operations. It need not be transitive.
    ///
    /// # Panics
    /// If the contract is durable: nothing says where in a partial order a crash is.
    pub fn verify_partial_order(
        &mut self,
        history: &History<M::Input, M::Output>,
        before: impl Fn(usize, usize) -> bool,
    ) -> Result<bool, Exhausted> {
        self.tidy();
        let operations: Vec<&Operation<_, _>> = history.operations().iter().collect();
        let timeline = Timeline::new(&operations, &[], Ties::default());
        let mut key = Vec::new();
        for (j, operation) in operations.iter().enumerate() {
            key.push(self.lts.class(&self.model, &operation.input, operation.output()).0);
            key.push(operation.process as u32);
            key.extend((0..operations.len()).filter(|&i| before(i, j)).map(|i| i as u32));
            key.push(u32::MAX);
        }
        let contract = self.contract;
        let check = |problem: &mut Problem<'_, _>| contract::partial_order::check(contract, problem, &before);
        self.lookup(key, &operations, &timeline, check)
    }

    /// All that the verdict depends on.
    fn key(&mut self, operations: &[&Operation<M::Input, M::Output>], timeline: &Timeline) -> Vec<u32> {
        let is_exact = match self.contract {
            // The order of calls counts, or that of crashes among the rest.
            Contract::Sequential | Contract::Durable(_) => true,
            _ => false,
        };
        let count = operations.len();
        let spans = if is_exact { timeline.spans(count) } else { timeline.coarse_spans(count) };
        let crashes = if is_exact { timeline.crashes.as_slice() } else { &[] };
        let mut key = vec![crashes.len() as u32];
        key.extend(crashes.iter().map(|&at| at as u32));
        for (operation, span) in operations.iter().zip(spans) {
            let class = self.lts.class(&self.model, &operation.input, operation.output());
            key.extend([class.0, span.call, span.ret]);
            if is_exact {
                key.push(operation.process as u32);
            }
        }
        key
    }

    /// How many verdicts came from memory.
    pub fn remembered(&self) -> u64 {
        self.remembered
    }

    /// Forgets everything if that has become too much.
    fn tidy(&mut self) {
        if self.lts.is_crowded() {
            self.lts.collect(std::iter::empty(), std::iter::empty(), &self.model);
            self.known.clear();
            self.generation = self.lts.generation;
        }
    }

    fn lookup(
        &mut self,
        key: Vec<u32>,
        operations: &[&Operation<M::Input, M::Output>],
        timeline: &Timeline,
        check: impl FnOnce(&mut Problem<'_, Graded<Box<M>>>) -> Finding,
    ) -> Result<bool, Exhausted> {
        if let Some(&verdict) = self.known.get(key.as_slice()) {
            self.remembered += 1;
            return Ok(verdict);
        }
        let mut budget = Budget::new(self.limits, Instant::now());
        let finding = check(&mut Problem {
            operations,
            timeline,
            model: &self.model,
            lts: &mut self.lts,
            budget: &mut budget,
            explain: false,
            widest: 0,
        });
        let verdict = match finding {
            Finding::Accepted => true,
            Finding::Rejected(_) => false,
            Finding::Unknown { limit, .. } => return Err(limit),
        };
        if self.lts.generation != self.generation || self.known.len() >= MOST_KNOWN {
            // The numbers in the keys are not those of today, or there are too many.
            self.known.clear();
            self.generation = self.lts.generation;
        } else {
            self.known.insert(key.into_boxed_slice(), verdict);
        }
        Ok(verdict)
    }
}
