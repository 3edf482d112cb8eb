//! Locks of `std::sync::RwLock` in graph-driven executions: each is taken and given back in one step, as far as other
//! threads can tell (see [`crate::model_checker`]).

use super::access::{access_and_check, access_within, location_of};
use super::synthetic::SyntheticLocation;
use crate::detect::fault::AccessKind;
use crate::execution::Engine;
use crate::graph::event::{Access, RWLOCK_HOLDERS};
use crate::model_checker::{LockUse, Locking, Restart};
use crate::op::{Caller, Int, Order, Rmw};
use crate::outcome::{Discarded, Outcome};
use crate::semantics::enter;
use crate::site::Site;
use crate::thread::Hold;
use crate::trace::Action;

/// The addends of unlocking and of downgrading.
const UNLOCK_SHARED: u32 = 1u32.wrapping_neg();
const UNLOCK_ALONE: u32 = (RWLOCK_HOLDERS as u32).wrapping_neg();
const DOWNGRADE: u32 = UNLOCK_ALONE.wrapping_add(1);

/// Whether the site is part of locking a `RwLock`.
#[inline(always)]
pub(super) fn is_lock_attempt(site: Site) -> bool {
    matches!(site, Site::RwLockWait | Site::RwLockTry)
}

/// Locks the `RwLock` for the current thread, when it can.
///
/// # Safety
/// As for the functions of [`super`], and `word` must be that of a lock.
pub(super) unsafe fn lock(engine: *mut Engine, caller: Caller, word: *mut u32, shared: bool, order: Order) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.reach(location_of(word), AccessKind::AtomicWrite);
            let lock = word.addr();
            let is_held = word.read_volatile() & RWLOCK_HOLDERS as u32 != 0;
            if !is_held {
                forget_holders(engine, lock);
            }
            let is_known = engine.threads.iter().any(|thread| thread.holds_lock(lock));
            if is_held && !is_known {
                engine.locking(lock, LockUse::Inspect);
            }
            let locking = engine.locking(lock, if shared { LockUse::Read } else { LockUse::Write });
            let mut hold = Hold::new(lock, shared, locking);
            close(engine, hold.gates.clone().map(|number| SyntheticLocation::Gate(lock, number)));
            // A thread that reads already has the share.
            let mine = |held: &Hold| held.lock == lock && held.shared && shared;
            if !engine.current().holds.iter().any(mine) {
                close(engine, hold.shares.clone().map(|number| SyntheticLocation::Share(lock, number)));
            }
            engine.reach(location_of(word), AccessKind::AtomicWrite);
            match (locking.whole, shared) {
                (true, true) => _ = access_and_check(engine, caller, word, Access::RwLockRead, order),
                (true, false) => ask_alone(engine, caller, word, order),
                (false, true) => _ = change(engine, caller, word, Access::RwLockRead, order),
                (false, false) => _ = change(engine, caller, word, Access::RwLockWrite, order),
            }
            if shared {
                open(
                    engine,
                    std::mem::take(&mut hold.gates).map(|number| SyntheticLocation::Gate(lock, number)),
                );
            }
            engine.current().holds.push(hold);
        });
    }
}

/// Tries to lock the `RwLock` for the current thread. Returns the holders in the word: none on success.
///
/// # Safety
/// As for [`lock`].
pub(super) unsafe fn try_lock(
    engine: *mut Engine,
    caller: Caller,
    word: *mut u32,
    shared: bool,
    order: Order,
) -> u32 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let lock = word.addr();
            engine.locking(lock, LockUse::Inspect);
            let access = if shared { Access::RwLockTryRead } else { Access::RwLockTryWrite };
            let read = access_and_check(engine, caller, word, access, order);
            if access.writes(read.into(), 4).is_none() {
                return read;
            }
            engine.current().holds.push(Hold { lock, shared, gates: 0..0, shares: 0..0 });
            0
        })
    }
}

/// Whether the access unlocks or downgrades a lock that the current thread holds.
///
/// # Safety
/// As for the functions of [`super`].
#[inline(always)]
pub(super) unsafe fn is_unlock<T: Int>(engine: *mut Engine, location: *mut T, access: Access) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let thread = (*engine).current();
        if thread.holds.is_empty() || size_of::<T>() != 4 || !thread.holds_lock(location.addr()) {
            return false;
        }
        let read = location.read_volatile().widen() as u32;
        let is_held = read & RWLOCK_HOLDERS as u32 != 0;
        is_held && matches!(added(access), UNLOCK_SHARED | UNLOCK_ALONE | DOWNGRADE)
    }
}

