//! The brute force: every interleaving of a program, on a model of std's primitives under sequential consistency.
//!
//! [`code`](mod@code) makes a program flat, [`state`] is all that an execution has come to at one moment, [`step`](mod@step) says what a thread may do next, and
//! the search here goes on from every state that it has not seen before.
//!
//! It knows nothing of Raddle. It is made twice for each program: with what any search has to explore ([`Freedom::Least`]), and
//! with everything that std and the operating system allow ([`Freedom::Most`]): timeouts at any moment, wake-ups of anyone or for no reason.

pub mod code;
mod locks;
mod messages;
mod shared;
pub mod state;
pub mod step;

use std::collections::{BTreeSet, HashSet};

use crate::program::{Outcome, Program};
use step::Model;

/// What may happen that is up to neither the program nor the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freedom {
    /// As little as possible: time passes when nobody can go on, whoever has waited longest is woken, only wake-ups wake, and
    /// whatever std does to order accesses counts.
    Least,
    /// As much as std's documentation and implementation leave open; only what is documented orders accesses.
    Most,
}

/// How an execution may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Threads wait for ever, asleep or in a loop.
    Stuck,
    /// Two accesses to plain data that nothing orders.
    Race,
}

/// What a program may come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// What threads may see.
    pub outcomes: BTreeSet<Outcome>,
    /// What may go wrong.
    pub faults: BTreeSet<Fault>,
    /// Whether threads time out at the same moment, so that it is not said in which order.
    pub is_vague: bool,
    /// How many states there are.
    pub states: usize,
}

/// What a program may come to, unless it has more states than that.
pub fn known(program: &Program, freedom: Freedom, most_states: usize) -> Option<Known> {
    let model = Model::new(program, freedom);
    let first = model.first();
    let mut known = Known::default();
    let mut seen = HashSet::from([first.clone()]);
    let mut work = vec![first];
    let mut next = Vec::new();
    while let Some(state) = work.pop() {
        if model.is_over(&state) {
            known.outcomes.insert(state.threads.into_iter().map(|thread| thread.seen).collect());
            continue;
        }
        model.steps(&state, &mut next);
        if next.is_empty() {
            known.is_vague |= model.pass_time(&state, &mut next);
        }
        if next.is_empty() {
            known.faults.insert(Fault::Stuck);
        }
        model.unasked(&state, &mut next);
        for state in next.drain(..) {
            if state.raced {
                known.faults.insert(Fault::Race);
            } else if !seen.contains(&state) {
                seen.insert(state.clone());
                work.push(state);
            }
        }
        if seen.len() > most_states {
            return None;
        }
    }
    known.states = seen.len();
    Some(known)
}
