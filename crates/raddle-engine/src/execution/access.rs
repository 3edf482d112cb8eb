//! What accesses to memory mean besides their effect: whether the memory is there, and whether another access races.

use std::collections::HashMap;

use super::{Engine, Outcome};
use crate::detect::fault::{Access, AccessKind, Fault};
use crate::detect::race::{self, Calls, Earlier, Moment, Races};
use crate::graph::event::{Access as Step, Event, EventId};
use crate::happens_before::sync::{Message, Sync};
use crate::isolate::heap::{self, Block, Record, Refusal};
use crate::location_table::MemoryLocation;
use crate::op::{Caller, Order, ThreadId};
use crate::platform::global::{GLOBAL, Global, LINE, LINES};
use crate::platform::stack::{self, SlotStack};
use crate::platform::unwind::CallFrame;
use crate::site::{PlainAccessCounter, Site};
use crate::trace::Action;

/// What is needed to look for data races.
#[derive(Debug, Default)]
pub(crate) struct RaceDetector {
    pub(crate) races: Races,
    /// Whether a thread has accessed a line of another's stack or thread-locals in which the owner's accesses were not noted before.
    /// Then a race may have been missed, and the execution is made again.
    learned: bool,
    /// Whether races at a code address are none of the user's concern, by what was said of it before.
    suppressed: HashMap<Calls, bool>,
    /// What each event of an execution graph hands on, and the latest event and its time: graphs do not contain all that
    /// orders accesses (counts of references), so that clocks are kept beside them.
    messages: Vec<Sent>,
    /// How many messages belong to the current execution; the memory of the rest is kept.
    sent: usize,
    /// The number of the latest message of all executions.
    number: u64,
    latest: Option<(Event, u32)>,
}

/// What an event hands on.
#[derive(Debug, Default)]
struct Sent {
    /// Tells messages apart that are not empty; 0 for those that are.
    number: u64,
    message: Message,
}

/// What is known of the accesses that an execution has made so far.
#[derive(Debug, Default)]
pub(crate) struct Accesses {
    races: race::SoFar,
    messages: Vec<Sent>,
    sent: usize,
}

/// Says whether races at these return addresses are not to be reported.
pub type Suppress = Box<dyn FnMut(&[usize]) -> bool>;

impl Engine {
    /// Begins an execution.
    pub(crate) fn forget_accesses(&mut self) {
        if let Some(detector) = &mut self.exploration.detector {
            detector.races.begin();
            detector.sent = 0;
        }
    }

    /// The current thread reaches an atomic access: the memory must be there. Returns the time of the access, which the
    /// access itself may advance.
    #[inline(always)]
    pub(crate) fn reach(&mut self, place: MemoryLocation, kind: AccessKind) -> u32 {
        if heap::is_freed(place.address) {
            self.use_after_free(place.address, place.size.into(), kind);
        }
        self.now()
    }

    /// The current thread has made an atomic access that began at `time`. Those of the standard library are right, whatever
    /// parts of it are not seen.
    #[inline(always)]
    pub(crate) fn accessed(
        &mut self,
        place: MemoryLocation,
        site: Site,
        kind: AccessKind,
        caller: Caller,
        time: u32,
    ) {
        if self.exploration.detector.is_some()
            && matches!(site, Site::User | Site::Merged | Site::ExpandedRmw | Site::MarkedCount)
        {
            let (address, size) = (place.address, place.size.into());
            let access = Access { thread: self.execution.current, address, size, kind };
            if let (Some(owner), Some(detector)) = (stack::owner(address), &mut self.exploration.detector)
                && owner != usize::from(self.execution.current)
            {
                detector.share(address, size);
            }
            self.look_for_races(access, caller, time, heap::record_of(address));
        }
    }

    /// Whether the execution has to be made again, because accesses of threads to their own stacks were not noted that another thread
    /// turned out to share.
    pub(crate) fn has_learned_of_sharing(&mut self) -> bool {
        let learned =
            self.exploration.detector.as_mut().is_some_and(|detector| std::mem::take(&mut detector.learned));
        if learned {
            // Executions that begin at checkpoints lack these accesses, too.
            self.forget_checkpoints();
        }
        learned
    }

