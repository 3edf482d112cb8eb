//! Threads at the end of the execution, and what they wait for.

use raddle_engine::exploration::Found;
use raddle_engine::op::ThreadId;
use raddle_engine::thread::ThreadStatus;
use raddle_engine::trace::{self, Action, Trace};
use raddle_report::failure::{self, Location, Primitive, ThreadEnd, WaitingFor};

use super::holders::Holders;
use super::{Explainer, FUTEX_SIZE};

impl Explainer<'_> {
    pub(super) fn threads(
        &mut self,
        found: &Found,
        trace: &Trace,
        holders: &Holders,
    ) -> Vec<failure::Thread> {
        let mut threads = Vec::new();
        for (index, thread) in found.threads.iter().enumerate() {
            let id = index as ThreadId;
            let last = trace.events.iter().rev().find(|event| event.thread == id);
            let at = self.stack(&thread.paused_at);
            let end = match thread.state {
                _ if thread.panicked => ThreadEnd::Panicked,
                ThreadStatus::Finished => ThreadEnd::Finished,
                ThreadStatus::Runnable => ThreadEnd::Runnable,
                ThreadStatus::Join(other) => {
                    ThreadEnd::waiting(WaitingFor::Thread(other.into()), Some(other.into()), at)
                }
                ThreadStatus::JoinScope => ThreadEnd::waiting(WaitingFor::Scope, None, at),
                ThreadStatus::Sleeping => ThreadEnd::waiting(WaitingFor::Clock, None, at),
                ThreadStatus::Spinning => {
                    let place = last.and_then(|event| self.spun_on(event));
                    ThreadEnd::waiting(WaitingFor::SpinLoop { place }, None, at)
                }
                ThreadStatus::Lock { address } | ThreadStatus::Futex { address, .. } => {
                    let kind = holders.of_monitor(address).unwrap_or_else(|| self.primitive(at));
                    let place = self.location(address, FUTEX_SIZE);
                    let holder = holders.holder(address).filter(|_| kind.has_holder());
                    ThreadEnd::waiting(WaitingFor::Primitive { kind, place }, holder.map(Into::into), at)
                }
            };
            threads.push(failure::Thread { name: thread.name.clone(), end });
        }
        threads
    }

    /// The location that a spinning thread reads, by its last event.
    fn spun_on(&self, last: &trace::Event) -> Option<Location> {
        match last.action {
            Action::Load { address, size, .. } | Action::Cas { address, size, .. } => {
                Some(self.location(address, size))
            }
            _ => None,
        }
    }

    /// The synchronisation primitive that a thread waits for, by the functions on its stack.
    fn primitive(&self, mut stack: Option<u32>) -> Primitive {
        let mut best: Option<Primitive> = None;
        while let Some(id) = stack {
            let node = self.stacks[id as usize];
            let kind = primitive_of(&self.frames[node.frame as usize].function);
            // The innermost function decides; but a channel or a lock may be made of parking.
            if best.is_none() || (best == Some(Primitive::Park) && kind.is_some()) {
                best = kind;
            }
            stack = node.caller;
        }
        best.unwrap_or(Primitive::Futex)
    }
}

/// The synchronisation primitive that a function belongs to, by the names in its path.
fn primitive_of(function: &str) -> Option<Primitive> {
    let mut names = function.split(|c: char| !c.is_alphanumeric() && c != '_');
    names.find_map(|name| {
        Some(match name {
            "Condvar" | "condvar" => Primitive::Condvar,
            "RwLock" | "RawRwLock" | "rwlock" => Primitive::RwLock,
            "Once" | "OnceLock" | "OnceCell" | "LazyLock" | "once" => Primitive::Once,
            "Barrier" => Primitive::Barrier,
            "Mutex" | "RawMutex" | "mutex" => Primitive::Mutex,
            "mpmc" | "mpsc" | "Receiver" | "Sender" => Primitive::Channel,
            "park" | "park_timeout" | "Parker" => Primitive::Park,
            _ => return None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primitives_are_told_by_whole_words() {
        let check = |function: &str, kind| assert_eq!(primitive_of(function), kind, "{function}");
        check("std::sync::poison::mutex::Mutex<T>::lock", Some(Primitive::Mutex));
        check("std::sys::sync::once::futex::Once::call", Some(Primitive::Once));
        check("core::ops::function::FnOnce::call_once", None);
        check("std::thread::park", Some(Primitive::Park));
        check("my_crate::sparks", None);
    }
}
