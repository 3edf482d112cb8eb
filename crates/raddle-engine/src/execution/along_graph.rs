//! Executions of the exhaustive search: they follow an execution graph, and then add to it.
//!
//! Threads still pause before each step, but who goes on is said by the graph; and what a read sees is said by the graph, not
//! by memory, which always holds the newest value of each place.

use std::mem;
use std::ops::{Range, RangeInclusive};

use super::{Engine, blocking, leaks};
use crate::graph::event::{Access, EventId, NONE};
use crate::graph::{Model, SYNTHETIC_SIZE};
use crate::isolate::heap;
use crate::left_out::Reason;
use crate::model_checker::{
    Answer, BlockedSpinners, Counting, Location, LockUse, Locking, ModelChecker, Purpose, Request, Restart,
};
use crate::op::{Order, ThreadId};
use crate::outcome::{Discarded, Outcome};
use crate::platform::sys;
use crate::platform::words;
use crate::spinloop::detect::SpinIteration;
use crate::spinloop::liveness::MachineState;
use crate::thread::{self, Left, Scope, VThread};
use crate::trace::SwitchReason;

/// Something other than memory that threads share, as a place of the graph. Where the order of the steps at it matters, each is
/// a read-modify-write, so that all of them are explored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SyntheticLocation {
    /// The queue of those who wait at an address.
    Queue(usize),
    /// The right to call the function of a `Once`.
    Once(usize),
    /// How many operations of a thread of a scenario have ended.
    Completed(usize),
    /// The ends of the handles that are counted at an address.
    Drops(usize),
    /// A reader's share of the `RwLock` at an address.
    Share(usize, u16),
    /// The gate before it.
    Gate(usize, u16),
    /// The way of one generation through the `Barrier` at an address.
    Way(usize, u16),
    /// How many handles of a thread's result were given up, of two.
    Handles(ThreadId),
    /// How many threads the scope has that counts them at an address.
    Scope(usize),
}

const BEYOND: usize = 1 << 63;

/// Events that are added for one thread in a row while others could go on.
const MOST_ADDED_IN_A_ROW: u32 = 100;

impl SyntheticLocation {
    /// Where in memory that is whose address in the graph is given, as far as it has to do with memory.
    fn in_memory(address: usize) -> usize {
        let kind = if address & 7 == SyntheticLocation::WAY { 7 } else { 3 };
        if address < BEYOND { address } else { address & ((1 << SyntheticLocation::MEMORY) - 1) & !kind }
    }

    /// Memory is below this bit.
    const MEMORY: u32 = 48;
    /// The last bits of the way through a barrier, which is aligned to 8 bytes, like counts of references.
    const WAY: usize = 6;
    /// How many ways a barrier has: then they are used again.
    const WAYS: u64 = 1 << 13;

    fn location(self) -> Location {
        Location { address: self.address(), size: SYNTHETIC_SIZE, value: None }
    }

    /// An address that no memory has.
    fn address(self) -> usize {
        const SCENARIO: usize = BEYOND | 1 << 62;
        const THREADS: usize = SCENARIO | 1 << 47;
        match self {
            SyntheticLocation::Completed(thread) => SCENARIO | thread << 3,
            SyntheticLocation::Handles(thread) => THREADS | usize::from(thread) << 3,
            SyntheticLocation::Queue(address) => BEYOND | address,
            SyntheticLocation::Once(address) => BEYOND | address | 1,
            SyntheticLocation::Drops(address) => BEYOND | address | 2,
            SyntheticLocation::Scope(address) => BEYOND | 1 << SyntheticLocation::MEMORY | address | 2,
            SyntheticLocation::Share(address, number) => {
                BEYOND | usize::from(number * 2) << SyntheticLocation::MEMORY | address | 3
            }
            SyntheticLocation::Gate(address, number) => {
                BEYOND | usize::from(number * 2 + 1) << SyntheticLocation::MEMORY | address | 3
            }
            SyntheticLocation::Way(address, number) => {
                BEYOND | usize::from(number) << SyntheticLocation::MEMORY | address | SyntheticLocation::WAY
            }
        }
    }
}

