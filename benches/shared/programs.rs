//! The programs that every tool explores: one source, compiled against each tool's own threads, atomics and locks, which
//! the including module provides as `rt`. All accesses are sequentially consistent; `main` joins all threads.

use std::cell::UnsafeCell;
use std::sync::Arc;

use super::rt::{AtomicUsize, Mutex, Ordering::SeqCst, thread};

/// A program: its name in the table, how many threads it starts, and what it does.
pub(crate) type Program = (&'static str, usize, fn());

/// All of them.
pub(crate) const PROGRAMS: &[Program] = &[
    ("racy 2x4", 2, || racy(2, 4)),
    ("treiber 3x1", 3, || treiber(3, 1)),
    ("msqueue 2x2", 2, || michael_scott(2, 2)),
    ("mutex 3x2", 3, || mutex(3, 2)),
    ("ainc 4", 4, || increments(4)),
    ("readers 8", 9, || readers(8)),
];

pub(crate) fn spawn_all(threads: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let handles: Vec<_> = (0..threads)
        .map(|index| {
            let body = Arc::clone(&body);
            thread::spawn(move || body(index))
        })
        .collect();
    for handle in handles {
        handle.join().unwrap();
    }
}

/// Increments that lose updates: a load, then a store.
pub(crate) fn racy(threads: usize, times: usize) {
    let x = AtomicUsize::new(0);
    spawn_all(threads, move |_| {
        for _ in 0..times {
            let value = x.load(SeqCst);
            x.store(value + 1, SeqCst);
        }
    });
}

/// A link of a node: written before the node is published, only read afterwards. No tool sees it.
struct Link(UnsafeCell<usize>);

// SAFETY: see above.
unsafe impl Sync for Link {}

/// Treiber's stack over numbered nodes, none of which is used twice.
struct Stack {
    head: AtomicUsize,
    next: Vec<Link>,
}

impl Stack {
    fn push(&self, node: usize) {
        let mut head = self.head.load(SeqCst);
        loop {
            // SAFETY: the node is not published yet.
            unsafe { *self.next[node].0.get() = head };
            match self.head.compare_exchange(head, node, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(seen) => head = seen,
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        let mut head = self.head.load(SeqCst);
        while head != 0 {
            // SAFETY: the node was published, so nobody writes the link any more.
            let next = unsafe { *self.next[head].0.get() };
            match self.head.compare_exchange(head, next, SeqCst, SeqCst) {
                Ok(_) => return Some(head),
                Err(seen) => head = seen,
            }
        }
        None
    }
}

pub(crate) fn treiber(threads: usize, times: usize) {
    let next = (0..=threads * times).map(|_| Link(UnsafeCell::new(0))).collect();
    let stack = Stack { head: AtomicUsize::new(0), next };
    spawn_all(threads, move |thread| {
        for time in 0..times {
            stack.push(1 + thread * times + time);
            stack.pop();
        }
    });
}

/// Michael and Scott's queue over numbered nodes, none of which is used twice.
struct Queue {
    head: AtomicUsize,
    tail: AtomicUsize,
    next: Vec<AtomicUsize>,
}

const NIL: usize = usize::MAX;

impl Queue {
    fn enqueue(&self, node: usize) {
        loop {
            let tail = self.tail.load(SeqCst);
            let next = self.next[tail].load(SeqCst);
            if next != NIL {
                let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
            } else if self.next[tail].compare_exchange(NIL, node, SeqCst, SeqCst).is_ok() {
                let _ = self.tail.compare_exchange(tail, node, SeqCst, SeqCst);
                return;
            }
        }
    }

    fn dequeue(&self) -> Option<usize> {
        loop {
            let head = self.head.load(SeqCst);
            let tail = self.tail.load(SeqCst);
            let next = self.next[head].load(SeqCst);
            if next == NIL {
                return None;
            }
            if head == tail {
                let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
            } else if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                return Some(next);
            }
        }
    }
}

pub(crate) fn michael_scott(threads: usize, times: usize) {
    let next = (0..=threads * times).map(|_| AtomicUsize::new(NIL)).collect();
    let queue = Queue { head: AtomicUsize::new(0), tail: AtomicUsize::new(0), next };
    spawn_all(threads, move |thread| {
        for time in 0..times {
            queue.enqueue(1 + thread * times + time);
            queue.dequeue();
        }
    });
}

pub(crate) fn mutex(threads: usize, times: usize) {
    let counter = Mutex::new(0);
    spawn_all(threads, move |_| {
        for _ in 0..times {
            *counter.lock().unwrap() += 1;
        }
    });
}

/// Atomic increments, one per thread.
fn increments(threads: usize) {
    let x = AtomicUsize::new(0);
    spawn_all(threads, move |_| {
        x.fetch_add(1, SeqCst);
    });
}

/// One thread writes, the others read.
fn readers(count: usize) {
    let x = AtomicUsize::new(0);
    spawn_all(count + 1, move |index| match index {
        0 => x.store(1, SeqCst),
        _ => _ = x.load(SeqCst),
    });
}
