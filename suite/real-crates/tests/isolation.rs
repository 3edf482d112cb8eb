//! An execution leaves nothing behind: statics, thread-locals, heap and addresses are at the start of each as they were at
//! the start of the first, and after the exploration as they were before it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, RwLock};
use std::thread;

use raddle::{Explorer, Isolation, Strategy};
use real_crates::{assert_same, fails, passes, strategies};

static COUNTER: AtomicUsize = AtomicUsize::new(3);
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());
static TABLE: RwLock<Option<HashMap<u32, Box<u32>>>> = RwLock::new(None);
static NAME: OnceLock<String> = OnceLock::new();
static SQUARES: LazyLock<Vec<usize>> = LazyLock::new(|| {
    COUNTER.fetch_add(1, SeqCst);
    (0..100).map(|i| i * i).collect()
});

/// Uses and changes every static, in two threads.
fn use_statics() {
    thread::scope(|scope| {
        for i in 0..2 {
            scope.spawn(move || {
                COUNTER.fetch_add(10, SeqCst);
                LOG.lock().unwrap().push(format!("thread {i}"));
                TABLE.write().unwrap().get_or_insert_default().insert(i, Box::new(i));
                NAME.get_or_init(|| format!("by {i}"));
                assert_eq!(SQUARES[9], 81);
            });
        }
    });
}

mod isolated {
    use super::*;

    #[test]
    fn statics_that_were_never_used_before() {
        passes(500, || {
            assert_eq!(COUNTER.load(SeqCst), 3);
            assert!(
                LOG.lock().unwrap().is_empty() && TABLE.read().unwrap().is_none() && NAME.get().is_none()
            );
            use_statics();
            assert_eq!(COUNTER.load(SeqCst), 24);
        });
        assert_eq!(COUNTER.load(SeqCst), 3);
        assert!(LOG.lock().unwrap().is_empty() && TABLE.read().unwrap().is_none() && NAME.get().is_none());
    }

    #[test]
    fn statics_that_were_used_before() {
        use_statics();
        LOG.lock().unwrap().truncate(0);
        LOG.lock().unwrap().push("before".into());
        let name = NAME.get().cloned();
        let check = || {
            assert_eq!(COUNTER.load(SeqCst), 24);
            assert_eq!(*LOG.lock().unwrap(), ["before"]);
            assert_eq!(TABLE.read().unwrap().as_ref().unwrap().len(), 2);
            assert_eq!(NAME.get(), name.as_ref());
        };
        passes(500, || {
            check();
            // Grows beyond its memory, and gives back what it had from before the exploration.
            LOG.lock().unwrap().extend((0..50).map(|i| i.to_string()));
            *LOG.lock().unwrap() = Vec::new();
            *TABLE.write().unwrap() = None;
            COUNTER.store(0, SeqCst);
            thread::spawn(|| COUNTER.fetch_add(1, SeqCst)).join().unwrap();
        });
        check();
        use_statics();
    }

    /// A static that fills many pages, of which each execution touches a few.
    #[test]
    fn large_statics() {
        static LARGE: [AtomicUsize; 100_000] = [const { AtomicUsize::new(0) }; 100_000];
        passes(200, || {
            let touched = (0..100_000).step_by(9_999);
            for place in touched {
                assert_eq!(LARGE[place].fetch_add(1, SeqCst), 0);
            }
        });
        assert!(LARGE.iter().all(|place| place.load(SeqCst) == 0));
    }

    #[test]
    fn thread_locals() {
        thread_local! {
            static PLAIN: Cell<u32> = const { Cell::new(1) };
            static LAZY: RefCell<Vec<u32>> = RefCell::new(vec![1]);
        }
        // Those of the thread that explores are not those of the closure.
        PLAIN.set(77);
        LAZY.with_borrow_mut(|lazy| lazy.push(77));
        passes(500, || {
            for _ in 0..2 {
                thread::spawn(|| {
                    assert_eq!(PLAIN.replace(2), 1);
                    LAZY.with_borrow_mut(|lazy| {
                        assert_eq!(*lazy, [1]);
                        lazy.push(2);
                    });
                });
            }
            assert_eq!(PLAIN.replace(3), 1);
            LAZY.with_borrow_mut(|lazy| {
                assert_eq!(*lazy, [1]);
                *lazy = Vec::new();
            });
        });
        assert_eq!(PLAIN.get(), 77);
        assert_eq!(LAZY.take(), [1, 77]);
    }

