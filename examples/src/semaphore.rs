//! An asynchronous semaphore whose waiters may give up at any time.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// A semaphore. Permits are given to waiters in the order in which they came.
pub struct Semaphore {
    state: Mutex<State>,
    on_cancel: OnCancel,
}

/// What becomes of a permit whose waiter gave up after it was granted, and before it saw that.
#[derive(Clone, Copy)]
enum OnCancel {
    PassOn,
    /// The bug: it is lost.
    Forget,
}

struct State {
    permits: usize,
    waiters: VecDeque<Arc<Waiter>>,
}

#[derive(Default)]
struct Waiter {
    state: Mutex<WaiterState>,
}

#[derive(Default)]
struct WaiterState {
    granted: bool,
    waker: Option<Waker>,
}

impl Semaphore {
    /// A semaphore with so many permits.
    pub fn new(permits: usize) -> Semaphore {
        let state = Mutex::new(State { permits, waiters: VecDeque::new() });
        Semaphore { state, on_cancel: OnCancel::PassOn }
    }

    /// A semaphore with a bug: a permit that is granted to one that gives up is lost.
    pub fn forgetful(permits: usize) -> Semaphore {
        Semaphore { on_cancel: OnCancel::Forget, ..Semaphore::new(permits) }
    }

    /// Takes a permit; waits until there is one.
    pub fn acquire(&self) -> Acquire<'_> {
        Acquire { semaphore: self, waiter: None }
    }

    /// Gives a permit back.
    pub fn release(&self) {
        let mut state = self.state.lock().unwrap();
        let Some(waiter) = state.waiters.pop_front() else {
            state.permits += 1;
            return;
        };
        let waker = {
            let mut waiter = waiter.state.lock().unwrap();
            waiter.granted = true;
            waiter.waker.take()
        };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Waiting for a permit. It may be dropped at any time.
pub struct Acquire<'a> {
    semaphore: &'a Semaphore,
    waiter: Option<Arc<Waiter>>,
}

impl Future for Acquire<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Some(waiter) = &self.waiter {
            let mut waiter = waiter.state.lock().unwrap();
            if !waiter.granted {
                waiter.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            drop(waiter);
            self.waiter = None;
            return Poll::Ready(());
        }
        let mut state = self.semaphore.state.lock().unwrap();
        if state.permits > 0 {
            state.permits -= 1;
            return Poll::Ready(());
        }
        let waiter = Arc::new(Waiter::default());
        waiter.state.lock().unwrap().waker = Some(context.waker().clone());
        state.waiters.push_back(Arc::clone(&waiter));
        drop(state);
        self.waiter = Some(waiter);
        Poll::Pending
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else { return };
        let mut state = self.semaphore.state.lock().unwrap();
        state.waiters.retain(|other| !Arc::ptr_eq(other, &waiter));
        drop(state);
        let granted = waiter.state.lock().unwrap().granted;
        match self.semaphore.on_cancel {
            OnCancel::PassOn if granted => self.semaphore.release(),
            _ => {}
        }
    }
}
