//! Programs that once were judged wrongly, each under every strategy: what exhaustive and unbounded searches say must agree, what
//! samples see must be among it, and nothing is called complete that was not tried.

use std::cell::UnsafeCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use raddle::{Also, Explorer, Kind, Memory, Report, Strategy};
use support::{Finds, Scope, complete, entry, list};

/// Exhaustive search under both memory models.
const EXHAUSTIVE: [(Strategy, Memory); 2] =
    [(Strategy::Exhaustive, Memory::Sc), (Strategy::Exhaustive, Memory::Rc11)];

/// Searches that sample.
fn samples() -> Vec<(Strategy, Memory)> {
    let samples =
        list().into_iter().filter(|entry| entry.scope == Scope::Samples && entry.finds >= Finds::Obvious);
    samples.map(|entry| (entry.strategy, Memory::Sc)).collect()
}

/// Whether a search must find whatever there is to find.
fn must_find((strategy, _): &(Strategy, Memory)) -> bool {
    entry(strategy).finds == Finds::Hidden
}

/// All of these searches.
fn searches() -> impl Iterator<Item = (Strategy, Memory)> {
    complete().into_iter().chain(samples())
}

fn explorer((strategy, memory): &(Strategy, Memory)) -> Explorer {
    // Some programs are about one thread.
    let explorer = Explorer::new().strategy(strategy.clone()).memory(*memory).allow_one_thread(true);
    explorer.executions(100_000).budget(Duration::from_secs(20))
}

fn outcomes<T: Ord + Clone>(report: &Report<T>) -> BTreeSet<T> {
    report.outcomes.keys().cloned().collect()
}

/// Checks that all complete searches see exactly these outcomes. Samples see all of them if the strategy finds hidden bugs,
/// and else some.
#[track_caller]
fn has_outcomes<T: Ord + Clone + Debug + 'static>(expected: &[T], body: impl Fn() -> T + Copy) {
    let expected: BTreeSet<T> = expected.iter().cloned().collect();
    for search in &complete() {
        let report = explorer(search).run(body);
        assert!(report.complete, "{search:?}: {:?}", report.left_out);
        assert_eq!(outcomes(&report), expected, "{search:?}");
    }
    for search in &samples() {
        let report = explorer(search).executions(3_000).run(body);
        assert!(outcomes(&report).is_subset(&expected), "{search:?}: {:?}", report.outcomes);
        assert!(!must_find(search) || outcomes(&report) == expected, "{search:?}");
    }
    let report = Explorer::new().budget(Duration::from_secs(20)).run(body);
    assert!(report.complete, "auto: {:?}", report.left_out);
    assert_eq!(outcomes(&report), expected, "auto");
}

/// Checks that every search finds a failure of this kind.
#[track_caller]
fn all_find(kind: Kind, body: impl Fn() + Copy) {
    for search in &searches().filter(must_find).collect::<Vec<_>>() {
        let failure = explorer(search).try_run(body).expect_err(&format!("{search:?} finds it"));
        assert_eq!(failure.kind, kind, "{search:?}: {}", failure.message);
    }
    let failure = Explorer::new().budget(Duration::from_secs(20)).try_run(body).expect_err("auto finds it");
    assert_eq!(failure.kind, kind, "auto");
}

/// No search fails; those that come to an end leave out something that begins like this.
#[track_caller]
fn passes_without<T: Ord + Clone + Debug + 'static>(left_out: &str, body: impl Fn() -> T + Copy) {
    for search in &searches().collect::<Vec<_>>() {
        let report = explorer(search).executions(2_000).budget(Duration::from_secs(2)).run(body);
        assert!(!report.complete, "{search:?}: {:?}", report.outcomes);
        let names = report.left_out.iter().any(|text| text.starts_with(left_out));
        assert!(names || !report.exhausted, "{search:?} leaves out {:?}", report.left_out);
    }
    let report = Explorer::new().executions(2_000).budget(Duration::from_secs(4)).run(body);
    assert!(!report.complete, "auto");
}

