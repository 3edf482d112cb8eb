//! Store histories and clocks of interleavings: the bridge from operations to [`crate::weak_memory`] and
//! [`crate::happens_before`].
//!
//! **Invariant:** an execution has a [`Memory`](crate::weak_memory::Memory) only if the memory model is weak or races
//! are detected. Without one, reads return the contents of memory and synchronisation is not tracked.

use super::prefixes::Prefix;
use super::{Engine, Execution, Exploration, Outcome};
use crate::happens_before::sync::Message;
use crate::op::{Order, ThreadId};
use crate::weak_memory::{Access, Memory};

impl Engine {
    /// A load of the current thread. Returns the value that it reads.
    #[inline(never)]
    pub(crate) fn load_from_history(&mut self, access: Access) -> u128 {
        self.current().last_was_sc_rmw = false;
        self.with_choice(|memory, reads_from| memory.load(access, reads_from))
    }

    /// A store of the current thread. Returns whether it is last in modification order, so that memory must hold its
    /// value.
    #[inline(never)]
    pub(crate) fn store_in_history(&mut self, access: Access, value: u128) -> bool {
        self.current().last_was_sc_rmw = false;
        self.with_choice(|memory, reads_from| memory.store(access, value, reads_from))
    }

    /// A read-modify-write of the current thread, of the value in memory.
    #[inline(never)]
    pub(crate) fn rmw_in_history(&mut self, access: Access, written: u128) {
        self.current().last_was_sc_rmw = access.order == Order::SeqCst;
        if let Some(memory) = &mut self.execution.memory {
            memory.rmw(access, written);
        }
    }

    /// A compare-exchange of the current thread. Returns the value that it reads.
    #[inline(never)]
    pub(crate) fn cas_in_history(
        &mut self,
        access: Access,
        failure: Order,
        [expected, new]: [u128; 2],
    ) -> u128 {
        self.current().last_was_sc_rmw = access.order == Order::SeqCst;
        self.with_choice(|memory, reads_from| {
            memory.compare_exchange(access, failure, expected, new, reads_from)
        })
    }

    /// A fence of the current thread.
    pub(crate) fn synchronise_fence(&mut self, order: Order) {
        let thread = self.execution.current;
        if let Some(memory) = &mut self.execution.memory {
            memory.sync.fence(thread, order);
        }
    }

    /// A sequentially consistent fence in all threads.
    pub(crate) fn synchronise_fences_of_all(&mut self) {
        if let Some(memory) = &mut self.execution.memory {
            (0..self.execution.alive).for_each(|thread| memory.sync.fence(thread as ThreadId, Order::SeqCst));
        }
    }

    /// The current thread has spawned a thread, which happens after it.
    pub(crate) fn synchronise_spawn(&mut self, child: ThreadId) {
        let parent = self.execution.current;
        if let Some(memory) = &mut self.execution.memory {
            memory.sync.spawn(parent, child);
        }
    }

    /// The current thread has joined a thread, which happens before.
    pub(crate) fn synchronise_join(&mut self, joined: ThreadId) {
        let joiner = self.execution.current;
        if let Some(memory) = &mut self.execution.memory {
            memory.sync.join(joiner, joined);
        }
    }

    /// The current thread releases its view to the end of its scope.
    pub(crate) fn release_to_scope(&mut self, scope: usize) {
        let thread = self.execution.current;
        let Execution { memory: Some(memory), scopes, .. } = &mut self.execution else { return };
        if !scopes.iter().any(|(known, _)| *known == scope) {
            scopes.push((scope, Message::default()));
        }
        let message = scopes.iter_mut().find(|(known, _)| *known == scope).map(|(_, message)| message);
        message.into_iter().for_each(|message| memory.sync.rmw(thread, Order::Release, message));
    }

    /// The current thread acquires the views of the threads that have left its scope.
    pub(crate) fn acquire_from_scope(&mut self, scope: usize) {
        let thread = self.execution.current;
        let Execution { memory: Some(memory), scopes, .. } = &mut self.execution else { return };
        if let Some((_, message)) = scopes.iter().find(|(known, _)| *known == scope) {
            memory.sync.load(thread, Order::Acquire, message);
        }
    }

    /// The current thread may have synchronised with any other thread in uninstrumented code: it acquires the views of
    /// all.
    pub(crate) fn acquire_uninstrumented(&mut self) {
        let thread = self.execution.current;
        if let Some(memory) = &mut self.execution.memory {
            memory.sync.acquire_all(thread);
        }
    }

    /// Runs an access that may choose where in modification order it goes, and logs the choice.
    #[inline]
    fn with_choice<T>(&mut self, access: impl FnOnce(&mut Memory, &mut dyn FnMut(usize) -> usize) -> T) -> T {
        let Execution { memory, mo_offsets, prefix, .. } = &mut self.execution;
        let Exploration { strategy, choice_log, .. } = &mut self.exploration;
        let memory = memory.as_mut().expect("the engine keeps clocks");
        let mut diverged = false;
        let result = access(memory, &mut |alternatives| {
            *prefix = Prefix::Left;
            let choice = strategy.choose_reads_from(alternatives, mo_offsets.len());
            if choice >= alternatives {
                diverged = true;
                return 0;
            }
            if let Some(log) = choice_log {
                log.record_reads_from(choice, alternatives);
            }
            mo_offsets.push(choice as u16);
            choice
        });
        if diverged {
            self.stop(Outcome::Diverged { choice: self.execution.schedule.len() });
        }
        result
    }
}