    /// The current thread makes a plain access.
    #[inline(always)]
    pub(crate) fn plain_access(&mut self, address: usize, size: usize, kind: AccessKind, caller: Caller) {
        if PlainAccessCounter::count(caller.pc)
            && matches!(self.classify(caller.pc).site, Site::ThreadBookkeeping | Site::ExpandedRmw)
        {
            return PlainAccessCounter::set_no_concern(caller.pc);
        }
        let mut record = None;
        if let Some(owner) = stack::owner(address) {
            // Nothing else can be wrong with it.
            let Some(detector) = &mut self.exploration.detector else { return };
            if owner != usize::from(self.execution.current) {
                detector.share(address, size);
            } else if RaceDetector::is_private(address, size) {
                return;
            }
        } else {
            record = heap::record_of(address);
            if record.as_ref().is_some_and(|record| record.is_freed_at(address)) {
                self.use_after_free(address, size, kind);
            }
        }
        if is_of_engine(address) {
            return;
        }
        if self.exploration.trace.is_some() {
            self.record_watched(address, size, kind);
        }
        if self.exploration.detector.is_some() {
            let time = self.now();
            let access = Access { thread: self.execution.current, address, size, kind };
            self.look_for_races(access, caller, time, record);
        }
    }

    /// The current thread frees a block: whatever it held is over for everybody.
    pub(crate) fn freeing(&mut self, address: usize) {
        let Some(record) = heap::record_of(address) else { return };
        let block = record.block();
        if block.start != address {
            return;
        }
        if self.exploration.trace.is_some() {
            self.record_block(Action::Free { address });
        }
        let me = self.execution.current;
        let (detector, memory) = (&mut self.exploration.detector, &mut self.execution.memory);
        if let Some(detector) = detector
            && let Some(memory) = memory
        {
            let bytes = block.start..block.start + block.size;
            let clock = &memory.sync.view(me).clock;
            let users = record.users;
            let used_by = |thread| users.may_contain(thread);
            let knows = |thread: ThreadId, time| clock.knows(thread, time);
            if let Err(earlier) = detector.races.free(bytes, me, used_by, knows) {
                let access = Access { address, size: block.size, thread: me, kind: AccessKind::Free };
                self.race(earlier, access, [0; 4]);
            }
        }
        let bytes = block.start..block.start + block.size;
        self.free(&bytes);
        if let Some(memory) = &mut self.execution.memory {
            memory.forget(bytes);
        }
    }

    /// The current thread has allocated a block.
    pub(crate) fn allocated(&mut self, address: usize, size: usize) {
        if self.exploration.detector.is_some()
            && let Some(record) = heap::record_of(address)
        {
            record.set_allocated_at(self.now());
        }
        if self.exploration.trace.is_some() {
            self.record_block(Action::Allocate { address, size });
        }
    }

    /// The current thread frees what is no live block.
    pub(crate) fn bad_free(&mut self, address: usize, refusal: Refusal) -> ! {
        self.record(|| Action::Free { address });
        let thread = self.execution.current;
        let block = heap::block_of(address);
        self.stop(Outcome::Fault(match (refusal, block) {
            (Refusal::Free, Some(block)) => Fault::DoubleFree { thread, block },
            _ => Fault::InvalidFree { thread, address, block },
        }))
    }

