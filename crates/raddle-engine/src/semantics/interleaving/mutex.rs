//! The lock of a `std::sync::Mutex`: one event, made when the mutex is free. The slow path of std (spin, mark the mutex
//! as contended, wait, try again) is left out, because it ends in the same state.

use crate::detect::fault::AccessKind;
use crate::execution::order_hash::{Kind, Step};
use crate::execution::{Engine, Execution};
use crate::location_table::MemoryLocation;
use crate::op::{Effect, Order, Pending};
use crate::semantics::unobserved::access_of;
use crate::site::Site;
use crate::thread::ThreadStatus;
use crate::trace::{Action, SwitchReason};

/// The current thread locks the mutex at `word` by writing `new` to it, when the mutex is free.
pub(super) fn lock(engine: &mut Engine, word: *mut u32, new: u32, order: Order) {
    let (address, size) = (word.addr(), size_of::<u32>() as u8);
    engine.reach(MemoryLocation { address, size }, AccessKind::AtomicWrite);
    engine.comes_to(Step::new(Kind::Lock, address as u64));
    engine.point_of_lock(word);
    engine.reach(MemoryLocation { address, size }, AccessKind::AtomicWrite);
    // SAFETY: the mutex of the current thread's call, whose memory was checked.
    unsafe { word.write_volatile(new) };
    if engine.keeps_clocks() {
        engine.rmw_in_history(access_of(engine, Site::MutexLock, word, order, 0), new.into());
    }
    engine.hash_lock(address);
    let new = new.into();
    engine.record(|| Action::Cas { address, size, order, expected: 0, new, read: 0, newest: 0 });
}

impl Engine {
    /// The scheduling point before the current thread locks the mutex at `word`: waits until the mutex is unlocked and
    /// the thread is chosen.
    #[inline]
    pub(super) fn point_of_lock(&mut self, word: *const u32) {
        let address = word.addr();
        // SAFETY: the mutex of the current thread's call; one OS thread runs all virtual threads.
        let locked = || unsafe { word.read_volatile() } != 0;
        if locked() {
            self.count_step();
            self.wait_for_lock(address);
        } else {
            self.point(Pending { address, effect: Effect::Lock });
        }
        // The C library and uninstrumented code of std lock without a callback.
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
        self.block(ThreadStatus::Lock { address }, SwitchReason::Blocked);
    }

    /// Blocks the other threads that are about to lock the mutex, because the current thread does.
    pub(super) fn hold_back_lockers(&mut self, address: usize) {
        let me = self.execution.current;
        let Engine { execution: Execution { runnable, lockers, .. }, threads, .. } = self;
        runnable.retain(|&id| {
            let thread = &mut threads[id as usize];
            let waits =
                id != me && thread.pending.effect == Effect::Lock && thread.pending.address == address;
            if waits {
                thread.status = ThreadStatus::Lock { address };
                lockers.push(id);
            }
            !waits
        });
    }

    /// Unblocks the threads whose mutex is unlocked. The word itself is read, because uninstrumented code of std
    /// unlocks too, in `Condvar::wait`.
    pub(crate) fn release_lockers(&mut self) {
        for index in (0..self.execution.lockers.len()).rev() {
            let id = self.execution.lockers[index];
            let ThreadStatus::Lock { address } = self.threads[id as usize].status else { continue };
            // SAFETY: a thread is about to lock the mutex, so it exists.
            if unsafe { (address as *const u32).read_volatile() } == 0 {
                self.execution.lockers.swap_remove(index);
                // The thread locks next.
                self.threads[id as usize].pending = Pending { address, effect: Effect::Lock };
                self.make_runnable(id);
            }
        }
    }
}
