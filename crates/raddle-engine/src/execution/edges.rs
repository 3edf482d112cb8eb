//! What a recorded event has to do with other events: which store it read, where its own stands in modification order, and what
//! happened before it. All of it is known to whoever decided what the access sees: an execution graph, or memory.

use super::Engine;
use crate::happens_before::clock::Time;
use crate::op::ThreadId;
use crate::trace::{Action, Links};
use crate::weak_memory::Touched;

impl Engine {
    /// What the current thread's action, which it has just made, has to do with others.
    pub(super) fn links(&self, action: &Action) -> Links {
        Links { touched: self.touched(action), moment: self.moment(action) }
    }

    fn touched(&self, action: &Action) -> Option<Touched> {
        use Action::*;
        match (&self.exhaustive, action) {
            (Some(graph), Load { address, .. } | Store { address, .. } | Rmw { address, .. })
            | (Some(graph), Cas { address, .. } | Wait { address, .. }) => {
                graph.rf_and_co(self.current, *address)
            }
            // A wait looks at memory itself.
            (None, Load { .. } | Store { .. } | Rmw { .. } | Cas { .. }) => self.memory.as_ref()?.latest(),
            _ => None,
        }
    }

    fn moment(&self, action: &Action) -> Option<(Time, Vec<Time>)> {
        let me = self.current;
        match (&self.exhaustive, &self.detector, &self.memory) {
            // Where races are looked for, clocks are kept beside the graph.
            (Some(graph), None, _) => graph.timestamp(me),
            (_, _, Some(memory)) => {
                let clock = &memory.sync.view(me).clock;
                let times = (0..self.alive as ThreadId).map(|thread| clock.get(thread)).collect();
                Some((clock.get(me) - Time::from(action.releases()), times))
            }
            _ => None,
        }
    }
}
