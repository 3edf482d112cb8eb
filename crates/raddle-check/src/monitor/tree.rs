//! Two segment trees over an array: one that finds small numbers under range additions, one that finds the intervals
//! over a point.

/// Numbers under range addition, from which those that have dropped to zero can be picked.
pub(super) struct MinTree {
    size: usize,
    /// The least number below each node, without what was added at its ancestors.
    least: Vec<i32>,
    /// What was added to everything below each inner node.
    added: Vec<i32>,
}

impl MinTree {
    pub(super) fn new(numbers: &[i32]) -> MinTree {
        let size = numbers.len().next_power_of_two().max(1);
        let mut least = vec![i32::MAX / 2; size * 2];
        least[size..size + numbers.len()].copy_from_slice(numbers);
        for node in (1..size).rev() {
            least[node] = least[node * 2].min(least[node * 2 + 1]);
        }
        MinTree { size, least, added: vec![0; size] }
    }

    /// Adds `amount` to the numbers from `from` up to `to`.
    pub(super) fn add(&mut self, from: usize, to: usize, amount: i32) {
        if from + 1 >= to {
            if from < to {
                self.add_at(from, amount);
            }
            return;
        }
        let (first, last) = (from + self.size, to + self.size - 1);
        let (mut left, mut right) = (first, last + 1);
        while left < right {
            if left & 1 == 1 {
                self.apply(left, amount);
                left += 1;
            }
            if right & 1 == 1 {
                right -= 1;
                self.apply(right, amount);
            }
            left >>= 1;
            right >>= 1;
        }
        self.refresh_above(first);
        self.refresh_above(last);
    }

    /// Some number that is zero or less, by index.
    pub(super) fn find(&self) -> Option<usize> {
        if self.least[1] > 0 {
            return None;
        }
        let (mut node, mut above) = (1, 0);
        while node < self.size {
            above += self.added[node];
            node *= 2;
            if self.least[node] + above > 0 {
                node += 1;
            }
        }
        Some(node - self.size)
    }

    fn add_at(&mut self, index: usize, amount: i32) {
        let mut node = index + self.size;
        self.least[node] += amount;
        while node > 1 {
            node >>= 1;
            let least = self.least[node * 2].min(self.least[node * 2 + 1]) + self.added[node];
            if self.least[node] == least {
                break;
            }
            self.least[node] = least;
        }
    }

    fn apply(&mut self, node: usize, amount: i32) {
        self.least[node] += amount;
        if node < self.size {
            self.added[node] += amount;
        }
    }

    fn refresh_above(&mut self, mut node: usize) {
        while node > 1 {
            node >>= 1;
            self.least[node] = self.least[node * 2].min(self.least[node * 2 + 1]) + self.added[node];
        }
    }
}

/// Intervals of points, each with an owner, that can be taken out by a point they contain.
pub(super) struct Stabber {
    /// First point, and owner; by first point.
    starts: Vec<(u32, u32)>,
    size: usize,
    /// One more than the last point, the greatest below each node; 0 once taken out.
    ends: Vec<u32>,
}

impl Stabber {
    /// From intervals `(first, end, owner)`.
    pub(super) fn new(mut intervals: Vec<(u32, u32, u32)>) -> Stabber {
        intervals.sort_unstable();
        let size = intervals.len().next_power_of_two().max(1);
        let mut ends = vec![0; size * 2];
        for (leaf, &(_, end, _)) in intervals.iter().enumerate() {
            ends[size + leaf] = end;
        }
        for node in (1..size).rev() {
            ends[node] = ends[node * 2].max(ends[node * 2 + 1]);
        }
        Stabber {
            starts: intervals.into_iter().map(|(first, _, owner)| (first, owner)).collect(),
            size,
            ends,
        }
    }

    /// Takes out an interval that contains `point`, and returns its owner.
    pub(super) fn take(&mut self, point: u32) -> Option<u32> {
        let mut node = 1;
        if self.ends[node] <= point {
            return None;
        }
        // The intervals that begin at or before the point are a prefix; look for the leftmost one that ends behind.
        while node < self.size {
            node *= 2;
            if self.ends[node] <= point {
                node += 1;
            }
        }
        let leaf = node - self.size;
        let (first, owner) = self.starts[leaf];
        if first > point {
            return None;
        }
        self.ends[node] = 0;
        while node > 1 {
            node >>= 1;
            self.ends[node] = self.ends[node * 2].max(self.ends[node * 2 + 1]);
        }
        Some(owner)
    }
}