struct Shared<T>(UnsafeCell<T>);
// SAFETY: that it is not is what some tests are about.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn new(value: T) -> Shared<T> {
        Shared(UnsafeCell::new(value))
    }

    fn get(&self) -> *mut T {
        self.0.get()
    }
}

mod the_end_of_a_scope {
    use super::*;

    #[test]
    fn waits_for_its_own_threads_only() {
        has_outcomes(&[0, 2], || {
            let x = &AtomicUsize::new(0);
            thread::scope(|scope| {
                let reader = scope.spawn(|| x.load(SeqCst));
                thread::scope(|inner| _ = inner.spawn(|| ()));
                x.store(2, SeqCst);
                reader.join().unwrap()
            })
        });
        has_outcomes(&[0, 2], || {
            let x = Arc::new(AtomicUsize::new(0));
            let reader = thread::spawn({
                let x = x.clone();
                move || x.load(SeqCst)
            });
            thread::scope(|inner| inner.spawn(|| ()).join().unwrap());
            x.store(2, SeqCst);
            reader.join().unwrap()
        });
    }

    #[test]
    fn hides_no_deadlock_of_others() {
        all_find(Kind::Deadlock, || {
            let (a, b) = (&Mutex::new(0), &Mutex::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    let _a = a.lock().unwrap();
                    let _b = b.lock().unwrap();
                });
                thread::scope(|inner| _ = inner.spawn(|| ()));
                let _b = b.lock().unwrap();
                let _a = a.lock().unwrap();
            });
        });
    }

    #[test]
    fn does_not_wait_for_destructors_of_thread_locals() {
        static ENDED: AtomicUsize = AtomicUsize::new(0);
        struct Ends;
        impl Drop for Ends {
            fn drop(&mut self) {
                ENDED.store(1, SeqCst);
            }
        }
        thread_local! { static LOCAL: Ends = const { Ends }; }
        has_outcomes(&[0, 1], || {
            thread::scope(|scope| _ = scope.spawn(|| LOCAL.with(|_| ())));
            ENDED.load(SeqCst)
        });
        // Nor if it waits for others.
        has_outcomes(&[0, 1], || {
            thread::scope(|scope| {
                scope.spawn(|| LOCAL.with(|_| ()));
                scope.spawn(|| ());
            });
            ENDED.load(SeqCst)
        });
    }

    #[test]
    fn panics_in_place_of_a_thread() {
        has_outcomes(&[false, true], || {
            let x = AtomicUsize::new(0);
            let threads = || {
                thread::scope(|scope| {
                    scope.spawn(|| x.store(1, SeqCst));
                    scope.spawn(|| assert_eq!(x.load(SeqCst), 0, "too late"));
                });
            };
            catch_unwind(AssertUnwindSafe(threads)).is_err()
        });
    }

    #[test]
    fn comes_after_handles_are_gone() {
        has_outcomes(&[2], || {
            let x = &AtomicUsize::new(0);
            thread::scope(|scope| {
                let first = scope.spawn(|| x.fetch_add(1, SeqCst));
                drop(scope.spawn(|| scope.spawn(|| x.fetch_add(1, SeqCst)).join().unwrap()));
                let _ = first.thread().id();
            });
            x.load(SeqCst)
        });
    }
}

mod critical_sections {
    use super::*;

    #[test]
    fn of_two_threads_come_in_six_orders() {
        let orders = [(0, 1, 3, 4), (0, 2, 3, 1), (0, 3, 4, 1), (1, 2, 0, 3), (1, 3, 0, 4), (2, 3, 0, 1)];
        has_outcomes(&orders, || {
            let mutex = &Mutex::new(0);
            let put = |value| std::mem::replace(&mut *mutex.lock().unwrap(), value);
            thread::scope(|scope| {
                let other = scope.spawn(move || (put(1), put(2)));
                let (c, d) = (put(3), put(4));
                let (a, b) = other.join().unwrap();
                (c, d, a, b)
            })
        });
    }

