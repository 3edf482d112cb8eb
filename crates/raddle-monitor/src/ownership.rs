//! Who is inside a monitor, and how often.
//!
//! Nothing here is inlined: in the code under test, accesses to the owner would be accesses of its own.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use crate::real::Real;
use crate::tester::{self, Words};

/// A re-entrant lock with a condition.
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    /// The token of the thread inside, or 0.
    owner: AtomicUsize,
    /// How often the owner is inside. Only the owner reads or writes it.
    depth: AtomicU32,
    /// The lock of threads that are not under test.
    real: Real,
    /// The lock of threads under test.
    tested: Words,
}

impl Ownership {
    pub(crate) const fn new() -> Ownership {
        let tested = Words { lock: AtomicU32::new(0), condition: AtomicU32::new(0) };
        Ownership { owner: AtomicUsize::new(0), depth: AtomicU32::new(0), real: Real::new(), tested }
    }

    /// Enters, or enters again.
    #[inline(never)]
    pub(crate) fn enter(&self) {
        if self.is_mine() {
            self.depth.store(self.depth.load(Relaxed) + 1, Relaxed);
            return;
        }
        match tester::of_this_thread() {
            Some(tester) => tester.enter(&self.tested),
            None => self.real.enter(),
        }
        self.own(1);
    }

    /// Leaves, as often as it was entered.
    #[inline(never)]
    pub(crate) fn exit(&self) {
        let rest = self.depth.load(Relaxed) - 1;
        self.depth.store(rest, Relaxed);
        if rest > 0 {
            return;
        }
        self.owner.store(0, Relaxed);
        match tester::of_this_thread() {
            Some(tester) => tester.exit(&self.tested),
            None => self.real.exit(),
        }
    }

    /// Leaves altogether, waits for a notification, and enters as often again.
    #[inline(never)]
    pub(crate) fn wait(&self) {
        let depth = self.depth.load(Relaxed);
        self.owner.store(0, Relaxed);
        match tester::of_this_thread() {
            Some(tester) => tester.wait(&self.tested),
            None => self.real.wait(),
        }
        self.own(depth);
    }

    /// Notifies one waiting thread, or all.
    #[inline(never)]
    pub(crate) fn notify(&self, all: bool) {
        match tester::of_this_thread() {
            Some(tester) => tester.notify(&self.tested, all),
            None => self.real.notify(all),
        }
    }

    /// Whether the calling thread is inside.
    #[inline(never)]
    pub(crate) fn is_mine(&self) -> bool {
        // Another thread may change the owner meanwhile, but neither to this thread nor from it.
        self.owner.load(Relaxed) == token()
    }

    fn own(&self, depth: u32) {
        self.owner.store(token(), Relaxed);
        self.depth.store(depth, Relaxed);
    }
}

/// A number that no other living thread has, and not 0.
fn token() -> usize {
    thread_local!(static TOKEN: u8 = const { 0 });
    TOKEN.with(|token| std::ptr::from_ref(token).addr())
}
