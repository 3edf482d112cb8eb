//! A schema as the search for its outcomes sees it: operations with their order and their levels.

use crate::level::Level;
use crate::schema::{Invocation, Schema};

/// A set of operations, one bit each.
pub(super) type Ops = u64;

/// The most operations that a schema may have.
pub const MOST_OPERATIONS: usize = 64;

/// The operations of a schema.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) ops: Vec<Op>,
    /// How many sequences there are.
    pub(super) sequences: usize,
}

/// One operation.
#[derive(Clone, Debug)]
pub(super) struct Op {
    /// What it calls.
    pub(super) call: usize,
    /// What it must see.
    pub(super) level: Level,
    /// The operations that happen before it, without itself.
    pub(super) before: Ops,
    /// The sequence that it is in.
    pub(super) sequence: usize,
}

impl Program {
    /// The operations of a schema. `call` gives each invocation a number, equal ones for equal invocations, and `level` says what
    /// each must see.
    ///
    /// # Panics
    /// If there are more than [`MOST_OPERATIONS`].
    pub fn new(
        schema: &Schema,
        mut call: impl FnMut(&Invocation) -> usize,
        mut level: impl FnMut(&Invocation) -> Level,
    ) -> Program {
        assert!(schema.len() <= MOST_OPERATIONS, "a schema has at most {MOST_OPERATIONS} invocations");
        let mut ops = Vec::new();
        let mut sequences = 0;
        let mut earlier: Ops = 0;
        for phase in &schema.phases {
            let mut of_phase = earlier;
            for sequence in phase {
                let mut before = earlier;
                for invocation in sequence {
                    let this = ops.len();
                    ops.push(Op {
                        call: call(invocation),
                        level: level(invocation),
                        before,
                        sequence: sequences,
                    });
                    before |= 1 << this;
                    of_phase |= 1 << this;
                }
                sequences += 1;
            }
            earlier = of_phase;
        }
        Program { ops, sequences }
    }

    /// The operations that can come next after those that were placed.
    pub(super) fn ready(&self, placed: Ops) -> impl Iterator<Item = usize> {
        self.remaining(placed).filter(move |&op| self.ops[op].before & !placed == 0)
    }

    /// The operations that were not placed yet.
    pub(super) fn remaining(&self, placed: Ops) -> impl Iterator<Item = usize> {
        (0..self.ops.len()).filter(move |op| placed >> op & 1 == 0)
    }
}

/// The members of a set.
pub(super) fn members(mut set: Ops) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let op = set.trailing_zeros() as usize;
            set &= set - 1;
            op
        })
    })
}
