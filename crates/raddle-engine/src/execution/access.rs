//! Checks of memory accesses: whether the memory is allocated, and whether another access races.

use super::race_detector::RaceDetector;
use super::{Engine, Outcome};
use crate::detect::fault::{Access, AccessKind, Fault};
use crate::detect::race::{Calls, Earlier, Epoch};
use crate::isolate::heap::{self, Block, Record, Refusal};
use crate::location_table::MemoryLocation;
use crate::op::{Caller, ThreadId};
use crate::platform::global::{GLOBAL, Global};
use crate::platform::stack::{self, SlotStack};
use crate::platform::unwind::CallFrame;
use crate::site::{PlainAccessCounter, Site};
use crate::trace::Action;

/// The part of a block that is cleared for snapshots: more is not shown of an object, and large blocks are rarely touched as a whole.
const MOST_CLEARED: usize = 1 << 16;

/// The filter of suppressed races: whether a race at these return addresses is not reported.
pub type Suppress = Box<dyn FnMut(&[usize]) -> bool>;

impl Engine {
    /// Clears the race detector for a new execution.
    pub(super) fn forget_accesses(&mut self) {
        if let Some(detector) = &mut self.exploration.detector {
            detector.races.begin();
            detector.sent = 0;
        }
    }

    /// Checks that the memory of an atomic access of the current thread is allocated. Returns the time of the access,
    /// which the access itself may advance.
    #[inline(always)]
    pub(crate) fn reach(&mut self, location: MemoryLocation, kind: AccessKind) -> u32 {
        if heap::is_freed(location.address) {
            self.use_after_free(location.address, location.size.into(), kind);
        }
        self.now()
    }

    /// Checks an atomic access of the current thread, begun at `time`, for races. Those of the standard library are
    /// trusted, because parts of it are not instrumented.
    #[inline(always)]
    pub(crate) fn accessed(
        &mut self,
        location: MemoryLocation,
        site: Site,
        kind: AccessKind,
        caller: Caller,
        time: u32,
    ) {
        if self.exploration.detector.is_some()
            && matches!(site, Site::User | Site::Merged | Site::ExpandedRmw | Site::MarkedCount)
        {
            let (address, size) = (location.address, location.size.into());
            let access = Access { thread: self.execution.current, address, size, kind };
            if let (Some(owner), Some(detector)) = (stack::owner(address), &mut self.exploration.detector)
                && owner != usize::from(self.execution.current)
            {
                detector.share(address, size);
            }
            self.check_races(access, caller, time, heap::record_of(address));
        }
    }

    /// Whether the execution must be repeated: a thread accessed memory of another whose own accesses were not recorded, threads
    /// were left whose stacks were not cleared before, or clocks were not kept that may order two accesses.
    pub(crate) fn must_be_repeated(&mut self) -> bool {
        let detector = self.exploration.detector.as_mut();
        let found_sharing = detector.is_some_and(|detector| std::mem::take(&mut detector.has_found_sharing));
        let left_threads = std::mem::take(&mut self.exploration.left_threads_first);
        let must_be_repeated = found_sharing || left_threads || self.lacks_clocks();
        if must_be_repeated {
            // Checkpoints lack the accesses or clocks, and their stacks are not clear.
            self.forget_checkpoints();
        }
        must_be_repeated
    }

    /// A plain access of the current thread.
    #[inline(always)]
    pub(crate) fn plain_access(&mut self, address: usize, size: usize, kind: AccessKind, caller: Caller) {
        // A record must not depend on how often the code has run before.
        if PlainAccessCounter::count(caller.pc, self.exploration.trace.is_some())
            && matches!(self.classify(caller.pc).site, Site::ThreadBookkeeping | Site::ExpandedRmw)
        {
            return PlainAccessCounter::set_no_concern(caller.pc);
        }
        let mut record = None;
        if let Some(owner) = stack::owner(address) {
            // Memory of stacks cannot be freed.
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
            match kind {
                AccessKind::Write => self.announce_write(address, size),
                _ => self.record_announced_write(None),
            }
        }
        if self.exploration.detector.is_some() {
            let time = self.now();
            let access = Access { thread: self.execution.current, address, size, kind };
            self.check_races(access, caller, time, record);
        }
    }

