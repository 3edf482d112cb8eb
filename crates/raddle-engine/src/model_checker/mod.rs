//! The search for all consistent execution graphs, each once: TruSt (Kokologiannakis, Marmanis, Gladstein and Vafeiadis,
//! POPL 2022).
//!
//! An execution is made along the graph that is known so far; where that ends, events are added, each in the way that is always
//! consistent: reads read the newest write, writes come last. Every other way is noted as work for later. A new write may also
//! be read by reads that are there already: then the graph is cut back to what led to the read and to the write (a
//! *revisit*), if what goes is sure to be found again.
//!
//! Memory is one graph per revisit that is under way, each smaller than an execution, and the work noted on them.

mod checkpoints;
mod estimate;
mod refcounts;
mod rwlocks;
mod spin_assumptions;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use self::estimate::{Estimator, RandomProbe};
use self::refcounts::Counts;
use self::rwlocks::RwLocks;
pub(crate) use crate::graph::Model;
use crate::graph::consistency::preemption_bound::{Bound, Waits};
use crate::graph::event::{Access, Event, EventId, INIT, NONE};
use crate::graph::locations::{Found, Locations};
use crate::graph::stored::{Stored, stored};
use crate::graph::{Graph, Scratch, covers};
use crate::op::{Order, ThreadId};
use crate::schedule::Schedule;
use crate::weak_memory::Touched;
pub(crate) use checkpoints::Checkpoint;
pub(crate) use refcounts::{Counting, FinalDrop, Purpose, Refinement, Restart};
pub(crate) use rwlocks::{LockUse, Locking};
pub(crate) use spin_assumptions::LoopsAtRest;
use spin_assumptions::{Loop, SpinRead};

/// What a thread is about to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) thread: ThreadId,
    pub(crate) access: Access,
    pub(crate) order: Order,
    /// Where, for accesses to memory, and what is there now.
    pub(crate) memory: Option<Location>,
    /// What the event follows besides its thread: the spawn of a beginning, the last event of a joined thread.
    pub(crate) follows: EventId,
}

/// A place in memory and what is there; or one that is not in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    pub(crate) address: usize,
    pub(crate) size: u8,
    pub(crate) value: Option<u64>,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is done, as this event, has read this, and memory is to hold that.
    Done { id: EventId, read: u64, write: Option<u64> },
    /// It has to wait until another thread writes.
    Waits,
    /// The program did something else the last time.
    Diverged,
    /// The place overlaps another that is accessed with a different size.
    MixedSize,
    /// It shows that threads are not alike that are said to be.
    Asymmetric,
}

/// Work for later: another way to add the event with number `at`.
#[derive(Debug)]
pub(crate) struct WorkItem {
    pub(crate) at: u32,
    event: Event,
    rank: usize,
    /// The read that is to read from the event, if it is a revisit.
    revisit: Option<EventId>,
}

/// So many ways that are not consistent are tried in a row, before the search looks at the clock.
const MOST_TRIED: usize = if cfg!(test) { usize::MAX } else { 100 };

#[derive(Debug)]
pub(crate) struct Branch {
    graph: Graph,
    pub(crate) work: Vec<WorkItem>,
    /// How many events the graph began with.
    given: usize,
    /// How many of its first events are those of the frame below, if there is one.
    same: usize,
    /// Points of the executions so far at which later ones can begin, in the order of the graph.
    kept: Vec<Rc<Checkpoint>>,
}

impl Branch {
    fn new(model: Model) -> Branch {
        let same = usize::MAX;
        Branch { graph: Graph::new(model), work: Vec::new(), given: 0, same, kept: Vec::new() }
    }

    /// Removes all but the first events.
    fn truncate(&mut self, len: usize, spare: &mut Vec<Rc<Checkpoint>>) {
        self.graph.truncate(len);
        self.forget_points_beyond(len, spare);
    }
}

stored!(WorkItem { at, event, rank, revisit });
stored!(Branch { graph, work, given, same } without kept);

#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) schedule: Schedule,
    /// How many accesses to memory were made.
    looked_back: usize,
}

impl Event {
    /// The event that a request asks for, before it is known what it reads.
    fn of(request: &Request, found: Option<Found>) -> Event {
        Event {
            thread: request.thread,
            access: request.access,
            order: request.order,
            wanted: request.order,
            place: found.map_or(NONE, |found| found.place),
            size: request.memory.map_or(0, |at| at.size),
            po: 0,
            past: 0,
            stamp: NONE,
            rf: request.follows,
            read: 0,
            written: None,
            waits: false,
        }
    }
}