    /// What the closure captured lies in memory from before the exploration; it is rolled back as well, also if an execution
    /// freed it, moved it or let it grow.
    #[test]
    fn captured_objects() {
        let vector = Arc::new(Mutex::new(vec![1, 2, 3]));
        let map = Box::new(Mutex::new(HashMap::from([(1, "one".to_owned())])));
        let slot = Box::new(Mutex::new(Some(Box::new([7u8; 300]))));
        let count = Box::new(AtomicUsize::new(0));
        passes(500, || {
            assert_eq!(*vector.lock().unwrap(), [1, 2, 3]);
            assert_eq!(map.lock().unwrap().len(), 1);
            assert_eq!(count.fetch_add(1, SeqCst), 0);
            let other = Arc::clone(&vector);
            let grower = thread::spawn(move || other.lock().unwrap().extend(0..1000));
            map.lock().unwrap().extend((2..100).map(|key| (key, key.to_string())));
            // Freed, and memory of that size asked for again.
            let taken = slot.lock().unwrap().take().expect("there in every execution");
            assert_eq!(*taken, [7; 300]);
            drop(taken);
            std::hint::black_box([0u8; 300].to_vec());
            grower.join().unwrap();
            *vector.lock().unwrap() = Vec::new();
        });
        assert_eq!(*vector.lock().unwrap(), [1, 2, 3]);
        assert_eq!(Arc::strong_count(&vector), 1);
        assert_eq!(map.into_inner().unwrap(), HashMap::from([(1, "one".to_owned())]));
        assert_eq!(*slot.into_inner().unwrap().unwrap(), [7; 300]);
        assert_eq!(count.into_inner(), 0);
    }

    /// What it borrows from the function that explores lies on a stack.
    #[test]
    fn borrowed_objects() {
        let (count, vector) = (AtomicUsize::new(0), Mutex::new(vec![1]));
        passes(500, || {
            assert_eq!(count.fetch_add(1, SeqCst), 0);
            let mut vector = vector.lock().unwrap();
            assert_eq!(*vector, [1]);
            vector.extend(0..100);
        });
        assert_eq!((count.into_inner(), vector.into_inner().unwrap()), (0, vec![1]));
    }

    /// Addresses are part of what a program can see: the order of a set of pointers, a hash. Under every schedule, the first
    /// things that a thread allocates lie where they lay before.
    #[test]
    fn addresses() {
        thread_local!(static LOCAL: Cell<u32> = const { Cell::new(0) });
        fn look() -> [usize; 5] {
            let (boxed, vector, on_stack) = (Box::new(1), vec![0u8; 5000], 0);
            let large = vec![0u8; 1 << 20];
            [
                (&raw const *boxed).addr(),
                vector.as_ptr().addr(),
                large.as_ptr().addr(),
                (&raw const on_stack).addr(),
                LOCAL.with(|local| (&raw const *local).addr()),
            ]
        }
        for strategy in strategies() {
            let report = Explorer::new().strategy(strategy.clone()).executions(500).run(|| {
                let first = look();
                let in_turn = thread::spawn(look).join().unwrap();
                let counter = Arc::new(Mutex::new(0));
                for _ in 0..2 {
                    let counter = Arc::clone(&counter);
                    thread::spawn(move || *counter.lock().unwrap() += 1);
                }
                (first, in_turn, format!("{:?}", thread::current().id()))
            });
            assert_eq!(report.outcomes.len(), 1, "{strategy}");
        }
    }

