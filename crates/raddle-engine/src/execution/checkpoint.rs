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
use super::{Backend, Engine, Execution};
use crate::graph::event::EventId;
use crate::isolate::heap;
use crate::isolate::image::Image;
use crate::model_checker::Checkpoint;
use crate::thread::{Start, State, ThreadState};

/// Everything about an execution at some point, but what its graph says.
#[derive(Debug, Default)]
pub(crate) struct MachineSnapshot {
    /// Stacks, thread-locals, heaps, and the changes of memory that existed before.
    image: Image,
    threads: Vec<Rc<ThreadState>>,
    execution: Option<Execution>,
    accesses: Accesses,
}

/// Memory that is larger is not copied: an execution that fills it takes longer than to begin anew.
const MOST: usize = 128 << 10;

impl Engine {
    /// Begins an execution, at the latest point that is known.
    pub(super) fn set_out(&mut self, body: *mut dyn FnMut()) {
        self.begin();
        match self.exploration.exhaustive.as_mut().and_then(|graphs| graphs.take_up()) {
            Some(kept) => self.take_up(&kept),
            None => _ = self.make_thread(Start::Root(body)),
        }
    }

    /// The current thread has just made an event of the graph, but for its effects. Keeps how everything stood before, if
    /// others may begin there. True if this is one of them: the event is yet to be made.
    #[inline]
    pub(super) fn begins_here(&mut self, id: EventId) -> bool {
        self.exploration.exhaustive.as_ref().is_some_and(|graphs| graphs.is_branch(id))
            && self.keeps_points()
            && self.keep(id)
    }

    /// Whether executions may begin where others were, and all that the code under test can change is known.
    fn keeps_points(&self) -> bool {
        self.exploration.limits.backend == Backend::Coroutines
            && self.exploration.pages.is_some()
            && self.execution.mappings.is_empty()
            && !self.exploration.environment.is_changed()
            && self.exploration.trace.is_none()
            && self.exploration.choice_log.is_none()
            && self.execution.fair.is_none()
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
            (*this).exploration.request =
                Some(mem::transmute::<*mut (dyn FnMut() + '_), *mut dyn FnMut()>(request));
            Engine::pass(this, Flow::Thread((*this).execution.current), Flow::Explorer);
            // Whatever this function knew may be another execution's.
            mem::take(&mut (*this).execution.is_restored)
        }
    }

    /// Runs on the explorer's stack, so that those of all threads stand still.
    fn keep_now(&mut self, id: EventId) {
        let Some(graphs) = &mut self.exploration.exhaustive else { return };
        let mut point = graphs.spare_point();
        let machine = Rc::get_mut(&mut point).expect("it is spare").machine_mut();
        let copied = self.copy_to(machine);
        if let Some(graphs) = self.exploration.exhaustive.as_mut().filter(|_| copied) {
            graphs.keep(id, point);
        }
    }

    /// Copies everything. False if that is too much.
    fn copy_to(&mut self, to: &mut MachineSnapshot) -> bool {
        let MachineSnapshot { image, .. } = to;
        image.clear();
        if !heap::add_to(image, self.execution.alive, MOST) {
            return false;
        }
        for thread in
            self.threads[..self.execution.alive].iter().filter(|thread| thread.state != State::Finished)
        {
            // SAFETY: the used part of the stack of a thread that does not run, and its thread-locals.
            unsafe {
                image.add(thread.context..thread.stack.top());
                if thread.start.is_none() {
                    image.add(thread.lender.thread_locals());
                }
            }
        }
        if let Some(pages) = &self.exploration.pages {
            pages.add_changes(image);
        }
        self.exploration.borrowed.add_changes(image);
        to.threads.resize_with(self.execution.alive, Rc::default);
        for (to, thread) in to.threads.iter_mut().zip(&mut self.threads) {
            thread.copy_to(to);
        }
        match &mut to.execution {
            Some(execution) => execution.clone_from(&self.execution),
            None => to.execution = Some(self.execution.clone()),
        }
        if let Some(detector) = &mut self.exploration.detector {
            detector.so_far(&mut to.accesses);
        }
        true
    }

    /// The execution, which has just begun, begins where another one was.
    fn take_up(&mut self, kept: &Rc<Checkpoint>) {
        let MachineSnapshot { image, threads, execution, accesses } = kept.machine();
        // SAFETY: what is in it was mapped for threads, which keep it, or before the exploration. No thread runs.
        unsafe { image.write_back() };
        for (thread, state) in self.threads.iter_mut().zip(threads) {
            thread.take_up(state);
        }
        self.execution.clone_from(execution.as_ref().expect("a checkpoint has the state of its execution"));
        if let Some(detector) = &mut self.exploration.detector {
            detector.take_up(accesses);
        }
        self.execution.begun_at = self.execution.steps;
        self.execution.is_restored = true;
    }
}
