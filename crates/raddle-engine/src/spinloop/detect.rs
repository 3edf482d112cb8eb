//! Detection of spin iterations in executions that follow a graph (Kokologiannakis, Ren and Vafeiadis, FMCAD 2021).
//!
//! A thread makes a *spin iteration* if it reads, has no effect, and returns to the same read in the same state: without the
//! iteration, its future would be the same. The last read of the iteration is its *spin read*. The model checker assumes that the
//! thread is blocked there until it can read another value (`model_checker::spin_assumptions`).
//!
//! The state consists of the live registers and the live stack of the thread ([`liveness`](crate::spinloop::liveness)), and of all
//! memory as far as the thread itself changed it. The thread learns of the writes of others by its reads.
//!
//! Two exceptions:
//!
//! - An iteration that read several locations, one of them stale, in a loop with a compare-exchange may be a failed attempt of an
//!   optimistic algorithm. Each attempt knows more than the one before, their number is bounded by the progress of other threads,
//!   and they belong to the execution. Such an iteration is a spin iteration only if the loop contains `spin_loop`.
//! - An iteration that yields (`yield_now`) is taken for a spin iteration although its state differs. This is *unproven*: the loop
//!   may count its iterations.

use crate::spinloop::liveness::MachineState;

/// The reads of a thread since its last effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpinDetector {
    reads: Vec<Read>,
    /// The number of yields.
    yields: u32,
    /// The hash of all memory when the thread last began to run, if its state was captured at some read.
    memory: Option<u64>,
    /// The difference of memory hashes that the thread made before it last began to run.
    changes: u64,
}

#[derive(Clone, Debug)]
struct Read {
    pc: usize,
    address: usize,
    /// The index of the event in program order.
    po: u32,
    value: u64,
    /// The number of yields before.
    yields: u32,
    /// The state of the thread, if it was captured.
    state: Option<MachineState>,
}

/// The result of a detection, for a thread that is about to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpinIteration {
    /// No spin iteration was detected.
    None,
    /// The thread has made the same read before, as its event `po`. Its state must be captured at this read from now on.
    Candidate { po: u32 },
    /// The thread has made a spin iteration from its event `since` to its event `spin_read`. It is `proven` if the states are
    /// equal, and unproven if the thread yielded.
    Found { since: u32, spin_read: u32, proven: bool },
}

impl SpinDetector {
    /// Forgets all reads: the thread begins, had an effect, or was blocked.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.reads.clear();
        self.yields = 0;
        self.memory = None;
        self.changes = 0;
    }

    /// Records a yield.
    pub(crate) fn yielded(&mut self) {
        self.yields += 1;
    }

    /// Whether the thread's changes of memory are tracked, because its state was captured.
    #[inline]
    pub(crate) fn tracks_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// The difference of memory hashes that the thread made since its state was first captured. `memory` is the present hash.
    pub(crate) fn own_changes(&mut self, memory: u64) -> u64 {
        let before = *self.memory.get_or_insert(memory);
        self.changes.wrapping_add(memory.wrapping_sub(before))
    }

    /// Records the memory hash when the thread stops running.
    pub(crate) fn switched_out(&mut self, memory: u64) {
        self.changes = self.own_changes(memory);
    }

    /// Records the memory hash when the thread begins to run.
    pub(crate) fn switched_in(&mut self, memory: u64) {
        self.memory = Some(memory);
    }

    /// Whether the thread has made the same read before.
    pub(crate) fn has_read_at(&self, pc: usize, address: usize) -> bool {
        self.reads.iter().any(|read| read.is_at(pc, address))
    }

    /// Looks for a spin iteration of the thread, which is about to read in this state. `is_equivalent` compares states.
    pub(crate) fn detect(
        &self,
        pc: usize,
        address: usize,
        state: &MachineState,
        mut is_equivalent: impl FnMut(&MachineState, &MachineState) -> bool,
    ) -> SpinIteration {
        let here = || self.reads.iter().filter(|read| read.is_at(pc, address));
        if let Some(unknown) = here().find(|read| read.state.is_none()) {
            return SpinIteration::Candidate { po: unknown.po };
        }
        let Some(last) = self.reads.last() else { return SpinIteration::None };
        let is_here = |read: &Read| {
            read.is_at(pc, address)
                && read.state.as_ref().is_some_and(|before| before.is_at_same_depth(state))
        };
        let mut visits = self.reads.iter().filter(|read| is_here(read));
        let (first, latest) = (visits.next(), visits.next_back());
        let mut is_same =
            |read: &&Read| read.state.as_ref().is_some_and(|before| is_equivalent(before, state));
        if let Some(begin) = first.into_iter().chain(latest).find(&mut is_same) {
            return SpinIteration::Found { since: begin.po, spin_read: last.po, proven: true };
        }
        match latest.or(first) {
            Some(latest) if latest.yields != self.yields && latest.has_same_callers(state) => {
                // A thread that read the same value in consecutive iterations was spinning from the first of them on.
                let same_value =
                    self.reads.iter().rev().take_while(|read| is_here(read) && read.value == last.value);
                let (since, spin_read) =
                    same_value.last().map_or((latest.po, last.po), |first| (first.po, first.po));
                SpinIteration::Found { since, spin_read, proven: false }
            }
            _ => SpinIteration::None,
        }
    }

    /// Records a read without effect. `state` is given if the read is watched.
    pub(crate) fn record_read(
        &mut self,
        pc: usize,
        address: usize,
        value: u64,
        po: u32,
        state: Option<MachineState>,
    ) {
        self.reads.push(Read { pc, address, po, value, yields: self.yields, state });
    }
}

impl Read {
    fn is_at(&self, pc: usize, address: usize) -> bool {
        (self.pc, self.address) == (pc, address)
    }

    fn has_same_callers(&self, now: &MachineState) -> bool {
        self.state.as_ref().is_some_and(|before| now.has_same_callers(before))
    }
}
