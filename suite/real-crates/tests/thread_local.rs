//! thread_local: objects per thread in one table, with numbers of threads given out and back.

use std::cell::Cell;
use std::thread;

use real_crates::{passes, repeats};
use thread_local::ThreadLocal;

#[test]
fn each_thread_has_its_own_and_all_can_be_gathered() {
    passes(1500, || {
        let mut counters = ThreadLocal::new();
        thread::scope(|scope| {
            for i in [1, 10, 100] {
                let counters: &ThreadLocal<Cell<u32>> = &counters;
                scope.spawn(move || {
                    let own = counters.get_or_default();
                    own.set(own.get() + i);
                });
            }
        });
        // The number of a thread that has ended is given to the next: two of them may have shared a cell.
        assert_eq!(counters.iter_mut().map(|counter| counter.get()).sum::<u32>(), 111);
    });
}

#[test]
fn initialisers_run_once_a_thread() {
    passes(1500, || {
        let local = ThreadLocal::new();
        local.get_or(|| 0);
        thread::scope(|scope| {
            for i in 1..3 {
                let local = &local;
                scope.spawn(move || {
                    let first = *local.get_or(|| i);
                    assert_eq!(*local.get_or(|| 99), first);
                    assert!(first != 0 && first != 99);
                });
            }
        });
        assert_eq!(local.get(), Some(&0));
    });
}

#[test]
fn thread_local_failures_repeat() {
    repeats(5000, || {
        let local = ThreadLocal::new();
        thread::scope(|scope| {
            for i in 0..2 {
                let local = &local;
                scope.spawn(move || _ = local.get_or(|| Cell::new(i)));
            }
        });
        let made: Vec<i32> = local.into_iter().map(Cell::into_inner).collect();
        assert_eq!(made.len(), 2, "one thread came after the other had ended and took its place");
    });
}