    /// Whether an address cannot be that of a heap block: it lies on a stack, among thread-locals or in the program.
    pub(crate) fn is_no_block(&self, address: usize) -> bool {
        stack::owner(address).is_some()
            || self.threads[..self.execution.alive].iter().any(|t| t.stack.contains(address))
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn use_after_free(&mut self, address: usize, size: usize, kind: AccessKind) -> ! {
        self.record(|| Action::Access { address, size, kind });
        let access = Access { thread: self.execution.current, address, size, kind };
        let block = heap::block_of(address).expect("freed memory belongs to a block");
        self.stop(Outcome::Fault(Fault::UseAfterFree { access, block }))
    }

    /// Lets the trace of an execution that a signal ended tell where: called when the thread has stopped.
    pub(crate) fn record_crash(&mut self) {
        let Some(caller) = self.execution.crashed_at.take().filter(|_| self.exploration.trace.is_some())
        else {
            return;
        };
        let action = match &self.execution.outcome {
            Some(Outcome::Fault(Fault::UseAfterFree { access, .. })) => {
                Action::Access { address: access.address, size: access.size, kind: access.kind }
            }
            Some(Outcome::Crash { signal, .. }) => Action::Signal { signal: *signal },
            _ => return,
        };
        let mut stack = Vec::new();
        walk(caller, self.current().stack, |pc, fp| {
            stack.push(CallFrame { return_address: pc, frame_pointer: fp });
            stack.len() < 64
        });
        let (thread, links) = (self.execution.current, self.links(&action));
        if let Some(trace) = &mut self.exploration.trace {
            trace.record(thread, action, stack, None, links, false);
        }
    }

    #[inline(always)]
    fn now(&self) -> u32 {
        match (&self.exploration.detector, &self.execution.memory) {
            (Some(_), Some(memory)) => memory.sync.now(self.execution.current),
            _ => 0,
        }
    }

    /// `record` is that of the block at the address.
    #[inline(always)]
    fn look_for_races(&mut self, access: Access, caller: Caller, time: u32, mut record: Option<&mut Record>) {
        while let Err((earlier, calls)) = self.note_access(access, caller, time, record.as_deref_mut()) {
            if !self.race(earlier, access, calls) {
                return;
            }
        }
    }

    /// Notes an access of the current thread, or says what it races with and where it is made.
    #[inline(always)]
    fn note_access(
        &mut self,
        Access { thread: me, address, size, kind }: Access,
        caller: Caller,
        time: u32,
        record: Option<&mut Record>,
    ) -> Result<(), (Earlier, Calls)> {
        let (Some(detector), Some(memory)) = (&mut self.exploration.detector, &mut self.execution.memory)
        else {
            return Ok(());
        };
        let threads = &self.threads;
        let clock = &memory.sync.view(me).clock;
        let knows = |thread: ThreadId, time: u32| clock.knows(thread, time);
        let calls = || calls(caller, threads[usize::from(me)].stack);
        if let Some(record) = record {
            let (owner, since) = (record.allocated_by(), record.allocated_at());
            // An allocation is a write of the whole block. What its thread does to it before it hands anything on needs no note:
            // whoever knows of the allocation knows of that, too.
            if owner == me && since == time {
                return Ok(());
            }
            record.users.add(me);
            if owner != me && !knows(owner, since) {
                let Block { start, size, .. } = record.block();
                let access = Access { thread: owner, address: start, size, kind: AccessKind::Write };
                return Err((Earlier { access, calls: [0; 4] }, calls()));
            }
        }
        let moment = Moment { thread: me, time };
        let noted = detector.races.access(address, size, kind, moment, knows, calls);
        noted.map_err(|earlier| (earlier, calls()))
    }

    /// Two accesses race. Returns if that is not to be reported: true if the second one has to be noted once more.
    #[cold]
    #[inline(never)]
    fn race(&mut self, earlier: Earlier, second: Access, calls: Calls) -> bool {
        if second.kind == AccessKind::Read && self.is_half_of_rmw(calls) {
            return false;
        }
        if earlier.access.kind == AccessKind::Read && self.is_half_of_rmw(earlier.calls) {
            if let Some(detector) = &mut self.exploration.detector {
                detector.races.forget(&earlier);
            }
            return true;
        }
        if self.is_suppressed(earlier.calls) || self.is_suppressed(calls) {
            return false;
        }
        let block = heap::block_of(earlier.access.address);
        // An atomic access that races has been recorded as what it is.
        if !second.kind.is_atomic() {
            let Access { address, size, kind, .. } = second;
            self.record_watched(address, size, kind);
        }
        self.stop(Outcome::Fault(Fault::DataRace { first: earlier.access, second, block }))
    }

    /// Whether a plain read belongs to a read-modify-write that the compiler made a loop: the exchange that follows is the access.
    fn is_half_of_rmw(&mut self, calls: Calls) -> bool {
        let pc = GLOBAL.text_start.get() + calls[0] as usize;
        let is_half = calls[0] != 0 && self.classify(pc).site == Site::ExpandedRmw;
        if is_half {
            PlainAccessCounter::set_no_concern(pc);
        }
        is_half
    }

    fn is_suppressed(&mut self, calls: Calls) -> bool {
        let Some(detector) = &self.exploration.detector else { return false };
        if let Some(&known) = detector.suppressed.get(&calls) {
            return known;
        }
        let start = GLOBAL.text_start.get();
        let addresses: Vec<usize> =
            calls.iter().take_while(|&&call| call != 0).map(|&call| start + call as usize).collect();
        let suppressed = self.on_explorer(|engine| {
            engine.exploration.suppress.as_mut().is_some_and(|suppress| suppress(&addresses))
        });
        if let Some(detector) = &mut self.exploration.detector {
            detector.suppressed.insert(calls, suppressed);
        }
        suppressed
    }

    /// Records a plain access that belongs to what is being explained.
    #[cold]
    fn record_watched(&mut self, address: usize, size: usize, kind: AccessKind) {
        let Some(trace) = &self.exploration.trace else { return };
        let bytes = &trace.watch.bytes;
        let (start, end) = (address.max(bytes.start), (address + size).min(bytes.end));
        // What is freed, is freed as a whole, and recorded as that.
        if start < end && kind != AccessKind::Free {
            self.record(|| Action::Access { address: start, size: end - start, kind });
        }
    }

    fn record_block(&mut self, action: Action) {
        if let Some(trace) = &self.exploration.trace
            && action.address().is_some_and(|address| trace.watch.blocks.contains(&address))
        {
            self.record(|| action);
        }
    }
}

impl Sent {
    /// Makes the first of the others the same. Most often they are, because executions begin alike.
    fn copy(messages: &[Sent], others: &mut Vec<Sent>) {
        if others.len() < messages.len() {
            others.resize_with(messages.len(), Sent::default);
        }
        for (other, sent) in others.iter_mut().zip(messages) {
            if other.number != sent.number {
                other.number = sent.number;
                other.message.clone_from(&sent.message);
            }
        }
    }
}

impl RaceDetector {
    /// Follows an event of an execution graph, which the latest thread has made: clocks are kept beside the graph.
    pub(crate) fn follow(&mut self, id: EventId, event: Event, sync: &mut Sync) {
        let (thread, order) = (event.thread, event.order);
        self.latest = Some((event, sync.now(thread)));
        // Some events are only notes, and send nothing.
        let next = id as usize + 1;
        if self.messages.len() < next {
            self.messages.resize_with(next, Sent::default);
        }
        for sent in &mut self.messages[self.sent..next] {
            sent.number = 0;
            sent.message.clear();
        }
        self.sent = next;
        self.number += 1;
        let (before, Sent { number, message }) = match &mut self.messages[..next] {
            [before @ .., last] => (before, last),
            [] => return,
        };
        *number = self.number;
        let source = before.get(event.rf as usize).map(|source| &source.message);
        match event.access {
            // It is followed where it is made, whether it is an event or not.
            Step::Fence | Step::Begin | Step::TimedOut => {}
            // Time orders nothing in memory.
            Step::ReadCompletions => {}
            Step::Spawn(child) => sync.spawn(thread, child),
            Step::Join(other) => sync.join(thread, other),
            Step::LeaveScope => sync.store(thread, Order::Release, message),
            Step::EndScope(_) | Step::Woken => {
                source.into_iter().for_each(|source| sync.load(thread, Order::Acquire, source))
            }
            _ if event.written.is_none() => {
                source.into_iter().for_each(|from| sync.load(thread, order, from))
            }
            Step::Store(_) => sync.store(thread, order, message),
            _ => {
                source.into_iter().for_each(|source| message.clone_from(source));
                sync.rmw(thread, order, message);
            }
        }
    }