    #[test]
    fn let_a_thread_in_that_has_waited() {
        has_outcomes(&[0, 1, 2, 3], || {
            let shared = Arc::new((Mutex::new(0), AtomicBool::new(false)));
            let guard = shared.0.lock().unwrap();
            let other = thread::spawn({
                let shared = shared.clone();
                move || {
                    shared.1.store(true, SeqCst);
                    *shared.0.lock().unwrap()
                }
            });
            while !shared.1.load(SeqCst) {
                thread::yield_now();
            }
            drop(guard);
            (0..3).for_each(|_| *shared.0.lock().unwrap() += 1);
            other.join().unwrap()
        });
    }

    /// Whatever is between two looks.
    #[test]
    fn may_be_polled() {
        for pause in [|| (), thread::yield_now, std::hint::spin_loop] {
            passes_without("executions that make more events", || {
                let mutex = &Mutex::new(0);
                thread::scope(|scope| {
                    scope.spawn(|| *mutex.lock().unwrap() += 1);
                    while *mutex.lock().unwrap() < 1 {
                        pause();
                    }
                });
            });
        }
        let try_lock = || {
            let mutex = &Mutex::new(0);
            thread::scope(|scope| {
                scope.spawn(|| *mutex.lock().unwrap() += 1);
                while !mutex.try_lock().is_ok_and(|value| *value == 1) {}
            });
        };
        for search in &searches().collect::<Vec<_>>() {
            explorer(search).executions(2_000).budget(Duration::from_secs(2)).run(try_lock);
        }
    }
}

#[allow(clippy::undocumented_unsafe_blocks, reason = "they are not sound: that is what is to be found")]
mod data_races {
    use super::*;

    #[test]
    fn on_stacks_are_found() {
        all_find(Kind::DataRace, || {
            let (data, flag) = (&Shared::new(0), &AtomicUsize::new(0));
            thread::scope(|scope| {
                scope.spawn(|| unsafe {
                    if flag.load(Relaxed) == 1 {
                        assert_eq!(*data.get(), 7);
                    }
                });
                unsafe { *data.get() = 7 };
                flag.store(1, Relaxed);
            });
        });
        all_find(Kind::DataRace, || {
            let data = &Shared::new(0);
            thread::scope(|scope| {
                scope.spawn(|| unsafe { *data.get() = 7 });
                unsafe { *data.get() = 8 };
            });
        });
        all_find(Kind::DataRace, || {
            let data = &Shared::new(0);
            thread::scope(|scope| {
                let before = unsafe { *data.get() };
                scope.spawn(|| unsafe { *data.get() = 7 });
                assert!(before + unsafe { *data.get() } < 8);
            });
        });
        all_find(Kind::DataRace, || {
            let data = &Shared::new([0u8; 300]);
            thread::scope(|scope| {
                scope.spawn(|| unsafe { *data.get() = std::hint::black_box([7; 300]) });
                std::hint::black_box(unsafe { *data.get() });
            });
        });
    }

    /// The stack is that of a thread that has begun others.
    #[test]
    fn on_the_stack_of_a_thread_that_was_spawned() {
        all_find(Kind::DataRace, || {
            thread::spawn(|| {
                let data = &Shared::new(0);
                thread::scope(|scope| {
                    scope.spawn(|| unsafe { *data.get() = 7 });
                    unsafe { *data.get() = 8 };
                });
            })
            .join()
            .unwrap();
        });
    }

    #[test]
    fn on_stacks_are_none_where_threads_synchronise() {
        has_outcomes(&[0, 7], || {
            let (data, flag) = (&Shared::new(0), &AtomicUsize::new(0));
            thread::scope(|scope| {
                let reader = scope.spawn(|| match flag.load(Acquire) {
                    // SAFETY: the flag says that it was written, and nobody writes again.
                    1 => unsafe { *data.get() },
                    _ => 0,
                });
                // SAFETY: nobody reads it before the flag is set.
                unsafe { *data.get() = 7 };
                flag.store(1, Release);
                reader.join().unwrap()
            })
        });
    }

