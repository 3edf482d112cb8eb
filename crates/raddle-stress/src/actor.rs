//! Functions of the user, each compiled into a loop over many instances: the call is dynamic once a stride, not once an instance.

use std::cell::Cell;

use crate::arena::{Reply, Slot};
use crate::delay::Delays;

/// An actor, or the arbiter.
pub(crate) trait Act<S, T>: Send + Sync {
    /// Calls the actor on each instance from number `at` on. `at` is the number of the instance that it was called on last.
    ///
    /// # Safety
    /// The states are filled, and nobody writes them meanwhile. Nobody else uses the results.
    unsafe fn sweep(&self, states: &[Slot<S>], results: &[Reply<T>], at: &Cell<usize>, delays: &mut Delays);
}

impl<S, T, F: Fn(&S) -> T + Send + Sync> Act<S, T> for F {
    unsafe fn sweep(&self, states: &[Slot<S>], results: &[Reply<T>], at: &Cell<usize>, delays: &mut Delays) {
        let first = at.get();
        let instances = states.iter().zip(results).enumerate().skip(first);
        // Two loops, so that the one without delays has nothing but the actor in it.
        if delays.between == 0 {
            for (number, (state, result)) in instances {
                at.set(number);
                // SAFETY: as the caller promises.
                unsafe { result.put(self(state.get())) };
            }
        } else {
            for (number, (state, result)) in instances {
                at.set(number);
                delays.pass();
                // SAFETY: as the caller promises.
                unsafe { result.put(self(state.get())) };
            }
        }
    }
}

/// What makes instances of the state.
pub(crate) trait Make<S>: Send + Sync {
    /// Fills the slots.
    ///
    /// # Safety
    /// Nobody else uses the slots.
    unsafe fn fill(&self, states: &[Slot<S>]);
}

impl<S, F: Fn() -> S + Send + Sync> Make<S> for F {
    unsafe fn fill(&self, states: &[Slot<S>]) {
        for state in states {
            // SAFETY: as the caller promises.
            unsafe { state.fill(self()) };
        }
    }
}
