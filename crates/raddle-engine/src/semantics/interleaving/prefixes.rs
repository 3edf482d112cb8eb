//! Executions that begin at the checkpoint of a prefix: see [`crate::execution::prefixes`].

use std::mem;

use crate::execution::prefixes::{Beginning, Choice, Place, Prefix};
use crate::execution::{Engine, MachineSnapshot};
use crate::op::ThreadId;
use crate::thread::ThreadStatus;

impl Engine {
    /// Begins the execution at the checkpoint of a prefix that it shares with earlier ones. False if there is none.
    pub(super) fn begin_at_prefix(&mut self) -> bool {
        if !mem::take(&mut self.exploration.shares_prefix_next) {
            return false;
        }
        if self.prefixes().is_empty() {
            if self.may_share_prefixes() {
                self.execution.prefix = Prefix::Grows(Place::First);
            }
            return false;
        }
        let mut prefixes = mem::take(self.prefixes());
        let Beginning { machine, spins, prefix } = prefixes.descend(|point| self.exploration.choose(point));
        self.restore(machine);
        for (thread, spin) in self.threads.iter_mut().zip(spins) {
            thread.spin.copy_from(spin);
        }
        self.execution.prefix = prefix;
        *self.prefixes() = prefixes;
        true
    }

    /// The choice of an execution that begins here. Takes a checkpoint, if the choice is the next one of the tree: then this returns
    /// once now, without a choice, and once for each execution that begins here, with its choice.
    #[cold]
    #[inline(never)]
    pub(super) fn choose_by_prefix(&mut self, some_defer: bool) -> Option<ThreadId> {
        if let Prefix::Grows(place) = mem::replace(&mut self.execution.prefix, Prefix::Left)
            && self.may_take_checkpoints()
            // What the closure returned is outside of the checkpoint.
            && self.threads[0].status != ThreadStatus::Finished
        {
            self.take_checkpoint_of_choice(place, some_defer);
        }
        match self.execution.prefix {
            Prefix::Chosen { thread, behind } => {
                self.execution.prefix = behind.map_or(Prefix::Left, Prefix::Grows);
                Some(thread)
            }
            _ => None,
        }
    }

    #[inline(never)]
    fn take_checkpoint_of_choice(&mut self, place: Place, some_defer: bool) {
        let this: *mut Engine = self;
        // SAFETY: nothing else uses the engine until the explorer passes control back. Then the engine may be in another execution,
        // so callers read it anew.
        unsafe { Engine::ask_explorer(this, &mut || (*this).add_prefix(place, some_defer)) };
    }

    /// Runs on the explorer's stack, so that the stacks of all threads stand still.
    fn add_prefix(&mut self, place: Place, some_defer: bool) {
        let mut machine = MachineSnapshot::default();
        if !self.snapshot(&mut machine) {
            return;
        }
        machine.compact();
        let execution = &self.execution;
        let (runnable, active) = match some_defer {
            true => (&execution.candidates, &execution.active),
            false => (&execution.runnable, &execution.runnable),
        };
        let threads = &self.threads[..execution.alive];
        let choice = Choice {
            current: execution.current,
            runnable: runnable.clone(),
            active: active.clone(),
            pending: threads.iter().map(|thread| thread.pending).collect(),
            number: execution.schedule.len(),
        };
        let spins = threads.iter().map(|thread| thread.spin.clone()).collect();
        self.prefixes().add(place, choice, machine, spins);
    }

    /// Whether executions differ by the choices of a strategy alone, and nothing looks at what they do on the way.
    pub(super) fn may_share_prefixes(&self) -> bool {
        let exploration = &self.exploration;
        exploration.strategy.depends_on_points_alone()
            && !exploration.limits.also.random_bytes
            && !exploration.limits.notes_stacks
            && !exploration.clears_stacks
            && self.may_take_checkpoints()
    }
}
