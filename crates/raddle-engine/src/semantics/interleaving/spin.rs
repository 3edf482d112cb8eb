//! Spinning threads of interleavings: they are suspended until another thread writes to a location that they read.

use crate::execution::Engine;
use crate::left_out::Reason;
use crate::spinloop::watch::Read;
use crate::thread::{ThreadStatus, Wake};
use crate::trace::SwitchReason;

impl Engine {
    /// The current thread has read without an effect: it may spin.
    #[inline(always)]
    pub(super) fn has_read(&mut self, read: Read) {
        if self.current().spin.read(read) {
            self.spin(read.pc);
        }
    }

    /// The current thread has changed the value at `address`.
    #[inline]
    pub(super) fn has_written(&mut self, address: usize) {
        self.current().spin.reset();
        if !self.execution.spinners.is_empty() {
            self.release_spinners_of(address);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn spin(&mut self, pc: usize) {
        if self.execution.memory_hash_of_round.is_some()
            || self.exploration.limits.prove_spins
            || self.exploration.limits.claims_all
        {
            let top = self.current().stack.top();
            let state = crate::platform::unwind::machine_state(pc, top);
            self.current().spin.iteration_ended(state);
        }
        if self.exploration.limits.prove_spins && !self.current().spin.stuck {
            return;
        }
        if self.exploration.limits.claims_all && !self.current().spin.is_proven() {
            if self.current().spin.may_be_proven() {
                return;
            }
            self.exploration.left_out.add(Reason::LongExecutions);
        }
        self.recognise_no_more();
        let me = self.execution.current;
        self.execution.spinners.push(me);
        self.block(ThreadStatus::Spinning, SwitchReason::Spinning);
    }

    #[cold]
    pub(super) fn release_spinners_of(&mut self, address: usize) {
        for index in (0..self.execution.spinners.len()).rev() {
            let spinner = self.execution.spinners[index];
            if self.threads[spinner as usize].spin.watched().any(|read| read.address == address) {
                self.threads[spinner as usize].spin.reset();
                self.unblock(spinner, Wake::Woken);
            }
        }
    }
}
