//! Checkpoints: states of executions at which later ones begin.
//!
//! An execution whose graph begins with the same events as that of an earlier one begins at the earlier one's last checkpoint
//! within these events. The checker decides which checkpoints are made and discarded. The engine copies the state of the machine.

use std::any::Any;
use std::rc::Rc;

use super::ModelChecker;
use super::abstraction_log::AbstractionLog;
use super::refcounts::MarkedCount;
use super::worklist::Branch;
use crate::graph::event::EventId;
use crate::graph::locations;

/// A state of an execution, just before an event.
#[derive(Debug, Default)]
pub(crate) struct Checkpoint {
    /// The number of events that were made.
    pub(super) made: usize,
    locations: locations::Snapshot,
    abstractions: AbstractionLog,
    marked_counts: Vec<MarkedCount>,
    /// The state of the machine, which only the engine knows.
    machine: Option<Box<dyn Any>>,
}

impl Checkpoint {
    /// The state of the machine.
    pub(crate) fn machine<M: 'static>(&self) -> &M {
        let machine = self.machine.as_deref().and_then(<dyn Any>::downcast_ref);
        machine.expect("the engine copies the machine before a checkpoint is added")
    }

    /// The state of the machine, to be overwritten. A reused checkpoint holds an earlier state, whose memory is used again.
    pub(crate) fn machine_mut<M: Default + 'static>(&mut self) -> &mut M {
        let machine = self.machine.get_or_insert_with(|| Box::<M>::default());
        machine.downcast_mut().expect("a search has one engine")
    }
}

/// The greatest number of checkpoints. Each is about as large as the memory of an execution.
const MAX_CHECKPOINTS: usize = if cfg!(debug_assertions) { 16 } else { 256 };

/// A checkpoint takes longer than making so many events again, in all executions that could begin there.
const MOST_MADE_AGAIN: usize = 4;

impl Branch {
    /// The number of checkpoints that the branch below does not have.
    fn own_checkpoints(&self) -> usize {
        match self.shared_len {
            Branch::ROOT => self.checkpoints.len(),
            shared => self.checkpoints.iter().filter(|checkpoint| checkpoint.made > shared).count(),
        }
    }

    /// Discards every other checkpoint. Executions then make a few more events.
    fn thin_out_checkpoints(&mut self, spare: &mut Vec<Rc<Checkpoint>>) {
        let mut discard = false;
        let discarded = self.checkpoints.extract_if(.., |_| {
            discard = !discard;
            discard
        });
        spare.extend(discarded.filter(|checkpoint| Rc::strong_count(checkpoint) == 1));
    }

    /// Discards the checkpoints after more than `len` events.
    pub(super) fn discard_checkpoints_beyond(&mut self, len: usize, spare: &mut Vec<Rc<Checkpoint>>) {
        while let Some(checkpoint) = self.checkpoints.pop_if(|checkpoint| checkpoint.made > len) {
            spare.extend(Some(checkpoint).filter(|checkpoint| Rc::strong_count(checkpoint) == 1));
        }
    }
}

impl ModelChecker {
    /// Whether later executions will begin before the event, which was just made: it has alternatives, or it is the first that the
    /// branch does not share with the one below. Where the state depends on later events of this graph, there can be no
    /// checkpoint.
    pub(crate) fn wants_checkpoint(&self, id: EventId) -> bool {
        let branch = self.branches.current();
        let since =
            branch.checkpoints.last().map_or(usize::MAX, |last| (id as usize).saturating_sub(last.made));
        // A replay clears its graph when it is repeated.
        since > 0
            && self.replay.is_none()
            && !self.spins.depend_on_graph_at(id)
            && (branch.shared_len == id as usize
                || branch.work_at(id).saturating_mul(since) > MOST_MADE_AGAIN)
    }

    /// A checkpoint to be filled, which no branch holds.
    pub(crate) fn new_checkpoint(&mut self) -> Rc<Checkpoint> {
        let all = || self.branches.iter().map(Branch::own_checkpoints).sum::<usize>();
        if self.branches.spare_checkpoints.is_empty() && all() >= MAX_CHECKPOINTS {
            let mut spare = std::mem::take(&mut self.branches.spare_checkpoints);
            self.branches.iter_mut().for_each(|branch| branch.thin_out_checkpoints(&mut spare));
            self.branches.spare_checkpoints = spare;
        }
        self.branches.spare_checkpoints.pop().unwrap_or_default()
    }

    /// Adds a checkpoint of the state before the latest event, which is `id`, to all branches that share the events before. The
    /// engine has copied the machine.
    pub(crate) fn add_checkpoint(&mut self, id: EventId, mut checkpoint: Rc<Checkpoint>) {
        let state = Rc::get_mut(&mut checkpoint).expect("no branch holds a new checkpoint");
        state.made = id as usize;
        self.locations.snapshot_before_latest(&mut state.locations);
        state.abstractions.clone_from(&self.abstractions);
        self.refcounts.snapshot(&mut state.marked_counts);
        for branch in self.branches.iter_mut().rev() {
            let at = branch.checkpoints.partition_point(|other| other.made < checkpoint.made);
            if branch.checkpoints.get(at).is_none_or(|other| other.made > checkpoint.made) {
                branch.checkpoints.insert(at, Rc::clone(&checkpoint));
            }
            if checkpoint.made > branch.shared_len {
                break;
            }
        }
    }

    /// Restores the last checkpoint of the current branch, for the execution that has just begun.
    pub(crate) fn restore_checkpoint(&mut self) -> Option<Rc<Checkpoint>> {
        let checkpoint = Rc::clone(self.branches.last()?.checkpoints.last()?);
        debug_assert!(checkpoint.made <= self.graph().len(), "a checkpoint lies within its graph");
        self.made = checkpoint.made;
        self.locations.restore(&checkpoint.locations);
        self.abstractions.clone_from(&checkpoint.abstractions);
        self.refcounts.restore(&checkpoint.marked_counts);
        Some(checkpoint)
    }

    /// Discards all checkpoints: the next execution begins at the beginning. Their memory is not used again: what it holds may be of
    /// another engine, whose versions of unchanged parts mean nothing to this one.
    pub(crate) fn discard_checkpoints(&mut self) {
        self.branches.iter_mut().for_each(|branch| branch.checkpoints.clear());
        self.branches.forget_checkpoints();
    }
}