    #[test]
    fn are_not_hidden_by_the_join_of_another_thread() {
        all_find(Kind::DataRace, || {
            let data: &'static _ = Box::leak(Box::new(Shared::new(0)));
            let writer = thread::spawn(move || unsafe { *data.get() = 1 });
            thread::spawn(|| ()).join().unwrap();
            assert!(unsafe { *data.get() } < 2);
            writer.join().unwrap();
        });
        all_find(Kind::DataRace, || {
            let data = &Shared::new(0);
            thread::scope(|scope| {
                scope.spawn(|| unsafe { *data.get() = 1 });
                thread::scope(|inner| _ = inner.spawn(|| ()));
                assert!(unsafe { *data.get() } < 2);
            });
        });
    }
}

mod complete_is_not_said {
    use super::*;

    #[test]
    fn of_timeouts_that_do_not_end_early() {
        passes_without("timeouts", || {
            let (set, changed) = (&Mutex::new(false), &Condvar::new());
            thread::scope(|scope| {
                scope.spawn(|| {
                    *set.lock().unwrap() = true;
                    changed.notify_one();
                });
                let guard = set.lock().unwrap();
                let (guard, result) =
                    changed.wait_timeout_while(guard, Duration::from_millis(10), |set| !*set).unwrap();
                (*guard, result.timed_out())
            })
        });
    }

    #[test]
    fn of_answers_whether_a_thread_has_finished() {
        let ask = || {
            let thread = thread::spawn(|| ());
            let finished = thread.is_finished();
            thread.join().unwrap();
            finished
        };
        for search in &searches().collect::<Vec<_>>() {
            let report = explorer(search).executions(2_000).run(ask);
            if search.0 == Strategy::Exhaustive {
                assert!(report.complete, "{search:?}: {:?}", report.left_out);
                assert_eq!(outcomes(&report), BTreeSet::from([false, true]), "{search:?}");
            } else {
                assert!(!report.complete, "{search:?}");
                assert!(report.left_out.contains(&"other answers of `is_finished`"), "{search:?}");
            }
        }
    }

    #[test]
    fn of_wake_ups_without_a_cause() {
        passes_without("spurious wake-ups", || {
            let x = &AtomicUsize::new(0);
            thread::scope(|scope| {
                let sleeper = scope.spawn(|| {
                    thread::park();
                    x.load(SeqCst)
                });
                x.store(1, SeqCst);
                sleeper.thread().unpark();
                sleeper.join().unwrap()
            })
        });
    }

    #[test]
    fn of_loops_with_effects_that_go_on_for_ever() {
        passes_without("executions that make more events", || {
            let (x, y) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    while x.load(SeqCst) == 0 {
                        y.store(5, SeqCst);
                    }
                });
                x.store(1, SeqCst);
            });
            y.load(SeqCst)
        });
    }

    #[test]
    fn of_other_random_bytes_and_thread_ids() {
        passes_without("other random bytes", || {
            thread::scope(|scope| _ = scope.spawn(|| ()));
            std::collections::HashSet::from([1, 2, 3, 4, 5]).into_iter().next()
        });
        // Searches by interleavings see both.
        let report = explorer(&EXHAUSTIVE[0]).run(|| {
            let spawn = || thread::spawn(|| ()).thread().id();
            let other = thread::spawn(spawn);
            let mine = spawn();
            format!("{mine:?}") < format!("{:?}", other.join().unwrap())
        });
        assert!(!report.complete && report.left_out.contains(&"other orders of thread ids"));
    }
}

/// Time passes for a thread that does nothing but look at the clock, whatever timers others have.
#[test]
fn loops_that_only_look_at_the_clock_end() {
    for search in &searches().collect::<Vec<_>>() {
        let report = explorer(search).executions(200).run(|| {
            let (done, changed) = (&Mutex::new(false), &Condvar::new());
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut guard = done.lock().unwrap();
                    while !*guard {
                        guard = changed.wait_timeout(guard, Duration::from_millis(300)).unwrap().0;
                    }
                });
                let begin = std::time::Instant::now();
                while begin.elapsed() < Duration::from_millis(50) {}
                *done.lock().unwrap() = true;
            });
        });
        assert!(!report.complete && report.executions > 0, "{search:?}");
    }
}

