//! The lock of a `std::sync::Mutex`: one event, made when the mutex is free. What std would do otherwise (spin, mark the mutex as
//! contended, wait, try again) is left out, because it ends in the same.

use crate::detect::fault::AccessKind;
use crate::execution::{Engine, Execution};
use crate::location_table::MemoryLocation;
use crate::op::{Effect, Order, Pending};
use crate::semantics::unobserved::access_of;
use crate::site::Site;
use crate::thread::State;
use crate::trace::{Action, SwitchReason};

/// The current thread locks the mutex at `word` by writing `new` to it, when the mutex is free.
pub(super) fn lock(engine: &mut Engine, word: *mut u32, new: u32, order: Order) {
    let (address, size) = (word.addr(), size_of::<u32>() as u8);
    engine.reach(MemoryLocation { address, size }, AccessKind::AtomicWrite);
    engine.point_of_lock(word);
    engine.reach(MemoryLocation { address, size }, AccessKind::AtomicWrite);
    // SAFETY: the mutex of the current thread's call, which was reached.
    unsafe { word.write_volatile(new) };
    if engine.remembers() {
        engine.remember_rmw(access_of(engine, Site::MutexLock, word, order, 0), new.into());
    }
    let new = new.into();
    engine.record(|| Action::Cas { address, size, order, expected: 0, new, read: 0, newest: 0 });
}

impl Engine {
    /// Before the current thread locks the mutex at `place`: waits until that is unlocked and the thread is chosen.
    #[inline]
    pub(crate) fn point_of_lock(&mut self, place: *const u32) {
        let address = place.addr();
        // SAFETY: the mutex of the current thread's call; one OS thread runs all virtual threads.
        let locked = || unsafe { place.read_volatile() } != 0;
        if locked() {
            self.count_step();
            self.wait_for_lock(address);
        } else {
            self.point(Pending { address, effect: Effect::Lock });
        }
        // The C library and std's own compiled code lock without asking.
        while locked() {
            self.wait_for_lock(address);
        }
        self.current().spin.reset();
        if self.execution.runnable.len() > 1 {
            self.hold_back_lockers(address);
        }
    }

    pub(super) fn wait_for_lock(&mut self, address: usize) {
        let me = self.execution.current;
        // SAFETY: the mutex is locked, so it exists.
        let held = unsafe { *(address as *const u32) };
        self.record(|| Action::Wait { address, expected: held, blocks: true, timeout: None });
        self.execution.lockers.push(me);
        self.block(State::Lock { address }, SwitchReason::Blocked);
    }

    /// The current thread is about to lock the mutex: others that were about to, wait from now on.
    pub(super) fn hold_back_lockers(&mut self, address: usize) {
        let me = self.execution.current;
        let Engine { execution: Execution { runnable, lockers, .. }, threads, .. } = self;
        runnable.retain(|&id| {
            let thread = &mut threads[id as usize];
            let waits =
                id != me && thread.pending.effect == Effect::Lock && thread.pending.address == address;
            if waits {
                thread.state = State::Lock { address };
                lockers.push(id);
            }
            !waits
        });
    }

    /// Lets those go on whose mutex is unlocked. It is looked at rather than noted, because std's own compiled code
    /// unlocks too, in `Condvar::wait`.
    pub(crate) fn release_lockers(&mut self) {
        for index in (0..self.execution.lockers.len()).rev() {
            let id = self.execution.lockers[index];
            let State::Lock { address } = self.threads[id as usize].state else { continue };
            // SAFETY: a thread is about to lock the mutex, so it exists.
            if unsafe { (address as *const u32).read_volatile() } == 0 {
                self.execution.lockers.swap_remove(index);
                // What it does next is lock.
                self.threads[id as usize].pending = Pending { address, effect: Effect::Lock };
                self.make_runnable(id);
            }
        }
    }
}
