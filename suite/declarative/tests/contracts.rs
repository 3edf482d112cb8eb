//! Contracts weaker than linearizability: what they forgive, and what not.

use std::collections::VecDeque;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::SeqCst};

/// Vyukov's queue for many producers and one consumer: while a push is between its two steps, later pushes that have returned
/// cannot be seen. Nodes are kept until the end.
struct Mpsc {
    tail: AtomicPtr<Node>,
    head: AtomicPtr<Node>,
    first: *mut Node,
}

struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

// SAFETY: nodes are changed through atomics only.
unsafe impl Send for Mpsc {}
// SAFETY: as above.
unsafe impl Sync for Mpsc {}

fn node(value: u32) -> *mut Node {
    Box::into_raw(Box::new(Node { value, next: AtomicPtr::new(ptr::null_mut()) }))
}

impl Default for Mpsc {
    fn default() -> Self {
        let first = node(0);
        Mpsc { tail: AtomicPtr::new(first), head: AtomicPtr::new(first), first }
    }
}

impl Mpsc {
    fn push(&self, value: u32) {
        let new = node(value);
        let last = self.tail.swap(new, SeqCst);
        // SAFETY: nodes live as long as the queue.
        unsafe { &*last }.next.store(new, SeqCst);
    }

    fn pop(&self) -> Option<u32> {
        // SAFETY: nodes live as long as the queue.
        let next = unsafe { &*self.head.load(SeqCst) }.next.load(SeqCst);
        // SAFETY: as above.
        let value = unsafe { next.as_ref() }?.value;
        self.head.store(next, SeqCst);
        Some(value)
    }
}

impl Drop for Mpsc {
    fn drop(&mut self) {
        let mut node = self.first;
        while !node.is_null() {
            // SAFETY: nobody else is left.
            node = unsafe { Box::from_raw(node) }.next.into_inner();
        }
    }
}

#[derive(Default)]
struct MpscIsLinearizable(Mpsc);

#[raddle::test(fails = IncorrectResults, spec = VecDeque<u32>)]
impl MpscIsLinearizable {
    #[operation(spec = |queue, value| queue.push_back(value))]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation(group = "consumer", spec = |queue| queue.pop_front())]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

#[derive(Default)]
struct MpscIsQuiescent(Mpsc);

#[raddle::test(iterations = 20, executions = 500, operations = 3, spec = VecDeque<u32>, contract = Quiescent)]
impl MpscIsQuiescent {
    #[operation(spec = |queue, value| queue.push_back(value))]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation(group = "consumer", spec = |queue| queue.pop_front())]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

/// Where there are pauses, quiescent consistency asks for order: a queue that loses values is wrong in any case.
#[derive(Default)]
struct LossyIsQuiescent(AtomicU32);

#[raddle::test(fails = IncorrectResults, contract = Quiescent, spec = u32)]
impl LossyIsQuiescent {
    #[operation(spec = |sum, value| *sum += value)]
    fn add(&self, #[arg(1..=3)] value: u32) {
        self.0.store(self.0.load(SeqCst) + value, SeqCst);
    }

    #[operation(spec = |sum| *sum, read_only)]
    fn sum(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

/// Each thread has a box of its own and looks into others only when that is empty: in the order of the threads' own
/// operations, but not in that of real time.
#[derive(Default)]
struct Buffered {
    shared: AtomicU32,
    /// What a thread has written but not yet shared.
    pending: [AtomicU32; 4],
}

impl Buffered {
    fn write(&self, thread: usize, value: u32) {
        self.flush(thread);
        self.pending[thread].store(value, SeqCst);
    }

    fn read(&self, thread: usize) -> u32 {
        match self.pending[thread].load(SeqCst) {
            0 => self.shared.load(SeqCst),
            own => own,
        }
    }

    fn flush(&self, thread: usize) {
        let pending = self.pending[thread].swap(0, SeqCst);
        if pending != 0 {
            self.shared.store(pending, SeqCst);
        }
    }
}

#[derive(Default)]
struct LateIsLinearizable(Buffered);

#[raddle::test(fails = IncorrectResults, spec = u32, before = 0, after = 0)]
impl LateIsLinearizable {
    #[operation(spec = |register, _, value| *register = value)]
    fn write(&self, #[arg(thread_id())] thread: usize, #[arg(1..=3)] value: u32) {
        self.0.write(thread, value);
    }

    #[operation(spec = |register, _| *register)]
    fn read(&self, #[arg(thread_id())] thread: usize) -> u32 {
        self.0.read(thread)
    }
}

/// One write a thread and one register: who sees its own write early and that of others late is still sequential.
#[derive(Default)]
struct LateIsSequential(Buffered);

#[raddle::test(
    iterations = 20, executions = 500, operations = 2, before = 0, after = 0, spec = u32, contract = Sequential
)]
impl LateIsSequential {
    #[operation(group = "writer", spec = |register, _, value| *register = value)]
    fn write(&self, #[arg(thread_id())] thread: usize, #[arg(1..=3)] value: u32) {
        self.0.write(thread, value);
    }

    #[operation(spec = |register, _| *register)]
    fn read(&self, #[arg(thread_id())] thread: usize) -> u32 {
        self.0.read(thread)
    }
}

/// A queue that takes its values in any order.
#[derive(Default)]
struct AnyOrder(Mutex<Vec<u32>>);

impl AnyOrder {
    fn push(&self, value: u32) {
        self.0.lock().unwrap().push(value);
    }

    fn pop(&self) -> Option<u32> {
        self.0.lock().unwrap().pop()
    }
}

#[derive(Default)]
struct AnyOrderIsLinearizable(AnyOrder);

#[raddle::test(fails = IncorrectResults, spec = VecDeque<u32>)]
impl AnyOrderIsLinearizable {
    #[operation(spec = |queue, value| queue.push_back(value))]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation(spec = |queue| queue.pop_front())]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

#[derive(Default)]
struct AnyOrderIsSerializable(AnyOrder);

#[raddle::test(
    iterations = 20, executions = 500, operations = 2, before = 2, after = 2, spec = VecDeque<u32>,
    contract = Serializable
)]
impl AnyOrderIsSerializable {
    #[operation(spec = |queue, value| queue.push_back(value))]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation(spec = |queue| queue.pop_front())]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

/// Any order is no excuse for values that nobody has pushed.
#[derive(Default)]
struct InventedIsSerializable(AnyOrder, AtomicUsize);

#[raddle::test(
    fails = IncorrectResults, operations = 2, before = 2, after = 2, spec = VecDeque<u32>, contract = Serializable
)]
impl InventedIsSerializable {
    #[operation(spec = |queue, value| queue.push_back(value))]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation(spec = |queue| queue.pop_front())]
    fn pop(&self) -> Option<u32> {
        let popped = self.1.load(SeqCst);
        self.1.store(popped + 1, SeqCst);
        // Two that pop at once think that they are the first.
        if self.1.load(SeqCst) != popped + 1 { Some(99) } else { self.0.pop() }
    }
}

/// Read and write in one transaction, but not at once: strict serializability is broken, too.
#[derive(Default)]
struct LostUpdateIsStrictlySerializable(AtomicU32);

#[raddle::test(fails = IncorrectResults, contract = StrictlySerializable)]
impl LostUpdateIsStrictlySerializable {
    #[operation]
    fn add(&self) -> u32 {
        let value = self.0.load(SeqCst) + 1;
        self.0.store(value, SeqCst);
        value
    }
}
