//! Futures on real threads: who waits, and whether anybody could still wake them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Wake;
use std::thread;

use crate::declarative::perform::Bell;

/// Whether all threads of an execution wait or have ended, so that nothing will happen any more.
pub(super) struct Rest {
    idle: AtomicUsize,
    /// How often a thread went on after it had waited.
    resumed: AtomicUsize,
    rung: Vec<AtomicBool>,
    /// Threads that have ended: whether they are rung makes no difference.
    gone: Vec<AtomicBool>,
    /// Whether a thread has seen that nothing will happen any more.
    is_final: AtomicBool,
}

impl Rest {
    pub(super) fn new(threads: usize) -> Rest {
        Rest {
            idle: AtomicUsize::new(0),
            resumed: AtomicUsize::new(0),
            rung: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            gone: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            is_final: AtomicBool::new(false),
        }
    }

    pub(super) fn leave(&self, thread: usize) {
        self.gone[thread].store(true, SeqCst);
        self.idle.fetch_add(1, SeqCst);
    }

    /// Only a thread that runs can ring. If all are idle and nobody has been rung, that stays so.
    fn is_final(&self) -> bool {
        let resumed = self.resumed.load(SeqCst);
        let is_final = self.idle.load(SeqCst) == self.rung.len()
            && self.rung.iter().zip(&self.gone).all(|(rung, gone)| gone.load(SeqCst) || !rung.load(SeqCst))
            && self.resumed.load(SeqCst) == resumed;
        is_final && !self.is_final.swap(true, SeqCst) || self.is_final.load(SeqCst)
    }
}

/// Wakes a real thread.
pub(super) struct Ring {
    pub(super) rest: Arc<Rest>,
    pub(super) thread: usize,
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rest.rung[self.thread].store(true, SeqCst);
    }
}

impl Bell for Ring {
    fn wait(&self) -> bool {
        let rest = &*self.rest;
        rest.idle.fetch_add(1, SeqCst);
        loop {
            if rest.rung[self.thread].load(SeqCst) {
                rest.resumed.fetch_add(1, SeqCst);
                rest.idle.fetch_sub(1, SeqCst);
                rest.rung[self.thread].store(false, SeqCst);
                return true;
            }
            if rest.is_final() {
                return false;
            }
            thread::yield_now();
        }
    }
}
