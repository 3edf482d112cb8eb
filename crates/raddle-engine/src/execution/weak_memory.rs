//! What accesses see and what they are ordered by, where that is more than what memory holds: see [`crate::weak_memory`].
//!
//! Everything here is reached only if the engine has a [`Memory`](crate::weak_memory::Memory): under sequential consistency, without
//! anything that needs clocks, reads see what memory holds and nothing is remembered.

use super::{Engine, Execution, Exploration, Outcome};
use crate::happens_before::Model;
use crate::happens_before::sync::Message;
use crate::op::{Order, ThreadId};
use crate::weak_memory::{Access, Memory};

impl Engine {
    /// Whether anything is remembered.
    #[inline(always)]
    pub fn remembers(&self) -> bool {
        self.execution.memory.is_some()
    }

    /// Whether reads may see older values.
    #[inline]
    pub(crate) fn is_weak(&self) -> bool {
        self.execution.memory.as_ref().is_some_and(|memory| memory.model() == Model::Rc11)
    }

    /// The current thread loads; returns what it reads.
    #[inline(never)]
    pub(crate) fn remember_load(&mut self, access: Access) -> u128 {
        self.current().made_sc_rmw = false;
        self.choosing(|memory, reads_from| memory.load(access, reads_from))
    }

    /// The current thread stores; returns whether memory is to hold the new value.
    #[inline(never)]
    pub(crate) fn remember_store(&mut self, access: Access, value: u128) -> bool {
        self.current().made_sc_rmw = false;
        self.choosing(|memory, reads_from| memory.store(access, value, reads_from))
    }

    /// The current thread modifies what memory holds.
    #[inline(never)]
    pub(crate) fn remember_rmw(&mut self, access: Access, written: u128) {
        self.current().made_sc_rmw = access.order == Order::SeqCst;
        if let Some(memory) = &mut self.execution.memory {
            memory.rmw(access, written);
        }
    }

    /// The current thread exchanges, if it reads what it expects; returns what it reads.
    #[inline(never)]
    pub(crate) fn remember_exchange(
        &mut self,
        access: Access,
        failure: Order,
        [expected, new]: [u128; 2],
    ) -> u128 {
        self.current().made_sc_rmw = access.order == Order::SeqCst;
        self.choosing(|memory, reads_from| {
            memory.compare_exchange(access, failure, expected, new, reads_from)
        })
    }

    /// The current thread makes a fence.
    pub(crate) fn remember_fence(&mut self, order: Order) {
        let thread = self.execution.current;
        if let Some(memory) = &mut self.execution.memory {
            memory.sync.fence(thread, order);
        }
    }

    /// All threads make a fence that is sequentially consistent.
    pub(crate) fn remember_fences_of_all(&mut self) {
        if let Some(memory) = &mut self.execution.memory {
            (0..self.execution.alive).for_each(|thread| memory.sync.fence(thread as ThreadId, Order::SeqCst));
        }
    }

    /// The current thread has made another.
    pub(crate) fn remember_spawn(&mut self, child: ThreadId) {
        let parent = self.execution.current;
        if let Some(memory) = &mut self.execution.memory {
            memory.sync.spawn(parent, child);
        }
    }

    /// The current thread has seen the end of another.
    pub(crate) fn remember_join(&mut self, joined: ThreadId) {
        let joiner = self.execution.current;
        if let Some(memory) = &mut self.execution.memory {
            memory.sync.join(joiner, joined);
        }
    }

    /// The current thread has done what the scope waits for.
    pub(crate) fn remember_leave(&mut self, scope: usize) {
        let thread = self.execution.current;
        let Execution { memory: Some(memory), scopes, .. } = &mut self.execution else { return };
        if !scopes.iter().any(|(known, _)| *known == scope) {
            scopes.push((scope, Message::default()));
        }
        let message = scopes.iter_mut().find(|(known, _)| *known == scope).map(|(_, message)| message);
        message.into_iter().for_each(|message| memory.sync.rmw(thread, Order::Release, message));
    }

    /// The current thread looks whether all threads of the scope have left it, and takes over what those did that have.
    pub(crate) fn remember_scope_end(&mut self, scope: usize) {
        let thread = self.execution.current;
        let Execution { memory: Some(memory), scopes, .. } = &mut self.execution else { return };
        if let Some((_, message)) = scopes.iter().find(|(known, _)| *known == scope) {
            memory.sync.load(thread, Order::Acquire, message);
        }
    }

    /// The current thread may have synchronised with any other, in code that is not instrumented.
    pub(crate) fn remember_unseen_synchronisation(&mut self) {
        let thread = self.execution.current;
        if let Some(memory) = &mut self.execution.memory {
            memory.sync.acquire_all(thread);
        }
    }

    /// Runs an access that may have a choice, and notes what was chosen.
    #[inline]
    fn choosing<T>(&mut self, access: impl FnOnce(&mut Memory, &mut dyn FnMut(usize) -> usize) -> T) -> T {
        let Execution { memory, mo_offsets, .. } = &mut self.execution;
        let Exploration { strategy, choice_log, .. } = &mut self.exploration;
        let memory = memory.as_mut().expect("the engine remembers");
        let mut diverged = false;
        let result = access(memory, &mut |ways| {
            let choice = strategy.choose_reads_from(ways, mo_offsets.len());
            if choice >= ways {
                diverged = true;
                return 0;
            }
            if let Some(log) = choice_log {
                log.note_reads_from(choice, ways);
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
