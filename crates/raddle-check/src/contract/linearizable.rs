//! Linearizability (Herlihy and Wing 1990): a total order of the operations that the model allows and that never
//! contradicts real time. Operations of unknown outcome may be left out.

use super::Finding;
use crate::engine::frontier::{Frontier, NO_DEADLINE};
use crate::engine::limits::{Budget, Exhausted};
use crate::engine::lts::{Class, Lts};
use crate::history::Operation;
use crate::model::Model;
use crate::timeline::{Event, NEVER, Timeline};

/// How many failed attempts are kept to explain a rejection.
const ATTEMPTS: usize = 5;

pub(crate) fn check<M: Model>(
    operations: &[&Operation<M::Input, M::Output>],
    timeline: &Timeline,
    model: &M,
    lts: &mut Lts<M>,
    budget: &mut Budget,
    widest: &mut usize,
) -> Finding {
    let mut walk = Walk::new(operations, timeline, model, lts);
    let frontier = Frontier::new(walk.lts.initial(model));
    match walk.run(frontier, timeline.len(), budget) {
        Walked::Through(frontier) => {
            *widest = frontier.widest();
            Finding::Accepted
        }
        Walked::Stuck { rank, operation, frontier } => {
            *widest = frontier.widest();
            // Once more, up to the event that failed, to see how far each order got.
            let recording = Frontier::recording(walk.lts.initial(model));
            let attempts = match walk.run(recording, rank + 1, budget) {
                Walked::Stuck { frontier, .. } => frontier.attempts(ATTEMPTS),
                _ => Vec::new(),
            };
            Finding::Rejected { operation: Some(operation), prefix: rank + 1, attempts }
        }
        Walked::Exhausted { limit, rank } => Finding::Unknown { limit, events: rank },
    }
}

/// A walk of a frontier along a timeline.
struct Walk<'a, M: Model> {
    operations: &'a [&'a Operation<M::Input, M::Output>],
    timeline: &'a Timeline,
    model: &'a M,
    lts: &'a mut Lts<M>,
    deadlines: Vec<u32>,
}

enum Walked {
    Through(Frontier),
    Stuck { rank: usize, operation: usize, frontier: Frontier },
    Exhausted { limit: Exhausted, rank: usize },
}

impl<'a, M: Model> Walk<'a, M> {
    fn new(
        operations: &'a [&'a Operation<M::Input, M::Output>],
        timeline: &'a Timeline,
        model: &'a M,
        lts: &'a mut Lts<M>,
    ) -> Self {
        let mut deadlines = vec![NEVER; operations.len()];
        for (rank, event) in timeline.events().enumerate() {
            if let Event::Return(op) = event {
                deadlines[op] = rank as u32;
            }
        }
        Walk { operations, timeline, model, lts, deadlines }
    }

    fn run(&mut self, mut frontier: Frontier, until: usize, budget: &mut Budget) -> Walked {
        let mut slots = vec![0u32; self.operations.len()];
        for (rank, event) in self.timeline.events().take(until).enumerate() {
            if rank.is_multiple_of(4096)
                && let Err(limit) = budget.check_time()
            {
                return Walked::Exhausted { limit, rank };
            }
            match event {
                Event::Call(op) => self.call(&mut frontier, &mut slots, op),
                Event::Return(op) => match frontier.close(self.lts, self.model, slots[op] as usize, budget) {
                    Ok(true) => frontier.tidy(self.lts, self.model),
                    Ok(false) => return Walked::Stuck { rank, operation: op, frontier },
                    Err(limit) => return Walked::Exhausted { limit, rank },
                },
            }
        }
        Walked::Through(frontier)
    }

    fn call(&mut self, frontier: &mut Frontier, slots: &mut [u32], op: usize) {
        let class = self.class(op);
        let deadline = match self.deadlines[op] {
            // Whether a read of unknown outcome took place or not makes no difference.
            NEVER if self.lts.is_read_only(class) => return,
            NEVER => NO_DEADLINE,
            rank => u64::from(rank),
        };
        slots[op] = frontier.open(self.lts, class, deadline, op) as u32;
    }

    fn class(&mut self, op: usize) -> Class {
        let operation = self.operations[op];
        self.lts.class(self.model, &operation.input, operation.output())
    }
}
