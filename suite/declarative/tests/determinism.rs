//! What differs from run to run elsewhere must not do so here: else a failure could not be shown again.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{LazyLock, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

mod deterministic_object {
    use super::*;

    /// Hash maps with random keys, iterated over.
    #[derive(Default)]
    struct IteratesAHashMap(Mutex<HashMap<u32, u32>>);

    #[raddle::test(mode = ModelChecking, iterations = 10, executions = 300)]
    impl IteratesAHashMap {
        #[operation]
        fn insert(&self, key: u32) -> usize {
            let mut map = self.0.lock().unwrap();
            *map.entry(key).or_default() += 1;
            map.len()
        }

        #[operation(read_only)]
        fn sum(&self) -> u32 {
            self.0.lock().unwrap().values().sum()
        }
    }

    /// Time passes, but tells nothing.
    #[derive(Default)]
    struct LooksAtTheClock(AtomicUsize);

    #[raddle::test(mode = ModelChecking, iterations = 10, executions = 300, spec = usize)]
    impl LooksAtTheClock {
        // The object itself would really sleep as its own specification.
        #[operation(spec = |count| { *count += 1; *count - 1 })]
        fn wait_a_little(&self) -> usize {
            let begin = Instant::now();
            thread::sleep(Duration::from_millis(5));
            assert!(begin.elapsed() >= Duration::from_millis(5));
            self.0.fetch_add(1, SeqCst)
        }
    }

    static TOTAL: AtomicUsize = AtomicUsize::new(0);
    static NAMES: LazyLock<Mutex<Vec<u32>>> = LazyLock::new(Mutex::default);
    static FIRST: OnceLock<u32> = OnceLock::new();

    /// Statics are as they were before every execution, though not within the sequential runs that say what is correct; so the
    /// object says what of them is its own.
    struct UsesStatics {
        before: usize,
    }

    #[raddle::test(mode = ModelChecking, iterations = 10, executions = 300, before = 2, after = 2, spec = usize)]
    impl UsesStatics {
        #[init]
        fn new() -> Self {
            assert!(NAMES.lock().unwrap().is_empty());
            assert!(FIRST.get().is_none());
            UsesStatics { before: TOTAL.load(SeqCst) }
        }

        #[operation(spec = |total| { *total += 1; *total })]
        fn count(&self) -> usize {
            NAMES.lock().unwrap().push(1);
            FIRST.get_or_init(|| 1);
            TOTAL.fetch_add(1, SeqCst) + 1 - self.before
        }
    }

    thread_local! {
        static OWN: Cell<usize> = const { Cell::new(0) };
    }

    /// Thread-locals are new with every thread, of every execution.
    #[derive(Default)]
    struct UsesThreadLocals(AtomicUsize);

    #[raddle::test(mode = ModelChecking, iterations = 10, executions = 300, operations = 1, before = 0, after = 0, spec = usize)]
    impl UsesThreadLocals {
        #[operation(spec = |_| 1)]
        fn count_own(&self) -> usize {
            OWN.set(OWN.get() + 1);
            OWN.get()
        }

        #[operation(spec = |total| { *total += 1; *total - 1 })]
        fn count_all(&self) -> usize {
            self.0.fetch_add(1, SeqCst)
        }
    }

    /// Where memory lies shows in nothing that is compared.
    #[derive(Default)]
    #[expect(clippy::vec_box, reason = "each value is to have an address of its own")]
    struct LooksAtAddresses(Mutex<Vec<Box<u32>>>);

    #[raddle::test(mode = ModelChecking, iterations = 10, executions = 300)]
    impl LooksAtAddresses {
        #[operation]
        fn push(&self, value: u32) -> bool {
            let mut boxes = self.0.lock().unwrap();
            boxes.push(Box::new(value));
            boxes.iter().all(|one| (&raw const **one).addr() != 0)
        }

        #[operation]
        fn pop(&self) -> Option<u32> {
            self.0.lock().unwrap().pop().map(|one| *one)
        }
    }
}
