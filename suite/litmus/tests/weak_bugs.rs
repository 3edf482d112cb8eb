//! Bugs that only weak memory shows: found under RC11, absent under SC, and absent when the code is correct.

use std::sync::Mutex;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, fence};
use std::thread;

use litmus::Model;
use litmus::check::explorer;
use raddle::Kind;
use raddle_report::{Style, render_why};

/// The code is broken, but only under weak memory. The snapshot of this name says why.
#[track_caller]
fn breaks(name: &str, body: impl Fn()) {
    assert!(explorer(Model::Sc).run(&body as &dyn Fn()).complete);
    match explorer(Model::Rc11).try_run(&body as &dyn Fn()) {
        Ok(report) => panic!("no failure in {} executions under RC11", report.executions),
        Err(failure) => {
            assert_eq!(failure.kind, Kind::Panic, "{}", failure.message);
            insta::assert_snapshot!(
                name,
                render_why(&failure, Style { width: 120, colour: false, unicode: true })
            );
        }
    }
}

/// The code is correct.
#[track_caller]
fn is_correct(body: impl Fn()) {
    for model in Model::ALL {
        let report = explorer(model).run(&body as &dyn Fn());
        assert!(report.complete, "{model:?}: not complete after {} executions", report.executions);
        assert!(report.executions > 1, "{model:?}: nothing to choose");
    }
}

/// Runs both threads to their end.
fn both(one: impl FnOnce() + Send, other: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(one);
        scope.spawn(other);
    });
}

/// Increments that a lock must keep apart.
#[derive(Default)]
struct Counter(AtomicU32);

impl Counter {
    fn increment(&self) {
        let value = self.0.load(Relaxed);
        self.0.store(value + 1, Relaxed);
    }

    #[track_caller]
    fn check(&self, expected: u32) {
        assert_eq!(self.0.load(Relaxed), expected, "an increment was lost");
    }
}

mod message_passing {
    use super::*;

    fn pass(store: Ordering, load: Ordering) {
        let (message, ready) = (AtomicU32::new(0), AtomicBool::new(false));
        both(
            || {
                message.store(42, Relaxed);
                ready.store(true, store);
            },
            || {
                if ready.load(load) {
                    assert_eq!(message.load(Relaxed), 42);
                }
            },
        );
    }

    #[test]
    fn needs_release_and_acquire() {
        breaks("message_relaxed", || pass(Relaxed, Relaxed));
        breaks("message_released_only", || pass(Release, Relaxed));
        breaks("message_acquired_only", || pass(Relaxed, Acquire));
        is_correct(|| pass(Release, Acquire));
    }

    #[test]
    fn by_fences() {
        let pass = |first: Option<Ordering>, second: Option<Ordering>| {
            let (message, ready) = (AtomicU32::new(0), AtomicBool::new(false));
            both(
                || {
                    message.store(42, Relaxed);
                    first.into_iter().for_each(fence);
                    ready.store(true, Relaxed);
                },
                || {
                    if ready.load(Relaxed) {
                        second.into_iter().for_each(fence);
                        assert_eq!(message.load(Relaxed), 42);
                    }
                },
            );
        };
        breaks("message_without_release_fence", || pass(None, Some(Acquire)));
        breaks("message_without_acquire_fence", || pass(Some(Release), None));
        breaks("message_with_wrong_fences", || pass(Some(Acquire), Some(Release)));
        is_correct(|| pass(Some(Release), Some(Acquire)));
    }

    /// A spinning receiver: the message is there when the flag is, or not.
    #[test]
    fn to_one_that_waits() {
        let pass = |store, load| {
            let (message, ready) = (AtomicU32::new(0), AtomicBool::new(false));
            both(
                || {
                    message.store(7, Relaxed);
                    ready.store(true, store);
                },
                || {
                    while !ready.load(load) {
                        std::hint::spin_loop();
                    }
                    assert_eq!(message.load(Relaxed), 7);
                },
            );
        };
        breaks("message_to_one_that_waits", || pass(Relaxed, Acquire));
        // Nothing to choose here: the receiver goes on once, with the message.
        for model in Model::ALL {
            let report = explorer(model).run(|| pass(Release, Acquire));
            assert_eq!((report.executions, report.complete), (1, true), "{model:?}");
        }
    }
}

mod peterson {
    use super::*;

    #[derive(Default)]
    struct Peterson {
        wants: [AtomicBool; 2],
        turn: AtomicU32,
    }

    impl Peterson {
        fn with(&self, me: usize, load: Ordering, store: Ordering, critical: impl FnOnce()) {
            let other = 1 - me;
            self.wants[me].store(true, store);
            self.turn.store(other as u32, store);
            while self.wants[other].load(load) && self.turn.load(load) == other as u32 {
                std::hint::spin_loop();
            }
            critical();
            self.wants[me].store(false, store);
        }
    }

    fn exclude(load: Ordering, store: Ordering) {
        let (lock, counter) = (Peterson::default(), Counter::default());
        both(
            || lock.with(0, load, store, || counter.increment()),
            || lock.with(1, load, store, || counter.increment()),
        );
        counter.check(2);
    }

