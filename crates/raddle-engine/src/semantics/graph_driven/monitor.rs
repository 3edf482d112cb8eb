//! Monitors of graph-driven executions: their steps are those of a mutex and a condition variable.

use super::access::access_within;
use super::futex::wake_threads;
use super::std_calls::steps;
use crate::execution::Engine;
use crate::graph::event::Access;
use crate::op::{Order, Rmw, ThreadId};
use crate::semantics::{MonitorCall, StdCall};
use crate::trace::{Action, MonitorAct};

/// An operation: see [`Semantics::monitor`](crate::semantics::Semantics::monitor).
///
/// # Safety
/// The words must be valid for writes.
pub(super) unsafe fn call(engine: &mut Engine, [lock, condition]: [*mut u32; 2], call: MonitorCall) {
    let address = lock.addr();
    let record = |engine: &mut Engine, act: MonitorAct| {
        engine.current().in_monitor = false;
        engine.record(|| Action::Monitor { address, act });
    };
    if call == MonitorCall::Wait {
        record(engine, MonitorAct::Waits);
    }
    engine.current().in_monitor = true;
    // SAFETY: the caller's.
    unsafe {
        match call {
            MonitorCall::Enter => {
                access_within(engine, 0, lock, Access::Lock(1), Order::Acquire);
                record(engine, MonitorAct::Enters);
            }
            MonitorCall::Exit => {
                access_within(engine, 0, lock, Access::Rmw(Rmw::Swap, 0), Order::Release);
                record(engine, MonitorAct::Exits);
            }
            MonitorCall::Wait => {
                steps(engine, StdCall::CondvarWait { condvar: condition, mutex: lock, deadline: None });
                record(engine, MonitorAct::Resumes);
            }
            MonitorCall::Notify => {
                let woken = notify(engine, condition, 1);
                record(engine, MonitorAct::Notifies(woken.first().copied()));
            }
            MonitorCall::NotifyAll => {
                let woken = notify(engine, condition, i32::MAX as u32);
                record(engine, MonitorAct::NotifiesAll(woken));
            }
        }
    }
}

/// Notifies up to `count` threads; returns them if a trace is recorded.
unsafe fn notify(engine: &mut Engine, condition: *mut u32, count: u32) -> Vec<ThreadId> {
    // SAFETY: the caller's.
    unsafe { access_within(engine, 0, condition, Access::Rmw(Rmw::Add, 1), Order::Relaxed) };
    wake_threads(engine, condition.addr(), count, !0).1
}
