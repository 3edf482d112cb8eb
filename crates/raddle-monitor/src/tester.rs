//! What the tester does in place of the operating system. Code under test does not need this module.

use std::fmt::{Debug, Display};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;

/// A monitor under test: two words whose addresses identify it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Words {
    /// 1 while a thread is inside.
    pub lock: AtomicU32,
    /// Changes with every notification.
    pub condition: AtomicU32,
}

/// The implementation of monitors and marked operations for threads that are under test.
pub trait Tester: Sync {
    /// Whether the calling thread is under test. The other methods are called only if so.
    fn is_testing(&self) -> bool;

    /// The thread, which is not inside, enters when no other thread is.
    fn enter(&self, monitor: &Words);

    /// The thread leaves.
    fn exit(&self, monitor: &Words);

    /// The thread leaves, waits for a notification, and enters again.
    fn wait(&self, monitor: &Words);

    /// Notifies one waiting thread, or all of them.
    fn notify(&self, monitor: &Words, all: bool);

    /// A marked operation begins.
    fn begin_step(&self, name: &dyn Display);

    /// A marked operation has ended, with this result unless it has none.
    fn end_step(&self, name: &dyn Display, result: Option<&dyn Debug>);
}

static TESTER: OnceLock<&'static dyn Tester> = OnceLock::new();

/// Makes the tester known. The first one stays.
pub fn install(tester: &'static dyn Tester) {
    // A second tester of the process would have to share its threads with the first.
    let _ = TESTER.set(tester);
}

/// The tester, if the calling thread is under test.
// Not inlined: in the code under test, the look would be an access of its own.
#[inline(never)]
pub(crate) fn of_this_thread() -> Option<&'static dyn Tester> {
    TESTER.get().copied().filter(|tester| tester.is_testing())
}
