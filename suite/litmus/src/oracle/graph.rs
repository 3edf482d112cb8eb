//! Execution graphs.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use super::relation::{Relation, Set, members};

/// An event: part of what an access does.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What it does.
    pub kind: Kind,
    /// Where; fences are nowhere.
    pub location: Option<usize>,
    /// How strong it is. An initial write is relaxed.
    pub order: Ordering,
    /// What it read or wrote.
    pub value: u32,
}

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Neither.
    Fence,
}

impl Event {
    /// Whether it acquires: `⊒ acq`.
    pub fn acquires(&self) -> bool {
        self.kind != Kind::Write && matches!(self.order, Acquire | AcqRel | SeqCst)
    }

    /// Whether it releases: `⊒ rel`.
    pub fn releases(&self) -> bool {
        self.kind != Kind::Read && matches!(self.order, Release | AcqRel | SeqCst)
    }
}

/// Events and how they relate.
#[derive(Clone, Debug)]
pub struct Graph {
    /// All events. Those that a read-modify-write consists of follow each other.
    pub events: Vec<Event>,
    /// Program order, transitive; initial writes come before everything.
    pub po: Relation,
    /// Which write each read reads from.
    pub rf: Vec<(usize, usize)>,
    /// The writes of each location in coherence order, the initial one first. Empty as long as a location was not accessed.
    pub co: Vec<Vec<usize>>,
    /// The read and the write of each read-modify-write.
    pub rmw: Vec<(usize, usize)>,
    /// The events of each thread.
    pub of_thread: Vec<Set>,
    /// The initial writes.
    pub initial: Set,
}

impl Graph {
    /// No events yet.
    pub fn new(locations: usize, threads: usize) -> Graph {
        Graph {
            events: Vec::new(),
            po: Relation::empty(0),
            rf: Vec::new(),
            co: vec![Vec::new(); locations],
            rmw: Vec::new(),
            of_thread: vec![0; threads],
            initial: 0,
        }
    }

    /// Adds the initial write of a location, unless it is there.
    pub fn initialise(&mut self, location: usize, value: u32) {
        if !self.co[location].is_empty() {
            return;
        }
        let event = self.events.len();
        self.events.push(Event { kind: Kind::Write, location: Some(location), order: Relaxed, value });
        self.po.push(0);
        for later in self.of_thread.iter().flat_map(|&set| members(set)) {
            self.po.insert(event, later);
        }
        self.initial |= 1 << event;
        self.co[location].push(event);
    }

    /// Adds an event at the end of a thread.
    pub fn push(&mut self, thread: usize, event: Event) -> usize {
        let index = self.events.len();
        self.events.push(event);
        self.po.push(self.of_thread[thread] | self.initial);
        self.of_thread[thread] |= 1 << index;
        index
    }

    /// What a location holds in the end, if it was accessed.
    pub fn last_value(&self, location: usize) -> Option<u32> {
        self.co[location].last().map(|&write| self.events[write].value)
    }

    /// The events for which the condition holds.
    pub fn set(&self, condition: impl Fn(&Event) -> bool) -> Set {
        let holds = self.events.iter().enumerate().filter(|(_, event)| condition(event));
        holds.fold(0, |set, (index, _)| set | 1 << index)
    }

    /// Whether two events access the same location.
    pub fn same_location(&self, a: usize, b: usize) -> bool {
        let location = self.events[a].location;
        location.is_some() && location == self.events[b].location
    }

    /// Reads-from, from the write to the read.
    pub fn reads_from(&self) -> Relation {
        self.pairs(self.rf.iter().copied())
    }

    /// From the read to the write of a read-modify-write.
    pub fn read_modify_write(&self) -> Relation {
        self.pairs(self.rmw.iter().copied())
    }

    /// Coherence: the order of the writes of each location.
    pub fn coherence(&self) -> Relation {
        self.pairs(self.co.iter().flat_map(|writes| {
            let indices =
                (0..writes.len()).flat_map(|from| (from + 1..writes.len()).map(move |to| (from, to)));
            indices.map(|(from, to)| (writes[from], writes[to]))
        }))
    }

    /// From-reads: from each read to the writes that come after the one it reads from.
    pub fn from_reads(&self) -> Relation {
        let coherence = self.coherence();
        let pairs = self.rf.iter().flat_map(|&(write, read)| {
            members(coherence.after(write)).map(move |overwriting| (read, overwriting))
        });
        self.pairs(pairs)
    }

    fn pairs(&self, pairs: impl Iterator<Item = (usize, usize)>) -> Relation {
        let mut relation = Relation::empty(self.events.len());
        pairs.for_each(|(from, to)| relation.insert(from, to));
        relation
    }
}