impl Engine {
    #[inline]
    pub(crate) fn follows_graph(&self) -> bool {
        self.exhaustive.is_some()
    }

    fn graph(&mut self) -> &mut ModelChecker {
        self.exhaustive.as_mut().expect("the search is exhaustive")
    }

    /// Takes a step of the current thread when its turn has come. Returns what it reads, and what memory is to hold.
    pub(crate) fn take_step(
        &mut self,
        access: Access,
        order: Order,
        memory: impl Fn() -> Option<Location>,
        follows: EventId,
        pc: usize,
    ) -> (u64, Option<u64>) {
        self.note_act();
        let thread = self.current;
        self.current().polls = 0;
        self.steps += 1;
        self.check_limits();
        self.note_pause();
        let mut reason = SwitchReason::Preempted;
        let may_go_round = access.reads() && pc != 0;
        loop {
            let next = self.decide();
            self.switch_watched(next, reason);
            let location = memory();
            if may_go_round {
                self.watch_for_loops(pc, access, location);
            }
            let request = Request { thread, access, order, memory: location, follows };
            let po = self.graph().next_po(thread);
            match self.graph().request(&request) {
                Answer::Done { id, .. } if self.begins_here(id) => {}
                Answer::Done { id, read, write } => {
                    if self.detector.is_some() {
                        self.follow_clocks(id);
                    }
                    if !self.clock.is_one() {
                        self.follow_time(id, follows);
                    }
                    let size = location.map_or(8, |at| at.size);
                    let effect = access.writes(read, size).is_some_and(|written| written != read);
                    match location.filter(|_| may_go_round && !effect) {
                        Some(at) => self.has_read_along_graph(pc, access, at.address, read, po),
                        None if access == Access::Fence => {}
                        None => self.current().rounds.reset(),
                    }
                    return (read, write);
                }
                Answer::Blocked => reason = SwitchReason::Blocked,
                Answer::Diverged => {
                    let choice = self.graph().made();
                    self.stop(Outcome::Diverged { choice })
                }
                Answer::MixedSize => self.stop(Outcome::Unsupported { thread }),
                Answer::Asymmetric => self.stop(Outcome::Asymmetric { thread }),
            }
        }
    }

    /// The current thread looks at the clock. One that does nothing else for a while waits for a time to come.
    pub(crate) fn poll_clock(&mut self) {
        const PATIENCE: u32 = 100;
        let thread = self.current;
        self.current().polls += 1;
        if let Some(more) = self.current().polls.checked_sub(PATIENCE) {
            let later = self.time() + (1_000 << more.min(30));
            self.clock.has_waited(thread, later);
        }
    }

    /// The current thread has made an event: it is not earlier for it than for whoever made what the event shows.
    fn follow_time(&mut self, id: EventId, follows: EventId) {
        let event = *self.graph().event(id);
        match event.access {
            Access::Spawn(child) => self.clock.follow_thread(child, event.thread),
            Access::Join(other) => self.clock.follow_thread(event.thread, other),
            _ => {}
        }
        let source = if event.rf == NONE { follows } else { event.rf };
        self.clock.follow_event(event.thread, id, source);
    }

    /// Switches to a thread. What others do to memory meanwhile is not the doing of the current thread.
    fn switch_watched(&mut self, next: ThreadId, reason: SwitchReason) {
        if next == self.current {
            return;
        }
        if self.current().rounds.tracks_memory() {
            let memory = self.own_memory();
            self.current().rounds.switched_out(memory);
        }
        self.switch_to(next, reason);
        if self.current().rounds.tracks_memory() {
            let memory = self.own_memory();
            self.current().rounds.switched_in(memory);
        }
    }