/// The search.
#[derive(Debug)]
pub struct ModelChecker {
    model: Model,
    pub(crate) frames: Vec<Branch>,
    /// Graphs to be used again.
    spare: Vec<Branch>,
    /// Points to be used again.
    spare_kept: Vec<Rc<Checkpoint>>,
    pub(crate) places: Locations,
    /// How many events of the graph the current execution has made.
    pub(crate) made: usize,
    /// See [`ModelChecker::has_unproven_spins`].
    assumed: bool,
    pub(crate) begun: bool,
    scratch: Scratch,
    prefix: Vec<u32>,
    found: Vec<EventId>,
    /// What threads wait for that found nothing to go on with, by thread.
    waiting: Vec<Option<Event>>,
    /// Threads that are not held back in loops in this execution.
    free: Vec<ThreadId>,
    /// Threads that do not wait for their leaders any more, which have ended.
    let_go: Vec<ThreadId>,
    /// What is known to make threads go round.
    vain: HashMap<SpinRead, Loop>,
    /// See [`ModelChecker::pauses`].
    pauses: bool,
    /// Whether the graph as it is has to be tried once more.
    again: bool,
    /// How many events of the graph the current execution began with.
    begun_with: usize,
    /// Where in the code threads go round in loops.
    loops: Vec<usize>,
    /// Until this event of the current execution, something depends on what comes later in its graph.
    foreseen: Option<EventId>,
    /// The one execution to make, if this is no search.
    pub(crate) script: Option<Script>,
    /// Numbers of threads by parent and how many that had made before.
    children: Vec<(ThreadId, u32, ThreadId)>,
    /// What is explored at most, if not everything.
    bound: Option<Bound>,
    /// What is known of counts of references.
    pub(crate) references: Counts,
    /// What is known of locks of `RwLock`.
    pub(crate) rwlocks: RwLocks,
    /// See [`estimate`](estimate).
    pub(crate) tally: Estimator,
    pub(crate) descent: Option<RandomProbe>,
}

impl ModelChecker {
    /// A search under a memory model.
    pub fn new(model: Model) -> ModelChecker {
        ModelChecker {
            model,
            frames: vec![Branch::new(model)],
            spare: Vec::new(),
            spare_kept: Vec::new(),
            places: Locations::default(),
            made: 0,
            assumed: false,
            begun: false,
            scratch: Scratch::default(),
            prefix: Vec::new(),
            found: Vec::new(),
            waiting: Vec::new(),
            free: Vec::new(),
            let_go: Vec::new(),
            vain: HashMap::new(),
            pauses: false,
            again: false,
            begun_with: 0,
            loops: Vec::new(),
            foreseen: None,
            script: None,
            children: Vec::new(),
            bound: None,
            references: Counts::default(),
            rwlocks: RwLocks::default(),
            tally: Estimator::default(),
            descent: None,
        }
    }

    /// Explores only what at most this many preemptions show: see [`bound`](crate::graph::consistency::preemption_bound).
    pub(crate) fn with_preemptions(self, most: usize) -> ModelChecker {
        ModelChecker { bound: Some(Bound::new(most)), ..self }
    }

    /// Makes one execution again.
    pub fn scripted(model: Model, schedule: Schedule) -> ModelChecker {
        ModelChecker { script: Some(Script { schedule, looked_back: 0 }), ..ModelChecker::new(model) }
    }

    /// The number of a thread when those of the latest execution are numbered as they were made.
    pub(crate) fn number_of(&self, thread: ThreadId) -> ThreadId {
        let events = self.frames.last().map_or(&[][..], |frame| &frame.graph.events);
        let spawns = events.iter().filter(|event| matches!(event.access, Access::Spawn(_)));
        let before = spawns.take_while(|event| event.access != Access::Spawn(thread)).count();
        if thread == 0 { 0 } else { before as ThreadId + 1 }
    }

    /// What makes the latest execution again: the thread of each event, and for each access to memory how far back it went
    /// among the writes that were made before. A failure may end an execution before it has made all events of its graph.
    pub(crate) fn schedule(&self) -> Schedule {
        let mut schedule = Schedule { counts: self.references.schedule(), ..Schedule::default() };
        let Some(Branch { graph, .. }) = self.frames.last() else { return schedule };
        let made = graph.events.iter().take(self.made);
        for (id, event) in made.enumerate().filter(|(_, event)| !event.waits) {
            schedule.threads.push(self.number_of(event.thread));
            if let Access::Choose(_) = event.access {
                schedule.mo_offsets.push(event.read as u16);
            }
            if event.place == NONE || event.access == Access::Drop {
                continue;
            }
            let at = match event.reads() {
                true => graph.rank(event.place, event.rf),
                false => graph.rank(event.place, id as EventId),
            };
            let newer = graph.co(event.place)[at..].iter().filter(|&&write| (write as usize) < id);
            schedule.mo_offsets.push(newer.count() as u16);
        }
        schedule
    }

