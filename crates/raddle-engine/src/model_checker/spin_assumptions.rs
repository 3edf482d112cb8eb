//! Spin assumptions (Kokologiannakis, Ren and Vafeiadis, *Dynamic partial order reductions for spinloops*, FMCAD 2021).
//!
//! A read that makes its thread return to the same state without an effect ends a *spin iteration*. The search then assumes that
//! the thread is blocked at this read while it would read the same value. So the search stays finite, and an execution is counted
//! once, however often its threads spun. Iterations are detected by [`spinloop::detect`](crate::spinloop::detect).

use std::collections::HashMap;

use super::ModelChecker;
use crate::graph::event::{Access, Event, EventId, NONE};
use crate::graph::stored::{Stored, stored};
use crate::op::ThreadId;
use crate::spinloop::liveness;

/// The last read of a spin iteration. The hash of all values that the thread had read before identifies the iteration's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SpinRead {
    thread: ThreadId,
    reads_hash: u64,
    value: u64,
}

/// The loop of a spin iteration.
#[derive(Clone, Copy, Debug)]
struct SpinLoop {
    /// The number of events from the beginning of the iteration to its last read.
    length: u32,
    /// Whether the thread would spin for ever if it read the same values.
    proven: bool,
}

stored!(SpinRead { thread, reads_hash, value });
stored!(SpinLoop { length, proven });

/// The spin assumptions of the search, and their state in the current execution.
#[derive(Debug, Default)]
pub(super) struct SpinAssumptions {
    reads: HashMap<SpinRead, SpinLoop>,
    /// The code addresses of reads in possible spinloops. The engine captures the machine state of threads there.
    watched: Vec<usize>,
    /// Whether an assumption was unproven: the loop yields, but may count its iterations.
    unproven: bool,
    /// Threads that are not blocked by spin assumptions in this execution.
    released: Vec<ThreadId>,
    /// Up to this event, the detection of spin iterations in this execution depends on later events of the graph (see
    /// [`ModelChecker::will_have_effect`]).
    foreseen: Option<EventId>,
}

impl SpinAssumptions {
    /// Begins an execution.
    pub(super) fn begin(&mut self) {
        self.released.clear();
        self.foreseen = None;
    }

    /// Discards all assumptions. The watched addresses stay.
    pub(super) fn discard(&mut self) {
        self.reads.clear();
        self.unproven = false;
    }

    /// Whether the detection of spin iterations at an event depends on later events of the graph.
    pub(super) fn depend_on_graph_at(&self, id: EventId) -> bool {
        self.foreseen.is_some_and(|effect| effect >= id)
    }

    /// Whether a thread that has read the values of `reads_hash` is blocked at a read of this value.
    pub(super) fn blocks(&self, thread: ThreadId, reads_hash: u64, value: u64) -> bool {
        !self.released.contains(&thread) && self.reads.contains_key(&SpinRead { thread, reads_hash, value })
    }

    /// Whether some value would block a thread that has read the values of `reads_hash`.
    pub(super) fn may_spin(&self, thread: ThreadId, reads_hash: u64) -> bool {
        self.reads.keys().any(|read| (read.thread, read.reads_hash) == (thread, reads_hash))
    }

    pub(super) fn has_unproven(&self) -> bool {
        self.unproven
    }

    pub(super) fn set_unproven(&mut self, unproven: bool) {
        self.unproven = unproven;
    }

    pub(super) fn put(&self, words: &mut Vec<u64>) {
        self.reads.put(words);
        self.watched.put(words);
    }

    pub(super) fn take(&mut self, words: &mut std::slice::Iter<'_, u64>) -> Option<()> {
        self.reads = Stored::take(words)?;
        self.watched = Stored::take(words)?;
        Some(())
    }
}

/// The state of the threads that are blocked by spin assumptions, when no thread can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockedSpinners {
    /// No thread is blocked by a spin assumption.
    None,
    /// A thread would read from other writes in its next iteration. Another graph explores that.
    ReadStale,
    /// All these threads would spin for ever.
    Livelocked,
}

impl ModelChecker {
    /// Whether a spin assumption of the search is unproven: the loop yields, but may count its iterations.
    pub(crate) fn has_unproven_spins(&self) -> bool {
        self.spins.unproven
    }

    /// Whether the read at this code address is in a possible spinloop.
    pub(crate) fn is_watched_read(&self, pc: usize) -> bool {
        self.spins.watched.contains(&pc)
    }

    /// Watches the read at a code address, at which a thread may have been in a spinloop since its event `po`. True if the read
    /// was not watched before: the execution must be repeated, without checkpoints that lack the machine state.
    pub(crate) fn watch_read(&mut self, pc: usize, thread: ThreadId, po: u32) -> bool {
        let is_new = !self.is_watched_read(pc);
        if is_new {
            self.spins.watched.push(pc);
            self.discard_checkpoints();
            self.repeat = true;
            let first = self.graph().threads[usize::from(thread)][po as usize] as usize;
            self.discard_events(first.max(self.initial_len));
        }
        is_new
    }

    /// Whether a value would make an event, which is the next one of its thread, a spin read that blocks its thread.
    pub(super) fn is_spin_read(&self, event: &Event, value: u64) -> bool {
        !self.spins.reads.is_empty()
            && !self.is_released_spinner(event.thread)
            && self.spin_loop_of(event, value).is_some()
    }

