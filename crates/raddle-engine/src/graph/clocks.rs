//! Prefixes and happens-before of the events, as views that are computed when an event is added.
//!
//! Under SC the prefix of an event serves as its happens-before. Under RC11 happens-before is `(po ∪ sw)⁺`, computed by the views
//! of [`raddle_axioms::views`]: each event has a row of each of the three views of its thread, and a row for its message.

use std::sync::atomic::Ordering;

use raddle_axioms::views::{ThreadViews, View};

use super::consistency::symmetry::SymmetricPrefix;
use super::event::{Access, Event, EventId, event_id};
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
            view[..].include(self.prefix.row(source as usize));
        }
        if let SymmetricPrefix::Event(before) = self.symmetric_prefix(thread, self.events_of(thread)) {
            view[..].include(self.prefix.row(before as usize));
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
        self.hb.last_mut()[usize::from(event.thread)] = event.po + 1;
        if event.is_final_decrement() {
            let decrements = &self.locations[event.location as usize].decrements;
            decrements.iter().for_each(|&other| self.hb.join_last(other as usize));
        }
        let synchronizes =
            matches!(event.access, Access::Begin | Access::Join(_) | Access::EndScope(_) | Access::Woken);
        if let Some(source) = source.filter(|_| synchronizes) {
            self.hb.join_last(source);
        }
        let mut views = ThreadViews {
            current: self.hb.last_mut(),
            acquirable: self.acquirable.last_mut(),
            released: self.fenced.last_mut(),
        };
        match event.access {
            _ if synchronizes => {}
            // Decrements release, and an acquire fence follows the final one.
            Access::Decrement if event.is_final_decrement() => views.acquire_fence(Ordering::Acquire),
            Access::Fence => {
                views.acquire_fence(event.order.into());
                views.release_fence(event.order.into());
            }
            _ => {
                if let Some(source) = source {
                    views.read(event.order.into(), self.released.row(source));
                }
            }
        }
        if event.writes() {
            self.released.push_from(views.message(event.order.into()));
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
