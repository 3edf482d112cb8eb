//! What a program runs on.

use std::sync::atomic::{self, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Where atomics live and what accesses to them do.
pub trait Machine: 'static {
    /// Its atomic integers.
    type Atomic: Atomic;
    /// Its locks.
    type Lock: Lock;

    /// A fence.
    fn fence(order: Ordering);

    /// Spins until the condition holds. It may read, but not write.
    fn wait_until(condition: impl Fn() -> bool);

    /// Spins until the operation returns something. Attempts that return nothing must have no effect.
    fn retry<T>(operation: impl Fn() -> Option<T>) -> T;
}

/// An atomic integer, as std's.
pub trait Atomic: Send + Sync + 'static {
    /// With an initial value.
    fn new(value: u32) -> Self;
    /// As std's.
    fn load(&self, order: Ordering) -> u32;
    /// As std's.
    fn store(&self, value: u32, order: Ordering);
    /// As std's.
    fn swap(&self, value: u32, order: Ordering) -> u32;
    /// As std's.
    fn fetch_add(&self, value: u32, order: Ordering) -> u32;
    /// As std's.
    ///
    /// # Errors
    /// What was found, if that was not `current`.
    fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32>;
}

/// A lock.
pub trait Lock: Send + Sync + 'static {
    /// Not held by anyone.
    fn new() -> Self;
    /// Calls the closure while the lock is held.
    fn with<T>(&self, critical: impl FnOnce() -> T) -> T;
}

/// Part of a test: what a thread does, and what it saw.
pub type Body = Box<dyn Fn() -> Vec<u32> + Send + Sync>;

/// A concurrent program: all threads are started, then joined, and at last something is read.
pub struct Test {
    /// One for each thread.
    pub threads: Vec<Body>,
    /// After all threads.
    pub finally: Body,
}

impl Test {
    /// Threads after which nothing is read.
    pub fn new(threads: Vec<Body>) -> Test {
        Test { threads, finally: Box::new(Vec::new) }
    }

    /// Threads that share something and do the same, but for their number.
    pub fn alike<S: Send + Sync + 'static>(
        count: usize,
        shared: S,
        body: impl Fn(&S, usize) -> Vec<u32> + Copy + Send + Sync + 'static,
    ) -> Test {
        let shared = Arc::new(shared);
        let threads = (0..count).map(|index| {
            let shared = Arc::clone(&shared);
            Box::new(move || body(&shared, index)) as Body
        });
        Test::new(threads.collect())
    }

    /// Threads that share something and do different things.
    pub fn unlike<S: Send + Sync + 'static>(shared: S, bodies: &[fn(&S) -> Vec<u32>]) -> Test {
        let shared = Arc::new(shared);
        let threads = bodies.iter().map(|&body| {
            let shared = Arc::clone(&shared);
            Box::new(move || body(&shared)) as Body
        });
        Test::new(threads.collect())
    }
}

/// The last thing that a thread saw if an assumption of its did not hold and it ended early. No program counts that far.
pub const GAVE_UP: u32 = 0x6A5E_0000;

/// What one execution came to: what each thread saw, and what was read in the end.
pub type Outcome = Vec<Vec<u32>>;

/// std's threads, atomics and locks.
#[derive(Debug)]
pub enum Real {}

impl Real {
    /// Runs a test once.
    pub fn run(test: Test) -> Outcome {
        let threads: Vec<_> = test.threads.into_iter().map(std::thread::spawn).collect();
        let seen = threads.into_iter().map(|thread| thread.join().expect("threads of tests do not panic"));
        let mut outcome: Outcome = seen.collect();
        outcome.push((test.finally)());
        outcome
    }
}

impl Machine for Real {
    type Atomic = AtomicU32;
    type Lock = Mutex<()>;

    #[inline(always)]
    fn fence(order: Ordering) {
        atomic::fence(order);
    }

    #[inline(always)]
    fn wait_until(condition: impl Fn() -> bool) {
        while !condition() {
            std::hint::spin_loop();
        }
    }

    #[inline(always)]
    fn retry<T>(operation: impl Fn() -> Option<T>) -> T {
        loop {
            match operation() {
                Some(value) => return value,
                None => std::hint::spin_loop(),
            }
        }
    }
}

impl Atomic for AtomicU32 {
    #[inline(always)]
    fn new(value: u32) -> AtomicU32 {
        AtomicU32::new(value)
    }

    #[inline(always)]
    fn load(&self, order: Ordering) -> u32 {
        self.load(order)
    }

    #[inline(always)]
    fn store(&self, value: u32, order: Ordering) {
        self.store(value, order);
    }

    #[inline(always)]
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.swap(value, order)
    }

    #[inline(always)]
    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        self.fetch_add(value, order)
    }

    #[inline(always)]
    fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.compare_exchange(current, new, success, failure)
    }
}

impl Lock for Mutex<()> {
    #[inline(always)]
    fn new() -> Mutex<()> {
        Mutex::new(())
    }

    #[inline(always)]
    fn with<T>(&self, critical: impl FnOnce() -> T) -> T {
        let _held: MutexGuard<'_, ()> = self.lock().expect("threads of tests do not panic");
        critical()
    }
}
