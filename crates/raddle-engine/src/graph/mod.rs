//! Execution graphs: what happened in an execution, apart from the order in which it happened to be made.
//!
//! A graph holds the events of each thread in program order, for each read the write that it reads from (`rf`), and for each
//! place the order of its writes (`co`). Two executions with equal graphs are the same to the program. A graph is
//! *consistent* if the memory model allows it.
//!
//! Events are kept in an order in which the execution can be made: each after those of its thread, and each read after its
//! write.

pub(crate) mod consistency;
pub(crate) mod event;
mod linearise;
pub(crate) mod locations;
pub(crate) mod stored;
mod views;

pub(crate) use locations::NOT_IN_MEMORY;

use consistency::symmetry::SymmetricPrefix;
use consistency::{rc11, sc};
use event::{Access, Event, EventId, INIT, LocationId, NONE};
use views::{Views, join};

pub use crate::happens_before::Model;
use crate::op::ThreadId;

/// An execution graph.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) model: Model,
    pub(crate) events: Vec<Event>,
    /// How each event is linked to others that access its place.
    links: Vec<Links>,
    /// The events of each thread.
    pub(crate) threads: Vec<Vec<EventId>>,
    places: Vec<Place>,
    /// For each thread the one that goes first of two that are alike.
    leaders: Vec<Option<ThreadId>>,
    /// All events in the order of their stamps.
    pub(crate) by_stamp: Vec<EventId>,
    next_stamp: u32,
    /// How many events are sequentially consistent accesses or fences.
    sc: usize,
    /// How many of the events are notes that a thread waits.
    pub(crate) waits: usize,
    pub(crate) width: usize,
    /// What must happen before: program order, reads-from, spawn and join.
    pub(crate) prefix: Views,
    /// What happens before in the sense of the memory model.
    hb: Views,
    /// What a write hands to those that acquire it.
    released: Views,
    /// What an acquire fence after this event would acquire.
    acquirable: Views,
    /// What happened before the last release fence of the thread.
    fenced: Views,
}

/// What finds accesses of a place without looking through all of them.
#[derive(Clone, Copy, Debug)]
struct Links {
    /// Where a write stands among those of its place, from 1.
    rank: u32,
    /// The newest event that reads from this write.
    reader: EventId,
    /// For a read: the one before it that reads from the same write.
    other_reader: EventId,
    /// For a read: the one before it by the same thread, of the same place.
    earlier_read: EventId,
}

impl Links {
    const NONE: Links = Links { rank: 0, reader: NONE, other_reader: NONE, earlier_read: NONE };
}

/// The accesses to one place.
#[derive(Clone, Debug, Default)]
struct Place {
    /// The value before any write.
    init: u64,
    /// The writes, in coherence order.
    co: Vec<EventId>,
    /// The reads, read-modify-writes among them.
    reads: Vec<EventId>,
    /// The newest event that reads the initial value.
    reader_of_init: Option<EventId>,
    /// The newest read of each thread that has read the place.
    newest_reads: Vec<(ThreadId, EventId)>,
    /// The events that gave up handles, if the place is a count of them.
    drops: Vec<EventId>,
}

/// Whether a view covers an event.
#[inline]
pub(crate) fn covers(view: &[u32], event: &Event) -> bool {
    view[event.thread as usize] > event.po
}

impl Graph {
    pub(crate) fn new(model: Model) -> Graph {
        let mut graph = Graph {
            model,
            events: Vec::new(),
            links: Vec::new(),
            threads: Vec::new(),
            places: Vec::new(),
            leaders: Vec::new(),
            by_stamp: Vec::new(),
            next_stamp: 0,
            sc: 0,
            waits: 0,
            width: 4,
            prefix: Views::default(),
            hb: Views::default(),
            released: Views::default(),
            acquirable: Views::default(),
            fenced: Views::default(),
        };
        graph.clear();
        graph
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.links.clear();
        self.by_stamp.clear();
        self.next_stamp = 0;
        self.sc = 0;
        self.waits = 0;
        for thread in &mut self.threads {
            thread.clear();
        }
        for place in &mut self.places {
            place.co.clear();
            place.reads.clear();
            place.reader_of_init = None;
            place.newest_reads.clear();
            place.drops.clear();
        }
        let width = self.width;
        self.views().for_each(|views| views.clear(width));
    }