    /// Ends the execution if the current thread, whose turn it is, goes round in a loop: it has to be made again, knowing that.
    fn watch_for_loops(&mut self, pc: usize, access: Access, at: Option<Location>) {
        if at.is_some_and(|at| self.learns_from_round(pc, access, at.address)) {
            self.stop(Outcome::Discarded(Discarded::Repeat));
        }
    }

    /// Whether something is learned from a round that the current thread may have made.
    fn learns_from_round(&mut self, pc: usize, access: Access, address: usize) -> bool {
        let thread = self.current;
        if !self.current().rounds.has_read_at(pc, address)
            || !self.graph().is_past_graph()
            || self.graph().is_released_spinner(thread)
        {
            return false;
        }
        let state = self.state_at(pc, access);
        let rounds = mem::take(&mut self.current().rounds);
        let Engine { liveness, exhaustive, borrowed, pages, threads, alive, .. } = self;
        let graph = exhaustive.as_mut().expect("the search is exhaustive");
        let is_held = |range: &RangeInclusive<usize>| {
            let threads = threads[..*alive].iter();
            let others = threads.clone().filter(|other| other.id != thread);
            let stacks = others.map(|other| other.stack.used_from(other.context));
            let locals = threads.map(|thread| thread.lender.thread_locals());
            let memory = blocking::memory_of(borrowed, pages.as_ref(), *alive);
            memory.chain(stacks).chain(locals).any(|memory| words::holds(memory, range))
        };
        let round = rounds.detect(pc, address, &state, |one, other| {
            // What others write to a place on the stack is read as an event.
            liveness.is_equivalent(one, other, |byte| graph.is_atomic_byte(byte), &is_held)
        });
        let again = match round {
            SpinIteration::None => false,
            SpinIteration::Candidate { po } => graph.watch_read(pc, thread, po),
            SpinIteration::Found { since, spin_read, proven } => {
                graph.assume_spin(thread, [since, spin_read], proven, || liveness.innermost_loop(pc))
            }
        };
        self.current().rounds = rounds;
        again
    }

    /// A hash of all memory that the current thread can change besides its stack.
    fn own_memory(&mut self) -> u64 {
        let thread_locals = self.current().lender.thread_locals();
        self.memory().wrapping_add(words::hash_memory(thread_locals))
    }

    fn has_read_along_graph(&mut self, pc: usize, access: Access, address: usize, value: u64, po: u32) {
        let thread = self.current;
        // Where the thread is known to have an effect before long, it does not go round.
        let is_loop = self.graph().is_watched_read(pc) && !self.graph().will_have_effect(thread, po);
        let state = if is_loop { Some(self.state_at(pc, access)) } else { None };
        self.current().rounds.record_read(pc, address, value, po, state);
    }

    /// The state of the current thread, which is about to make this access or has just made it.
    fn state_at(&mut self, pc: usize, access: Access) -> MachineState {
        let memory = self.own_memory();
        let changes = self.current().rounds.own_changes(memory);
        let call = match access {
            Access::Rmw(_, operand) => operand,
            Access::Cas { expected, new, .. } => expected.rotate_left(32) ^ new,
            _ => 0,
        };
        let thread = self.current();
        MachineState::of_current(pc, &thread.registers, thread.stack.top(), call, changes)
    }

    /// Takes a step that touches no memory.
    pub(crate) fn take_other_step(&mut self, access: Access, order: Order, follows: EventId) {
        self.take_step(access, order, || None, follows, 0);
    }

    /// Takes a step that goes on in one of so many ways, and says in which.
    pub(super) fn take_choice(&mut self, ways: u16) -> u16 {
        self.take_step(Access::Choose(ways), Order::Relaxed, || None, NONE, 0).0 as u16
    }