/// Who gives up the last handle of a thread's result drops the result, and tells the scope; the last thread of a scope wakes its owner.
mod handles_of_threads {
    use super::*;

    /// Exhaustive searches see exactly these outcomes, and are complete.
    #[track_caller]
    fn has_all_outcomes<T: Ord + Clone + Debug + 'static>(expected: &[T], body: impl Fn() -> T + Copy) {
        for search in &EXHAUSTIVE {
            let report = explorer(search).run(body);
            assert!(report.complete, "{search:?}: {:?}", report.left_out);
            assert_eq!(outcomes(&report), expected.iter().cloned().collect(), "{search:?}");
        }
    }

    struct AtEnd(&'static AtomicUsize);

    impl Drop for AtEnd {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    fn leaked() -> &'static AtomicUsize {
        Box::leak(Box::new(AtomicUsize::new(0)))
    }

    /// A scope waits for no destructors of thread-locals, and neither does `is_finished`.
    #[test]
    fn is_finished_before_destructors_of_thread_locals() {
        thread_local! {
            static LOCAL: std::cell::RefCell<Option<AtEnd>> = const { std::cell::RefCell::new(None) };
        }
        let expected = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 1]];
        has_all_outcomes(&expected, || {
            let (ended, mut seen) = (leaked(), [0; 3]);
            thread::scope(|scope| {
                let other = scope.spawn(move || LOCAL.set(Some(AtEnd(ended))));
                seen[0] = usize::from(other.is_finished());
                seen[1] = ended.load(SeqCst);
            });
            seen[2] = ended.load(SeqCst);
            seen
        });
    }

    #[test]
    fn is_finished_after_another_was_joined() {
        has_all_outcomes(&[(false, 1), (true, 1)], || {
            let stored = leaked();
            let finished = thread::scope(|scope| {
                let asked = scope.spawn(move || stored.store(1, SeqCst));
                scope.spawn(|| ()).join().unwrap();
                asked.is_finished()
            });
            (finished, stored.load(SeqCst))
        });
    }

    /// To know that a thread has finished orders nothing in weak memory: only `join` does.
    #[test]
    fn is_finished_in_a_loop() {
        for (search, expected) in EXHAUSTIVE.iter().zip([&[1][..], &[0, 1]]) {
            let report = explorer(search).run(|| {
                let stored = leaked();
                let other = thread::spawn(move || stored.store(1, SeqCst));
                while !other.is_finished() {
                    thread::yield_now();
                }
                stored.load(SeqCst)
            });
            assert!(report.complete, "{search:?}: {:?}", report.left_out);
            assert_eq!(outcomes(&report), expected.iter().copied().collect(), "{search:?}");
        }
    }

    #[test]
    fn a_result_is_dropped_before_its_scope_ends() {
        has_all_outcomes(&[(0, 1), (1, 1)], || {
            let ended = leaked();
            let within = thread::scope(|scope| {
                scope.spawn(move || AtEnd(ended));
                ended.load(SeqCst)
            });
            (within, ended.load(SeqCst))
        });
    }

    /// The wake-up is taken by the end of the scope, which parks, too.
    #[test]
    fn the_end_of_a_scope_takes_a_wake_up() {
        let body = || {
            let main = thread::current();
            let other = thread::spawn(move || main.unpark());
            thread::scope(|scope| _ = scope.spawn(|| ()));
            thread::park();
            other.join().unwrap();
        };
        for search in &complete() {
            let failure = explorer(search).try_run(body).expect_err("the main thread may park for ever");
            assert_eq!(failure.kind, Kind::Deadlock, "{search:?}");
        }
    }

    /// The end of a scope's last thread wakes its owner wherever it parks.
    #[test]
    fn the_last_thread_of_a_scope_ends_a_park() {
        for search in &searches().collect::<Vec<_>>() {
            explorer(search).executions(2_000).run(|| {
                thread::scope(|scope| {
                    scope.spawn(|| ());
                    scope.spawn(|| ());
                    thread::park_timeout(Duration::from_micros(100));
                });
            });
        }
        all_find(Kind::Deadlock, || {
            let (send, receive) = std::sync::mpsc::sync_channel(0);
            thread::scope(|scope| {
                scope.spawn(|| ());
                _ = receive.try_recv();
                _ = send.send(2);
            });
        });
    }
}

