//! One event of a graph-driven execution: the thread waits for its turn, requests the event from the model checker, and
//! is watched for spinloops.

use std::mem;
use std::ops::RangeInclusive;

use super::synthetic::SyntheticLocation;
use crate::execution::{Engine, Exploration, blocking};
use crate::graph::event::{Access, EventId, NONE};
use crate::model_checker::{Answer, Location, Request};
use crate::op::{Effect, Order, Pending, ThreadId};
use crate::outcome::{Discarded, Outcome};
use crate::platform::words;
use crate::spinloop::detect::SpinIteration;
use crate::spinloop::liveness::MachineState;
use crate::trace::SwitchReason;

impl Engine {
    /// Takes a step of the current thread when its turn has come. Returns the value that it reads, and the new value of
    /// memory, if it changes. A `pc` of 0 marks a step that cannot spin.
    pub(super) fn take_step(
        &mut self,
        access: Access,
        order: Order,
        memory: impl Fn() -> Option<Location>,
        follows: EventId,
        pc: usize,
    ) -> (u64, Option<u64>) {
        self.observe_drop();
        let thread = self.execution.current;
        self.current().polls = 0;
        let effect = if access.reads_only() { Effect::Read } else { Effect::Nothing };
        self.current().pending = Pending { address: 0, effect };
        self.execution.steps += 1;
        self.check_limits();
        self.save_pause_stack();
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
            let po = self.checker().next_po(thread);
            match self.checker().request(&request) {
                Answer::Done { id, .. } if self.checkpoint_before(id) => {}
                Answer::Done { id, read, write } => {
                    if self.exploration.detector.is_some() {
                        self.follow_clocks(id);
                    }
                    if !self.execution.clock.is_global() {
                        self.follow_time(id, follows);
                    }
                    let size = location.map_or(8, |at| at.size);
                    let effect = access.writes(read, size).is_some_and(|written| written != read);
                    match location.filter(|_| may_go_round && !effect) {
                        Some(at) => self.has_read_along_graph(pc, access, at.address, read, po),
                        None if access == Access::Fence => {}
                        None => self.current().spin_detector.reset(),
                    }
                    return (read, write);
                }
                Answer::Blocked => reason = SwitchReason::Blocked,
                Answer::Diverged => {
                    let choice = self.checker().made();
                    self.stop(Outcome::Diverged { choice })
                }
                Answer::MixedSize => self.stop(Outcome::Unsupported { thread }),
                Answer::Asymmetric => self.stop(Outcome::Asymmetric { thread }),
            }
        }
    }

    /// The current thread reads the clock. A thread that does nothing else for a while waits for a time to come.
    pub(super) fn poll_clock(&mut self) {
        const PATIENCE: u32 = 100;
        let thread = self.execution.current;
        self.current().polls += 1;
        if let Some(more) = self.current().polls.checked_sub(PATIENCE) {
            let later = self.time() + (1_000 << more.min(30));
            self.execution.clock.has_waited(thread, later);
        }
    }

    /// The current thread has made an event: its time is not earlier than that of the event's source.
    fn follow_time(&mut self, id: EventId, follows: EventId) {
        let event = *self.checker().event(id);
        match event.access {
            Access::Spawn(child) => self.execution.clock.follow_thread(child, event.thread),
            Access::Join(other) => self.execution.clock.follow_thread(event.thread, other),
            _ => {}
        }
        let source = if event.rf == NONE { follows } else { event.rf };
        self.execution.clock.follow_event(event.thread, id, source);
    }

    /// Switches to a thread. Changes of memory by other threads meanwhile are not attributed to the current one.
    fn switch_watched(&mut self, next: ThreadId, reason: SwitchReason) {
        if next == self.execution.current {
            return;
        }
        if self.current().spin_detector.tracks_memory() {
            let memory = self.own_memory();
            self.current().spin_detector.switched_out(memory);
        }
        self.switch_to(next, reason);
        if self.current().spin_detector.tracks_memory() {
            let memory = self.own_memory();
            self.current().spin_detector.switched_in(memory);
        }
    }

    /// Ends the execution if the current thread spins: it is repeated with a spin assumption.
    fn watch_for_loops(&mut self, pc: usize, access: Access, at: Option<Location>) {
        if at.is_some_and(|at| self.learns_from_round(pc, access, at.address)) {
            self.stop(Outcome::Discarded(Discarded::Repeat));
        }
    }

    /// Whether the current thread has made a spin iteration from which the model checker learns.
    fn learns_from_round(&mut self, pc: usize, access: Access, address: usize) -> bool {
        let thread = self.execution.current;
        if !self.current().spin_detector.has_read_at(pc, address)
            || !self.checker().is_past_graph()
            || self.checker().is_released_spinner(thread)
        {
            return false;
        }
        let state = self.state_at(pc, access);
        let rounds = mem::take(&mut self.current().spin_detector);
        let Engine { exploration, execution, threads, .. } = self;
        let Exploration { liveness, checker, borrowed, pages, .. } = exploration;
        let alive = &execution.alive;
        let graph = checker.as_mut().expect("the execution follows a graph");
        let is_held = |range: &RangeInclusive<usize>| {
            let threads = threads[..*alive].iter();
            let others = threads.clone().filter(|other| other.id != thread);
            let stacks = others.map(|other| other.stack.used_from(other.context));
            let locals = threads.map(|thread| thread.tls.thread_locals());
            let memory = blocking::memory_of(borrowed, pages.as_ref(), *alive);
            memory.chain(stacks).chain(locals).any(|memory| words::holds(memory, range))
        };
        let round = rounds.detect(pc, address, &state, |one, other| {
            // A location on the stack that others write is read by events.
            liveness.is_equivalent(one, other, |byte| graph.is_atomic_byte(byte), &is_held)
        });
        let again = match round {
            SpinIteration::None => false,
            SpinIteration::Candidate { po } => graph.watch_read(pc, thread, po),
            SpinIteration::Found { since, spin_read, proven } => {
                graph.assume_spin(thread, [since, spin_read], proven, || liveness.innermost_loop(pc))
            }
        };
        self.current().spin_detector = rounds;
        again
    }

    /// A hash of all memory that the current thread can change besides its stack.
    fn own_memory(&mut self) -> u64 {
        let thread_locals = self.current().tls.thread_locals();
        self.memory_hash().wrapping_add(words::hash_memory(thread_locals))
    }

    fn has_read_along_graph(&mut self, pc: usize, access: Access, address: usize, value: u64, po: u32) {
        let thread = self.execution.current;
        // A thread that is known to have an effect later does not spin.
        let is_loop = self.checker().is_watched_read(pc) && !self.checker().will_have_effect(thread, po);
        let state = if is_loop { Some(self.state_at(pc, access)) } else { None };
        self.current().spin_detector.record_read(pc, address, value, po, state);
    }

    /// The machine state of the current thread, which is about to make this access or has just made it.
    fn state_at(&mut self, pc: usize, access: Access) -> MachineState {
        let memory = self.own_memory();
        let changes = self.current().spin_detector.own_changes(memory);
        let call = match access {
            Access::Rmw(_, operand) => operand,
            Access::Cas { expected, new, .. } => expected.rotate_left(32) ^ new,
            _ => 0,
        };
        let thread = self.current();
        MachineState::of_current(pc, &thread.registers, thread.stack.top(), call, changes)
    }

    /// Takes a step that touches no memory.
    pub(super) fn take_other_step(&mut self, access: Access, order: Order, follows: EventId) {
        self.take_step(access, order, || None, follows, 0);
    }

    /// Takes a step with several alternatives, and returns the one taken.
    pub(in crate::semantics) fn take_choice(&mut self, alternatives: u16) -> u16 {
        self.take_step(Access::Choose(alternatives), Order::Relaxed, || None, NONE, 0).0 as u16
    }

    /// Whether the wait that the current thread begins expires at its deadline, whatever others do. A wait that expires
    /// later is equivalent. This is tried a few times per thread, because loops may wait for ever.
    pub(super) fn times_out_early(&mut self, deadline: u64) -> bool {
        const MOST: u8 = 2;
        if !self.exploration.limits.also.timeouts || self.current().early_timeouts == MOST {
            self.leave_out_unexplored_timeout(false);
            return false;
        }
        let early = self.take_choice(2) == 1;
        if early {
            self.current().early_timeouts += 1;
            let thread = self.execution.current;
            // The clock then shows that the deadline has passed.
            self.execution.clock.has_waited(thread, deadline + 1);
        }
        early
    }

    /// Takes a step at a synthetic location. Returns the number of the event.
    pub(super) fn take_synthetic_step(&mut self, shared: SyntheticLocation, access: Access) -> EventId {
        self.take_synthetic_read(shared, access, Order::AcqRel);
        self.checker().made() as EventId - 1
    }

    /// Takes a step at a synthetic location. Returns the value that it reads.
    pub(super) fn take_synthetic_read(
        &mut self,
        shared: SyntheticLocation,
        access: Access,
        order: Order,
    ) -> u64 {
        self.take_step(access, order, || Some(shared.location()), NONE, 0).0
    }

    /// A load of a synthetic location that may be part of a spinloop, in a call that returns to `pc`.
    pub(super) fn take_synthetic_load(&mut self, shared: SyntheticLocation, order: Order, pc: usize) -> u64 {
        self.take_step(Access::Load, order, || Some(shared.location()), NONE, pc).0
    }
}
