//! Verifying a great many small histories of one blocking specification.

use std::time::Instant;

use rustc_hash::FxHashMap;

use super::lts::Lts;
use super::search::{Ending, Found, Haste, Problem, search};
use super::{Blocking, check};
use crate::contract::Contract;
use crate::contract::order::Precedence;
use crate::engine::limits::{Budget, Exhausted, Limits};
use crate::history::{History, Operation};
use crate::timeline::Ties;

/// Whether a history of an object that may block is correct.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It is.
    Accepted,
    /// No order explains what ended.
    Rejected,
    /// What ended is explained, but these operations, by index, stay suspended though the specification lets them go on.
    LostWakeUp(Vec<usize>),
}

/// A verifier that learns: states and transitions are computed once for all histories, and a history that came before
/// is not searched again.
///
/// For the reasons, give a history that it does not accept to
/// [`Checker::check_blocking`](crate::Checker::check_blocking).
pub struct Verifier<B: Blocking> {
    spec: B,
    contract: Contract,
    limits: Limits,
    lts: Lts<B>,
    known: FxHashMap<Box<[u32]>, Answer>,
    remembered: u64,
}

/// More answers than this are not kept, so that memory does not grow with the number of histories.
const MOST_KNOWN: usize = 1 << 18;

impl<B: Blocking> Verifier<B> {
    /// A verifier of `contract`.
    ///
    /// # Panics
    /// If the contract is none for objects that block: see [`Verifier::supports`].
    pub fn new(spec: B, contract: Contract) -> Verifier<B> {
        assert!(Self::supports(contract), "{}", check::refusal(contract));
        Verifier {
            spec,
            contract,
            limits: Limits::default(),
            lts: Lts::new(),
            known: FxHashMap::default(),
            remembered: 0,
        }
    }

    /// Whether the contract can be asked of objects that block: it has to be one that only says which operations come
    /// before which. Those are linearizable, sequential, serializable, strictly-serializable, quiescent and anything.
    pub fn supports(contract: Contract) -> bool {
        contract == Contract::Anything || Precedence::is_all_of(contract)
    }

    /// When to give up, for each history anew.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether `history` keeps the contract; the error is the limit that was reached first.
    pub fn verify(&mut self, history: &History<B::Input, B::Output>) -> Result<Answer, Exhausted> {
        let order = check::order_in_time(self.contract, &self.spec, history.operations(), Ties::default());
        self.lookup(history.operations(), order)
    }

    /// Whether `history` keeps the contract if operation `i` is over before operation `j` begins wherever `before(i, j)`,
    /// and only there. See [`Verifier::verify_partial_order`](crate::Verifier::verify_partial_order).
    pub fn verify_partial_order(
        &mut self,
        history: &History<B::Input, B::Output>,
        before: impl Fn(usize, usize) -> bool,
    ) -> Result<Answer, Exhausted> {
        let order = check::order_given(self.contract, &self.spec, history.operations(), before);
        self.lookup(history.operations(), order)
    }

    /// How many answers came from memory.
    pub fn remembered(&self) -> u64 {
        self.remembered
    }

    fn lookup(
        &mut self,
        operations: &[Operation<B::Input, B::Output>],
        order: Option<Precedence>,
    ) -> Result<Answer, Exhausted> {
        let Some(order) = order else { return Ok(Answer::Accepted) };
        if self.lts.is_crowded() {
            self.lts = Lts::new();
            self.known.clear();
        }
        let problem = Problem::new(&mut self.lts, operations, order);
        let key = key(&problem);
        if let Some(answer) = self.known.get(key.as_slice()) {
            self.remembered += 1;
            return Ok(answer.clone());
        }
        let mut budget = Budget::new(self.limits, Instant::now());
        let answer = match search(&problem, &self.spec, &mut self.lts, &mut budget, Haste::Deep)? {
            Found::Accepted => Answer::Accepted,
            Found::Rejected(_) => Answer::Rejected,
            Found::LostWakeUp(lost, _) => Answer::LostWakeUp(lost),
        };
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(key.into_boxed_slice(), answer.clone());
        Ok(answer)
    }
}

/// All that an answer depends on.
fn key(problem: &Problem) -> Vec<u32> {
    const SUSPENDED: u32 = u32::MAX;
    const CANCELLED: u32 = u32::MAX - 1;
    const UNKNOWN: u32 = u32::MAX - 2;
    let mut key = Vec::new();
    for (op, (input, ending)) in problem.inputs.iter().zip(&problem.endings).enumerate() {
        let ending = match ending {
            Ending::Returned(output) => output.0,
            Ending::Suspended => SUSPENDED,
            Ending::Cancelled => CANCELLED,
            Ending::Unknown => UNKNOWN,
        };
        key.extend([input.0, ending]);
        key.extend(problem.order.before(op).iter().map(|before| before as u32));
        key.push(u32::MAX);
    }
    key
}