    /// The current thread frees a block: checks for races, and drops the histories of its locations.
    pub(crate) fn freeing(&mut self, address: usize) {
        let Some(record) = heap::record_of(address) else { return };
        let block = record.block();
        if block.start != address {
            return;
        }
        if self.exploration.trace.is_some() {
            self.record_announced_write(None);
            self.exploration.trace.iter_mut().for_each(|trace| trace.has_freed(address));
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
            // Snapshots must not depend on what the memory held in an earlier execution. The address is null where there was no room.
            if address != 0 {
                // SAFETY: a block of at least this size, which nothing uses yet.
                unsafe { std::ptr::write_bytes(address as *mut u8, 0, size.min(MOST_CLEARED)) };
            }
            self.record_block(Action::Allocate { address, size });
        }
    }

    /// The current thread frees an address that is no live block.
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

    /// Ends the trace of an execution that a signal ended with the crash. Called when the thread has stopped.
    pub(super) fn record_crash(&mut self) {
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

    /// Records an access, and stops the execution if it races. `record` is that of the block at the address.
    #[inline(always)]
    fn check_races(&mut self, access: Access, caller: Caller, time: u32, mut record: Option<&mut Record>) {
        while let Err((earlier, calls)) = self.record_access(access, caller, time, record.as_deref_mut()) {
            if !self.race(earlier, access, calls) {
                return;
            }
        }
    }

    /// Records an access of the current thread. The error is the access that it races with, and the calls of the access
    /// itself.
    #[inline(always)]
    fn record_access(
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
            // An allocation is a write of the whole block. The allocating thread's accesses need no record before it
            // releases anything: a thread that knows of the allocation knows of them, too.
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
        let epoch = Epoch { thread: me, time };
        let noted = detector.races.access(address, size, kind, epoch, knows, calls);
        noted.map_err(|earlier| (earlier, calls()))
    }

    /// Reports a race, or returns if it is suppressed, or if clocks that are not kept may order the accesses: true if the second access must
    /// be recorded once more.
    #[cold]
    #[inline(never)]
    fn race(&mut self, earlier: Earlier, second: Access, calls: Calls) -> bool {
        if !self.keeps_clocks() {
            self.need_all_clocks();
            self.repeat_at_once();
            return false;
        }
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
        // An atomic access has been recorded as an event.
        if !second.kind.is_atomic() {
            let Access { address, size, kind, .. } = second;
            self.record_watched(address, size, kind);
        }
        self.stop(Outcome::Fault(Fault::DataRace { first: earlier.access, second, block }))
    }

    /// Whether a plain read belongs to a read-modify-write that the compiler expanded into a loop: the compare-exchange
    /// that follows is the access.
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

    /// Records a plain access to bytes that explain a failure.
    #[cold]
    fn record_watched(&mut self, address: usize, size: usize, kind: AccessKind) {
        let Some(trace) = &self.exploration.trace else { return };
        let bytes = &trace.watch.bytes;
        let (start, end) = (address.max(bytes.start), (address + size).min(bytes.end));
        // A free is recorded as a whole, elsewhere.
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

/// Visits the frames from a call outwards, by frame pointers, as long as `visit` returns true. In code without frame
/// pointers the walk ends early or goes astray, but never leaves the stack.
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

/// Whether the memory is the engine's own. Generic parts of the engine are compiled with the program, and instrumented.
#[inline(always)]
fn is_of_engine(address: usize) -> bool {
    let own = (&raw const GLOBAL).addr();
    address.wrapping_sub(own) < size_of::<Global>() || heap::is_of_engine(address)
}
