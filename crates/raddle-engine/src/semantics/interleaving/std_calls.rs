//! Uninstrumented functions of std in interleavings: each runs as it is, after a scheduling point. Its code up to the
//! system call is one step.

use crate::execution::Engine;
use crate::isolate::heap;
use crate::op::{Order, Pending};
use crate::semantics::StdCall;
use crate::semantics::unobserved::access_of;
use crate::site::Site;

/// A call: see [`Semantics::std_call`](crate::semantics::Semantics::std_call).
///
/// # Safety
/// The pointers of the call must be valid for their objects.
pub(super) unsafe fn std_call(engine: &mut Engine, call: StdCall) -> Option<u64> {
    engine.recognise_no_more();
    match call {
        StdCall::EnterScope { .. } => return None,
        StdCall::LeaveScope { count, .. } => {
            engine.propagate_panic_to_scope();
            engine.release_to_scope(scope_of(count.addr()));
            return None;
        }
        StdCall::Lock { word } => {
            engine.point_of_lock(word);
            if engine.keeps_clocks() {
                engine.rmw_in_history(access_of(engine, Site::MutexLock, word, Order::Acquire, 0), 1);
            }
            // Compiled code that locks and unlocks it on its own is not seen.
            engine.acquire_uninstrumented();
            return None;
        }
        _ => {}
    }
    engine.point(Pending::NOTHING);
    engine.current().in_condvar_wait = matches!(call, StdCall::CondvarWait { .. });
    if let StdCall::Park { by_user: true, .. } = call
        && engine.wakes_spuriously()
    {
        return Some(0);
    }
    engine.acquire_uninstrumented();
    if let StdCall::CondvarWait { mutex, .. } = call
        && engine.keeps_clocks()
    {
        // SAFETY: the caller's. The call unlocks the mutex unseen; what others find there is nothing new if it was so before.
        let held = unsafe { mutex.read_volatile() };
        engine.store_in_history(access_of(engine, Site::Std, mutex, Order::Release, held), 0);
    }
    None
}

/// The address that identifies a scope: that of the block in which the scope counts its threads.
pub(super) fn scope_of(address: usize) -> usize {
    heap::block_of(address).map_or(address, |block| block.start)
}