    /// How many events of another thread happened before the next one of `thread`; for itself, which number that has, from 1.
    pub(crate) fn seen_of(&self, thread: ThreadId, other: ThreadId) -> u32 {
        let mut made = self.graph().events[..self.made].iter();
        match made.rposition(|event| event.thread == thread && !event.waits) {
            Some(last) => self.graph().seen_of(last as EventId, other) + u32::from(thread == other),
            None => 0,
        }
    }

    /// When each event of the latest execution happens: see [`Graph::moments`].
    pub(crate) fn moments(&self) -> Option<Vec<u32>> {
        self.graph().moments()
    }

    /// Prepares the next execution. False if there is none.
    pub(crate) fn begin(&mut self) -> bool {
        let more = self.find_work();
        self.begun_with = if more { self.graph().len() } else { 0 };
        more
    }

    /// Whether there may be more executions, although none was found yet: finding one takes long, and there may be no time for it.
    pub(crate) fn pauses(&mut self) -> bool {
        std::mem::take(&mut self.pauses)
    }

    fn find_work(&mut self) -> bool {
        self.places.begin();
        let schedule = self.script.as_ref().map(|script| &script.schedule.counts[..]);
        self.references.begin(schedule);
        self.waiting.clear();
        self.free.clear();
        self.let_go.clear();
        self.foreseen = None;
        self.made = 0;
        if let Some(script) = &mut self.script {
            script.looked_back = 0;
            self.graph_mut().clear();
            return true;
        }
        if std::mem::take(&mut self.again) {
            return true;
        }
        if !self.begun {
            self.begun = true;
            return true;
        }
        if let Some(mut descent) = self.descent.take() {
            self.descend(&mut descent);
            self.descent = Some(descent);
            return true;
        }
        for tried in 0.. {
            let Some(frame) = self.frames.last_mut() else { break };
            if tried == MOST_TRIED {
                self.pauses = true;
                break;
            }
            let Some(work) = frame.work.pop() else {
                self.retire();
                continue;
            };
            if self.takes_up(work) {
                return true;
            }
        }
        false
    }

    /// Makes the graph what it is if the event is added in the way that was noted on it. False if nothing comes of that.
    pub(crate) fn takes_up(&mut self, work: WorkItem) -> bool {
        let frame = self.frames.last_mut().expect("the work is of a frame");
        frame.truncate(work.at as usize, &mut self.spare_kept);
        if work.event.reads() && !self.accepts(&work.event, work.event.read) {
            // Since it was noted, that was found to be in vain.
            return false;
        }
        let ready = match work.revisit {
            None => self.add_otherwise(&work),
            Some(read) => self.revisit(&work, read),
        };
        ready && self.is_in_bounds(Bound::may_lead_within)
    }

    /// Whether the execution that was made, and that cannot go on, is one of those to be explored.
    pub(crate) fn counts(&mut self) -> bool {
        self.is_in_bounds(Bound::admits)
    }

    /// How many graphs were seen that exceed the bound on preemptions. If none did, everything was explored.
    pub(crate) fn exceeded(&self) -> u64 {
        self.bound.as_ref().map_or(0, |bound| bound.exceeded)
    }

    fn is_in_bounds(&mut self, judge: fn(&mut Bound, &Graph, &ModelChecker) -> bool) -> bool {
        let Some(mut bound) = self.bound.take() else { return true };
        let within = judge(&mut bound, self.graph(), self);
        self.bound = Some(bound);
        within
    }

    /// All that is needed to go on with the search in another process, after an execution.
    pub(crate) fn save(&self) -> Vec<u64> {
        let mut words = Vec::new();
        self.frames.put(&mut words);
        self.places.put(&mut words);
        self.vain.put(&mut words);
        self.loops.put(&mut words);
        self.children.put(&mut words);
        self.references.save(&mut words);
        self.rwlocks.put(&mut words);
        [self.begun, self.again, self.assumed].iter().for_each(|flag| flag.put(&mut words));
        self.exceeded().put(&mut words);
        self.tally.put(&mut words);
        words
    }

