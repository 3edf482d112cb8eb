//! Who holds a lock: read off the trace, because a futex does not know.
//!
//! A lock word is taken by whoever changes it from zero and given back by whoever makes it zero. std's slow path is not
//! instrumented; a thread that was woken at a word and then goes on without waiting there again has taken it.

use std::collections::HashMap;

use raddle_engine::event::Rmw;
use raddle_engine::thread::ThreadId;
use raddle_engine::trace::{Action, Trace};

/// The holders of lock words at the end of a trace.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    holder: HashMap<usize, ThreadId>,
}

impl Holders {
    pub(crate) fn of(trace: &Trace) -> Holders {
        let mut holders = Holders::default();
        // The words at which threads were woken, until their next event tells what became of it.
        let mut woken: HashMap<ThreadId, usize> = HashMap::new();
        for event in &trace.events {
            if let Some(word) = woken.remove(&event.thread)
                && !matches!(event.action, Action::Wait { address, .. } if address == word)
            {
                holders.holder.insert(word, event.thread);
            }
            match event.action {
                Action::Woken { address, timed_out: false } => {
                    woken.insert(event.thread, address);
                }
                Action::Cas { address, expected: 0, read: 0, new, .. } if new != 0 => {
                    holders.holder.insert(address, event.thread);
                }
                Action::Rmw { address, op: Rmw::Swap | Rmw::Or, read: 0, written, .. } if written != 0 => {
                    holders.holder.insert(address, event.thread);
                }
                Action::Rmw { address, written: 0, .. } | Action::Store { address, value: 0, .. } => {
                    holders.holder.remove(&address);
                }
                Action::Cas { address, expected, read, new: 0, .. } if expected == read => {
                    holders.holder.remove(&address);
                }
                _ => {}
            }
        }
        holders
    }

    pub(crate) fn holder(&self, address: usize) -> Option<ThreadId> {
        self.holder.get(&address).copied()
    }
}
