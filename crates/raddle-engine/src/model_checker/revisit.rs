//! Backward revisits: an earlier read reads from a new write (see [`Graph::revisits`](crate::graph::Graph::revisits)).

use super::ModelChecker;
use super::worklist::WorkItem;
use crate::graph::Revisited;
use crate::graph::covers;
use crate::graph::event::{Event, EventId, NONE};

impl ModelChecker {
    /// Adds to the work list the backward revisits of an event that is about to be added. If the source of the event has an
    /// `rmw_successor`, only those that delete the successor.
    pub(super) fn push_revisits(&mut self, event: &Event, co_index: usize, rmw_successor: Option<EventId>) {
        let mut prefix = std::mem::take(&mut self.prefix);
        let mut reads = std::mem::take(&mut self.revisitable);
        reads.clear();
        let graph = self.graph();
        graph.prefix_of_next(event.thread, event.rf, &mut prefix);
        if rmw_successor.is_none_or(|successor| !covers(&prefix, graph.event(successor))) {
            graph.revisits(event, &prefix, co_index, rmw_successor, &mut reads);
        }
        reads.retain(|&read| read as usize >= self.fixed);
        for &read in &reads {
            self.push_work(*event, co_index, Some(read));
        }
        self.prefix = prefix;
        self.revisitable = reads;
    }

    /// The read-modify-write in the graph that reads from the source of the work item's read-modify-write. The item cannot be
    /// added beside it, but only by revisits that delete it.
    pub(super) fn rmw_successor_of(&self, work: &WorkItem) -> Option<EventId> {
        let is_forward_rmw = work.revisits.is_none() && work.event.is_rmw();
        match is_forward_rmw {
            true => self.graph().rmw_successor(work.event.location, work.co_index - 1),
            false => None,
        }
    }

    /// Takes all items from the work list of the current branch, in the order of their positions. An item that leads to revisits
    /// only is replaced by these.
    pub(super) fn take_work_items(&mut self) -> Vec<WorkItem> {
        let items = std::mem::take(&mut self.branches.current_mut().work);
        let whole = self.graph().clone();
        let mut expanded = Vec::new();
        for work in items.into_iter().rev() {
            self.graph_mut().truncate(work.position as usize);
            match self.rmw_successor_of(&work) {
                None => expanded.push(work),
                Some(successor) => {
                    if self.read_is_consistent(&work.event) {
                        self.push_revisits(&work.event, work.co_index, Some(successor));
                    }
                    expanded.append(&mut self.branches.current_mut().work);
                }
            }
        }
        *self.graph_mut() = whole;
        expanded.reverse();
        expanded
    }

    /// Makes a branch in which `read` reads from the event of a work item. False if its graph is not consistent.
    pub(super) fn backward_revisit(&mut self, work: &WorkItem, read: EventId) -> bool {
        let mut new = self.branches.take_spare(self.model);
        let branch = self.branches.current();
        let Revisited { write, read, co_index, unchanged } =
            branch.graph.revisit(&work.event, work.co_index, read, &mut new.graph, &mut self.scratch);
        new.shared_len = unchanged;
        let shared = branch.checkpoints.iter().take_while(|checkpoint| checkpoint.made <= unchanged);
        new.checkpoints.extend(shared.cloned());
        if branch.work.is_empty() {
            // The new branch takes the place of the old one, which has nothing left to explore.
            new.shared_len = new.shared_len.min(branch.shared_len);
            self.branches.retire();
        }
        let consistent = new.graph.is_consistent(write, &mut self.scratch);
        self.branches.push(new);
        let ready = consistent && self.add_revisited_read(read, co_index);
        if !ready && self.branches.current().work.is_empty() {
            self.branches.retire();
        }
        ready
    }

    /// Adds the revisited read to its graph. False if the graph is not consistent then.
    fn add_revisited_read(&mut self, read: Event, co_index: usize) -> bool {
        if !self.accepts(&read, read.read) {
            let branch = self.branches.current_mut();
            branch.graph.push(Event { blocked: true, ..read }, co_index);
            branch.revisited_len = branch.graph.len();
            return true;
        }
        if read.is_rmw() {
            if !self.read_is_consistent(&read) {
                return false;
            }
            self.push_revisits(&read, co_index, None);
        }
        let branch = self.branches.current_mut();
        let id = branch.graph.push(read, co_index);
        branch.revisited_len = branch.graph.len();
        branch.graph.is_consistent(id, &mut self.scratch)
    }

    /// Makes the decrement `id`, which brought the reference count to zero in this execution, the final decrement of the graph,
    /// because its thread is about to do something that the thread of another final decrement would do. Adds the other decrements
    /// that could be final to the work list. False if the graph that the execution follows has another final decrement.
    pub(super) fn make_final_decrement(&mut self, id: EventId) -> bool {
        let event = *self.graph().event(id);
        if event.is_final_decrement() || self.replay.is_some() {
            return true;
        }
        let is_added = id as usize >= self.initial_len || self.beginning.is_some();
        if !is_added || id as usize + 1 != self.graph().len() {
            return false;
        }
        let mut prefix = std::mem::take(&mut self.prefix);
        let mut others = std::mem::take(&mut self.revisitable);
        others.clear();
        self.graph().alternative_final_decrements(id, &mut prefix, &mut others);
        others.retain(|&other| other as usize >= self.fixed);
        self.branches.truncate(id as usize);
        for &other in &others {
            self.push_work(Event { stamp: NONE, ..event }, 0, Some(other));
        }
        self.graph_mut().push(Event { stamp: NONE, ..event.as_decrement(true) }, 0);
        self.prefix = prefix;
        self.revisitable = others;
        true
    }
}