    /// Goes on with a search that another process saved. None if that was not the same kind of search.
    pub(crate) fn restore(&mut self, words: &[u64]) -> Option<()> {
        let words = &mut words.iter();
        self.frames = Stored::take(words)?;
        self.places = Stored::take(words)?;
        self.vain = Stored::take(words)?;
        self.loops = Stored::take(words)?;
        self.children = Stored::take(words)?;
        self.references.restore(words)?;
        self.rwlocks = Stored::take(words)?;
        (self.begun, self.again) = (Stored::take(words)?, Stored::take(words)?);
        self.assumed = Stored::take(words)?;
        let exceeded = Stored::take(words)?;
        self.tally = Stored::take(words)?;
        if let Some(bound) = &mut self.bound {
            bound.exceeded = exceeded;
        }
        let same_model = self.frames.iter().all(|frame| frame.graph.model == self.model);
        (same_model && words.next().is_none()).then_some(())
    }

    /// How many ways are noted for later, if the search can be split here.
    pub(crate) fn left_to_do(&self) -> usize {
        if self.again { 0 } else { self.frames.iter().map(|frame| frame.work.len()).sum() }
    }

    /// Forgets every other way: the even or the odd ones. What comes of them all is what comes of both halves.
    pub(crate) fn forget_every_other(&mut self, even: bool) {
        let mut number = 0;
        for frame in &mut self.frames {
            frame.work.retain(|_| {
                number += 1;
                (number % 2 == 0) != even
            });
        }
    }

    /// Forgets all that was found, because it was found without knowing enough.
    pub(crate) fn begin_anew(&mut self) {
        self.frames = vec![self.fresh_frame()];
        self.begin_descents_anew();
        self.begun = false;
        self.again = false;
        self.assumed = false;
        self.vain.clear();
        self.places.unseen_writes = false;
        self.forget_exceeded();
    }

    /// A graph without events.
    pub(crate) fn fresh_frame(&self) -> Branch {
        Branch::new(self.model)
    }

    /// Counts graphs that exceed the bound from now on.
    pub(crate) fn forget_exceeded(&mut self) {
        if let Some(bound) = &mut self.bound {
            bound.exceeded = 0;
        }
    }

    /// Memory is freed.
    pub(crate) fn forget(&mut self, memory: &Range<usize>) {
        self.places.forget(memory);
    }

    /// Whether something wrote to memory that is accessed atomically, without being seen: code that is not instrumented, or the
    /// owner of the memory. What follows from that is not sure.
    pub(crate) fn is_unsure(&self) -> bool {
        self.places.unseen_writes
    }

    /// The memory model.
    pub(crate) fn model(&self) -> Model {
        self.model
    }

    pub(crate) fn graph(&self) -> &Graph {
        &self.frames.last().expect("an execution has a graph").graph
    }

    fn graph_mut(&mut self) -> &mut Graph {
        &mut self.frame_mut().graph
    }

    fn frame_mut(&mut self) -> &mut Branch {
        self.frames.last_mut().expect("an execution has a graph")
    }

    /// Takes the last frame away, to be used again.
    fn retire(&mut self) {
        let mut frame = self.frames.pop().expect("there is one");
        frame.graph.clear();
        frame.forget_points_beyond(0, &mut self.spare_kept);
        self.spare.push(frame);
    }

    /// Adds the event of some work. False if that is not consistent.
    fn add_otherwise(&mut self, work: &WorkItem) -> bool {
        let event = work.event;
        if let Access::Choose(_) = event.access {
            self.graph_mut().push(event, 0);
            return true;
        }
        if event.is_rmw() && !self.read_is_consistent(&event) {
            return false;
        }
        if let Some(taken) = self.taker(work) {
            self.note_revisits(&event, work.rank, Some(taken));
            return false;
        }
        if event.writes() {
            self.note_revisits(&event, work.rank, None);
        }
        let frame = self.frames.last_mut().expect("the work is of a frame");
        let id = frame.graph.push(event, work.rank);
        frame.graph.is_consistent(id, &mut self.scratch)
    }

    /// The read-modify-write that has taken what the event of some work wants to take: it would have to come later. Which ways that comes
    /// to is found out when the work is taken up, since there may be a great many.
    fn taker(&self, work: &WorkItem) -> Option<EventId> {
        let is_new = work.revisit.is_none() && work.event.is_rmw();
        if is_new { self.graph().rmw_successor(work.event.place, work.rank - 1) } else { None }
    }

    /// Takes out all that is noted on the latest graph, way by way.
    pub(crate) fn noted_ways(&mut self) -> Vec<WorkItem> {
        let noted = std::mem::take(&mut self.frame_mut().work);
        let whole = self.graph().clone();
        let mut ways = Vec::new();
        for work in noted.into_iter().rev() {
            self.graph_mut().truncate(work.at as usize);
            match self.taker(&work) {
                None => ways.push(work),
                Some(taken) => {
                    if self.read_is_consistent(&work.event) {
                        self.note_revisits(&work.event, work.rank, Some(taken));
                    }
                    ways.append(&mut self.frame_mut().work);
                }
            }
        }
        *self.graph_mut() = whole;
        ways.reverse();
        ways
    }