    /// Whether the wait that the current thread begins ends at its deadline, whatever others do. A wait that ends later in the same way
    /// is no different to anybody. That is tried a few times for each thread, because loops may wait for ever.
    pub(crate) fn times_out_early(&mut self, deadline: u64) -> bool {
        const MOST: u8 = 2;
        if !self.limits.also.timeouts || self.current().early_timeouts == MOST {
            self.note_timeout(Some(deadline));
            return false;
        }
        let early = self.take_choice(2) == 1;
        if early {
            self.current().early_timeouts += 1;
            let thread = self.current;
            // Whoever looks at the clock then finds that the time is over.
            self.clock.has_waited(thread, deadline + 1);
        }
        early
    }

    /// Takes a step at something that threads share besides memory. Returns the number of the event.
    pub(crate) fn take_shared_step(&mut self, shared: SyntheticLocation, access: Access) -> EventId {
        self.take_shared_read(shared, access, Order::AcqRel);
        self.graph().made() as EventId - 1
    }

    /// The same, for what the step reads.
    pub(crate) fn take_shared_read(
        &mut self,
        shared: SyntheticLocation,
        access: Access,
        order: Order,
    ) -> u64 {
        self.take_step(access, order, || Some(shared.location()), NONE, 0).0
    }

    /// A load of something shared by code that may do so in a loop, in a call that returns to `pc`.
    pub(crate) fn take_shared_load(&mut self, shared: SyntheticLocation, order: Order, pc: usize) -> u64 {
        self.take_step(Access::Load, order, || Some(shared.location()), NONE, pc).0
    }

    /// Whether giving up a handle of a thread, and the end of a scope, are steps of their own.
    #[inline]
    pub(crate) fn counts_handles_of_threads(&mut self) -> bool {
        self.graph().thread_handles_are_events()
    }

    /// The current thread does something that shows when handles of threads are given up.
    pub(crate) fn need_handles_of_threads(&mut self) {
        if self.graph().require_thread_handle_events().is_err() {
            self.stop(Outcome::Discarded(Discarded::Restart));
        }
    }

    /// Whether the thread that parks at this word has a scope with threads, or had one.
    pub(crate) fn owns_scope(&self, parker: usize) -> bool {
        let parks_there = |thread: &VThread| thread.scope.is_some_and(|scope| scope.parker == parker);
        self.threads[..self.alive].iter().any(|thread| parks_there(thread))
    }

    /// Whether the handles of the current thread's own result are counted at the address. `std::thread` counts those of the thread's
    /// data and of its scope, too.
    pub(crate) fn counts_own_result(&mut self, count: usize) -> bool {
        let of_data = self.handle_at.is_some_and(|at| {
            // SAFETY: std keeps the handle there, in the thread-locals of the current thread.
            let data = unsafe { ((sys::fs_base() - at) as *const usize).read_volatile() };
            (count..count + leaks::BEHIND).contains(&data)
        });
        let thread = self.current();
        let of_scope = thread
            .scope
            .is_some_and(|scope| heap::block_of(scope.count).is_some_and(|block| block.start == count));
        thread.handle_counts.contains(&count) && !of_data && !of_scope
    }

    /// The code of the current thread has ended, and with it all that its scope waits for; destructors of thread-locals follow.
    pub(super) fn leave_scope(&mut self) {
        let Some(scope) = self.current().scope else { return };
        if self.counts_handles_of_threads() {
            return;
        }
        self.take_other_step(Access::LeaveScope, Order::Relaxed, NONE);
        // The graph may know of events that the thread has not made yet: those of destructors, for which no scope waits.
        let left = Left::By(self.latest_event());
        self.current().scope = Some(Scope { left, ..scope });
        self.unblock_scopes();
    }

    /// Whether threads have yet to leave a scope.
    pub(crate) fn has_threads_in(&self, count: usize) -> bool {
        let is_in = |thread: &VThread| {
            thread.scope.is_some_and(|scope| scope.count == count && scope.left == Left::No)
        };
        self.threads[..self.alive].iter().any(|thread| is_in(thread))
    }

    /// Whether the time at which operations begin and end is part of what is explored.
    pub(crate) fn explores_time(&mut self) -> bool {
        self.follows_graph() && self.graph().model() == Model::Sc
    }

