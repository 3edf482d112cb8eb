//! Loops that wait.
//!
//! A thread that reads, has no effect, and comes back to the same read in the same state *goes round*: it will do what it would
//! have done without that round. The last value that it read on the way was in vain: whenever the thread comes there with the
//! same past, it waits until it can read something else, as if it locked a mutex. So the search stays finite, and an execution
//! is counted once no matter how often a thread looked.
//!
//! The state is what the thread will still read of its registers and its stack ([`liveness`](crate::spinloop::liveness)), and all memory,
//! as far as the thread itself changed it: what others write, it learns from its reads.
//!
//! Not every round is cut that could be. One that touched several places and saw something old, in a loop that tries to change
//! one (by compare-exchange), is how optimistic algorithms begin anew: each round knows more than the one before, there are as
//! many as others make progress, and they belong to the execution. It is taken to wait if the loop says so (`spin_loop`).
//!
//! Loops that give way to other threads (`yield_now`) are taken to wait, too, though they may count their rounds.

use crate::spinloop::liveness::State;

/// What a thread has read since it last had an effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    reads: Vec<Read>,
    /// How often it has given way.
    yields: u32,
    /// All memory when the thread last got its turn, as a hash, if its states are looked at.
    memory: Option<u64>,
    /// What it changed in memory in earlier turns, as a difference of hashes.
    changes: u64,
}

#[derive(Clone, Debug)]
struct Read {
    pc: usize,
    address: usize,
    /// The number of the event within its thread.
    po: u32,
    value: u64,
    /// How often the thread had given way.
    yields: u32,
    /// The state of the thread, if that was looked at.
    state: Option<State>,
}

/// What is known of a thread that is about to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// It does not go round, as far as one can see.
    None,
    /// It came by here before, at the event with this number; whether its state is the same has to be known from then on.
    Perhaps { po: u32 },
    /// It goes round since the event `po`, because its state is the same or, if that is not `proven`, because it gave way
    /// meanwhile. The event `vain` read in vain.
    Since { po: u32, vain: u32, proven: bool },
}

impl Rounds {
    /// The thread begins, had an effect, or waited.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.reads.clear();
        self.yields = 0;
        self.memory = None;
        self.changes = 0;
    }

    /// The thread has given way.
    pub(crate) fn yielded(&mut self) {
        self.yields += 1;
    }

    /// Whether states of the thread were looked at, so that changes of memory matter.
    #[inline]
    pub(crate) fn are_watched(&self) -> bool {
        self.memory.is_some()
    }

    /// What the thread has changed in memory since its states are looked at. `memory` is what it is like now.
    pub(crate) fn changes(&mut self, memory: u64) -> u64 {
        let before = *self.memory.get_or_insert(memory);
        self.changes.wrapping_add(memory.wrapping_sub(before))
    }

    /// The thread leaves memory like this.
    pub(crate) fn leaves(&mut self, memory: u64) {
        self.changes = self.changes(memory);
    }

    /// The thread finds memory like this when it goes on.
    pub(crate) fn finds(&mut self, memory: u64) {
        self.memory = Some(memory);
    }

    /// Whether the thread has read here before.
    pub(crate) fn came_by(&self, pc: usize, address: usize) -> bool {
        self.reads.iter().any(|read| read.is_at(pc, address))
    }

    /// Whether the thread, which is about to read in this state, goes round. `same` compares states.
    pub(crate) fn look(
        &self,
        pc: usize,
        address: usize,
        state: &State,
        mut same: impl FnMut(&State, &State) -> bool,
    ) -> Round {
        let here = || self.reads.iter().filter(|read| read.is_at(pc, address));
        if let Some(unknown) = here().find(|read| read.state.is_none()) {
            return Round::Perhaps { po: unknown.po };
        }
        let Some(last) = self.reads.last() else { return Round::None };
        let is_here = |read: &Read| {
            read.is_at(pc, address) && read.state.as_ref().is_some_and(|before| before.is_near(state))
        };
        let mut visits = self.reads.iter().filter(|read| is_here(read));
        let (first, latest) = (visits.next(), visits.next_back());
        let mut came_back = |read: &&Read| read.state.as_ref().is_some_and(|before| same(before, state));
        if let Some(begin) = first.into_iter().chain(latest).find(&mut came_back) {
            return Round::Since { po: begin.po, vain: last.po, proven: true };
        }
        match latest.or(first) {
            Some(latest) if latest.yields != self.yields && latest.was_called_as(state) => {
                // One that sees the same again and again looked in vain from the first time on.
                let alike =
                    self.reads.iter().rev().take_while(|read| is_here(read) && read.value == last.value);
                let (po, vain) = alike.last().map_or((latest.po, last.po), |first| (first.po, first.po));
                Round::Since { po, vain, proven: false }
            }
            _ => Round::None,
        }
    }

    /// The thread has read without effect. Its state is given where it may matter.
    pub(crate) fn has_read(&mut self, pc: usize, address: usize, value: u64, po: u32, state: Option<State>) {
        self.reads.push(Read { pc, address, po, value, yields: self.yields, state });
    }
}

impl Read {
    fn is_at(&self, pc: usize, address: usize) -> bool {
        (self.pc, self.address) == (pc, address)
    }

    fn was_called_as(&self, now: &State) -> bool {
        self.state.as_ref().is_some_and(|before| now.is_called_alike(before))
    }
}