    fn views(&mut self) -> impl Iterator<Item = &mut Views> {
        [&mut self.prefix, &mut self.hb, &mut self.released, &mut self.acquirable, &mut self.fenced]
            .into_iter()
    }

    #[inline]
    pub(crate) fn event(&self, id: EventId) -> &Event {
        &self.events[id as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// The last event of a thread.
    #[inline]
    pub(crate) fn last_of(&self, thread: ThreadId) -> Option<EventId> {
        self.threads.get(usize::from(thread))?.last().copied()
    }

    /// How many events a thread has.
    pub(crate) fn events_of(&self, thread: ThreadId) -> u32 {
        self.threads.get(usize::from(thread)).map_or(0, |events| events.len() as u32)
    }

    /// What the thread of an event had read before that, as a hash.
    pub(crate) fn past_before(&self, event: &Event) -> u64 {
        let before = self.threads[usize::from(event.thread)][..event.po as usize].last();
        before.map_or(0, |&before| self.event(before).past)
    }

    /// What a thread has read so far, as a hash.
    pub(crate) fn past_of(&self, thread: ThreadId) -> u64 {
        self.last_of(thread).map_or(0, |last| self.event(last).past)
    }

    /// How many events of each thread happened before an event, itself included.
    pub(crate) fn happened_before(&self, id: EventId) -> &[u32] {
        match self.model {
            // Everything that is read is known.
            Model::Sc => self.prefix.row(id as usize),
            Model::Rc11 => self.hb.row(id as usize),
        }
    }

    pub(crate) fn co(&self, place: LocationId) -> &[EventId] {
        self.places.get(place as usize).map_or(&[], |place| &place.co)
    }

    /// Whether there are accesses to the place.
    pub(crate) fn is_used(&self, place: LocationId) -> bool {
        !self.co(place).is_empty() || !self.reads(place).is_empty()
    }

    pub(crate) fn reads(&self, place: LocationId) -> &[EventId] {
        self.places.get(place as usize).map_or(&[], |place| &place.reads)
    }

    /// The events that gave up handles counted at the place.
    pub(crate) fn drops(&self, place: LocationId) -> &[EventId] {
        self.places.get(place as usize).map_or(&[], |place| &place.drops)
    }

    /// The value that a write leaves, or that the place had before any.
    pub(crate) fn value(&self, place: LocationId, write: EventId) -> u64 {
        match write {
            INIT => self.places.get(place as usize).map_or(0, |place| place.init),
            write => self.event(write).written.expect("it is a write"),
        }
    }

    /// Notes what a place holds before any write.
    pub(crate) fn set_init(&mut self, place: LocationId, value: u64) {
        self.place_mut(place).init = value;
    }

    pub(crate) fn init(&self, place: LocationId) -> u64 {
        self.value(place, INIT)
    }

    fn place_mut(&mut self, place: LocationId) -> &mut Place {
        if self.places.len() <= place as usize {
            self.places.resize_with(place as usize + 1, Place::default);
        }
        &mut self.places[place as usize]
    }

    /// Where a write stands among those of its place, from 1; the initial value is 0.
    #[inline]
    pub(crate) fn rank(&self, place: LocationId, write: EventId) -> usize {
        match write {
            INIT => 0,
            write => {
                let rank = self.links[write as usize].rank as usize;
                debug_assert_eq!(self.at_rank(place, rank), write);
                rank
            }
        }
    }

    /// The events that read from a write of the place, newest first. Notes that a thread waits are among them.
    fn readers(&self, place: LocationId, write: EventId) -> impl Iterator<Item = EventId> {
        let newest = match write {
            INIT => self.places.get(place as usize).and_then(|place| place.reader_of_init),
            write => Some(self.links[write as usize].reader),
        };
        let reader = |id: EventId| (id != NONE).then_some(id);
        std::iter::successors(newest.and_then(reader), move |&id| {
            reader(self.links[id as usize].other_reader)
        })
    }

    /// The write at a rank.
    #[inline]
    pub(crate) fn at_rank(&self, place: LocationId, rank: usize) -> EventId {
        if rank == 0 { INIT } else { self.co(place)[rank - 1] }
    }

    /// The newest write of a place.
    pub(crate) fn newest(&self, place: LocationId) -> EventId {
        self.co(place).last().copied().unwrap_or(INIT)
    }

    /// The value that the newest write of a place left.
    pub(crate) fn newest_value(&self, place: LocationId) -> u64 {
        self.value(place, self.newest(place))
    }

    /// What must happen before the next event of a thread, if that reads from `rf`: the event itself is covered, too.
    pub(crate) fn prefix_of_next(&self, thread: ThreadId, rf: EventId, view: &mut Vec<u32>) {
        view.clear();
        match self.last_of(thread) {
            Some(last) => view.extend_from_slice(self.prefix.row(last as usize)),
            None => view.resize(self.width, 0),
        }
        if rf < NONE {
            join(view, self.prefix.row(rf as usize));
        }
        if let SymmetricPrefix::Event(before) = self.forerunner(thread, self.events_of(thread)) {
            join(view, self.prefix.row(before as usize));
        }
        if view.len() > usize::from(thread) {
            view[usize::from(thread)] += 1;
        }
    }

    /// How many events of a thread happened before this event, itself included, in the sense of RC11.
    pub(crate) fn seen_of(&self, event: EventId, thread: ThreadId) -> u32 {
        self.hb.row(event as usize).get(usize::from(thread)).copied().unwrap_or(0)
    }

    /// The view that decides which writes of its place an event of the thread can no longer ignore.
    fn seen_by(&self, thread: ThreadId) -> Option<&[u32]> {
        self.seen_before(thread, self.events_of(thread))
    }

    fn seen_before(&self, thread: ThreadId, po: u32) -> Option<&[u32]> {
        let before = self.threads[usize::from(thread)][..po as usize].last()?;
        Some(match self.model {
            // Everything that must have happened is seen; the rest is found by looking for cycles.
            Model::Sc => self.prefix.row(*before as usize),
            Model::Rc11 => self.hb.row(*before as usize),
        })
    }

    /// The lowest rank that a new event of the thread may read, and above which it may write.
    pub(crate) fn floor(&self, thread: ThreadId, place: LocationId) -> usize {
        if self.threads.len() <= usize::from(thread) {
            return 0;
        }
        match self.seen_by(thread) {
            Some(view) => self.floor_of(view, place),
            None => 0,
        }
    }

    fn floor_of(&self, view: &[u32], place: LocationId) -> usize {
        let is_seen = |id: EventId| {
            let event = self.event(id);
            !event.waits && covers(view, event)
        };
        let is_known = |&write: &EventId| is_seen(write) || self.readers(place, write).any(is_seen);
        self.co(place).iter().rposition(is_known).map_or(0, |index| index + 1)
    }

    /// The read-modify-write that took this write, if one did.
    pub(crate) fn rmw_successor(&self, place: LocationId, rank: usize) -> Option<EventId> {
        let next = *self.co(place).get(rank)?;
        self.event(next).is_rmw().then_some(next)
    }

    /// Adds an event at the end. A write comes to stand at `rank` (from 1) among those of its place.
    pub(crate) fn push(&mut self, mut event: Event, rank: usize) -> EventId {
        let id = self.events.len() as EventId;
        let thread = usize::from(event.thread);
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Vec::new);
        }
        if self.width <= thread {
            let width = (thread + 1).next_power_of_two();
            self.width = width;
            self.views().for_each(|views| views.widen(width));
        }
        event.po = self.threads[thread].len() as u32;
        event.past = event.past_after(self.past_of(event.thread));
        if event.stamp == NONE {
            event.stamp = self.next_stamp;
            self.next_stamp += 1;
            self.by_stamp.push(id);
        } else {
            self.next_stamp = self.next_stamp.max(event.stamp + 1);
            let at = self.by_stamp.partition_point(|&other| self.event(other).stamp <= event.stamp);
            self.by_stamp.insert(at, id);
        }
        let last = self.threads[thread].last().copied();
        self.push_views(&event, last.map(|last| last as usize));
        self.links.push(Links::NONE);
        if event.place != NONE {
            if event.reads() {
                self.link_read(id, &event);
            }
            if event.writes() && !event.waits {
                self.place_mut(event.place).co.insert(rank - 1, id);
                self.renumber(event.place, rank);
            }
            if event.access == Access::Drop {
                self.place_mut(event.place).drops.push(id);
            }
        }
        self.sc += usize::from(rc11::is_sc(&event));
        match event.waits {
            true => self.waits += 1,
            false => self.threads[thread].push(id),
        }
        self.events.push(event);
        id
    }

