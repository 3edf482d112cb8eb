//! Checkpoints: states of an execution at which others begin.
//!
//! Executions of an exhaustive search share prefixes: each follows a graph whose first events were made before. So that
//! they need not be made again, the state is copied before each event that has alternatives: the memory that threads
//! can change, and the engine's state of the execution. An execution whose graph has the same prefix begins with that
//! copy.
//!
//! ```text
//!   explorer:           ┌─ copies everything ─┐        …  ─ writes everything back ─┐
//!   thread:  … event ───┘                     └─ the event made in one way, …       └─ the event made in another way, …
//! ```
//!
//! **Invariant:** the state of an execution depends on its events alone. Code between two events of a thread runs when
//! the first is made, whatever other threads do later. What the search knows of the rest of the graph is no part of the
//! state.
//!
//! A step of a thread may therefore return several times. Operations own no memory of the engine while they take a
//! step: it would be freed as often.

use std::rc::Rc;

use super::race_detector::DetectorSnapshot;
use super::{Engine, Execution};
use crate::isolate::heap;
use crate::isolate::image::Image;
use crate::thread::{ThreadState, ThreadStatus};

/// The state of an execution, apart from its graph.
#[derive(Debug, Default)]
pub(crate) struct MachineSnapshot {
    /// Stacks, thread-locals, heaps, and the changes of memory that existed before.
    image: Image,
    threads: Vec<Rc<ThreadState>>,
    execution: Option<Execution>,
    accesses: DetectorSnapshot,
}

/// Largest heap that is copied. An execution that fills more takes longer to copy than to begin anew.
const MOST: usize = 128 << 10;

impl MachineSnapshot {
    /// Keeps as much memory as is needed: nothing more will be copied to the snapshot.
    pub(crate) fn compact(&mut self) {
        self.image.compact();
    }

    /// About the size of the snapshot, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.image.bytes() + self.threads.len() * size_of::<ThreadState>() + size_of::<Execution>()
    }
}

impl Engine {
    /// Copies the state of the execution into a snapshot. False if the heap is too large.
    pub(crate) fn snapshot(&mut self, to: &mut MachineSnapshot) -> bool {
        let MachineSnapshot { image, .. } = to;
        image.clear();
        if !heap::add_to(image, self.execution.alive, MOST) {
            return false;
        }
        for thread in self.threads[..self.execution.alive]
            .iter()
            .filter(|thread| thread.status != ThreadStatus::Finished || thread.id == self.execution.current)
        {
            // SAFETY: the used part of the stack of a thread that does not run, and its thread-locals.
            unsafe {
                image.add(thread.context..thread.stack.top());
                if thread.start.is_none() {
                    image.add(thread.tls.thread_locals());
                }
            }
        }
        if let Some(pages) = &self.exploration.pages {
            pages.add_changes(image);
        }
        self.exploration.borrowed.add_changes(image);
        to.threads.resize_with(self.execution.alive, Rc::default);
        for (to, thread) in to.threads.iter_mut().zip(&mut self.threads) {
            thread.snapshot_to(to);
        }
        match &mut to.execution {
            Some(execution) => execution.clone_from(&self.execution),
            None => to.execution = Some(self.execution.clone()),
        }
        if let Some(detector) = &mut self.exploration.detector {
            detector.snapshot(&mut to.accesses);
        }
        true
    }

    /// Continues the execution, which has just begun, from a snapshot.
    pub(crate) fn restore(&mut self, snapshot: &MachineSnapshot) {
        let MachineSnapshot { image, threads, execution, accesses } = snapshot;
        // SAFETY: the image's memory was mapped for threads, which keep it, or before the exploration. No thread runs.
        unsafe { image.write_back() };
        for (thread, state) in self.threads.iter_mut().zip(threads) {
            thread.restore(state);
        }
        self.execution.clone_from(execution.as_ref().expect("a checkpoint has the state of its execution"));
        if let Some(detector) = &mut self.exploration.detector {
            detector.restore(accesses);
        }
        self.execution.begun_at = self.execution.steps;
        self.execution.is_restored = true;
    }
}