    /// The spinloop of an event, which is the next one of its thread, if it read this value.
    fn spin_loop_of(&self, event: &Event, value: u64) -> Option<SpinLoop> {
        let (thread, reads_hash) = (event.thread, self.graph().reads_hash_of(event.thread));
        self.spins.reads.get(&SpinRead { thread, reads_hash, value }).copied()
    }

    /// Releases a thread that an unproven spin assumption blocks, when no thread can go on: its loop may be bounded.
    pub(crate) fn release_spinner(&mut self) -> Option<ThreadId> {
        let graph = self.graph();
        let is_unproven = |event: &&Event| {
            let value = graph.co_max_value(event.location);
            event.access.accepts(value) && self.spin_loop_of(event, value).is_some_and(|spin| !spin.proven)
        };
        let thread = self.blocked.iter().find(is_unproven)?.thread;
        self.spins.released.push(thread);
        Some(thread)
    }

    /// Whether spin assumptions do not block the thread in this execution.
    pub(crate) fn is_released_spinner(&self, thread: ThreadId) -> bool {
        self.spins.released.contains(&thread)
    }

    /// The state of the threads that are blocked by spin assumptions, when no thread can go on.
    pub(crate) fn blocked_spinners(&self) -> BlockedSpinners {
        let graph = self.graph();
        let mut spinners = BlockedSpinners::None;
        for event in self.blocked.iter() {
            let value = graph.co_max_value(event.location);
            if !event.access.accepts(value) {
                continue;
            }
            // The thread could go on with this value, but another graph explores that.
            let Some(spin) = self.spin_loop_of(event, value) else { return BlockedSpinners::ReadStale };
            let own = &graph.threads[usize::from(event.thread)];
            let begin = own.len().saturating_sub(spin.length as usize);
            let is_stale = |&id: &EventId| {
                let read = graph.event(id);
                read.location != NONE && read.reads() && read.rf != graph.co_max(read.location)
            };
            if own[begin..].iter().any(is_stale) {
                return BlockedSpinners::ReadStale;
            }
            spinners = BlockedSpinners::Livelocked;
        }
        spinners
    }

    /// Assumes that a thread spins: from its event `since` to its event `spin_read`, it made a spin iteration. The events from
    /// the spin read on are removed, but for those that items of the work list need. The execution is repeated if it added the
    /// spin read as a maximal extension. If the spin read was an alternative from the work list, other items of the list take its
    /// place. If it came from a backward revisit, it stays as a blocked read, and the execution is repeated.
    ///
    /// False if the iteration is worth exploring: it is a failed attempt of an optimistic algorithm, and the `code` of its loop
    /// does not say that it waits.
    pub(crate) fn assume_spin(
        &mut self,
        thread: ThreadId,
        [since, spin_read]: [u32; 2],
        proven: bool,
        code: impl FnOnce() -> liveness::LoopCode,
    ) -> bool {
        let graph = self.graph();
        let own = &graph.threads[usize::from(thread)];
        let reads = || own[since as usize..].iter().map(|&id| graph.event(id)).filter(|event| event.reads());
        let one_location = reads().all(|event| reads().all(|other| other.location == event.location));
        let has_attempt = reads().any(|event| event.access != Access::Load);
        let none_stale = || reads().all(|event| event.rf == graph.co_max(event.location));
        if !one_location && !none_stale() {
            let code = code();
            if (has_attempt || code.compares_and_exchanges) && !code.pauses {
                return false;
            }
        }
        let last = own[spin_read as usize];
        let read = *graph.event(last);
        let length = spin_read - since;
        let reads_hash = graph.reads_hash_before(&read);
        self.spins
            .reads
            .insert(SpinRead { thread, reads_hash, value: read.read }, SpinLoop { length, proven });
        self.spins.unproven |= !proven;
        let is_revisited = (last as usize) < self.branches.current().revisited_len;
        self.repeat = last as usize >= self.initial_len || is_revisited;
        if is_revisited {
            // The repeated execution finds what is left to do after the blocked read.
            self.discard_work(last as usize + 1);
        }
        self.discard_events(last as usize);
        if is_revisited {
            let branch = self.branches.current_mut();
            branch.graph.push(Event { blocked: true, ..read }, 0);
            branch.revisited_len = branch.graph.len();
        }
        true
    }

    /// Whether the graph shows that a thread has an effect after its event `po`, so that it does not spin there. The engine's
    /// record of the thread's iterations then depends on later events of the graph, and cannot be part of a checkpoint before
    /// the effect.
    pub(crate) fn will_have_effect(&mut self, thread: ThreadId, po: u32) -> bool {
        let effect = self.next_effect(thread, po);
        self.spins.foreseen = self.spins.foreseen.max(effect);
        effect.is_some()
    }

    /// The first event of a thread after its event `po` that changes memory, in the graph that the execution follows.
    fn next_effect(&self, thread: ThreadId, po: u32) -> Option<EventId> {
        let graph = self.graph();
        let later = graph.threads.get(usize::from(thread))?.get(po as usize + 1..)?;
        let has_effect =
            |&id: &EventId| graph.event(id).written.is_some_and(|value| value != graph.event(id).read);
        later.iter().copied().find(has_effect)
    }
}