    /// Says where the writes of a place stand, from a rank on.
    fn renumber(&mut self, place: LocationId, from: usize) {
        let Graph { places, links, .. } = self;
        for (index, &write) in places[place as usize].co.iter().enumerate().skip(from - 1) {
            links[write as usize].rank = index as u32 + 1;
        }
    }

    fn link_read(&mut self, id: EventId, event: &Event) {
        self.place_mut(event.place).reads.push(id);
        let Graph { places, links, .. } = self;
        let place = &mut places[event.place as usize];
        let other_reader = match event.rf {
            INIT => place.reader_of_init.replace(id).unwrap_or(NONE),
            source => std::mem::replace(&mut links[source as usize].reader, id),
        };
        let earlier_read = match place.newest_reads.iter_mut().find(|(thread, _)| *thread == event.thread) {
            Some((_, newest)) => std::mem::replace(newest, id),
            None => {
                place.newest_reads.push((event.thread, id));
                NONE
            }
        };
        links[id as usize] = Links { other_reader, earlier_read, ..Links::NONE };
    }

    /// Forgets the newest event of all, which reads.
    fn unlink_read(&mut self, id: EventId, event: &Event) {
        let Graph { places, links, .. } = self;
        let place = &mut places[event.place as usize];
        debug_assert_eq!(place.reads.last(), Some(&id));
        place.reads.pop();
        let Links { other_reader, earlier_read, .. } = links[id as usize];
        match event.rf {
            INIT => place.reader_of_init = Some(other_reader),
            source => links[source as usize].reader = other_reader,
        }
        if let Some((_, newest)) = place.newest_reads.iter_mut().find(|(thread, _)| *thread == event.thread) {
            *newest = earlier_read;
        }
    }

