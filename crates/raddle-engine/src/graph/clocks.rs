//! Prefixes and happens-before of the events, as views that are computed when an event is added.
//!
//! Under SC the prefix of an event serves as its happens-before. Under RC11 happens-before is `(po ∪ sw)⁺`, where releases,
//! acquires, fences and release sequences synchronize as in C++20.

use super::consistency::symmetry::SymmetricPrefix;
use super::event::{Access, Event, EventId, event_id};
use super::views::join;
use super::{Graph, Model};
use crate::op::ThreadId;

impl Graph {
    /// For each thread the number of its events that happen before an event, itself included.
    pub(crate) fn happened_before(&self, id: EventId) -> &[u32] {
        match self.model {
            Model::Sc => self.prefix.row(id as usize),
            Model::Rc11 => self.hb.row(id as usize),
        }
    }

    /// The number of events of a thread that happen before an event under RC11, itself included.
    pub(crate) fn hb_entry(&self, event: EventId, thread: ThreadId) -> u32 {
        self.hb.row(event as usize).get(usize::from(thread)).copied().unwrap_or(0)
    }

    /// The view that bounds, by coherence, the writes that the event of a thread at index `po` may read from. Under SC the prefix
    /// is such a bound; the rest of sequential consistency is checked by looking for cycles.
    pub(super) fn coherence_view(&self, thread: ThreadId, po: u32) -> Option<&[u32]> {
        let before = self.threads[usize::from(thread)][..po as usize].last()?;
        Some(self.happened_before(*before))
    }

    /// Sets `view` to the prefix of the next event of a thread, itself included, if its source is `rf`.
    pub(crate) fn prefix_of_next(&self, thread: ThreadId, rf: EventId, view: &mut Vec<u32>) {
        view.clear();
        match self.last_of(thread) {
            Some(last) => view.extend_from_slice(self.prefix.row(last as usize)),
            None => view.resize(self.width, 0),
        }
        if let Some(source) = event_id(rf) {
            join(view, self.prefix.row(source as usize));
        }
        if let SymmetricPrefix::Event(before) = self.symmetric_prefix(thread, self.events_of(thread)) {
            join(view, self.prefix.row(before as usize));
        }
        if view.len() > usize::from(thread) {
            view[usize::from(thread)] += 1;
        }
    }

    /// Appends the views of an event that is about to be added. `last` is the previous event of its thread.
    pub(super) fn push_views(&mut self, event: &Event, last: Option<usize>) {
        let source = event.source().map(|source| source as usize);
        self.push_prefix(event, last, source);
        if self.model == Model::Rc11 {
            self.push_hb(event, last, source);
        }
    }

    fn push_prefix(&mut self, event: &Event, last: Option<usize>, source: Option<usize>) {
        self.prefix.push(last);
        if let Some(source) = source {
            self.prefix.join_last(source);
        }
        if event.is_final_decrement() {
            let decrements = &self.locations[event.location as usize].decrements;
            decrements.iter().for_each(|&other| self.prefix.join_last(other as usize));
        }
        if let SymmetricPrefix::Event(before) = self.symmetric_prefix(event.thread, event.po) {
            self.prefix.join_last(before as usize);
        }
        if event.access == Access::TimedOut {
            // The clock moves only when no thread can go on.
            for last in self.threads.iter().filter_map(|events| events.last()) {
                self.prefix.join_last(*last as usize);
            }
        }
        self.prefix.last_mut()[usize::from(event.thread)] = event.po + 1;
    }

    fn push_hb(&mut self, event: &Event, last: Option<usize>, source: Option<usize>) {
        self.hb.push(last);
        self.acquirable.push(last);
        self.fenced.push(last);
        match event.access {
            Access::Begin | Access::Join(_) | Access::EndScope(_) | Access::Woken => {
                if let Some(source) = source {
                    self.hb.join_last(source);
                }
            }
            // Decrements release, and an acquire fence follows the final one.
            Access::Decrement if event.is_final_decrement() => {
                let decrements = &self.locations[event.location as usize].decrements;
                decrements.iter().for_each(|&other| self.hb.join_last(other as usize));
                if let Some(last) = last {
                    join(self.hb.last_mut(), self.acquirable.row(last));
                }
            }
            Access::Fence if event.order.acquires() => {
                let (row, acquirable) = (self.hb.last_mut(), &self.acquirable);
                if let Some(last) = last {
                    join(row, acquirable.row(last));
                }
            }
            _ => {
                if let Some(source) = source {
                    join(self.acquirable.last_mut(), self.released.row(source));
                    if event.order.acquires() {
                        join(self.hb.last_mut(), self.released.row(source));
                    }
                }
            }
        }
        self.hb.last_mut()[usize::from(event.thread)] = event.po + 1;
        self.push_released(event, source);
    }

    fn push_released(&mut self, event: &Event, source: Option<usize>) {
        let id = self.events.len();
        if event.access == Access::Fence && event.order.releases() {
            self.fenced.last_mut().copy_from_slice(self.hb.row(id));
        }
        if event.writes() {
            match event.order.releases() {
                true => self.released.push_from(self.hb.row(id)),
                false => self.released.push_from(self.fenced.row(id)),
            }
            // A read-modify-write continues the release sequence of its source.
            if event.reads()
                && let Some(source) = source
            {
                self.released.join_last(source);
            }
        } else {
            self.released.push(None);
        }
    }
}