    /// The current thread, number `me` of a scenario of so many, begins an operation: it looks how far each of the others has
    /// come, and that is all that time means. Returns the number of the event.
    pub(crate) fn look_at_others(&mut self, me: usize, threads: usize) -> Option<EventId> {
        let mut first = None;
        for other in (0..threads).filter(|&other| other != me) {
            let id = self.take_step_of_scenario(other, Access::ReadCompletions);
            first.get_or_insert(id);
        }
        first
    }

    /// The current thread, number `me` of a scenario, has ended its operation of this number.
    pub(crate) fn tell_others(&mut self, me: usize, ended: u32) -> EventId {
        self.take_step_of_scenario(me, Access::Store(ended.into()))
    }

    /// It orders nothing in memory, so that what races still does.
    fn take_step_of_scenario(&mut self, thread: usize, access: Access) -> EventId {
        let at = Location { address: SyntheticLocation::Completed(thread).address(), size: 8, value: None };
        self.take_step(access, Order::Relaxed, || Some(at), NONE, 0);
        self.graph().made() as EventId - 1
    }

    /// How the current thread is to access a count of references.
    pub(crate) fn counting(&mut self, count: usize, purpose: Purpose) -> Counting {
        let (thread, drops) = (self.current, SyntheticLocation::Drops(count).address());
        match self.graph().counting(thread, count, drops, purpose) {
            Ok(counting) => counting,
            Err(Restart) => self.stop(Outcome::Discarded(Discarded::Restart)),
        }
    }

    /// How the current thread is to use a `RwLock`.
    pub(crate) fn locking(&mut self, lock: usize, purpose: LockUse) -> Locking {
        let thread = self.current;
        match self.graph().locking(thread, lock, purpose) {
            Ok(locking) => locking,
            Err(Restart) => self.stop(Outcome::Discarded(Discarded::Restart)),
        }
    }

    /// Whether the word at the address is that of a `RwLock` which is accessed by shares.
    #[inline]
    pub(crate) fn is_shared_lock(&mut self, address: usize) -> bool {
        self.graph().is_split_rwlock(address)
    }

    /// The first so many shares of the `RwLock` and their gates are those of another from now on, at the same address.
    pub(crate) fn renew_lock(&mut self, lock: usize, shares: u16) {
        for number in 0..shares {
            self.graph().begin_generation(SyntheticLocation::Share(lock, number).address());
            self.graph().begin_generation(SyntheticLocation::Gate(lock, number).address());
        }
    }

    /// The current thread is the first to come to a barrier: whatever was at its address before is no more.
    pub(crate) fn renew_barrier(&mut self, barrier: usize) {
        for number in 0..SyntheticLocation::WAYS as u16 {
            let way = SyntheticLocation::Way(barrier, number).address();
            if !self.graph().begin_generation(way) {
                return;
            }
        }
    }

    /// The current thread lets a generation of threads through a barrier, or waits until another does.
    pub(crate) fn pass_barrier(&mut self, barrier: usize, generation: u64, lets_go: bool) {
        let way = SyntheticLocation::Way(barrier, (generation % SyntheticLocation::WAYS) as u16);
        let times = generation / SyntheticLocation::WAYS;
        self.take_shared_step(
            way,
            if lets_go { Access::Store(times + 1) } else { Access::AwaitGreater(times) },
        );
    }

    /// Whether references are counted here.
    pub(crate) fn is_count(&mut self, address: usize) -> bool {
        self.graph().is_refcount(address)
    }

    /// The current thread counts handles here, by code that the user marked.
    pub(crate) fn mark_count(&mut self, count: usize) {
        if self.graph().mark_user_refcount(count).is_err() {
            self.stop(Outcome::Discarded(Discarded::Restart));
        }
    }

    /// Whether handles are counted here by code that the user marked.
    pub(crate) fn is_marked_count(&mut self, count: usize) -> bool {
        self.graph().is_user_refcount(count)
    }

