//! Monitors of interleavings. Entering, waiting and notifying are scheduling points. Leaving is none: whatever other threads do before
//! it, they can do after it.

use crate::detect::fault::AccessKind;
use crate::execution::Engine;
use crate::location_table::MemoryLocation;
use crate::op::{Order, Pending, ThreadId};
use crate::semantics::MonitorCall;
use crate::semantics::unobserved::access_of;
use crate::site::Site;
use crate::thread::ThreadStatus;
use crate::trace::{Action, MonitorAct, SwitchReason};

/// An operation: see [`Semantics::monitor`](crate::semantics::Semantics::monitor).
///
/// # Safety
/// The words must be valid for writes.
pub(super) unsafe fn call(engine: &mut Engine, [lock, condition]: [*mut u32; 2], call: MonitorCall) {
    let address = lock.addr();
    let record = |engine: &mut Engine, act: MonitorAct| engine.record(|| Action::Monitor { address, act });
    // SAFETY: the caller's.
    unsafe {
        match call {
            MonitorCall::Enter => {
                if lock.read_volatile() != 0 {
                    record(engine, MonitorAct::Blocks);
                }
                enter(engine, lock);
                record(engine, MonitorAct::Enters);
            }
            MonitorCall::Exit => {
                exit(engine, lock);
                record(engine, MonitorAct::Exits);
            }
            MonitorCall::Wait => {
                engine.point(Pending::MARKED);
                record(engine, MonitorAct::Waits);
                exit(engine, lock);
                if !engine.wakes_spuriously() {
                    wait(engine, condition.addr());
                }
                enter(engine, lock);
                record(engine, MonitorAct::Resumes);
            }
            MonitorCall::Notify => {
                let woken = notify(engine, condition, 1);
                record(engine, MonitorAct::Notifies(woken.first().copied()));
            }
            MonitorCall::NotifyAll => {
                let woken = notify(engine, condition, u32::MAX);
                record(engine, MonitorAct::NotifiesAll(woken));
            }
        }
    }
}

/// The current thread enters when no other thread is inside.
unsafe fn enter(engine: &mut Engine, lock: *mut u32) {
    let location = MemoryLocation { address: lock.addr(), size: 4 };
    engine.reach(location, AccessKind::AtomicWrite);
    engine.current().in_monitor = true;
    engine.point_of_lock(lock);
    engine.current().in_monitor = false;
    engine.reach(location, AccessKind::AtomicWrite);
    // SAFETY: the caller's.
    unsafe { lock.write_volatile(1) };
    if engine.keeps_clocks() {
        engine.rmw_in_history(access_of(engine, Site::MutexLock, lock, Order::Acquire, 0), 1);
    }
}

/// The current thread leaves.
unsafe fn exit(engine: &mut Engine, lock: *mut u32) {
    // SAFETY: the caller's.
    unsafe { lock.write_volatile(0) };
    engine.current().spin.reset();
    if engine.keeps_clocks() {
        engine.rmw_in_history(access_of(engine, Site::Std, lock, Order::Release, 1), 0);
    }
}

/// The current thread waits for a notification.
fn wait(engine: &mut Engine, address: usize) {
    let me = engine.current_id();
    engine.execution.futexes.wait(me, address, !0);
    engine.current().in_monitor = true;
    engine.block(ThreadStatus::Futex { address, mask: !0 }, SwitchReason::Blocked);
    engine.current().in_monitor = false;
}

/// Notifies up to `count` threads; returns them.
unsafe fn notify(engine: &mut Engine, condition: *mut u32, count: u32) -> Vec<ThreadId> {
    engine.point(Pending::MARKED);
    engine.wake_waiters(condition.addr(), count, !0)
}
