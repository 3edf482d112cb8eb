//! Views: vector clocks of events.
//!
//! A *view* has one entry for each thread: the number of that thread's events that it covers. Views that are closed under program
//! order represent sets of events: those that an event depends on, or those that happen before it.

use raddle_axioms::views::View;

use super::event::Event;

/// Whether a view covers an event.
#[inline]
pub(crate) fn covers(view: &[u32], event: &Event) -> bool {
    view[event.thread as usize] > event.po
}

/// One view for each event, in one allocation. Row `i` belongs to event `i`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Views {
    /// The length of each row.
    width: usize,
    rows: Vec<u32>,
}

impl Views {
    pub(crate) fn clear(&mut self, width: usize) {
        self.width = width;
        self.rows.clear();
    }

    pub(crate) fn truncate(&mut self, rows: usize) {
        self.rows.truncate(rows * self.width);
    }

    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[u32] {
        &self.rows[row * self.width..][..self.width]
    }

    /// Appends a copy of a row, or a row of zeros.
    #[inline]
    pub(crate) fn push(&mut self, copied: Option<usize>) {
        match copied {
            Some(row) => self.rows.extend_from_within(row * self.width..(row + 1) * self.width),
            None => self.rows.resize(self.rows.len() + self.width, 0),
        }
    }

    /// Appends a row of another table.
    #[inline]
    pub(super) fn push_from(&mut self, other: &[u32]) {
        self.rows.extend_from_slice(other);
    }

    #[inline]
    pub(crate) fn last_mut(&mut self) -> &mut [u32] {
        let start = self.rows.len() - self.width;
        &mut self.rows[start..]
    }

    /// Joins a row into the last one.
    #[inline]
    pub(super) fn join_last(&mut self, row: usize) {
        let start = self.rows.len() - self.width;
        let (before, last) = self.rows.split_at_mut(start);
        last.include(&before[row * self.width..][..self.width]);
    }

    /// Extends each row by zeros, for more threads.
    pub(crate) fn widen(&mut self, width: usize) {
        let mut rows = Vec::with_capacity(self.rows.len() / self.width.max(1) * width);
        for row in self.rows.chunks(self.width.max(1)) {
            rows.extend_from_slice(row);
            rows.resize(rows.len() + width - self.width, 0);
        }
        *self = Views { width, rows };
    }
}
