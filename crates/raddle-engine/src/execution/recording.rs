//! The record of an execution: its events, with their call stacks, names and edges.

use super::Engine;
use crate::platform::unwind;
use crate::trace::Action;

impl Engine {
    /// Records an event of the current thread, if a trace is recorded.
    #[inline]
    pub(crate) fn record(&mut self, action: impl FnOnce() -> Action) {
        if self.exploration.trace.is_some() {
            self.record_now(action());
        }
    }

    #[cold]
    fn record_now(&mut self, action: Action) {
        if self.current().in_monitor {
            return;
        }
        self.record_announced_write(Some(&action));
        let Some(trace) = &mut self.exploration.trace else { return };
        let is_skipped = self.execution.steps < trace.skipped_steps;
        if is_skipped {
            trace.omitted += 1;
            if !trace.is_watched(&action) {
                return;
            }
        }
        // The beginning and end of a thread have no call stack of the program.
        let stack =
            if matches!(action, Action::End | Action::Begin) { Vec::new() } else { unwind::call_stack() };
        // Names are looked up now, while the locals that lead to the location hold their values of the event.
        let name = action.address().and_then(|address| {
            self.on_explorer(|engine| {
                engine.exploration.namer.as_mut().and_then(|namer| namer(&stack, address))
            })
        });
        let thread = self.execution.current;
        let links = self.links(&action);
        // A thread that ends has no stack to come back to.
        let is_observed = !is_skipped && action != Action::End;
        if let Some(trace) = &mut self.exploration.trace {
            let before = trace.made();
            trace.record(thread, action, stack, name, links, is_skipped);
            if trace.made() != before {
                self.tell_debugger();
            }
        }
        if is_observed {
            self.observe();
        }
    }
}