/// Of several waits that end at the same time, one ends first, and may end the others in its own way.
#[test]
fn timeouts_at_the_same_time() {
    for search in &searches().collect::<Vec<_>>() {
        explorer(search).executions(2_000).run(|| {
            let shared: &'static (Mutex<bool>, Condvar) = Box::leak(Box::default());
            let wait = move || {
                let (guard, time) = (shared.0.lock().unwrap(), Duration::from_micros(100));
                shared.1.wait_timeout_while(guard, time, |set| !*set).unwrap().1.timed_out()
            };
            let late = thread::spawn(move || {
                thread::sleep(Duration::from_micros(100));
                wait()
            });
            let notifies = thread::spawn(move || {
                let timed_out = wait();
                *shared.0.lock().unwrap() = true;
                shared.1.notify_all();
                timed_out
            });
            [wait(), late.join().unwrap(), notifies.join().unwrap()]
        });
    }
}

/// The processor's counter, read by the instruction itself, shows virtual time, and changes nothing else.
#[test]
fn the_time_stamp_counter_is_virtual() {
    fn stamps() -> (u64, u64) {
        let processor = &mut 7;
        // SAFETY: every x86-64 processor has the instructions.
        let stamps = unsafe { (std::arch::x86_64::_rdtsc(), std::arch::x86_64::__rdtscp(processor)) };
        assert_eq!(*processor, 0);
        stamps
    }
    for search in &searches().collect::<Vec<_>>() {
        let report = explorer(search).executions(20).run(|| {
            let halves = [1.5f64, 2.5, 3.5].map(std::hint::black_box);
            let begin = stamps();
            thread::sleep(Duration::from_secs(1));
            let end = stamps();
            thread::scope(|scope| {
                scope.spawn(|| while stamps().1 < end.1 + 50_000_000 {});
            });
            (begin.0 == begin.1, end.0 - begin.0, halves.iter().sum::<f64>().to_bits())
        });
        assert_eq!(
            outcomes(&report),
            BTreeSet::from([(true, 1_000_000_000, 7.5f64.to_bits())]),
            "{search:?}"
        );
        assert!(report.left_out.contains(&"other times that the clock may show"), "{:?}", report.left_out);
    }
}

mod asked_for {
    use super::*;

    /// Two threads that try once each; each attempt may fail without a reason.
    fn two_that_try() -> (Result<usize, usize>, Result<usize, usize>) {
        let x = &AtomicUsize::new(0);
        thread::scope(|scope| {
            let attempt = move |new| x.compare_exchange_weak(0, new, SeqCst, SeqCst);
            let other = scope.spawn(move || attempt(1));
            (attempt(2), other.join().unwrap())
        })
    }

    #[test]
    fn exchanges_that_fail_without_a_cause_are_tried() {
        let strong = BTreeSet::from([(Ok(0), Err(2)), (Err(1), Ok(0))]);
        let mut weak = strong.clone();
        weak.extend([(Ok(0), Err(0)), (Err(0), Ok(0)), (Err(0), Err(0))]);
        for search in &searches().filter(must_find).collect::<Vec<_>>() {
            let report = explorer(search).executions(3_000).run(two_that_try);
            assert_eq!(outcomes(&report), strong, "{search:?}");
            assert!(!report.complete, "{search:?}");
            assert!(report.left_out.contains(&"spurious failures of `compare_exchange_weak`"), "{search:?}");
            let report = explorer(search).also(Also::SpuriousFailures).executions(3_000).run(two_that_try);
            assert_eq!(outcomes(&report), weak, "{search:?}");
            assert_eq!(report.complete, complete().contains(search), "{search:?}: {:?}", report.left_out);
        }
    }