    fn push_views(&mut self, event: &Event, last: Option<usize>) {
        let thread = usize::from(event.thread);
        let source = (event.rf < NONE).then_some(event.rf as usize);
        self.prefix.push(last);
        if let Some(source) = source {
            self.prefix.join_last(source);
        }
        if event.is_last_drop() {
            let drops = &self.places[event.place as usize].drops;
            drops.iter().for_each(|&other| self.prefix.join_last(other as usize));
        }
        if let SymmetricPrefix::Event(before) = self.forerunner(event.thread, event.po) {
            self.prefix.join_last(before as usize);
        }
        if event.access == Access::TimedOut {
            // The clock moves when nobody can go on.
            for last in self.threads.iter().filter_map(|events| events.last()) {
                self.prefix.join_last(*last as usize);
            }
        }
        self.prefix.last_mut()[thread] = event.po + 1;
        if self.model == Model::Sc {
            return;
        }
        self.hb.push(last);
        self.acquirable.push(last);
        self.fenced.push(last);
        match event.access {
            Access::Begin | Access::Join(_) | Access::EndScope(_) | Access::Woken => {
                if let Some(source) = source {
                    self.hb.join_last(source);
                }
            }
            // The others released what they did before, and an acquire fence follows.
            Access::Drop if event.is_last_drop() => {
                let drops = &self.places[event.place as usize].drops;
                drops.iter().for_each(|&other| self.hb.join_last(other as usize));
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
        self.hb.last_mut()[thread] = event.po + 1;
        let id = self.events.len();
        if event.access == Access::Fence && event.order.releases() {
            self.fenced.last_mut().copy_from_slice(self.hb.row(id));
        }
        if event.writes() {
            match event.order.releases() {
                true => self.released.push_from(self.hb.row(id)),
                false => self.released.push_from(self.fenced.row(id)),
            }
            if event.reads()
                && let Some(source) = source
            {
                self.released.join_last(source);
            }
        } else {
            self.released.push(None);
        }
    }

    /// Removes all but the first events.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.events.len() > len {
            let event = self.events.pop().expect("there are more");
            let id = self.events.len() as EventId;
            if let Some(at) = self.by_stamp.iter().rposition(|&other| other == id) {
                self.by_stamp.remove(at);
            }
            if event.place != NONE {
                if event.writes() && !event.waits {
                    let rank = self.links[id as usize].rank as usize;
                    self.places[event.place as usize].co.remove(rank - 1);
                    self.renumber(event.place, rank);
                }
                if event.reads() {
                    self.unlink_read(id, &event);
                }
                if event.access == Access::Drop {
                    self.places[event.place as usize].drops.pop();
                }
            }
            self.links.pop();
            self.sc -= usize::from(rc11::is_sc(&event));
            match event.waits {
                true => self.waits -= 1,
                false => _ = self.threads[usize::from(event.thread)].pop(),
            }
        }
        self.views().for_each(|views| views.truncate(len));
        self.next_stamp = self.by_stamp.last().map_or(0, |&last| self.event(last).stamp + 1);
    }

