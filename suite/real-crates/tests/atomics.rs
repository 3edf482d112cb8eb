//! Every atomic type and operation: the right values, and one event each, whatever the compiler makes of it.
//!
//! Run with `--release` too: optimised code reaches the same operations in other ways (single-bit updates, updates whose
//! result is only compared or not used at all).

use std::hint::black_box;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::*;

use raddle::{Explorer, Strategy};
use raddle_report::failure::Action;
use real_crates::fails;

/// The events of one execution.
#[track_caller]
fn events(body: impl Fn()) -> u64 {
    let report = Explorer::new().strategy(Strategy::Random).executions(1).allow_one_thread(true).run(body);
    assert_eq!(report.executions, 1);
    report.events
}

/// Checks that the operations make as many events as there are of them.
#[track_caller]
fn check(operations: u64, body: impl Fn()) {
    assert_eq!(events(|| ()), 0, "an empty execution has no events");
    assert_eq!(events(body), operations);
}

/// An operation by name, how to do it, and what it makes of a value and an operand.
type Operation<A, T> = (&'static str, fn(&A, T) -> T, fn(T, T) -> T);

macro_rules! operations {
    ($atomic:ident, $int:ident) => {{
        const OPERATIONS: [Operation<$atomic, $int>; 9] = [
            ("swap", |x, v| x.swap(v, SeqCst), |_, v| v),
            ("fetch_add", |x, v| x.fetch_add(v, SeqCst), $int::wrapping_add),
            ("fetch_sub", |x, v| x.fetch_sub(v, SeqCst), $int::wrapping_sub),
            ("fetch_and", |x, v| x.fetch_and(v, SeqCst), |x, v| x & v),
            ("fetch_or", |x, v| x.fetch_or(v, SeqCst), |x, v| x | v),
            ("fetch_xor", |x, v| x.fetch_xor(v, SeqCst), |x, v| x ^ v),
            ("fetch_nand", |x, v| x.fetch_nand(v, SeqCst), |x, v| !(x & v)),
            ("fetch_min", |x, v| x.fetch_min(v, SeqCst), |x, v| x.min(v)),
            ("fetch_max", |x, v| x.fetch_max(v, SeqCst), |x, v| x.max(v)),
        ];
        OPERATIONS
    }};
}

/// The bits of an integer, as a trace has them: without sign.
macro_rules! bits {
    ($value:expr, $int:ident) => {
        u128::from_ne_bytes({
            let mut bytes = [0; 16];
            bytes[..size_of::<$int>()].copy_from_slice(&$value.to_le_bytes());
            bytes
        })
    };
}

macro_rules! integers {
    ($($module:ident: $atomic:ident, $int:ident;)*) => {$(
        mod $module {
            use super::*;

            /// Values at which signs, carries and comparisons go wrong.
            const VALUES: [$int; 7] = [0, 1, 2, $int::MAX, $int::MIN, $int::MAX / 3, !0];

            #[test]
            fn read_modify_write() {
                let operations = operations!($atomic, $int);
                let pairs = (VALUES.len() * VALUES.len()) as u64;
                check(operations.len() as u64 * pairs, || {
                    for before in VALUES {
                        for operand in VALUES {
                            for (name, act, model) in operations {
                                let mut x = $atomic::new(before);
                                let returned = act(black_box(&x), operand);
                                let after = *x.get_mut();
                                assert_eq!(returned, before, "{name}({operand}) of {before} returned");
                                assert_eq!(after, model(before, operand), "{name}({operand}) of {before}");
                            }
                        }
                    }
                });
            }

            #[test]
            fn load_store_and_compare_exchange() {
                check(10, || {
                    let x = &$atomic::new(7);
                    let x = black_box(x);
                    assert_eq!(x.load(Relaxed), 7);
                    x.store(8, Release);
                    assert_eq!(x.load(Acquire), 8);
                    x.store(9, SeqCst);
                    assert_eq!(x.compare_exchange(9, 10, AcqRel, Acquire), Ok(9));
                    assert_eq!(x.compare_exchange(9, 11, SeqCst, Relaxed), Err(10));
                    // A weak exchange may fail for no reason; under Raddle it does not.
                    assert_eq!(x.compare_exchange_weak(10, 12, SeqCst, SeqCst), Ok(10));
                    assert_eq!(x.compare_exchange_weak(10, 13, Release, Relaxed), Err(12));
                    // One load and one exchange.
                    assert_eq!(x.fetch_update(SeqCst, SeqCst, |x| Some(x + 1)), Ok(12));
                });
                check(1, || {
                    let x = $atomic::new(7);
                    assert_eq!(black_box(&x).fetch_update(SeqCst, SeqCst, |_| None), Err(7));
                });
            }

            /// The forms for which compilers have instructions of their own.
            #[test]
            fn results_that_are_only_compared_or_not_used() {
                check(20, || {
                    let x = $atomic::new(0);
                    let x = black_box(&x);
                    // Not used.
                    x.fetch_or(6, SeqCst);
                    x.fetch_and(3, SeqCst);
                    x.fetch_xor(1, SeqCst);
                    x.fetch_add(1, SeqCst);
                    x.fetch_sub(2, SeqCst);
                    x.fetch_max(5, SeqCst);
                    x.fetch_min(4, SeqCst);
                    x.fetch_nand(1, SeqCst);
                    assert_eq!(x.swap(2, SeqCst), !0);
                    // Only compared, as the last owner of a reference does.
                    assert!(x.fetch_sub(1, SeqCst) != 1);
                    assert!(x.fetch_sub(1, SeqCst) == 1);
                    assert!(x.fetch_add(1, SeqCst) == 0);
                    // One bit of it, as locks do: set, set again, cleared, flipped.
                    assert!(x.fetch_or(1 << 3, SeqCst) & (1 << 3) == 0);
                    assert!(x.fetch_or(1 << 3, SeqCst) & (1 << 3) != 0);
                    assert!(x.fetch_and(!(1 << 3), SeqCst) & (1 << 3) != 0);
                    assert!(x.fetch_xor(1 << 3, SeqCst) & (1 << 3) == 0);
                    // A bit that is not known before.
                    let bit = black_box(2);
                    assert!(x.fetch_or(1 << bit, SeqCst) & (1 << bit) == 0);
                    // No change at all is an event like any other.
                    assert_eq!(x.fetch_add(0, SeqCst), 13);
                    assert_eq!(x.fetch_or(0, SeqCst), 13);
                    assert_eq!(x.load(SeqCst), 13);
                });
            }

            /// The trace tells what was done, by the name it has in the source, and with which values.
            #[test]
            fn traced() {
                let operations = operations!($atomic, $int);
                let (before, operand): ($int, $int) = ($int::MAX / 3, $int::MAX - 1);
                let failure = fails(Explorer::new().executions(1), || {
                    let x = $atomic::new(before);
                    for (_, act, _) in operations {
                        act(black_box(&x), operand);
                    }
                    panic!("to see the trace");
                });
                let mut value = before;
                let mut expected = Vec::new();
                for (name, _, model) in operations {
                    let read = value;
                    value = model(value, operand);
                    expected.push((name.to_owned(), bits!(read, $int), bits!(value, $int)));
                }
                let traced: Vec<(String, u128, u128)> = failure
                    .trace
                    .events
                    .iter()
                    .filter_map(|event| match &event.action {
                        Action::Rmw { op, read, written, place, .. } => {
                            assert_eq!(usize::from(place.size), size_of::<$int>());
                            Some((op.clone(), read.0, written.0))
                        }
                        Action::Load { .. } | Action::Store { .. } | Action::Cas { .. } => {
                            panic!("not a read-modify-write: {event:?}")
                        }
                        _ => None,
                    })
                    .collect();
                assert_eq!(traced, expected);
            }
        }
    )*};
}

integers! {
    unsigned_8: AtomicU8, u8;
    unsigned_16: AtomicU16, u16;
    unsigned_32: AtomicU32, u32;
    unsigned_64: AtomicU64, u64;
    unsigned_size: AtomicUsize, usize;
    signed_8: AtomicI8, i8;
    signed_16: AtomicI16, i16;
    signed_32: AtomicI32, i32;
    signed_64: AtomicI64, i64;
    signed_size: AtomicIsize, isize;
}

#[test]
fn booleans() {
    type Bool = Operation<AtomicBool, bool>;
    const OPERATIONS: [Bool; 5] = [
        ("swap", |x, v| x.swap(v, SeqCst), |_, v| v),
        ("fetch_and", |x, v| x.fetch_and(v, SeqCst), |x, v| x & v),
        ("fetch_or", |x, v| x.fetch_or(v, SeqCst), |x, v| x | v),
        ("fetch_xor", |x, v| x.fetch_xor(v, SeqCst), |x, v| x ^ v),
        ("fetch_nand", |x, v| x.fetch_nand(v, SeqCst), |x, v| !(x & v)),
    ];
    check(4 * OPERATIONS.len() as u64, || {
        for (before, operand) in [(false, false), (false, true), (true, false), (true, true)] {
            for (name, act, model) in OPERATIONS {
                let mut x = AtomicBool::new(before);
                assert_eq!(act(black_box(&x), black_box(operand)), before, "{name} returned");
                assert_eq!(*x.get_mut(), model(before, operand), "{name}({operand}) of {before}");
            }
        }
    });
    check(6, || {
        let x = AtomicBool::new(false);
        let x = black_box(&x);
        assert!(!x.load(SeqCst));
        x.store(true, SeqCst);
        assert_eq!(x.compare_exchange(true, false, SeqCst, SeqCst), Ok(true));
        assert_eq!(x.compare_exchange(true, false, SeqCst, SeqCst), Err(false));
        assert!(!x.fetch_not(SeqCst));
        assert!(x.swap(false, SeqCst));
    });
}

#[test]
fn pointers() {
    check(8, || {
        let mut values = [1u16, 2, 3];
        let base = values.as_mut_ptr();
        let x = AtomicPtr::new(base);
        let x = black_box(&x);
        assert_eq!(x.load(SeqCst), base);
        x.store(ptr::null_mut(), SeqCst);
        assert!(x.swap(base, SeqCst).is_null());
        let next = base.wrapping_add(1);
        assert_eq!(x.compare_exchange(base, next, SeqCst, SeqCst), Ok(base));
        assert_eq!(x.compare_exchange_weak(base, next, SeqCst, SeqCst), Err(next));
        assert_eq!(x.fetch_ptr_add(1, SeqCst), next);
        assert_eq!(x.fetch_ptr_sub(2, SeqCst), base.wrapping_add(2));
        assert_eq!(x.load(SeqCst), base);
    });
}

/// Under sequential consistency a fence orders nothing that is not ordered; it is in the trace, but nobody is chosen there.
#[test]
fn fences() {
    let body = || {
        let x = AtomicU8::new(0);
        for order in [SeqCst, AcqRel, Acquire, Release] {
            fence(order);
            // Fences with nothing between them are one.
            black_box(&x).load(Relaxed);
        }
        compiler_fence(SeqCst);
    };
    check(4, body);
    let failure = fails(Explorer::new().executions(1), || {
        body();
        panic!("to see the trace");
    });
    let fences = failure.trace.events.iter().filter(|event| matches!(event.action, Action::Fence { .. }));
    assert_eq!(fences.count(), 4);
}

/// Outside an exploration the same code must do the same, on the machine itself.
#[test]
fn outside_an_exploration() {
    let x = AtomicI8::new(-5);
    let x = black_box(&x);
    assert_eq!(x.fetch_max(3, SeqCst), -5);
    assert_eq!(x.fetch_min(-100, SeqCst), 3);
    assert_eq!(x.fetch_nand(1, SeqCst), -100);
    assert_eq!(x.fetch_update(SeqCst, SeqCst, |x| Some(x / 2)), Ok(-1));
    assert_eq!(x.swap(7, SeqCst), 0);
    assert_eq!(x.compare_exchange(7, 8, SeqCst, SeqCst), Ok(7));
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| COUNTER.fetch_add(1, Relaxed))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(COUNTER.load(Relaxed), 4);
    static COUNTER: AtomicU64 = AtomicU64::new(0);
}