    /// Whether the event could be added if it only read.
    fn read_is_consistent(&mut self, event: &Event) -> bool {
        let ModelChecker { frames, scratch, .. } = self;
        let graph = &mut frames.last_mut().expect("there is a graph").graph;
        let id = graph.push(Event { written: None, ..*event }, 0);
        let consistent = graph.is_consistent(id, scratch);
        graph.truncate(id as usize);
        consistent
    }

    fn revisit(&mut self, work: &WorkItem, read: EventId) -> bool {
        let mut new = self.spare.pop().unwrap_or_else(|| self.fresh_frame());
        let frame = self.frames.last().expect("the work is of a frame");
        let (write, reader, rank) =
            frame.graph.revisit(&work.event, work.rank, read, &mut new.graph, &mut self.scratch);
        // As far as both graphs are the same, so are their executions.
        new.same = self.scratch.renamed.iter().take_while(|&&new| new != NONE).count();
        new.kept.extend(frame.kept.iter().take_while(|kept| kept.made <= new.same).cloned());
        if frame.work.is_empty() {
            // Nothing will be made of the old graph any more.
            new.same = new.same.min(frame.same);
            self.retire();
        }
        let consistent = new.graph.is_consistent(write, &mut self.scratch);
        self.frames.push(new);
        let ready = consistent && self.add_reader(reader, rank);
        if !ready && self.frames.last().is_some_and(|frame| frame.work.is_empty()) {
            self.retire();
        }
        ready
    }

    /// Adds the read that was revisited.
    fn add_reader(&mut self, reader: Event, rank: usize) -> bool {
        if !self.accepts(&reader, reader.read) {
            let reader = Event { waits: true, ..reader };
            let frame = self.frames.last_mut().expect("there is a graph");
            frame.graph.push(reader, rank);
            frame.given = frame.graph.len();
            return true;
        }
        if reader.is_rmw() {
            if !self.read_is_consistent(&reader) {
                return false;
            }
            self.note_revisits(&reader, rank, None);
        }
        let ModelChecker { frames, scratch, .. } = self;
        let frame = frames.last_mut().expect("there is a graph");
        let id = frame.graph.push(reader, rank);
        frame.given = frame.graph.len();
        frame.graph.is_consistent(id, scratch)
    }