    /// The latest event of an execution graph, and the time of its thread before it.
    pub(crate) fn latest(&self) -> Option<(Event, u32)> {
        self.latest
    }

    /// Says what is known now.
    pub(crate) fn so_far(&mut self, known: &mut Accesses) {
        self.races.so_far(&mut known.races);
        Sent::copy(&self.messages[..self.sent], &mut known.messages);
        known.sent = self.sent;
    }

    /// The execution, which has just begun, has made the accesses that are known.
    pub(crate) fn take_up(&mut self, known: &Accesses) {
        self.races.take_up(&known.races);
        Sent::copy(&known.messages[..known.sent], &mut self.messages);
        self.sent = known.sent;
    }

    /// Whether an access of a thread to its own stack cannot race: no other thread has accessed these lines in any execution of the
    /// search.
    #[inline(always)]
    fn is_private(address: usize, size: usize) -> bool {
        let (first, last) = (Global::line(address), Global::line(address + size - 1));
        if first == last {
            return !GLOBAL.shared_lines[first].get();
        }
        !lines(address, size).any(|line| GLOBAL.shared_lines[line].get())
    }

    /// A thread accesses the memory of another.
    #[inline(always)]
    fn share(&mut self, address: usize, size: usize) {
        // An announced access is looked up by the line in which it begins.
        let begin = address - (MOST_ANNOUNCED - 1);
        for line in lines(begin, address + size - begin) {
            self.learned |= !GLOBAL.shared_lines[line].replace(true);
        }
    }