    /// The last handle is given up that is counted here, by code that the user marked.
    pub(crate) fn note_last_of_marked(&mut self, count: usize) {
        self.graph().user_refcount_reached_zero(count);
    }

    /// Memory is freed, and with it what the user marked as counts whose last handle was given up.
    pub(super) fn end_marked_counts(&mut self, memory: &Range<usize>) {
        while let Some(count) = self.graph().take_user_refcount(memory) {
            self.end_counts(count, count);
            if let Some(dropping) = self.current().dropping.take_if(|dropping| dropping.count == count)
                && self.graph().drop_ended(dropping).is_err()
            {
                self.stop(Outcome::Discarded(Discarded::Restart));
            }
        }
    }

    /// The handles that were counted at these addresses are gone, and so is the memory.
    pub(crate) fn end_counts(&mut self, strong: usize, weak: usize) {
        self.graph().end_refcounts([strong, weak], SyntheticLocation::Drops(strong).address());
    }

    /// The current thread does something that others can notice: if it is dropping a value, it matters that it does.
    #[inline]
    pub(crate) fn note_act(&mut self) {
        if let Some(dropping) = self.current().dropping.take()
            && self.graph().drop_has_effect(dropping).is_err()
        {
            self.stop(Outcome::Discarded(Discarded::Restart));
        }
    }

    /// Takes the step of a fence, which orders nothing under sequential consistency.
    pub(crate) fn take_fence(&mut self, order: Order) {
        if self.graph().model() == Model::Rc11 {
            self.take_other_step(Access::Fence, order, NONE);
        }
    }

    /// The beginning of the current thread.
    pub(super) fn begin_along_graph(&mut self) {
        if self.follows_graph() {
            let me = self.current;
            let spawn = self.graph().spawn_of(me);
            self.take_other_step(Access::Begin, Order::Relaxed, spawn);
        }
    }

    /// The last event of a thread.
    pub(crate) fn last_event_of(&mut self, thread: ThreadId) -> EventId {
        self.graph().last_of(thread)
    }

    /// Takes an execution that passed back if it takes more preemptions than were asked for, or should not have been possible.
    /// Failures are failures.
    pub(super) fn validate_completed_graph(&mut self) {
        let Some(graphs) = &mut self.exhaustive else { return };
        if self.outcome != Some(Outcome::Passed) {
            return;
        }
        let mut dropping = self.threads[..self.alive].iter().filter_map(|thread| thread.dropping);
        if dropping.any(|dropping| graphs.drop_ended(dropping).is_err()) {
            self.outcome = Some(Outcome::Discarded(Discarded::Restart));
            return;
        }
        let ended =
            self.threads[..self.alive].iter().filter(|thread| thread.state == thread::State::Finished);
        if let Some(thread) =
            ended.map(|thread| thread.id).find(|&thread| graphs.ended_before_symmetric_predecessor(thread))
        {
            self.outcome = Some(Outcome::Asymmetric { thread });
        } else if !graphs.is_within_bound() {
            self.outcome = Some(Outcome::Discarded(Discarded::BoundExceeded));
        }
    }

    /// The current thread is about to make another, and std gives that the next of its identifiers.
    pub(crate) fn note_spawn(&mut self) {
        let thread = self.current;
        if !self.graph().sees_latest_spawn(thread) {
            self.left_out.add(Reason::ThreadIds);
        }
    }

    /// The number of the thread that the current one is about to make.
    pub(crate) fn next_child(&mut self) -> ThreadId {
        let parent = self.current;
        let before = self.current().children;
        self.current().children += 1;
        self.graph().child_id(parent, before)
    }

    /// The current thread has just made another, of the kind that it makes.
    pub(crate) fn note_kind_of(&mut self, child: ThreadId) {
        let kind = self.current().makes;
        let Engine { exhaustive, threads, .. } = self;
        let alike = |sibling: ThreadId| kind.is_some() && threads[usize::from(sibling)].kind == kind;
        exhaustive.as_mut().expect("the search is exhaustive").spawned(child, alike);
    }

