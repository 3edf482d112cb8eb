//! What a recorded event has to do with other events: which store it read, where its own stands in modification order, and what
//! happened before it. All of it is known to whoever decided what the access sees: an execution graph, or memory.

use super::Engine;
use crate::happens_before::clock::Time;
use crate::op::ThreadId;
use crate::platform::unwind;
use crate::trace::{Action, Links};
use crate::weak_memory::Touched;

impl Engine {
    /// Records an event of the current thread, if a trace is wanted.
    #[inline]
    pub(crate) fn record(&mut self, action: impl FnOnce() -> Action) {
        if self.exploration.trace.is_some() {
            self.record_now(action());
        }
    }

    #[cold]
    fn record_now(&mut self, action: Action) {
        let Some(trace) = &mut self.exploration.trace else { return };
        let is_skipped = self.execution.steps < trace.skipped_steps;
        if is_skipped {
            trace.omitted += 1;
            if !trace.is_watched(&action) {
                return;
            }
        }
        // The end of a thread is recorded from the explorer's stack, where there is nothing to see.
        let stack =
            if matches!(action, Action::End | Action::Begin) { Vec::new() } else { unwind::call_stack() };
        // Names are looked up now, while the locals that lead to the place hold what they held at the event.
        let name = action.address().and_then(|address| {
            self.on_explorer(|engine| {
                engine.exploration.namer.as_mut().and_then(|namer| namer(&stack, address))
            })
        });
        let thread = self.execution.current;
        let links = self.links(&action);
        if let Some(trace) = &mut self.exploration.trace {
            trace.record(thread, action, stack, name, links, is_skipped);
        }
    }

    /// What the current thread's action, which it has just made, has to do with others.
    pub(super) fn links(&self, action: &Action) -> Links {
        Links { touched: self.touched(action), moment: self.moment(action) }
    }

    fn touched(&self, action: &Action) -> Option<Touched> {
        use Action::*;
        match (&self.exploration.exhaustive, action) {
            (Some(graph), Load { address, .. } | Store { address, .. } | Rmw { address, .. })
            | (Some(graph), Cas { address, .. } | Wait { address, .. }) => {
                graph.touched(self.execution.current, *address)
            }
            // A wait looks at memory itself.
            (None, Load { .. } | Store { .. } | Rmw { .. } | Cas { .. }) => {
                self.execution.memory.as_ref()?.latest()
            }
            _ => None,
        }
    }

    fn moment(&self, action: &Action) -> Option<(Time, Vec<Time>)> {
        let me = self.execution.current;
        match (&self.exploration.exhaustive, &self.exploration.detector, &self.execution.memory) {
            // Where races are looked for, clocks are kept beside the graph.
            (Some(graph), None, _) => graph.moment(me),
            (_, _, Some(memory)) => {
                let clock = &memory.sync.view(me).clock;
                let times = (0..self.execution.alive as ThreadId).map(|thread| clock.get(thread)).collect();
                Some((clock.get(me) - Time::from(action.releases()), times))
            }
            _ => None,
        }
    }
}
