//! Relations on events, as matrices of bits.

/// Events are small numbers; a relation has a row of bits for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    rows: Vec<u128>,
}

/// A set of events.
pub type Set = u128;

/// More events than this fit in no set.
pub const MOST_EVENTS: usize = Set::BITS as usize;

impl Relation {
    /// No pairs among so many events.
    pub fn empty(events: usize) -> Relation {
        assert!(events <= MOST_EVENTS, "an execution of {events} events is too long for the oracle");
        Relation { rows: vec![0; events] }
    }

    /// Each event of the set with itself: `[set]`.
    pub fn identity(events: usize, set: Set) -> Relation {
        let mut relation = Relation::empty(events);
        for event in members(set) {
            relation.insert(event, event);
        }
        relation
    }

    /// Adds a pair.
    pub fn insert(&mut self, from: usize, to: usize) {
        self.rows[from] |= 1 << to;
    }

    /// Whether the pair is there.
    pub fn contains(&self, from: usize, to: usize) -> bool {
        self.rows[from] >> to & 1 == 1
    }

    /// The events that an event is related to.
    pub fn after(&self, event: usize) -> Set {
        self.rows[event]
    }

    /// One more event, related to nothing but what comes before it.
    pub fn push(&mut self, before: Set) {
        let event = self.rows.len();
        assert!(event < MOST_EVENTS, "an execution of {event} events is too long for the oracle");
        self.rows.push(0);
        for earlier in members(before) {
            self.insert(earlier, event);
        }
    }

    /// Pairs in either: `self ∪ other`.
    pub fn or(&self, other: &Relation) -> Relation {
        Relation { rows: self.rows.iter().zip(&other.rows).map(|(a, b)| a | b).collect() }
    }

    /// Pairs whose first and second event are in these sets: `[first];self;[second]`.
    pub fn between(&self, first: Set, second: Set) -> Relation {
        let rows = self.rows.iter().enumerate();
        Relation {
            rows: rows.map(|(from, row)| if first >> from & 1 == 1 { row & second } else { 0 }).collect(),
        }
    }

    /// Pairs for which the condition holds.
    pub fn filter(&self, condition: impl Fn(usize, usize) -> bool) -> Relation {
        let mut relation = Relation::empty(self.rows.len());
        for (from, &row) in self.rows.iter().enumerate() {
            members(row).filter(|&to| condition(from, to)).for_each(|to| relation.insert(from, to));
        }
        relation
    }

    /// One after the other: `self;other`.
    pub fn then(&self, other: &Relation) -> Relation {
        let reach = |row: Set| members(row).fold(0, |reached, middle| reached | other.rows[middle]);
        Relation { rows: self.rows.iter().map(|&row| reach(row)).collect() }
    }

    /// The relation or equality: `self?`.
    pub fn optional(&self) -> Relation {
        let rows = self.rows.iter().enumerate();
        Relation { rows: rows.map(|(event, row)| row | 1 << event).collect() }
    }

    /// One or more times: `self+`.
    pub fn transitive(&self) -> Relation {
        let mut rows = self.rows.clone();
        for middle in 0..rows.len() {
            let through = rows[middle];
            for row in &mut rows {
                if *row >> middle & 1 == 1 {
                    *row |= through;
                }
            }
        }
        Relation { rows }
    }

    /// Whether no event is related to itself.
    pub fn irreflexive(&self) -> bool {
        self.rows.iter().enumerate().all(|(event, row)| row >> event & 1 == 0)
    }

    /// Whether it has no cycle.
    pub fn acyclic(&self) -> bool {
        self.transitive().irreflexive()
    }
}

/// The events of a set, in order.
pub fn members(mut set: Set) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let event = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            event
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(pairs: &[(usize, usize)]) -> Relation {
        let mut relation = Relation::empty(4);
        pairs.iter().for_each(|&(from, to)| relation.insert(from, to));
        relation
    }

    #[test]
    fn algebra() {
        let chain = relation(&[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(chain.then(&chain), relation(&[(0, 2), (1, 3)]));
        assert_eq!(chain.transitive(), relation(&[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]));
        assert_eq!(chain.between(0b0011, 0b0100), relation(&[(1, 2)]));
        assert_eq!(chain.filter(|from, to| from + to == 5), relation(&[(2, 3)]));
        assert_eq!(chain.optional(), chain.or(&Relation::identity(4, 0b1111)));
        assert!(chain.acyclic());
        assert!(!chain.or(&relation(&[(3, 0)])).acyclic());
        assert!(!relation(&[(1, 1)]).irreflexive());
    }
}