    /// Where the thread waits, if it does.
    pub(crate) fn waiting(&self, thread: ThreadId) -> Option<EventId> {
        if self.waits == 0 {
            return None;
        }
        let po = self.events_of(thread);
        let wait = self.events.iter().rposition(|event| event.thread == thread)?;
        let event = &self.events[wait];
        (event.waits && event.po == po).then_some(wait as EventId)
    }

    /// Whether the thread that waits since the note `wait` is to take a write that came later. Each note says what the thread
    /// would have read in vain; if the write could have come without that, it has revisited the read where that did not wait.
    pub(crate) fn may_take(&self, wait: EventId, write: EventId) -> bool {
        let Event { thread, po, .. } = *self.event(wait);
        let is_note = |event: &&Event| event.waits && (event.thread, event.po) == (thread, po);
        let mut notes = self.events[..=wait as usize].iter().filter(is_note);
        notes.all(|note| self.follows_in_vain(note, write))
    }

    /// Whether what the note speaks of is what its thread would have seen before the write, or before what it would have seen
    /// before that, and so on.
    fn follows_in_vain(&self, note: &Event, mut write: EventId) -> bool {
        while write != INIT && self.event(write).stamp > note.stamp {
            let prefix = self.prefix.row(write as usize);
            let is_seen = |&&other: &&EventId| {
                let event = self.event(other);
                other != write && (event.stamp <= note.stamp || covers(prefix, event))
            };
            write = self.co(note.place).iter().rev().find(is_seen).copied().unwrap_or(INIT);
            if write == note.rf {
                return true;
            }
        }
        false
    }