    /// Values that are different in every run of a program, and the same in every execution.
    #[test]
    fn what_the_system_says() {
        use std::hash::{BuildHasher, RandomState};
        use std::time::{Instant, SystemTime};
        let report = Explorer::new().strategy(Strategy::Random).executions(300).run(|| {
            let ids =
                [(); 2].map(|()| thread::spawn(|| format!("{:?}", thread::current().id())).join().unwrap());
            let now = Instant::now();
            let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            (ids, RandomState::new().hash_one(1), format!("{now:?}"), wall)
        });
        assert_eq!(report.outcomes.len(), 1);
    }

    fn memory(line: &str) -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|status| status.starts_with(line)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Peak memory after a million executions is what it was after a thousand.
    #[test]
    fn memory_does_not_grow() {
        static TOUCHED: AtomicUsize = AtomicUsize::new(0);
        let explore = |executions| {
            let report = Explorer::new().strategy(Strategy::Random).executions(executions).run(|| {
                let numbers = Arc::new(Mutex::new(vec![0u64; 100]));
                let other = Arc::clone(&numbers);
                let thread = thread::spawn(move || other.lock().unwrap().push(1));
                TOUCHED.fetch_add(1, SeqCst);
                // What is leaked is given back too.
                std::mem::forget(vec![0u8; 10_000]);
                thread.join().unwrap();
            });
            assert_eq!(report.executions, executions);
        };
        explore(1_000);
        let (peak, resident) = (memory("VmHWM:"), memory("VmRSS:"));
        explore(1_000_000);
        let (peak_after, resident_after) = (memory("VmHWM:"), memory("VmRSS:"));
        assert!(peak_after < peak + 2_048, "peak memory grew from {peak} to {peak_after} KiB");
        assert!(
            resident_after < resident + 2_048,
            "resident memory grew from {resident} to {resident_after} KiB"
        );
    }

    /// Failures are not free of memory (they are kept), but executions before and after them are isolated all the same.
    #[test]
    fn executions_that_crash_leave_nothing_behind() {
        static STEPS: AtomicUsize = AtomicUsize::new(0);
        for _ in 0..20 {
            let failure = Explorer::new().executions(100).try_run(|| {
                assert_eq!(STEPS.fetch_add(1, SeqCst), 0, "left behind");
                let mutex = Arc::new(Mutex::new(()));
                let other = Arc::clone(&mutex);
                let _guard = mutex.lock();
                thread::spawn(move || other.lock().map(|_| ()).unwrap());
                std::process::abort();
            });
            let failure = failure.expect_err("it aborts");
            assert_eq!(failure.message, "the code under test aborted");
        }
        assert_eq!(STEPS.load(SeqCst), 0);
    }

    /// The other way to keep executions apart finds the same.
    #[test]
    fn a_process_for_each_execution_gives_the_same_results() {
        let explore = |isolation| {
            Explorer::new().isolation(isolation).strategy(Strategy::Random).executions(100).run(|| {
                COUNTER.fetch_add(1, SeqCst);
                let order = Mutex::new(Vec::new());
                thread::scope(|scope| {
                    for i in 0..3 {
                        let order = &order;
                        scope.spawn(move || order.lock().unwrap().push(i));
                    }
                });
                assert_eq!(COUNTER.load(SeqCst), 4);
            })
        };
        let (rolled_back, forked) = (explore(Isolation::Rollback), explore(Isolation::Fork));
        assert_eq!(
            (forked.executions, forked.events, forked.switches),
            (rolled_back.executions, rolled_back.events, rolled_back.switches)
        );
    }

    #[test]
    fn a_process_for_each_execution_finds_the_same_failure() {
        let explore = |isolation| {
            let explorer = Explorer::new().isolation(isolation).strategy(Strategy::Random);
            fails(explorer.executions(1_000), || {
                let order = Mutex::new(Vec::new());
                thread::scope(|scope| {
                    for i in 0..3 {
                        let order = &order;
                        scope.spawn(move || order.lock().unwrap().push(i));
                    }
                });
                assert_ne!(*order.lock().unwrap(), [2, 0, 1]);
            })
        };
        let (rolled_back, forked) = (explore(Isolation::Rollback), explore(Isolation::Fork));
        assert_eq!(forked.found_by.execution, rolled_back.found_by.execution);
        assert_same("fork", &rolled_back, &forked);
    }
}