    /// The next of those who left a scope that the current thread ends, and the event by which it did. While the execution follows
    /// the graph, that says which it is.
    pub(crate) fn next_to_have_left(&mut self, scope: usize) -> Option<(ThreadId, EventId)> {
        let me = self.current;
        let has_left = |thread: &VThread| match thread.scope? {
            Scope { count, left: Left::By(event), .. } if count == scope => Some((thread.id, event)),
            _ => None,
        };
        match self.graph().next_event_of(me) {
            Some(Access::EndScope(thread)) => has_left(self.threads[..self.alive].get(usize::from(thread))?),
            Some(_) => None,
            None => self.threads[..self.alive].iter().find_map(|thread| has_left(thread)),
        }
    }

    /// The event that was made last.
    pub(crate) fn latest_event(&mut self) -> EventId {
        self.graph().made() as EventId - 1
    }

    /// Who goes on.
    pub(super) fn next_along_graph(&mut self) -> Option<ThreadId> {
        loop {
            let graph = self.exhaustive.as_mut().expect("the search is exhaustive");
            if let Some(next) = graph.turn() {
                if self.threads[..self.alive]
                    .get(usize::from(next))
                    .is_some_and(|t| t.state == thread::State::Runnable)
                {
                    return Some(next);
                }
                if self.time_out(next) {
                    continue;
                }
                let choice = self.graph().made();
                self.outcome = Some(Outcome::Diverged { choice });
                return None;
            }
            if let Some(next) = graph.must_go_on() {
                return Some(next);
            }
            let current = self.current;
            let runs = |thread: &ThreadId| graph.can_go_on(*thread);
            if self.fair.is_some() {
                let runnable: Vec<ThreadId> = self.runnable.iter().copied().filter(runs).collect();
                if !runnable.is_empty() {
                    return self.next_fairly_of(&runnable);
                }
            } else {
                // In which order events are added makes no difference, but a thread might go on for ever.
                let is_patient = self.in_a_row < MOST_ADDED_IN_A_ROW;
                let goes_on =
                    self.threads[current as usize].state == thread::State::Runnable && runs(&current);
                if goes_on && is_patient {
                    self.in_a_row += 1;
                    return Some(current);
                }
                let mut others = self.runnable.iter().copied().filter(|&thread| thread != current);
                if let Some(next) = others.find(runs) {
                    return Some(next);
                }
                if goes_on {
                    self.in_a_row = 0;
                    return Some(current);
                }
            }
            let has_ended =
                |thread: ThreadId| self.threads[usize::from(thread)].state == thread::State::Finished;
            let alone =
                |&&thread: &&ThreadId| graph.awaited_symmetric_predecessor(thread).is_some_and(has_ended);
            if let Some(&next) = self.runnable.iter().find(alone) {
                graph.stop_awaiting_symmetric_predecessor(next);
                return Some(next);
            }
            // Loops that give way may have bounds of their own.
            if let Some(next) = graph.release_spinner() {
                return Some(next);
            }
            graph.enumerate_blocked_reads();
            let loops = graph.blocked_spinners();
            for &thread in &self.runnable {
                if let Some(address) = graph.awaited_address(thread) {
                    let address = SyntheticLocation::in_memory(address);
                    self.threads[thread as usize].state = thread::State::Lock { address };
                }
            }
            if self.runnable.is_empty() && self.pass_time() {
                continue;
            }
            if self.outcome.is_none() {
                self.outcome = Some(match loops {
                    BlockedSpinners::None => self.outcome_at_rest(),
                    BlockedSpinners::ReadStale => Outcome::Discarded(Discarded::Blocked),
                    BlockedSpinners::Livelocked => Outcome::Livelock,
                });
                self.record_last_waits();
            }
            return None;
        }
    }
}
