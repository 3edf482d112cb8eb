//! A blocking specification as a transition system: states numbered, moves computed once.
//!
//! Where the specification can rename tickets, they are numbered in every state in the order in which they stand there,
//! so that states which differ in tickets only are one. A move then says which ticket becomes which.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{Blocking, Step, Ticket};

/// A state of the specification, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StateId(u32);

/// An input or an output, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Name(pub(super) u32);

/// Something that an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Move {
    Request(Name, Ticket),
    FollowUp(Ticket),
    Cancel(Ticket),
}

/// Where a move leads.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) state: StateId,
    /// What the operation comes to; a cancelled one has no output.
    pub(super) step: Step<Option<Name>>,
    /// The tickets of the new state as they were before, in the order of their new numbers; absent if they have kept
    /// their numbers.
    renamed: Option<Box<[Ticket]>>,
}

impl Arrival {
    /// Gives the tickets in `waiting` the numbers they have now.
    pub(super) fn rename<'a>(&self, waiting: impl Iterator<Item = &'a mut Ticket>) {
        let Some(renamed) = &self.renamed else { return };
        let mut strangers: Vec<&mut Ticket> = Vec::new();
        for ticket in waiting {
            match renamed.iter().position(|old| *old == *ticket) {
                Some(new) => *ticket = Ticket(new as u32),
                // The state does not mention it, so any number will do that is not taken.
                None => strangers.push(ticket),
            }
        }
        strangers.sort_unstable();
        for (i, ticket) in strangers.into_iter().enumerate() {
            *ticket = Ticket((renamed.len() + i) as u32);
        }
    }
}

/// More states than this are not kept from one history to the next.
const MOST_STATES: usize = 1 << 16;

pub(super) struct Lts<B: Blocking> {
    states: IndexSet<B::State, FxBuildHasher>,
    inputs: IndexSet<B::Input, FxBuildHasher>,
    outputs: IndexSet<B::Output, FxBuildHasher>,
    /// `None`: the operation is not ready.
    moves: FxHashMap<(StateId, Move), Option<Arrival>>,
}

impl<B: Blocking> Lts<B> {
    pub(super) fn new() -> Lts<B> {
        Lts {
            states: IndexSet::default(),
            inputs: IndexSet::default(),
            outputs: IndexSet::default(),
            moves: FxHashMap::default(),
        }
    }

    pub(super) fn initial(&mut self, spec: &B) -> StateId {
        self.intern(spec.init())
    }

    pub(super) fn input(&mut self, input: &B::Input) -> Name {
        name(&mut self.inputs, input)
    }

    pub(super) fn output(&mut self, output: &B::Output) -> Name {
        name(&mut self.outputs, output)
    }

    pub(super) fn state(&self, id: StateId) -> &B::State {
        &self.states[id.0 as usize]
    }

    pub(super) fn output_named(&self, name: Name) -> &B::Output {
        &self.outputs[name.0 as usize]
    }

    /// Where a move leads; nowhere if it is the follow-up of an operation that is not ready.
    pub(super) fn take(&mut self, spec: &B, from: StateId, taken: Move) -> Option<&Arrival> {
        if !self.moves.contains_key(&(from, taken)) {
            let arrival = self.compute(spec, from, taken);
            self.moves.insert((from, taken), arrival);
        }
        self.moves[&(from, taken)].as_ref()
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.states.len() + self.inputs.len() + self.outputs.len() + self.moves.len() / 8 > MOST_STATES
    }

    /// About how much memory the system holds.
    pub(super) fn bytes(&self) -> usize {
        let states = self.states.len() * (size_of::<B::State>() + 64);
        states + self.moves.len() * 2 * size_of::<((StateId, Move), Option<Arrival>)>()
    }

    fn compute(&mut self, spec: &B, from: StateId, taken: Move) -> Option<Arrival> {
        let mut state = self.states[from.0 as usize].clone();
        let step = match taken {
            Move::Request(input, ticket) => spec.request(&mut state, ticket, &self.inputs[input.0 as usize]),
            Move::FollowUp(ticket) if !spec.ready(&state, ticket) => return None,
            Move::FollowUp(ticket) => spec.follow_up(&mut state, ticket),
            Move::Cancel(ticket) => {
                spec.cancel(&mut state, ticket);
                Step::Suspend
            }
        };
        let step = match step {
            Step::Return(output) => Step::Return(Some(self.output(&output))),
            Step::Suspend if matches!(taken, Move::Cancel(_)) => Step::Return(None),
            Step::Suspend => Step::Suspend,
        };
        let mut order: Vec<Ticket> = Vec::new();
        let is_renamed = spec.rename(&mut state, &mut |ticket| {
            let at = order.iter().position(|old| *old == ticket).unwrap_or_else(|| {
                order.push(ticket);
                order.len() - 1
            });
            Ticket(at as u32)
        });
        let renamed = is_renamed.then(|| order.into_boxed_slice());
        Some(Arrival { state: self.intern(state), step, renamed })
    }

    fn intern(&mut self, state: B::State) -> StateId {
        StateId(self.states.insert_full(state).0 as u32)
    }
}

fn name<T: Clone + Eq + std::hash::Hash>(names: &mut IndexSet<T, FxBuildHasher>, named: &T) -> Name {
    let index = names.get_index_of(named).unwrap_or_else(|| names.insert_full(named.clone()).0);
    Name(index as u32)
}