    #[test]
    fn needs_sequential_consistency() {
        breaks("peterson_relaxed", || exclude(Relaxed, Relaxed));
        breaks("peterson_acquire_release", || exclude(Acquire, Release));
        is_correct(|| exclude(SeqCst, SeqCst));
    }
}

mod dekker {
    use super::*;

    #[derive(Default)]
    struct Dekker {
        wants: [AtomicBool; 2],
        turn: AtomicU32,
    }

    impl Dekker {
        fn with(&self, me: usize, load: Ordering, store: Ordering, critical: impl FnOnce()) {
            let other = 1 - me;
            self.wants[me].store(true, store);
            while self.wants[other].load(load) {
                if self.turn.load(load) == other as u32 {
                    self.wants[me].store(false, store);
                    while self.turn.load(load) == other as u32 {
                        std::hint::spin_loop();
                    }
                    self.wants[me].store(true, store);
                }
            }
            critical();
            self.turn.store(other as u32, store);
            self.wants[me].store(false, store);
        }
    }

    fn exclude(load: Ordering, store: Ordering) {
        let (lock, counter) = (Dekker::default(), Counter::default());
        both(
            || lock.with(0, load, store, || counter.increment()),
            || lock.with(1, load, store, || counter.increment()),
        );
        counter.check(2);
    }

    #[test]
    fn needs_sequential_consistency() {
        breaks("dekker_relaxed", || exclude(Relaxed, Relaxed));
        breaks("dekker_acquire_release", || exclude(Acquire, Release));
        is_correct(|| exclude(SeqCst, SeqCst));
    }
}

mod spin_lock {
    use super::*;

    fn exclude(unlock: Ordering) {
        let (locked, counter) = (AtomicBool::new(false), Counter::default());
        let increment = || {
            while locked.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                std::hint::spin_loop();
            }
            counter.increment();
            locked.store(false, unlock);
        };
        both(increment, increment);
        counter.check(2);
    }

    #[test]
    fn needs_release() {
        breaks("spin_lock_relaxed", || exclude(Relaxed));
        is_correct(|| exclude(Release));
    }
}

mod sequence_lock {
    use super::*;

    fn read_while_written(fences: bool) {
        let (sequence, data) = (AtomicU32::new(0), [AtomicU32::new(0), AtomicU32::new(0)]);
        both(
            || {
                sequence.store(1, Relaxed);
                if fences {
                    fence(Release);
                }
                data[0].store(7, Relaxed);
                data[1].store(7, Relaxed);
                sequence.store(2, Release);
            },
            || {
                let before = sequence.load(Acquire);
                let seen = (data[0].load(Relaxed), data[1].load(Relaxed));
                if fences {
                    fence(Acquire);
                }
                let after = sequence.load(Relaxed);
                if before == after && before % 2 == 0 {
                    assert_eq!(seen.0, seen.1, "torn read");
                }
            },
        );
    }

    #[test]
    fn needs_fences() {
        breaks("sequence_lock_without_fences", || read_while_written(false));
        is_correct(|| read_while_written(true));
    }
}

mod double_checked_initialisation {
    use super::*;

    #[derive(Default)]
    struct Lazy {
        ready: AtomicBool,
        lock: Mutex<()>,
        value: AtomicU32,
    }

    impl Lazy {
        fn get(&self, load: Ordering, store: Ordering) -> u32 {
            if !self.ready.load(load) {
                let _held = self.lock.lock().unwrap();
                if !self.ready.load(Relaxed) {
                    self.value.store(7, Relaxed);
                    self.ready.store(true, store);
                }
            }
            self.value.load(Relaxed)
        }
    }

    fn initialise(load: Ordering, store: Ordering) {
        let lazy = Lazy::default();
        let get = || assert_eq!(lazy.get(load, store), 7, "not initialised");
        both(get, get);
    }

    #[test]
    fn needs_release_and_acquire() {
        breaks("double_checked_relaxed", || initialise(Relaxed, Relaxed));
        breaks("double_checked_released_only", || initialise(Relaxed, Release));
        breaks("double_checked_acquired_only", || initialise(Acquire, Relaxed));
        is_correct(|| initialise(Acquire, Release));
    }
}

mod hazard_pointers {
    use super::*;

    const NOTHING: u32 = u32::MAX;

    /// One thread replaces the target of a pointer and frees the old one if it is not protected; another one protects it, and
    /// looks whether it still is what it was.
    fn protect(reader: bool, writer: bool) {
        let pointer = AtomicU32::new(0);
        let hazard = AtomicU32::new(NOTHING);
        let freed = [AtomicBool::new(false), AtomicBool::new(false)];
        both(
            || {
                let old = pointer.swap(1, Ordering::AcqRel);
                if writer {
                    fence(SeqCst);
                }
                if hazard.load(Acquire) != old {
                    freed[old as usize].store(true, Relaxed);
                }
            },
            || {
                let target = loop {
                    let target = pointer.load(Acquire);
                    hazard.store(target, Release);
                    if reader {
                        fence(SeqCst);
                    }
                    if pointer.load(Acquire) == target {
                        break target;
                    }
                };
                assert!(!freed[target as usize].load(Relaxed), "used after it was freed");
                hazard.store(NOTHING, Release);
            },
        );
    }

