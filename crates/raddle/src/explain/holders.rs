//! The holders of locks, derived from the trace: a futex does not record its holder.
//!
//! The thread that changes a lock word from zero acquires the lock, and the thread that changes it to zero releases it. The slow path
//! of std is not instrumented; a thread that is woken at a word and does not wait there again has acquired it.

use std::collections::{HashMap, HashSet};

use raddle_engine::op::{Rmw, ThreadId};
use raddle_engine::trace::{Action, MonitorAct, Trace};
use raddle_report::failure::Primitive;

/// The holders of lock words at the end of a trace.
#[derive(Debug, Default)]
pub(super) struct Holders {
    holder: HashMap<usize, ThreadId>,
    /// The locks of monitors.
    monitors: HashSet<usize>,
}

impl Holders {
    pub(super) fn of(trace: &Trace) -> Holders {
        let mut holders = Holders::default();
        // The words at which threads were woken, until their next event shows whether they acquired the lock.
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
                Action::Monitor { address, ref act } => {
                    holders.monitors.insert(address);
                    match act {
                        MonitorAct::Enters | MonitorAct::Resumes => {
                            holders.holder.insert(address, event.thread);
                        }
                        MonitorAct::Exits | MonitorAct::Waits => {
                            holders.holder.remove(&address);
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        holders
    }

    /// What a thread waits for that waits at an address of a monitor: to enter, or for a notification. The word of the condition
    /// follows that of the lock.
    pub(super) fn of_monitor(&self, address: usize) -> Option<Primitive> {
        let is_condition = || self.monitors.contains(&(address - size_of::<u32>()));
        match self.monitors.contains(&address) {
            true => Some(Primitive::Monitor),
            false => is_condition().then_some(Primitive::Condvar),
        }
    }

    /// The thread that holds the lock at an address.
    pub(super) fn holder(&self, address: usize) -> Option<ThreadId> {
        self.holder.get(&address).copied()
    }
}