    #[test]
    fn exchanges_of_all_sizes_fail_without_a_cause() {
        macro_rules! tried {
            ($($atomic:ident: $held:expr, $new:expr;)*) => {$({
                let explorer = explorer(&EXHAUSTIVE[0]).also(Also::SpuriousFailures);
                let report = explorer.run(|| {
                    let place = std::sync::atomic::$atomic::new($held);
                    let result = place.compare_exchange_weak($held, $new, SeqCst, Relaxed);
                    (result == Ok($held), result == Err($held), place.into_inner() == $new)
                });
                let expected = BTreeSet::from([(true, false, true), (false, true, false)]);
                assert_eq!(outcomes(&report), expected, stringify!($atomic));
                assert!(report.complete, "{:?}", report.left_out);
            })*};
        }
        tried! {
            AtomicBool: false, true;
            AtomicI8: -3, 3;
            AtomicU16: 7, 0;
            AtomicU32: 0, 1;
            AtomicU64: u64::MAX, 0;
            AtomicPtr: std::ptr::null_mut::<u8>(), std::ptr::dangling_mut::<u8>();
        }
    }

    #[test]
    fn what_fails_without_a_cause_is_replayed_and_said() {
        let found = explorer(&EXHAUSTIVE[0]).also(Also::SpuriousFailures).try_run(|| {
            assert!(AtomicUsize::new(0).compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok());
        });
        let failure = found.expect_err("it may fail");
        assert_eq!(failure.kind, Kind::Panic);
        assert!(format!("{failure:?}").contains("fails spuriously"), "{failure:?}");
    }

    #[test]
    fn loops_of_the_standard_library_try_again() {
        has_outcomes(&[(0, 1), (1, 0)], || {
            let x = &AtomicUsize::new(0);
            thread::scope(|scope| {
                let add = move || x.fetch_update(SeqCst, SeqCst, |value| Some(value + 1)).unwrap();
                let other = scope.spawn(add);
                (add(), other.join().unwrap())
            })
        });
    }

    #[test]
    fn wake_ups_without_a_cause_are_tried() {
        for search in &searches().filter(must_find).collect::<Vec<_>>() {
            let report = explorer(search).also(Also::SpuriousWakeUps).executions(3_000).run(|| {
                let x = &AtomicUsize::new(0);
                thread::scope(|scope| {
                    let sleeper = scope.spawn(|| {
                        thread::park();
                        x.load(SeqCst)
                    });
                    x.store(1, SeqCst);
                    sleeper.thread().unpark();
                    sleeper.join().unwrap()
                })
            });
            assert_eq!(outcomes(&report), BTreeSet::from([0, 1]), "{search:?}");
        }
    }

    #[test]
    fn timeouts_end_early() {
        for search in &EXHAUSTIVE {
            let report = explorer(search).also(Also::Timeouts).executions(3_000).run(|| {
                let (set, changed) = (&Mutex::new(false), &Condvar::new());
                thread::scope(|scope| {
                    scope.spawn(|| {
                        *set.lock().unwrap() = true;
                        changed.notify_one();
                    });
                    let guard = set.lock().unwrap();
                    let (guard, result) =
                        changed.wait_timeout_while(guard, Duration::from_millis(10), |set| !*set).unwrap();
                    (*guard, result.timed_out())
                })
            });
            assert!(report.outcomes.contains_key(&(false, true)), "{search:?}: {:?}", report.outcomes);
        }
    }
}