    #[test]
    fn need_a_fence_on_both_sides() {
        breaks("hazard_pointers_without_fences", || protect(false, false));
        breaks("hazard_pointers_without_reader_fence", || protect(false, true));
        breaks("hazard_pointers_without_writer_fence", || protect(true, false));
        is_correct(|| protect(true, true));
    }
}

mod work_stealing {
    use super::*;

    /// The owner takes the only item of a deque while a thief steals it (Chase and Lev's, without growing).
    fn race_for_one_item(fences: bool) {
        let (top, bottom) = (AtomicU32::new(0), AtomicU32::new(1));
        let taken = AtomicU32::new(0);
        both(
            || {
                bottom.store(0, Relaxed);
                if fences {
                    fence(SeqCst);
                }
                // More than one item left by what is seen: taken without a compare-exchange.
                let first = top.load(Relaxed);
                if first == 0 && top.compare_exchange(0, 1, SeqCst, Relaxed).is_ok() {
                    taken.fetch_add(1, Relaxed);
                }
                bottom.store(1, Relaxed);
            },
            || {
                let first = top.load(Acquire);
                if fences {
                    fence(SeqCst);
                }
                if first < bottom.load(Acquire)
                    && top.compare_exchange(first, first + 1, SeqCst, Relaxed).is_ok()
                {
                    taken.fetch_add(1, Relaxed);
                }
            },
        );
        assert_eq!(taken.load(Relaxed), 1);
    }

    /// The owner of two items takes the last one without a compare-exchange, since it sees that the first is left; two thieves
    /// in a row must not get there.
    fn race_for_two_items(fences: bool) {
        let (top, bottom) = (AtomicU32::new(0), AtomicU32::new(2));
        let taken = [AtomicU32::new(0), AtomicU32::new(0)];
        let steal = || {
            let first = top.load(Acquire);
            if fences {
                fence(SeqCst);
            }
            if first < bottom.load(Acquire) && top.compare_exchange(first, first + 1, SeqCst, Relaxed).is_ok()
            {
                taken[first as usize].fetch_add(1, Relaxed);
            }
        };
        both(
            || {
                bottom.store(1, Relaxed);
                if fences {
                    fence(SeqCst);
                }
                match top.load(Relaxed) {
                    0 => _ = taken[1].fetch_add(1, Relaxed),
                    1 if top.compare_exchange(1, 2, SeqCst, Relaxed).is_ok() => {
                        _ = taken[1].fetch_add(1, Relaxed)
                    }
                    _ => {}
                }
            },
            || {
                steal();
                steal();
            },
        );
        for item in &taken {
            assert!(item.load(Relaxed) <= 1, "taken twice");
        }
    }

    #[test]
    fn one_item_goes_to_one() {
        is_correct(|| race_for_one_item(true));
    }

    #[test]
    fn needs_fences() {
        breaks("work_stealing_without_fences", || race_for_two_items(false));
        is_correct(|| race_for_two_items(true));
    }
}

mod store_buffering {
    use super::*;

    fn exchange(store: Ordering, load: Ordering, fences: bool) {
        let cells = [AtomicU32::new(0), AtomicU32::new(0)];
        let seen = [AtomicU32::new(0), AtomicU32::new(0)];
        let run = |me: usize| {
            cells[me].store(1, store);
            if fences {
                fence(SeqCst);
            }
            seen[me].store(cells[1 - me].load(load), Relaxed);
        };
        both(|| run(0), || run(1));
        assert!(seen.iter().any(|seen| seen.load(Relaxed) == 1), "neither saw the other");
    }

    #[test]
    fn needs_sequential_consistency() {
        breaks("store_buffering_relaxed", || exchange(Relaxed, Relaxed, false));
        breaks("store_buffering_acquire_release", || exchange(Release, Acquire, false));
        breaks("store_buffering_half_seq_cst", || exchange(SeqCst, Acquire, false));
        is_correct(|| exchange(SeqCst, SeqCst, false));
        is_correct(|| exchange(Relaxed, Relaxed, true));
    }
}

mod release_sequence {
    use super::*;

    /// A later write of the same thread does not carry what an earlier one released; a read-modify-write does.
    fn publish(by_increment: bool) {
        let (message, state) = (AtomicU32::new(0), AtomicU32::new(0));
        both(
            || {
                message.store(42, Relaxed);
                state.store(1, Release);
                if by_increment {
                    state.fetch_add(1, Relaxed);
                } else {
                    state.store(2, Relaxed);
                }
            },
            || {
                if state.load(Acquire) == 2 {
                    assert_eq!(message.load(Relaxed), 42);
                }
            },
        );
    }

    #[test]
    fn is_continued_by_read_modify_writes_alone() {
        breaks("release_sequence_broken", || publish(false));
        is_correct(|| publish(true));
    }
}
