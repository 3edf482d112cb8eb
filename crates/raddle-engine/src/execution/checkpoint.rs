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

use std::rc::Rc;

use super::access::Accesses;
use super::{Engine, Execution};
use crate::isolate::heap;
use crate::isolate::image::Image;
use crate::thread::{State, ThreadState};

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
    /// Copies the state of everything into a snapshot. False if that is too much memory.
    pub(crate) fn snapshot(&mut self, to: &mut MachineSnapshot) -> bool {
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

    /// The execution, which has just begun, continues from a snapshot.
    pub(crate) fn restore(&mut self, snapshot: &MachineSnapshot) {
        let MachineSnapshot { image, threads, execution, accesses } = snapshot;
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
