//! The work list, and the stack of branches that hold it.

use std::rc::Rc;

use super::checkpoints::Checkpoint;
use super::{Model, ModelChecker};
use crate::graph::Graph;
use crate::graph::event::{Event, EventId};
use crate::graph::stored::{Stored, stored};

/// An alternative to explore: another way to add the event at `position`.
#[derive(Debug)]
pub(super) struct WorkItem {
    /// The length of the graph to which the event is added.
    pub(super) position: u32,
    pub(super) event: Event,
    /// The position in modification order, if the event writes.
    pub(super) co_index: usize,
    /// The read to revisit, if the item is a backward revisit.
    pub(super) revisits: Option<EventId>,
}

/// A graph, and the work list of its events.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) graph: Graph,
    /// The work items in ascending order of their positions, which are at most the length of the graph. The last one is explored
    /// first.
    pub(super) work: Vec<WorkItem>,
    /// The number of leading events that come from the backward revisit that made the branch, or from a spin assumption about
    /// these events. Only the rest of the graph consists of events that executions of this branch added. 0 for the root.
    pub(super) revisited_len: usize,
    /// The number of leading events that the branch shares with the branch in which its revisit was made, or with the one below
    /// if that branch was retired then. [`Branch::ROOT`] for the root. Checkpoints within these events belong to both branches.
    pub(super) shared_len: usize,
    /// Checkpoints at prefixes of the graph, in ascending order of their lengths. Not saved: a resumed search makes new ones.
    pub(super) checkpoints: Vec<Rc<Checkpoint>>,
}

stored!(WorkItem { position, event, co_index, revisits });
stored!(Branch { graph, work, revisited_len, shared_len } without checkpoints);

impl Branch {
    /// The `shared_len` of the root. It is greater than the length of every graph, so that comparisons need no special case.
    pub(super) const ROOT: usize = usize::MAX;

    fn new(model: Model) -> Branch {
        Branch {
            graph: Graph::new(model),
            work: Vec::new(),
            revisited_len: 0,
            shared_len: Branch::ROOT,
            checkpoints: Vec::new(),
        }
    }

    /// The number of alternatives that the event has in the work list.
    pub(super) fn work_at(&self, id: EventId) -> usize {
        // The last item is at the highest position.
        match self.work.last() {
            Some(last) if last.position >= id => {
                let end = self.work.partition_point(|work| work.position <= id);
                self.work[..end].iter().rev().take_while(|work| work.position == id).count()
            }
            _ => 0,
        }
    }
}

/// The stack of branches: each was made by a backward revisit in the one below it. The last one is explored first.
#[derive(Debug)]
pub(super) struct Branches {
    /// Empty only after the search has ended.
    stack: Vec<Branch>,
    /// Retired branches, whose memory is used again.
    spare: Vec<Branch>,
    /// Checkpoints that no branch holds, whose memory is used again.
    pub(super) spare_checkpoints: Vec<Rc<Checkpoint>>,
}

impl Branches {
    pub(super) fn new(model: Model) -> Branches {
        Branches { stack: vec![Branch::new(model)], spare: Vec::new(), spare_checkpoints: Vec::new() }
    }

    /// The branch of the current execution.
    #[inline]
    pub(super) fn current(&self) -> &Branch {
        self.stack.last().expect("an execution has a branch")
    }

    #[inline]
    pub(super) fn current_mut(&mut self) -> &mut Branch {
        self.stack.last_mut().expect("an execution has a branch")
    }

    pub(super) fn last(&self) -> Option<&Branch> {
        self.stack.last()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Branch> {
        self.stack.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Branch> {
        self.stack.iter_mut()
    }

    pub(super) fn push(&mut self, branch: Branch) {
        self.stack.push(branch);
    }

    /// A branch to be filled by a revisit. Its graph, work list and checkpoints are empty; its lengths are not set.
    pub(super) fn take_spare(&mut self, model: Model) -> Branch {
        self.spare.pop().unwrap_or_else(|| Branch::new(model))
    }

    /// Takes the next item from the work list of the last branch. `Some(None)` if that is empty, None if there is no branch.
    pub(super) fn pop_work(&mut self) -> Option<Option<WorkItem>> {
        Some(self.stack.last_mut()?.work.pop())
    }

    /// Removes the last branch.
    pub(super) fn retire(&mut self) {
        let mut branch = self.stack.pop().expect("a branch is retired once");
        branch.graph.clear();
        branch.discard_checkpoints_beyond(0, &mut self.spare_checkpoints);
        self.spare.push(branch);
    }

    /// Drops the checkpoints that no branch of the stack holds.
    pub(super) fn forget_checkpoints(&mut self) {
        self.spare.iter_mut().for_each(|branch| branch.checkpoints.clear());
        self.spare_checkpoints.clear();
    }

    /// Removes all but the first `len` events of the current graph, and their checkpoints.
    pub(super) fn truncate(&mut self, len: usize) {
        let branch = self.stack.last_mut().expect("an execution has a branch");
        branch.graph.truncate(len);
        branch.discard_checkpoints_beyond(len, &mut self.spare_checkpoints);
    }

    /// Replaces the stack. Returns the old one.
    pub(super) fn replace(&mut self, stack: Vec<Branch>) -> Vec<Branch> {
        std::mem::replace(&mut self.stack, stack)
    }

    /// Replaces the stack by an empty root. Returns the old one.
    pub(super) fn reset(&mut self, model: Model) -> Vec<Branch> {
        self.replace(vec![Branch::new(model)])
    }

    pub(super) fn put(&self, words: &mut Vec<u64>) {
        self.stack.put(words);
    }

    pub(super) fn take(&mut self, words: &mut std::slice::Iter<'_, u64>) -> Option<()> {
        self.stack = Stored::take(words)?;
        Some(())
    }
}

impl ModelChecker {
    /// Adds an alternative for the event that is about to be added.
    pub(super) fn push_work(&mut self, event: Event, co_index: usize, revisits: Option<EventId>) {
        let branch = self.branches.current_mut();
        let position = branch.graph.len() as u32;
        branch.work.push(WorkItem { position, event, co_index, revisits });
    }

    /// The number of work items. 0 if the search cannot be split now.
    pub(crate) fn pending_work(&self) -> usize {
        if self.repeat { 0 } else { self.branches.iter().map(|branch| branch.work.len()).sum() }
    }

    /// Discards every other work item: those with even numbers, or those with odd ones. Two searches that keep one half each
    /// explore together what one search explores.
    pub(crate) fn discard_half_of_work(&mut self, even: bool) {
        let mut number = 0;
        for branch in self.branches.iter_mut() {
            branch.work.retain(|_| {
                number += 1;
                (number % 2 == 0) != even
            });
        }
    }

    /// Removes all but the first `len` events of the graph, and the work items that the current execution added for the others. Events that
    /// items of earlier executions are to be added to stay.
    pub(super) fn discard_events(&mut self, len: usize) {
        self.discard_work(len.max(self.initial_len));
        let needed = self.branches.current().work.last().map_or(0, |work| work.position as usize);
        self.branches.truncate(len.max(needed));
    }

    /// Removes the work items of the current branch at this position and after it.
    pub(super) fn discard_work(&mut self, position: usize) {
        let work = &mut self.branches.current_mut().work;
        while work.last().is_some_and(|work| work.position as usize >= position) {
            work.pop();
        }
    }
}