/// Unlocks or downgrades a lock of the current thread. Returns the value of the word.
///
/// # Safety
/// As for [`lock`], and [`is_unlock`] must have said so.
pub(super) unsafe fn unlock(
    engine: *mut Engine,
    caller: Caller,
    word: *mut u32,
    access: Access,
    order: Order,
) -> u32 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let lock = word.addr();
            let holds = &mut engine.current().holds;
            let at_word = |hold: &Hold| hold.lock == lock;
            let held = holds.iter().rposition(at_word).expect("the thread holds the lock");
            let hold = holds.remove(held);
            let still = holds.iter().any(at_word);
            let kept = (added(access) == DOWNGRADE).then(|| match hold.shares.is_empty() {
                true => Hold { shared: true, gates: 0..0, ..hold.clone() },
                false => {
                    let locking = engine.locking(lock, LockUse::Read);
                    Hold { gates: 0..0, ..Hold::new(lock, true, locking) }
                }
            });
            let keeps = kept.as_ref().map_or(0..0, |kept| kept.shares.clone());
            engine.current().holds.extend(kept);
            let read = match hold.shares.is_empty() {
                // std need not wake waiting threads: they await the word itself.
                true => {
                    let unlock = Access::RwLockUnlock(added(access));
                    access_and_check(engine, caller, word, unlock, order) & RWLOCK_HOLDERS as u32
                }
                false => {
                    engine.reach(location_of(word), AccessKind::AtomicWrite);
                    change(engine, caller, word, access, order)
                }
            };
            let shares = hold.shares.filter(|number| !still && !keeps.contains(number));
            open(engine, shares.map(|number| SyntheticLocation::Share(lock, number)));
            open(engine, hold.gates.map(|number| SyntheticLocation::Gate(lock, number)));
            read
        })
    }
}

/// Locks for writing. A writer that must wait first sets a bit in the word, at which `try_read` fails, as in std.
unsafe fn ask_alone(engine: &mut Engine, caller: Caller, word: *mut u32, order: Order) {
    // SAFETY: the caller's. Both steps belong to one instruction of the program, which is no spinloop.
    unsafe {
        if access_within(engine, 0, word, Access::RwLockRequestWrite, order) & RWLOCK_HOLDERS as u32 != 0 {
            access_within(engine, 0, word, Access::RwLockWriteAfterRequest, order);
        }
    }
    engine.accessed_along_graph(location_of(word), caller);
}

fn close(engine: &mut Engine, all: impl Iterator<Item = SyntheticLocation>) {
    all.for_each(|one| _ = engine.take_synthetic_step(one, Access::Lock(1)));
}

fn open(engine: &mut Engine, all: impl Iterator<Item = SyntheticLocation>) {
    all.for_each(|one| _ = engine.take_synthetic_step(one, Access::Rmw(Rmw::Swap, 0)));
}

/// The addend of an access.
fn added(access: Access) -> u32 {
    access.writes(0, 4).unwrap_or(0) as u32
}

/// Changes the word of a split lock, whose order is that of its shares.
unsafe fn change(engine: &mut Engine, caller: Caller, word: *mut u32, access: Access, order: Order) -> u32 {
    // SAFETY: the caller's.
    unsafe {
        let read = word.read_volatile();
        let written = access.writes(read.into(), 4).unwrap_or(read.into()) as u32;
        word.write_volatile(written);
        engine.accessed_along_graph(location_of(word), caller);
        let address = word.addr();
        engine.record(|| {
            let (read, written) = (read.into(), written.into());
            match access {
                Access::Rmw(op, _) => Action::Rmw { address, size: 4, order, op, read, written },
                _ => {
                    Action::Cas { address, size: 4, order, expected: read, new: written, read, newest: read }
                }
            }
        });
        read
    }
}

/// Forgets the holders of a lock whose word says that there are none: they never unlocked it, and another lock has its
/// address.
fn forget_holders(engine: &mut Engine, lock: usize) {
    let mut shares = 0;
    for thread in engine.threads.iter_mut() {
        thread.holds.retain(|hold| {
            if hold.lock == lock {
                shares = shares.max(hold.shares.end).max(hold.gates.end);
            }
            hold.lock != lock
        });
    }
    if shares > 0 {
        engine.renew_lock(lock, shares);
    }
}

impl Engine {
    /// The abstraction by which the current thread uses a `RwLock`.
    pub(crate) fn locking(&mut self, lock: usize, purpose: LockUse) -> Locking {
        let thread = self.execution.current;
        match self.checker().locking(thread, lock, purpose) {
            Ok(locking) => locking,
            Err(Restart) => self.stop(Outcome::Discarded(Discarded::Restart)),
        }
    }

    /// Whether the address is that of a `RwLock` that is split into shares.
    #[inline]
    pub(super) fn is_shared_lock(&mut self, address: usize) -> bool {
        self.checker().is_split_rwlock(address)
    }

    /// Replaces the first `shares` shares of a `RwLock` and their gates by those of another lock at the same address.
    fn renew_lock(&mut self, lock: usize, shares: u16) {
        for number in 0..shares {
            self.checker().begin_generation(SyntheticLocation::Share(lock, number).address());
            self.checker().begin_generation(SyntheticLocation::Gate(lock, number).address());
        }
    }
}
