//! Plain writes in the record of an execution, and the observer of its memory.
//!
//! A plain write is announced before it is made, so its value is known when its thread enters the engine again: then it is recorded.
//! Threads change only within the engine, so the write comes before everything that other threads do after it.

use super::Engine;
use crate::platform::unwind;
use crate::trace::{Action, Introduced, PlainWrite};

/// Largest write whose value is recorded.
const MOST_BYTES: usize = 16;

impl Engine {
    /// The current thread is about to write. Called only while a trace is recorded.
    #[cold]
    pub(super) fn announce_write(&mut self, address: usize, size: usize) {
        let thread = self.execution.current;
        let Some(trace) = &mut self.exploration.trace else { return };
        if self.execution.steps < trace.skipped_steps {
            return;
        }
        // Writes one after the other are one.
        if let Some(last) = &mut trace.writes.announced
            && last.thread == thread
            && last.address + last.size == address
        {
            last.size += size;
            return;
        }
        self.record_announced_write(None);
        if !self.exploration.trace.as_mut().is_some_and(|trace| trace.wants_write()) {
            return;
        }
        let stack = unwind::call_stack();
        let name = self
            .on_explorer(|engine| engine.exploration.namer.as_mut().and_then(|namer| namer(&stack, address)));
        // The time of the write is now; the thread may learn more before the write is recorded.
        let links = self.links(&Action::Write { address, size, value: None });
        if let Some(trace) = &mut self.exploration.trace {
            trace.writes.announced = Some(PlainWrite { thread, address, size, name, stack, links });
        }
    }

    /// Records the write that was announced last. It has been made by now, perhaps together with an event of its thread.
    pub(super) fn record_announced_write(&mut self, with: Option<&Action>) {
        let Some(trace) = &mut self.exploration.trace else { return };
        let Some(write) = trace.writes.announced.take() else { return };
        let PlainWrite { thread, address, size, name, stack, links } = write;
        // A thread that left the engine's sight in between made its write long ago.
        if thread != self.execution.current {
            return;
        }
        let is_overwritten = with.is_some_and(|action| action.overlaps(&(address..address + size)));
        let value = if size > MOST_BYTES || is_overwritten {
            None
        } else {
            self.on_explorer(|engine| engine.exploration.observer.as_mut()?.value(address, size))
        };
        if let Some(trace) = &mut self.exploration.trace {
            trace.record(thread, Action::Write { address, size, value }, stack, name, links, false);
        }
        // The effect of an event cannot be told from that of the write before it: the event shows both.
        if with.is_none() {
            self.observe();
        }
    }

    /// Shows the latest event to the observer.
    pub(super) fn observe(&mut self) {
        if self.exploration.observer.is_some() {
            self.on_explorer(|engine| {
                let exploration = &mut engine.exploration;
                if let (Some(trace), Some(observer)) = (&mut exploration.trace, &mut exploration.observer) {
                    trace.show(&mut **observer);
                }
            });
        }
    }

    /// The code under test introduces an object.
    pub(crate) fn introduce(&mut self, object: Introduced) {
        if let Some(trace) = &mut self.exploration.trace {
            trace.introduce(object);
        }
    }
}
