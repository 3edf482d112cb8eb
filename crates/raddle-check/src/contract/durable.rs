//! Durable linearizability (Izraelevitz, Mendes and Scott 2016): linearizability across crashes of the whole system.
//!
//! A process does not go on after a crash: an operation that is open then has an unknown outcome.

use super::linearizable::{Crash, check_with};
use super::{Finding, Problem};
use crate::history::{History, Operation};
use crate::model::Model;

/// What may become of operations around a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// What returned survives; what was open may take effect at any time, even after the crash, or never.
    #[default]
    Plain,
    /// What returned survives; what was open took effect before the crash or never will.
    Strict,
    /// Of what took effect between two crashes, a part survives that has with each operation all that preceded it in
    /// real time; the survivors, one such part after another, are linearizable. Nothing is asked of what did not
    /// survive, and what was open took effect before the crash or never will.
    Buffered,
}

/// An operation that is open during a crash and returns after it, which no process that the crash ended can do.
pub(crate) fn survivor<I, O>(history: &History<I, O>) -> Option<&Operation<I, O>> {
    history.operations().iter().find(|op| {
        let outlives = |&crash: &u64| op.call <= crash && op.returned_at().is_some_and(|at| at > crash);
        history.crashes().iter().any(outlives)
    })
}

pub(crate) fn check<M: Model>(problem: &mut Problem<'_, M>, durability: Durability) -> Finding {
    let crash = match durability {
        Durability::Plain => Crash::Ignored,
        Durability::Strict => Crash::Ends,
        Durability::Buffered => Crash::Cuts,
    };
    check_with(problem, crash)
}