#[test]
fn handles_of_an_arc_are_points_for_searches_of_everything() {
    let expected = BTreeSet::from([(2, 2), (2, 3), (2, 4), (3, 3), (3, 4), (4, 4)]);
    for search in &complete() {
        let report = explorer(search).run(|| {
            let a = Arc::new(0);
            let (weak, b) = (Arc::downgrade(&a), a.clone());
            thread::scope(|scope| {
                scope.spawn(move || {
                    let (c, d) = (b.clone(), b.clone());
                    std::mem::forget((b, c, d));
                });
                (Arc::strong_count(&a), weak.strong_count())
            })
        });
        assert!(report.complete, "{search:?}: {:?}", report.left_out);
        assert_eq!(outcomes(&report), expected, "{search:?}");
    }
}

/// `Arc::drop_slow` is never inlined. The compiler would take its instance for a type that Raddle's libraries use, too, from these libraries,
/// where it is not instrumented.
#[test]
fn the_end_of_an_arc_is_seen_whatever_its_type() {
    fn executions<T: Default + Send + Sync>(search: &(Strategy, Memory)) -> (u64, Vec<(bool, usize)>) {
        let report = explorer(search).run(|| {
            let arc = Arc::new(T::default());
            let (weak, other) = (Arc::downgrade(&arc), Arc::downgrade(&arc));
            thread::scope(|scope| {
                scope.spawn(move || drop(arc));
                drop(weak);
                (other.upgrade().is_some(), other.weak_count())
            })
        });
        assert!(report.complete, "{search:?}: {:?}", report.left_out);
        (report.executions, report.outcomes.into_keys().collect())
    }
    #[derive(Default)]
    struct Own {
        _text: String,
    }
    for search in &EXHAUSTIVE {
        let own = executions::<Own>(search);
        assert_eq!(executions::<String>(search), own, "{search:?}");
        assert_eq!(executions::<Vec<u8>>(search), own, "{search:?}");
        assert_eq!(executions::<Vec<String>>(search), own, "{search:?}");
        assert_eq!(executions::<Mutex<String>>(search), own, "{search:?}");
    }
}

/// `Arc::get_mut` locks the count of weak handles, for which `Arc::downgrade` waits.
#[test]
fn counts_that_are_locked_are_waited_for() {
    for search in &searches().collect::<Vec<_>>() {
        explorer(search).executions(2_000).run(|| {
            let mut one = Arc::new(0);
            let other = one.clone();
            thread::scope(|scope| {
                scope.spawn(|| _ = Arc::get_mut(&mut one));
                scope.spawn(|| drop(Arc::downgrade(&other)));
            });
        });
    }
}

/// An atomic of one byte may lie anywhere.
#[test]
fn loops_that_never_end_are_reported_wherever_they_wait() {
    for search in &searches().collect::<Vec<_>>() {
        let failure = explorer(search).try_run(|| {
            let flags = [const { AtomicBool::new(false) }; 3];
            thread::scope(|scope| {
                for flag in &flags {
                    scope.spawn(|| {
                        while !flag.load(Acquire) {
                            std::hint::spin_loop();
                        }
                    });
                }
            });
        });
        let kind = failure.expect_err("nobody sets them").kind;
        assert!(matches!(kind, Kind::Livelock | Kind::Deadlock), "{search:?}: {kind:?}");
    }
}

mod the_exhaustive_search {
    use super::*;

    #[test]
    fn makes_long_executions() {
        for memory in [Memory::Sc, Memory::Rc11] {
            Explorer::new().strategy(Strategy::Exhaustive).memory(memory).executions(1).run(|| {
                let counter = AtomicUsize::new(0);
                thread::scope(|scope| {
                    scope.spawn(|| (0..20_000).for_each(|_| _ = counter.fetch_add(1, Relaxed)));
                });
            });
        }
    }

    #[test]
    fn makes_a_thousand_threads() {
        for memory in [Memory::Sc, Memory::Rc11] {
            Explorer::new().strategy(Strategy::Exhaustive).memory(memory).executions(1).run(|| {
                let counter = AtomicUsize::new(0);
                thread::scope(|scope| {
                    (0..1_000).for_each(|_| _ = scope.spawn(|| counter.fetch_add(1, Relaxed)));
                });
                assert_eq!(counter.load(Relaxed), 1_000);
            });
        }
    }
}
