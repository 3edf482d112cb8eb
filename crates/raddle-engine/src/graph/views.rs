//! Vector clocks of events.

/// One row per event: how many events of each thread it covers. All rows lie in one allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Views {
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

    /// Adds a row like another, or of zeros.
    #[inline]
    pub(crate) fn push(&mut self, like: Option<usize>) {
        match like {
            Some(row) => self.rows.extend_from_within(row * self.width..(row + 1) * self.width),
            None => self.rows.resize(self.rows.len() + self.width, 0),
        }
    }

    /// Adds a row of another table.
    #[inline]
    pub(crate) fn push_from(&mut self, other: &[u32]) {
        self.rows.extend_from_slice(other);
    }

    #[inline]
    pub(crate) fn last_mut(&mut self) -> &mut [u32] {
        let start = self.rows.len() - self.width;
        &mut self.rows[start..]
    }

    /// Lets the last row cover what another covers.
    #[inline]
    pub(crate) fn join_last(&mut self, row: usize) {
        let start = self.rows.len() - self.width;
        let (before, last) = self.rows.split_at_mut(start);
        join(last, &before[row * self.width..][..self.width]);
    }

    /// Makes room for more threads.
    pub(crate) fn widen(&mut self, width: usize) {
        let mut rows = Vec::with_capacity(self.rows.len() / self.width.max(1) * width);
        for row in self.rows.chunks(self.width.max(1)) {
            rows.extend_from_slice(row);
            rows.resize(rows.len() + width - self.width, 0);
        }
        *self = Views { width, rows };
    }
}

/// Lets `view` cover what `other` covers.
#[inline]
pub(crate) fn join(view: &mut [u32], other: &[u32]) {
    for (mine, &theirs) in view.iter_mut().zip(other) {
        *mine = (*mine).max(theirs);
    }
}