    /// The reads that a new write `event` may take over (TruSt, Kokologiannakis et al. POPL 2022): those that it does not
    /// depend on, and for which everything added since, that the write does not depend on either, was added in the one way
    /// that will be found again after the change. `prefix` is what the write depends on, itself included; `rank` its place
    /// among the writes, of which it is not one yet. If `taken` is given, the write needs the source of that
    /// read-modify-write, which therefore has to go.
    pub(crate) fn revisits(
        &self,
        event: &Event,
        prefix: &[u32],
        rank: usize,
        taken: Option<EventId>,
        found: &mut Vec<EventId>,
    ) {
        let next = self.co(event.place).get(rank - 1).copied();
        let must_go = taken.map_or(u32::MAX, |taken| self.event(taken).stamp);
        let reads = self.places.get(event.place as usize).map_or(&[][..], |place| &place.newest_reads);
        if !reads.iter().any(|&(_, read)| read != NONE && !covers(prefix, self.event(read))) {
            return;
        }
        for &id in self.by_stamp.iter().rev() {
            let other = self.event(id);
            // A thread that waits has done nothing yet, and will wait again.
            if other.waits || covers(prefix, other) {
                continue;
            }
            if !self.is_maximal_extension(id, prefix) {
                return;
            }
            if other.place != event.place || !other.reads() || other.stamp > must_go {
                continue;
            }
            // The place among the writes must mean something without what goes.
            if let Some(next) = next
                && !event.is_rmw()
                && self.event(next).stamp > other.stamp
                && !covers(prefix, self.event(next))
            {
                return;
            }
            let seen = self.seen_before(other.thread, other.po);
            if seen.is_none_or(|view| self.floor_of(view, event.place) < rank) {
                found.push(id);
            }
        }
    }

    /// Whether the event was the last word on its place, among what came before it and what the new write depends on.
    fn is_maximal_extension(&self, id: EventId, prefix: &[u32]) -> bool {
        let event = self.event(id);
        if event.place == NONE {
            return event.read == 0 || !matches!(event.access, Access::Choose(_));
        }
        let before = |other: EventId| {
            let other = self.event(other);
            other.stamp <= event.stamp || covers(prefix, other)
        };
        if event.access == Access::Drop {
            // Who gives up a handle when all others are gone is the last one.
            let mut others = self.drops(event.place).iter().filter(|&&other| other != id);
            return match event.is_last_drop() {
                true => others.all(|&other| before(other)),
                false => !others.any(|&other| self.event(other).is_last_drop() && before(other)),
            };
        }
        if event.writes() && !event.waits && self.readers(event.place, id).any(before) {
            return false;
        }
        let source = if event.reads() { event.rf } else { id };
        if source != INIT && !before(source) {
            return false;
        }
        let rank = self.rank(event.place, source);
        self.co(event.place)[rank..].iter().all(|&later| later == id || !before(later))
    }

    /// What the other handles' ends depend on, if the one that `drop` gives up is to be the last of its place.
    fn prefix_of_other_drops(&self, place: LocationId, drop: EventId, view: &mut [u32]) {
        for &other in self.drops(place).iter().filter(|&&other| other != drop) {
            join(view, self.prefix.row(other as usize));
        }
    }

    /// The handles that could be given up last instead of the one that `last` gives up, which is the newest event: like
    /// [`revisits`](Graph::revisits), where what is read is that all others are gone.
    pub(crate) fn other_last_drops(&self, last: EventId, view: &mut Vec<u32>, found: &mut Vec<EventId>) {
        let place = self.event(last).place;
        for &drop in self.drops(place).iter().filter(|&&drop| drop != last) {
            view.clear();
            view.resize(self.width, 0);
            self.prefix_of_other_drops(place, drop, view);
            let stamp = self.event(drop).stamp;
            let mut gone = self.by_stamp.iter().rev().take_while(|&&id| self.event(id).stamp >= stamp);
            let is_independent = !covers(view, self.event(drop));
            if is_independent
                && gone.all(|&id| {
                    let event = self.event(id);
                    event.waits || covers(view, event) || self.is_maximal_extension(id, view)
                })
            {
                found.push(drop);
            }
        }
    }

    /// Whether the graph is consistent, and threads that are alike are in order, given that it was so before `changed` was
    /// added other than as the newest.
    pub(crate) fn is_consistent(&self, changed: EventId, scratch: &mut Scratch) -> bool {
        self.is_in_order(changed)
            && match self.model {
                Model::Sc => sc::is_consistent(self, changed, scratch),
                Model::Rc11 => rc11::is_consistent(self, changed, scratch),
            }
    }