    /// Begins a search, in which everything counts as shared, or nothing until it is known of.
    pub(crate) fn begin_sharing(everything: bool) {
        GLOBAL.shared_lines.iter().for_each(|line| line.set(everything));
    }
}

/// The most bytes that are announced as one access of a fixed size.
const MOST_ANNOUNCED: usize = 16;

/// The numbers of the lines in which so many bytes lie.
#[inline(always)]
fn lines(address: usize, size: usize) -> impl Iterator<Item = usize> {
    let all = address >> LINE..=(address + size - 1) >> LINE;
    all.map(|line| line % LINES)
}

/// The innermost calls around an access.
fn calls(caller: Caller, stack: SlotStack) -> Calls {
    let text = GLOBAL.text_start.get()..GLOBAL.text_start.get() + GLOBAL.text_len.get();
    let mut calls = [0; 4];
    let mut known = 0;
    walk(caller, stack, |pc, _| {
        let is_known = text.contains(&pc);
        if is_known {
            calls[known] = (pc - text.start) as u32;
            known += 1;
        }
        is_known && known < calls.len()
    });
    calls
}

/// Visits the frames from a call outwards, by frame pointers, as long as `visit` wants more. Code without them makes the walk
/// end early or go astray, but never leave the stack.
fn walk(caller: Caller, stack: SlotStack, mut visit: impl FnMut(usize, usize) -> bool) {
    let (mut pc, mut fp) = (caller.pc, caller.fp);
    let mut frames = stack.bottom()..stack.top() - 16;
    while visit(pc, fp) && frames.contains(&fp) && fp % 8 == 0 {
        frames.start = fp + 1;
        // SAFETY: within a stack, all of which is mapped.
        unsafe {
            pc = *((fp + 8) as *const usize);
            fp = *(fp as *const usize);
        }
    }
}

/// Whether the memory is the engine's own: parts of it are compiled with the program, because they are generic.
#[inline(always)]
fn is_of_engine(address: usize) -> bool {
    let own = (&raw const GLOBAL).addr();
    address.wrapping_sub(own) < size_of::<Global>() || heap::is_of_engine(address)
}
