//! Which operations have to come before which, for contracts and histories where time alone does not say.

use super::{Contract, quiescent};
use crate::engine::mask::{Mask, Words};

/// For each operation, those that have to come before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Precedence {
    before: Vec<Words>,
}

impl Precedence {
    /// What `before` says about `count` operations. Nothing waits for an operation that may never have happened: those
    /// that have not `ended` come before nothing.
    pub(crate) fn new(
        count: usize,
        ended: impl Fn(usize) -> bool,
        before: impl Fn(usize, usize) -> bool,
    ) -> Precedence {
        let row = |j: usize| {
            let mut row = Words::default();
            (0..count).filter(|&i| i != j && ended(i) && before(i, j)).for_each(|i| row.insert(i));
            row
        };
        Precedence { before: (0..count).map(row).collect() }
    }

    /// The order that a contract asks for, if `in_time(i, j)` is what counts as real time and `in_program(i, j)` as the order
    /// within a process. None of a contract that asks for more than an order that the model allows and that extends another one.
    pub(crate) fn of_contract(
        contract: Contract,
        count: usize,
        ended: impl Fn(usize) -> bool,
        in_time: impl Fn(usize, usize) -> bool,
        in_program: impl Fn(usize, usize) -> bool,
        is_relaxed: impl Fn(usize) -> bool,
    ) -> Option<Precedence> {
        let order = match contract {
            Contract::Linearizable | Contract::StrictlySerializable => Precedence::new(count, ended, in_time),
            Contract::Sequential => Precedence::new(count, ended, in_program),
            Contract::Serializable => Precedence::new(count, ended, |_, _| false),
            Contract::Quiescent => quiescent::relax(Precedence::new(count, ended, in_time), is_relaxed),
            _ => return None,
        };
        Some(order)
    }

    /// Those that have to come before `op`.
    pub(crate) fn before(&self, op: usize) -> &Words {
        &self.before[op]
    }

    /// Whether `i` has to come before `j`.
    pub(crate) fn has(&self, i: usize, j: usize) -> bool {
        self.before[j].contains(i)
    }

    /// How many operations it is about.
    pub(crate) fn len(&self) -> usize {
        self.before.len()
    }

    /// The same order with everything that follows from it.
    fn closed(mut self) -> Precedence {
        for middle in 0..self.before.len() {
            let through = self.before[middle].clone();
            for row in self.before.iter_mut().filter(|row| row.contains(middle)) {
                row.unite(&through);
            }
        }
        self
    }

    /// For each operation, the number of the quiescent period it is in. A quiescent point of a partial order is a cut
    /// between operations all of which come before all others; in real time that is an instant at which nothing is open.
    pub(crate) fn periods(self) -> Vec<usize> {
        let closed = self.closed();
        let count = closed.before.len();
        let mut sizes: Vec<usize> = closed.before.iter().map(Words::len).collect();
        // What is on the near side of a cut of `size` operations has fewer before it, the far side has all those.
        let is_cut = |size: &usize| {
            let (near, far): (Vec<usize>, Vec<usize>) = (0..count).partition(|&op| sizes[op] < *size);
            near.len() == *size && far.iter().all(|&b| near.iter().all(|&a| closed.before[b].contains(a)))
        };
        let cuts: Vec<usize> = (1..count).filter(is_cut).collect();
        sizes.iter_mut().for_each(|size| *size = cuts.partition_point(|cut| cut <= size));
        sizes
    }
}
