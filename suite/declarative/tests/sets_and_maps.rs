//! Sets and maps, right and wrong.

use std::cell::UnsafeCell;
use std::collections::HashSet;
use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::sync::{Mutex, RwLock};

mod set_or_map {
    use super::*;

    /// A lock that spins.
    #[derive(Default)]
    struct SpinLock<T> {
        locked: AtomicBool,
        value: UnsafeCell<T>,
    }

    // SAFETY: the value is given out under the lock.
    unsafe impl<T: Send> Sync for SpinLock<T> {}

    impl<T> SpinLock<T> {
        fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
            while self.locked.swap(true, Acquire) {
                hint::spin_loop();
            }
            // SAFETY: the lock is held.
            let result = body(unsafe { &mut *self.value.get() });
            self.locked.store(false, Release);
            result
        }
    }

    #[derive(Default)]
    struct SpinLockSet(SpinLock<HashSet<u32>>);

    #[raddle::test(iterations = 20, executions = 1000)]
    impl SpinLockSet {
        #[operation]
        fn insert(&self, #[arg(0..=2)] key: u32) -> bool {
            self.0.with(|set| set.insert(key))
        }

        #[operation]
        fn remove(&self, #[arg(0..=2)] key: u32) -> bool {
            self.0.with(|set| set.remove(&key))
        }

        #[operation]
        fn contains(&self, #[arg(0..=2)] key: u32) -> bool {
            self.0.with(|set| set.contains(&key))
        }
    }

    #[derive(Default)]
    struct MutexSet(Mutex<HashSet<u32>>);

    #[raddle::test(iterations = 20, executions = 1000)]
    impl MutexSet {
        #[operation]
        fn insert(&self, #[arg(0..=2)] key: u32) -> bool {
            self.0.lock().unwrap().insert(key)
        }

        #[operation]
        fn remove(&self, #[arg(0..=2)] key: u32) -> bool {
            self.0.lock().unwrap().remove(&key)
        }

        #[operation]
        fn contains(&self, #[arg(0..=2)] key: u32) -> bool {
            self.0.lock().unwrap().contains(&key)
        }
    }

    #[derive(Default)]
    struct RwLockSet(RwLock<HashSet<u32>>);

    #[raddle::test(iterations = 20, executions = 1000)]
    impl RwLockSet {
        #[operation]
        fn insert(&self, #[arg(0..=2)] key: u32) -> bool {
            self.0.write().unwrap().insert(key)
        }

        #[operation]
        fn remove(&self, #[arg(0..=2)] key: u32) -> bool {
            self.0.write().unwrap().remove(&key)
        }

        #[operation(read_only)]
        fn contains(&self, #[arg(0..=2)] key: u32) -> bool {
            self.0.read().unwrap().contains(&key)
        }
    }

    /// Looks under a read lock, and inserts under a write lock without looking again.
    #[derive(Default)]
    struct LooksTooEarly(RwLock<HashSet<u32>>);

    #[raddle::test(fails = IncorrectResults)]
    impl LooksTooEarly {
        #[operation]
        fn insert(&self, #[arg(0..=2)] key: u32) -> bool {
            if self.0.read().unwrap().contains(&key) {
                return false;
            }
            self.0.write().unwrap().insert(key);
            true
        }

        #[operation(read_only)]
        fn contains(&self, #[arg(0..=2)] key: u32) -> bool {
            self.0.read().unwrap().contains(&key)
        }
    }

    /// An open hash table whose cells are atomic, which is not enough.
    struct Table {
        cells: [(AtomicU32, AtomicU32); 4],
    }

    const EMPTY: u32 = 0;

    impl Default for Table {
        fn default() -> Self {
            Table { cells: std::array::from_fn(|_| (AtomicU32::new(EMPTY), AtomicU32::new(0))) }
        }
    }

    impl Table {
        /// Writes the key after having seen that the cell is free: two threads may both see that.
        fn put(&self, key: u32, value: u32) -> Option<u32> {
            for (at, stored) in &self.cells {
                match at.load(SeqCst) {
                    EMPTY => {
                        stored.store(value, SeqCst);
                        at.store(key, SeqCst);
                        return None;
                    }
                    other if other == key => return Some(stored.swap(value, SeqCst)),
                    _ => {}
                }
            }
            panic!("the table is full")
        }

        fn get(&self, key: u32) -> Option<u32> {
            let cell = self.cells.iter().find(|(at, _)| at.load(SeqCst) == key)?;
            Some(cell.1.load(SeqCst))
        }
    }

    /// Used by two threads at once, a table for one loses what they put.
    #[derive(Default)]
    struct UnsynchronisedMap(Table);

    #[raddle::test(fails = IncorrectResults)]
    impl UnsynchronisedMap {
        #[operation]
        fn put(&self, #[arg(1..=3)] key: u32, #[arg(1..=3)] value: u32) -> Option<u32> {
            self.0.put(key, value)
        }

        #[operation(read_only)]
        fn get(&self, #[arg(1..=3)] key: u32) -> Option<u32> {
            self.0.get(key)
        }
    }

    /// The same table as it was meant: one thread puts.
    #[derive(Default)]
    struct SingleWriterMap(Table);

    #[raddle::test(iterations = 20, executions = 1000)]
    impl SingleWriterMap {
        #[operation(group = "writer")]
        fn put(&self, #[arg(1..=3)] key: u32, #[arg(1..=3)] value: u32) -> Option<u32> {
            self.0.put(key, value)
        }

        #[operation(read_only)]
        fn get(&self, #[arg(1..=3)] key: u32) -> Option<u32> {
            self.0.get(key)
        }
    }

    /// Replacing a value returns what is there after it was lost to another, as the old value (found by Lincheck's authors in a
    /// hash map for the JVM).
    #[derive(Default)]
    struct ReturnsTheNewerValue([AtomicU32; 2]);

    #[raddle::test(fails = IncorrectResults)]
    impl ReturnsTheNewerValue {
        #[operation]
        fn put(&self, #[arg(0..=1)] key: usize, #[arg(1..=3)] value: u32) -> u32 {
            self.0[key].swap(value, SeqCst)
        }

        #[operation]
        fn remove(&self, #[arg(0..=1)] key: usize) -> u32 {
            let old = self.0[key].load(SeqCst);
            match self.0[key].compare_exchange(old, EMPTY, SeqCst, SeqCst) {
                Ok(old) => old,
                Err(newer) => newer,
            }
        }
    }

    /// A snapshot in one go, while others write.
    #[derive(Default)]
    struct SnapshotInOneLook([AtomicU32; 2]);

    #[raddle::test(fails = IncorrectResults)]
    impl SnapshotInOneLook {
        #[operation]
        fn write(&self, #[arg(0..=1)] cell: usize, #[arg(1..=3)] value: u32) {
            self.0[cell].store(value, SeqCst);
        }

        #[operation(read_only)]
        fn snapshot(&self) -> (u32, u32) {
            (self.0[0].load(SeqCst), self.0[1].load(SeqCst))
        }
    }

    /// Two looks that agree are a snapshot where values never come back: here each write has a number.
    #[derive(Default)]
    struct SnapshotInTwoLooks([AtomicU32; 2]);

    #[raddle::test(iterations = 20, executions = 1000)]
    impl SnapshotInTwoLooks {
        #[operation]
        fn increment(&self, #[arg(0..=1)] cell: usize) {
            self.0[cell].fetch_add(1, SeqCst);
        }

        #[operation(read_only)]
        fn snapshot(&self) -> (u32, u32) {
            let look = || (self.0[0].load(SeqCst), self.0[1].load(SeqCst));
            let mut last = look();
            loop {
                let next = look();
                if next == last {
                    return next;
                }
                last = next;
            }
        }
    }
}
