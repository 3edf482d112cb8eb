//! Small bugs that every strategy is put through, each with its repaired twin.
//!
//! `tests/every_strategy.rs` has the properties. `strategies::list` has the strategies and their claims.

use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use raddle::Kind;

/// A small program with a bug, and without.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// The name of the bug.
    pub name: &'static str,
    /// The kind of the failure.
    pub kind: Kind,
    /// Whether only few schedules show the bug.
    pub is_hidden: bool,
    /// The program. The argument says whether the bug is repaired.
    pub program: fn(repaired: bool),
}

/// All bugs.
pub const BUGS: [Bug; 6] = [
    Bug { name: "deadlock", kind: Kind::Deadlock, is_hidden: true, program: deadlock },
    Bug { name: "self-deadlock", kind: Kind::Deadlock, is_hidden: false, program: self_deadlock },
    Bug { name: "lost update", kind: Kind::Panic, is_hidden: true, program: lost_update },
    Bug { name: "panic", kind: Kind::Panic, is_hidden: false, program: panic },
    Bug { name: "rare order", kind: Kind::Panic, is_hidden: true, program: rare_order },
    Bug { name: "data race", kind: Kind::DataRace, is_hidden: false, program: data_race },
];

/// Two threads take two locks; the second one in the opposite order.
fn deadlock(repaired: bool) {
    let (first, second) = (&Mutex::new(0), &Mutex::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _first = first.lock().unwrap();
            *second.lock().unwrap() += 1;
        });
        scope.spawn(move || {
            let (outer, inner) = if repaired { (first, second) } else { (second, first) };
            let _outer = outer.lock().unwrap();
            *inner.lock().unwrap() += 1;
        });
    });
}

/// A thread takes a lock that it holds.
fn self_deadlock(repaired: bool) {
    let lock = Mutex::new(0);
    let guard = lock.lock().unwrap();
    if repaired {
        drop(guard);
    } else {
        std::mem::forget(guard);
    }
    thread::scope(|scope| scope.spawn(|| *lock.lock().unwrap() += 1).join().unwrap());
}

/// Two threads increment a counter, by a load and a store.
fn lost_update(repaired: bool) {
    let counter = AtomicUsize::new(0);
    let increment = || {
        if repaired {
            counter.fetch_add(1, SeqCst);
        } else {
            counter.store(counter.load(SeqCst) + 1, SeqCst);
        }
    };
    thread::scope(|scope| {
        scope.spawn(increment);
        scope.spawn(increment);
    });
    assert_eq!(counter.into_inner(), 2, "an update was lost");
}

/// A thread panics in every schedule.
fn panic(repaired: bool) {
    let thread = thread::spawn(move || assert!(repaired, "a panic in every schedule"));
    thread.join().unwrap();
}

/// Four threads must come in one of 24 orders.
fn rare_order(repaired: bool) {
    let order = AtomicUsize::new(0);
    thread::scope(|scope| {
        for digit in 1..=4 {
            let order = &order;
            scope.spawn(move || order.fetch_update(SeqCst, SeqCst, |order| Some(order * 10 + digit)));
        }
    });
    assert!(repaired || order.into_inner() != 3142, "the threads came in the order 3142");
}

/// Two threads write plain data.
fn data_race(repaired: bool) {
    struct Plain(UnsafeCell<usize>);
    // SAFETY: it is not safe where the bug is not repaired: the data race is the bug.
    unsafe impl Sync for Plain {}
    impl Plain {
        fn increment(&self) {
            // SAFETY: as above.
            unsafe { *self.0.get() += 1 };
        }
    }
    let (data, lock) = (Plain(UnsafeCell::new(0)), Mutex::new(()));
    let increment = || {
        let _guard = repaired.then(|| lock.lock().unwrap());
        data.increment();
    };
    thread::scope(|scope| {
        scope.spawn(increment);
        scope.spawn(increment);
    });
}