    /// Makes `into` the graph in which `read` reads from the new write `event`, and everything is gone that was added after
    /// the read and does not lead to the write. Returns the number of the write, and the read, which is not added yet, with
    /// the rank of what it writes.
    pub(crate) fn revisit(
        &self,
        event: &Event,
        rank: usize,
        read: EventId,
        into: &mut Graph,
        scratch: &mut Scratch,
    ) -> (EventId, Event, usize) {
        let mut prefix = std::mem::take(&mut scratch.view);
        self.prefix_of_next(event.thread, event.rf, &mut prefix);
        if event.access == Access::Drop {
            self.prefix_of_other_drops(event.place, read, &mut prefix);
        }
        let renamed = &mut scratch.renamed;
        renamed.clear();
        renamed.resize(self.events.len(), NONE);
        into.width = self.width;
        into.model = self.model;
        into.clear();
        into.leaders.clone_from(&self.leaders);
        let stamp = self.event(read).stamp;
        let stays = |id: usize| {
            let other = &self.events[id];
            id != read as usize && (other.stamp <= stamp || covers(&prefix, other))
        };
        let rename = |renamed: &[u32], id: EventId| if id < NONE { renamed[id as usize] } else { id };
        for id in 0..self.events.len() {
            if !stays(id) {
                continue;
            }
            let mut copy = self.events[id];
            if copy.place != NONE {
                let init = self.init(copy.place);
                into.set_init(copy.place, init);
            }
            copy.rf = rename(renamed, copy.rf);
            let rank = match copy.writes() && !copy.waits {
                // Those before it in coherence order that are there already.
                true => {
                    let place = copy.place;
                    let mine = self.rank(place, id as EventId);
                    1 + self.co(place)[..mine - 1]
                        .iter()
                        .filter(|&&write| renamed[write as usize] != NONE)
                        .count()
                }
                false => 0,
            };
            renamed[id] = into.push(copy, rank);
        }
        let place = event.place;
        into.set_init(place, self.init(place));
        if event.access == Access::Drop {
            let stamp = into.next_stamp.max(self.next_stamp);
            let write = into.push(Event { stamp, ..event.as_drop(false) }, 0);
            scratch.view = prefix;
            return (write, self.event(read).as_drop(true), 0);
        }
        let rank = match event.is_rmw() {
            true => into.rank(place, rename(renamed, event.rf)) + 1,
            false => {
                1 + self.co(place)[..rank - 1]
                    .iter()
                    .filter(|&&write| renamed[write as usize] != NONE)
                    .count()
            }
        };
        let mut write = *event;
        write.rf = rename(renamed, event.rf);
        write.stamp = into.next_stamp.max(self.next_stamp);
        let write = into.push(write, rank);
        let mut reader = *self.event(read);
        let value = into.value(place, write);
        reader.set_source(write, value);
        let rank = into.rank(place, write) + 1;
        scratch.view = prefix;
        (write, reader, rank)
    }

    /// A sequence of accesses to one place in program order, and so on: what precedes an event in time under sequential
    /// consistency, step by step.
    fn for_each_predecessor(&self, id: EventId, mut visit: impl FnMut(EventId)) {
        let event = self.event(id);
        if event.po > 0 {
            visit(self.threads[usize::from(event.thread)][event.po as usize - 1]);
        }
        if event.rf < NONE {
            visit(event.rf);
        }
        if event.is_last_drop() {
            self.drops(event.place).iter().filter(|&&other| other != id).for_each(|&other| visit(other));
        }
        if event.writes() && !event.waits {
            let rank = self.rank(event.place, id);
            let before = self.at_rank(event.place, rank - 1);
            if before != INIT {
                visit(before);
            }
            for read in self.readers(event.place, before) {
                if read != id && !self.event(read).waits {
                    visit(read);
                }
            }
        }
    }
}

/// Memory that checks use again and again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    stack: Vec<EventId>,
    marks: Vec<u64>,
    view: Vec<u32>,
    pub(crate) renamed: Vec<u32>,
    rc11: rc11::Matrices,
}