    /// The thread whose event comes next, as long as the execution follows the graph.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<ThreadId> {
        let graph = &self.frames.last().expect("an execution has a graph").graph;
        if let Some(script) = &self.script {
            return script.schedule.threads.get(self.made).copied();
        }
        while let Some(event) = graph.events.get(self.made) {
            if !event.waits {
                return Some(event.thread);
            }
            self.made += 1;
        }
        None
    }

    /// Whether the thread can go on, once the execution has left the graph.
    pub(crate) fn can_go_on(&self, thread: ThreadId) -> bool {
        match self.waiting.get(usize::from(thread)) {
            Some(Some(event)) => self.accepts_newest(event, self.graph().waiting(thread)),
            _ => self.leader_awaited(thread).is_none(),
        }
    }

    /// The thread that must go on before all others, once the execution has left the graph: a read that lost its turn to a
    /// revisit takes the next write that it can go on with.
    pub(crate) fn must_go_on(&self) -> Option<ThreadId> {
        let graph = self.graph();
        if graph.waits == 0 {
            return None;
        }
        let ready = graph.by_stamp.iter().find(|&&id| {
            let event = graph.event(id);
            let wait = if event.waits { graph.waiting(event.thread) } else { None };
            wait == Some(id) && self.accepts_newest(event, wait)
        });
        ready.map(|&id| graph.event(id).thread)
    }

    /// Where the thread waits for another value.
    pub(crate) fn awaited(&self, thread: ThreadId) -> Option<usize> {
        self.places.address(self.wanted(thread)?.place)
    }

    /// An event of the execution.
    pub(crate) fn event(&self, id: EventId) -> &Event {
        self.graph().event(id)
    }

    /// Which writes the latest event had to do with, if it is the thread's and an access to this address. Writes are numbered
    /// by their events; what places held at first, from the other end.
    pub(crate) fn touched(&self, thread: ThreadId, address: usize) -> Option<Touched> {
        let (graph, id) = (self.graph(), self.made.checked_sub(1)? as EventId);
        let event = graph.event(id);
        if event.thread != thread || event.place == NONE || self.places.address(event.place) != Some(address)
        {
            return None;
        }
        let number = |write: EventId| if write == INIT { INIT - event.place } else { write };
        let before = || graph.at_rank(event.place, graph.rank(event.place, id) - 1);
        Some(Touched {
            order: event.order,
            read: event.reads().then(|| number(event.rf)),
            made: event.writes().then(|| [id, number(before())]),
        })
    }

    /// When the thread's latest event happened, and what of each thread had happened before it: how many events.
    pub(crate) fn moment(&self, thread: ThreadId) -> Option<(u32, Vec<u32>)> {
        let last = self.graph().last_of(thread)?;
        Some((self.event(last).po + 1, self.graph().happened_before(last).to_vec()))
    }

    /// How many events the execution has made.
    pub(crate) fn made(&self) -> usize {
        self.made
    }

    /// The number of the thread that `parent` makes next, having made `before`.
    pub(crate) fn child(&mut self, parent: ThreadId, before: u32) -> ThreadId {
        let known = self.children.iter().find(|child| (child.0, child.1) == (parent, before));
        if let Some(&(_, _, child)) = known {
            return child;
        }
        let child = self.children.len() as ThreadId + 1;
        self.children.push((parent, before, child));
        child
    }

    /// A thread was made, by the latest event. It goes after the latest thread that `alike` accepts, if its parent has done
    /// nothing but make threads since.
    pub(crate) fn spawned(&mut self, child: ThreadId, alike: impl Fn(ThreadId) -> bool) {
        if self.script.is_some() {
            return;
        }
        let graph = self.graph();
        let made = graph.event(self.made as EventId - 1);
        let before = graph.threads[usize::from(made.thread)][..made.po as usize].iter().rev();
        let siblings = before.map_while(|&id| match graph.event(id).access {
            Access::Spawn(thread) => Some(thread),
            _ => None,
        });
        let leader = siblings.into_iter().find(|&sibling| alike(sibling));
        self.graph_mut().set_leader(child, leader);
    }

    /// The thread that the thread, which is not the first of those that are alike, has to wait for.
    pub(crate) fn leader_awaited(&self, thread: ThreadId) -> Option<ThreadId> {
        let waits = !self.let_go.contains(&thread) && self.graph().is_held(thread);
        self.graph().leader(thread).filter(|_| waits)
    }

    /// Says which thread goes first of two that are alike, where no thread makes them.
    #[cfg(test)]
    pub(crate) fn set_leader(&mut self, thread: ThreadId, leader: ThreadId) {
        self.graph_mut().set_leader(thread, Some(leader));
    }

    /// The leader of the thread has ended.
    pub(crate) fn let_go(&mut self, thread: ThreadId) {
        self.let_go.push(thread);
    }

    /// Whether a thread that has ended did the same as its leader, but that went on.
    pub(crate) fn leader_went_on(&self, thread: ThreadId) -> bool {
        self.graph().ended_before_leader(thread)
    }

    /// Whether the latest spawn of the execution came before whatever the thread does next.
    pub(crate) fn spawns_in_order(&self, thread: ThreadId) -> bool {
        let graph = self.graph();
        let made = graph.events[..self.made].iter().rev();
        let latest = made.into_iter().find(|event| matches!(event.access, Access::Spawn(_)));
        let own = graph
            .threads
            .get(usize::from(thread))
            .and_then(|events| events.iter().rev().find(|&&id| (id as usize) < self.made).copied());
        match (latest, own) {
            (Some(latest), Some(own)) => covers(graph.prefix.row(own as usize), latest),
            _ => true,
        }
    }

    /// The event that made a thread.
    pub(crate) fn spawn_of(&self, thread: ThreadId) -> EventId {
        let spawn = |event: &Event| event.access == Access::Spawn(thread);
        self.graph().events.iter().position(spawn).map_or(NONE, |id| id as EventId)
    }

    /// The last event of a thread.
    pub(crate) fn last_of(&self, thread: ThreadId) -> EventId {
        self.graph().last_of(thread).unwrap_or(NONE)
    }

    /// A thread takes its turn.
    pub(crate) fn request(&mut self, request: &Request) -> Answer {
        let found = match request.memory {
            None => {
                self.places.leave_alone();
                None
            }
            Some(at) => match self.places.find(at.address, at.size, at.value) {
                Some(found) => {
                    if found.first {
                        let init = at.value.unwrap_or(0);
                        if self.graph().is_used(found.place) && self.graph().init(found.place) != init {
                            return Answer::Diverged;
                        }
                        self.graph_mut().set_init(found.place, init);
                    }
                    Some(found)
                }
                None => return Answer::MixedSize,
            },
        };
        let answered = match self.turn() {
            Some(_) if self.script.is_some() => self.obey(request, found),
            Some(_) => self.follow(request, found),
            None => self.add(request, found),
        };
        match answered {
            Ok(id) => self.done(id, found),
            Err(answer) => answer,
        }
    }

    /// The execution follows the graph.
    fn follow(&mut self, request: &Request, found: Option<Found>) -> Result<EventId, Answer> {
        let event = &self.graph().events[self.made];
        let same = event.thread == request.thread
            && event.access == request.access
            && event.place == found.map_or(NONE, |found| found.place);
        if !same {
            return Err(Answer::Diverged);
        }
        self.made += 1;
        Ok(self.made as EventId - 1)
    }

    /// The execution follows a script.
    fn obey(&mut self, request: &Request, found: Option<Found>) -> Result<EventId, Answer> {
        let mut event = Event::of(request, found);
        let mut rank = 0;
        if let (Access::Choose(ways), Some(script)) = (request.access, &mut self.script) {
            let way = script.schedule.mo_offsets.get(script.looked_back).copied().unwrap_or(0);
            script.looked_back += 1;
            if way >= ways {
                return Err(Answer::Diverged);
            }
            event.read = way.into();
        }
        if let (Some(found), Some(script)) = (found, &mut self.script)
            && request.access != Access::Drop
        {
            let back = script.schedule.mo_offsets.get(script.looked_back).copied().unwrap_or(0);
            script.looked_back += 1;
            let newest = self.graph().co(found.place).len();
            rank = newest.checked_sub(back.into()).ok_or(Answer::Diverged)? + 1;
            if let Access::Store(value) = request.access {
                event.written = Some(value);
            } else {
                let source = self.graph().at_rank(found.place, rank - 1);
                let value = self.graph().value(found.place, source);
                if !event.access.accepts(value) {
                    return Err(Answer::Diverged);
                }
                event.set_source(source, value);
            }
        }
        self.made += 1;
        Ok(self.graph_mut().push(event, rank))
    }

    fn done(&mut self, id: EventId, found: Option<Found>) -> Answer {
        let graph = &self.frames.last().expect("an execution has a graph").graph;
        let event = graph.event(id);
        let write = match (event.written, found) {
            (Some(value), Some(found)) => {
                let comes_after = |other| graph.rank(found.place, id) > graph.rank(found.place, other);
                self.places.written(found.slot, id, value, comes_after).then_some(value)
            }
            _ => None,
        };
        Answer::Done { id, read: event.read, write }
    }

    /// The execution has left the graph: adds an event.
    fn add(&mut self, request: &Request, found: Option<Found>) -> Result<EventId, Answer> {
        let wait = self.graph().waiting(request.thread);
        let event = Event::of(request, found);
        if self.graph().tells_apart(&event) {
            return Err(Answer::Asymmetric);
        }
        if let Some(waiting) = self.waiting.get_mut(usize::from(request.thread)) {
            *waiting = None;
        }
        let id = if request.access.reads() {
            self.add_read(event, wait)
        } else if let Access::Store(value) = request.access {
            Some(self.add_write(Event { written: Some(value), ..event }))
        } else if let Access::Choose(ways) = request.access {
            (1..u64::from(ways)).for_each(|way| self.note(Event { read: way, ..event }, 0, None));
            Some(self.graph_mut().push(event, 0))
        } else {
            Some(self.graph_mut().push(event, 0))
        };
        self.made = self.graph().len();
        id.ok_or(Answer::Waits)
    }

    fn add_write(&mut self, event: Event) -> EventId {
        let graph = self.graph();
        let (floor, top) = (graph.floor(event.thread, event.place), graph.co(event.place).len());
        for rank in floor + 1..=top {
            if self.graph().rmw_successor(event.place, rank - 1).is_none() {
                self.note(event, rank, None);
            }
        }
        self.note_revisits(&event, top + 1, None);
        self.graph_mut().push(event, top + 1)
    }

    /// None if the thread has to wait.
    fn add_read(&mut self, mut event: Event, wait: Option<EventId>) -> Option<EventId> {
        let place = event.place;
        let graph = self.graph();
        let (newest, value) = (graph.newest(place), graph.newest_value(place));
        if !self.accepts_newest(&event, wait) {
            let thread = usize::from(event.thread);
            if self.waiting.len() <= thread {
                self.waiting.resize(thread + 1, None);
            }
            self.waiting[thread] = Some(event);
            return None;
        }
        self.note_other_sources(event, wait);
        event.set_source(newest, value);
        let rank = self.graph().co(place).len() + 1;
        if event.writes() {
            self.note_revisits(&event, rank, None);
        }
        Some(self.graph_mut().push(event, rank))
    }

    /// Notes the writes that an event could read instead of the newest.
    fn note_other_sources(&mut self, mut event: Event, wait: Option<EventId>) {
        let place = event.place;
        let graph = self.graph();
        let (floor, top) = (graph.floor(event.thread, place), graph.co(place).len());
        for rank in floor..top {
            let graph = self.graph();
            let write = graph.at_rank(place, rank);
            let value = graph.value(place, write);
            // What there was when the read was revisited was looked at before.
            let old = wait.is_some_and(|wait| write == INIT || write < wait || !graph.may_take(wait, write));
            if old || !self.accepts(&event, value) {
                continue;
            }
            event.set_source(write, value);
            self.note(event, rank + 1, None);
        }
    }

    /// The newest event gave up the last handle of its place, and what its thread is about to do would be another thread's to
    /// do if that had been last. Notes the others that could be. False if the event was known as one that is not the last.
    pub(crate) fn is_last_drop(&mut self, drop: EventId) -> bool {
        let event = *self.graph().event(drop);
        if event.is_last_drop() || self.script.is_some() {
            return true;
        }
        if (drop as usize) < self.begun_with || drop as usize + 1 != self.graph().len() {
            return false;
        }
        let mut prefix = std::mem::take(&mut self.prefix);
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.graph().other_last_drops(drop, &mut prefix, &mut found);
        let frame = self.frames.last_mut().expect("an execution has a graph");
        frame.truncate(drop as usize, &mut self.spare_kept);
        for &other in &found {
            self.note(Event { stamp: NONE, ..event }, 0, Some(other));
        }
        self.graph_mut().push(Event { stamp: NONE, ..event.as_drop(true) }, 0);
        self.prefix = prefix;
        self.found = found;
        true
    }

    /// Nobody can go on. Looks at what the threads that wait could have done earlier: one of them, and the others only if those
    /// before it did not, so that no execution is met twice.
    pub(crate) fn enumerate_blocked_reads(&mut self) {
        for mut event in self.waiting.clone().into_iter().flatten() {
            let wait = self.graph().waiting(event.thread);
            self.note_other_sources(event, wait);
            let graph = self.graph_mut();
            event.set_source(graph.newest(event.place), graph.newest_value(event.place));
            graph.push(Event { waits: true, ..event }, 0);
        }
        self.made = self.graph().len();
    }

    /// Whether the byte belongs to a place that is accessed atomically.
    pub(crate) fn is_place(&self, address: usize) -> bool {
        self.places.covers(address)
    }

    /// Removes all but the first events, and the work that the current execution noted on the others.
    fn take_back(&mut self, len: usize) {
        let own = len.max(self.begun_with);
        let frame = self.frames.last_mut().expect("an execution has a graph");
        frame.truncate(len, &mut self.spare_kept);
        while frame.work.last().is_some_and(|work| work.at as usize >= own) {
            frame.work.pop();
        }
    }

    /// Whether the execution has left the graph.
    pub(crate) fn is_beyond(&mut self) -> bool {
        self.turn().is_none()
    }

    /// What the thread does next, if the graph says so.
    pub(crate) fn next_event_of(&self, thread: ThreadId) -> Option<Access> {
        let rest = self.graph().events.get(self.made..)?;
        rest.iter().find(|event| event.thread == thread && !event.waits).map(|event| event.access)
    }

    /// The number of the thread's next event within the thread.
    pub(crate) fn next_of(&self, thread: ThreadId) -> u32 {
        match &self.script {
            None if self.made < self.graph().len() => self.graph().events[self.made].po,
            _ => self.graph().events_of(thread),
        }
    }

    /// Notes the revisits of an event that is about to be added.
    fn note_revisits(&mut self, event: &Event, rank: usize, taken: Option<EventId>) {
        let mut prefix = std::mem::take(&mut self.prefix);
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let graph = self.graph();
        graph.prefix_of_next(event.thread, event.rf, &mut prefix);
        if taken.is_none_or(|taken| !covers(&prefix, graph.event(taken))) {
            graph.revisits(event, &prefix, rank, taken, &mut found);
        }
        for &read in &found {
            self.note(*event, rank, Some(read));
        }
        self.prefix = prefix;
        self.found = found;
    }

    fn note(&mut self, event: Event, rank: usize, revisit: Option<EventId>) {
        let frame = self.frames.last_mut().expect("an execution has a graph");
        frame.work.push(WorkItem { at: frame.graph.len() as u32, event, rank, revisit });
    }
}
