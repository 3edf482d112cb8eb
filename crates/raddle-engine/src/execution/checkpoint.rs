//! Points of an execution at which others begin.
//!
//! Executions of an exhaustive search begin like those before them: each follows a graph whose first events were made already. So
//! that they need not be made again, everything is copied at each event that can be made in another way, before it is made:
//! memory that threads use and can change, and what the engine knows of the execution. An execution whose graph begins
//! with the same events begins with that copy.
//!
//! ```text
//!   explorer:           ┌─ copies everything ─┐        …  ─ writes everything back ─┐
//!   thread:  … event ───┘                     └─ the event made in one way, …       └─ the event made in another way, …
//! ```
//!
//! What is between two events of a thread happens when the first of them is made, whatever other threads do later. So how
//! everything stands depends on the events alone, and not on how the search came to them; what the search does know of the
//! rest of the graph is not part of it.
//!
//! A step of a thread may therefore return several times. Hooks hold no memory of the engine while they take one: it would be freed
//! as often.

use std::mem;
use std::rc::Rc;

use super::access::Accesses;
use super::control::Flow;
use super::{Backend, Engine};
use crate::execution::clock::Clock;
use crate::execution::futex::Futexes;
use crate::graph::event::EventId;
use crate::isolate::heap;
use crate::isolate::image::Image;
use crate::model_checker::Checkpoint;
use crate::op::ThreadId;
use crate::thread::{KeyDestructor, Start, State, ThreadState};
use crate::weak_memory::Memory;

/// Everything about an execution at some point, but what its graph says.
#[derive(Debug, Default)]
pub(crate) struct MachineSnapshot {
    /// Stacks, thread-locals, heaps, and what was changed of the memory that existed before.
    image: Image,
    threads: Vec<Rc<ThreadState>>,
    current: ThreadId,
    runnable: Vec<ThreadId>,
    steps: u64,
    switches: u64,
    waited: Option<ThreadId>,
    memory: Option<Box<Memory>>,
    accesses: Accesses,
    futexes: Futexes,
    clock: Clock,
    keys: Vec<Option<KeyDestructor>>,
    in_a_row: u32,
    panic: Option<(ThreadId, String)>,
}

/// Memory that is larger is not copied: an execution that fills it takes longer than to begin anew.
const MOST: usize = 128 << 10;

impl Engine {
    /// Begins an execution, at the latest point that is known.
    pub(super) fn set_out(&mut self, body: *mut dyn FnMut()) {
        self.begin();
        match self.exhaustive.as_mut().and_then(|graphs| graphs.restore_checkpoint()) {
            Some(kept) => self.take_up(&kept),
            None => _ = self.make_thread(Start::Root(body)),
        }
    }

    /// The current thread has just made an event of the graph, but for its effects. Keeps how everything stood before, if
    /// others may begin there. True if this is one of them: the event is yet to be made.
    #[inline]
    pub(super) fn begins_here(&mut self, id: EventId) -> bool {
        self.exhaustive.as_ref().is_some_and(|graphs| graphs.wants_checkpoint(id))
            && self.keeps_points()
            && self.keep(id)
    }

    /// Whether executions may begin where others were, and all that the code under test can change is known.
    fn keeps_points(&self) -> bool {
        self.limits.backend == Backend::Coroutines
            && self.pages.is_some()
            && self.mappings.is_empty()
            && !self.environment.is_changed()
            && self.trace.is_none()
            && self.points.is_none()
            && self.fair.is_none()
    }

    /// Returns once now, and once for each execution that begins here: then with true.
    #[inline(never)]
    fn keep(&mut self, id: EventId) -> bool {
        let this: *mut Engine = self;
        // SAFETY: nothing else uses the engine until this goes on.
        let mut request = || unsafe { (*this).keep_now(id) };
        let request: *mut (dyn FnMut() + '_) = &mut request;
        // SAFETY: only the lifetime changes; the request is taken out before control comes back.
        unsafe {
            (*this).request = Some(mem::transmute::<*mut (dyn FnMut() + '_), *mut dyn FnMut()>(request));
            Engine::pass(this, Flow::Thread((*this).current), Flow::Explorer);
            // Whatever this function knew may be another execution's.
            mem::take(&mut (*this).taken_up)
        }
    }

    /// Runs on the explorer's stack, so that those of all threads stand still.
    fn keep_now(&mut self, id: EventId) {
        let Some(graphs) = &mut self.exhaustive else { return };
        let mut point = graphs.new_checkpoint();
        let machine = Rc::get_mut(&mut point).expect("it is spare").machine_mut();
        let copied = self.copy_to(machine);
        if let Some(graphs) = self.exhaustive.as_mut().filter(|_| copied) {
            graphs.add_checkpoint(id, point);
        }
    }

    /// Copies everything. False if that is too much.
    fn copy_to(&mut self, to: &mut MachineSnapshot) -> bool {
        let MachineSnapshot { image, .. } = to;
        image.clear();
        if !heap::add_to(image, self.alive, MOST) {
            return false;
        }
        for thread in self.threads[..self.alive].iter().filter(|thread| thread.state != State::Finished) {
            // SAFETY: the used part of the stack of a thread that does not run, and its thread-locals.
            unsafe {
                image.add(thread.context..thread.stack.top());
                if thread.start.is_none() {
                    image.add(thread.lender.thread_locals());
                }
            }
        }
        if let Some(pages) = &self.pages {
            pages.add_changes(image);
        }
        self.borrowed.add_changes(image);
        to.threads.resize_with(self.alive, Rc::default);
        for (to, thread) in to.threads.iter_mut().zip(&mut self.threads) {
            thread.copy_to(to);
        }
        (to.current, to.steps, to.switches) = (self.current, self.steps, self.switches);
        to.waited = self.waited;
        to.runnable.clone_from(&self.runnable);
        to.memory.clone_from(&self.memory);
        if let Some(detector) = &mut self.detector {
            detector.so_far(&mut to.accesses);
        }
        to.futexes.clone_from(&self.futexes);
        to.clock.clone_from(&self.clock);
        to.keys.clone_from(&self.keys);
        to.in_a_row = self.in_a_row;
        to.panic.clone_from(&self.panic);
        true
    }

    /// The execution, which has just begun, begins where another one was.
    fn take_up(&mut self, kept: &Rc<Checkpoint>) {
        let MachineSnapshot {
            image,
            threads,
            current,
            runnable,
            steps,
            switches,
            waited,
            memory,
            accesses,
            futexes,
            clock,
            keys,
            in_a_row,
            panic,
        } = kept.machine();
        // SAFETY: what is in it was mapped for threads, which keep it, or before the exploration. No thread runs.
        unsafe { image.write_back() };
        self.alive = threads.len();
        for (thread, run) in self.threads.iter_mut().zip(threads) {
            thread.take_up(run);
        }
        self.runnable.clone_from(runnable);
        (self.current, self.steps, self.switches, self.waited) = (*current, *steps, *switches, *waited);
        self.begun_at = *steps;
        self.memory.clone_from(memory);
        if let Some(detector) = &mut self.detector {
            detector.take_up(accesses);
        }
        self.futexes.clone_from(futexes);
        self.clock.clone_from(clock);
        self.keys.clone_from(keys);
        self.in_a_row = *in_a_row;
        self.panic.clone_from(panic);
        self.taken_up = true;
    }
}
