//! Data races: two accesses that nothing orders. Each is found in every schedule, whatever values were seen; the same
//! program with the missing order passes.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*, fence};
use std::sync::{Arc, Mutex};
use std::{ptr, thread};

use broken::{all, finds, finds_with, functions, passes, passes_with, searching};
use raddle::{Explorer, Failure, Kind, Memory, Strategy};
use raddle_report::failure::Did;

/// A value that all threads may access, and whose author forgot to say when.
#[derive(Default)]
struct Shared<T>(UnsafeCell<T>);

// SAFETY: none: these are the bugs.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    fn place(&self) -> *mut T {
        self.0.get()
    }

    fn set(&self, value: T) {
        // SAFETY: the caller's.
        unsafe { *self.0.get() = value };
    }

    fn get(&self) -> T {
        // SAFETY: the caller's.
        unsafe { *self.0.get() }
    }
}

/// The two accesses of a race are of different threads, of these kinds, and each has a stack that leads to the function.
#[track_caller]
fn check(failure: &Failure, kinds: [&[Did]; 2], function: &str) {
    let fault = failure.fault.as_ref().expect("a race says what it is about");
    let accesses: Vec<_> = fault.steps.iter().filter(|step| step.did != Did::Allocate).collect();
    let [first, second] = accesses[..] else { panic!("{:?}", fault.steps) };
    assert_ne!(first.thread, second.thread);
    let either = kinds[0].contains(&first.did) && kinds[1].contains(&second.did)
        || kinds[1].contains(&first.did) && kinds[0].contains(&second.did);
    assert!(either, "{:?} and {:?}", first.did, second.did);
    for step in accesses {
        let stack = functions(failure, step.at);
        assert!(stack.iter().any(|name| name.contains(function)), "{:?} in {stack:?}", step.did);
    }
    assert!(failure.message.contains("nothing orders"), "{}", failure.message);
}

const WRITE: &[Did] = &[Did::Write];
const READ: &[Did] = &[Did::Read];
const ANY: &[Did] = &[Did::Read, Did::Write];

mod data_race {
    use super::*;

    /// A change in place reads and writes: the write alone is not ordered with the other read.
    #[test]
    fn of_a_read_and_a_change_in_place() {
        fn change(ordered: bool) {
            let (data, lock) = (Shared::<u64>::default(), Mutex::new(()));
            thread::scope(|scope| {
                scope.spawn(|| {
                    let _guard = lock.lock();
                    // SAFETY: none: this is the bug.
                    unsafe { *data.place() += 1 };
                });
                let _guard = ordered.then(|| lock.lock());
                data.get();
            });
        }
        finds(&searching(), Kind::DataRace, || change(false), |f| check(f, [WRITE, READ], "change"));
        passes(|| change(true));
    }

    /// Volatile accesses are announced twice: as what they are, and as plain ones.
    #[test]
    fn of_plain_accesses_right_after_volatile_ones() {
        fn volatile(also_plain: bool) {
            let data = Shared::<u64>::default();
            thread::scope(|scope| {
                scope.spawn(|| {
                    // SAFETY: none: this is the bug.
                    unsafe {
                        data.place().write_volatile(1);
                        if also_plain {
                            data.place().write(2);
                        }
                        data.place().write_volatile(3);
                    }
                });
                // SAFETY: as above.
                unsafe {
                    data.place().read_volatile();
                    if also_plain {
                        data.place().read();
                    }
                }
            });
        }
        finds(&searching(), Kind::DataRace, || volatile(true), |f| check(f, [WRITE, READ], "volatile"));
        passes(|| volatile(false));
    }

    /// These are announced in another way, and the values in registers outlive all announcements between.
    #[test]
    fn of_accesses_of_32_bytes() {
        use std::arch::x86_64::*;

        #[target_feature(enable = "avx2")]
        unsafe fn add(to: &Shared<[u32; 32]>, all: &[u32; 32]) -> u32 {
            // SAFETY: none: this is the bug.
            unsafe {
                let to = to.place().cast::<__m256i>();
                let mut sums = [_mm256_set1_epi32(1); 4];
                for (index, part) in all.chunks(8).enumerate() {
                    sums[index] = _mm256_add_epi32(sums[index], _mm256_loadu_si256(part.as_ptr().cast()));
                    sums[3 - index] =
                        _mm256_add_epi32(sums[3 - index], _mm256_set1_epi32(part[index] as i32));
                }
                for (index, sum) in sums.into_iter().enumerate() {
                    _mm256_storeu_si256(to.add(index), sum);
                }
                all.iter().sum()
            }
        }
        fn vectors(ordered: bool) {
            let all: [u32; 32] = std::array::from_fn(|index| index as u32);
            let expected: [u32; 32] = std::array::from_fn(|index| {
                let other = 3 - index / 8;
                1 + all[index] + all[8 * other + other]
            });
            let (data, lock) = (Shared(UnsafeCell::new([0; 32])), Mutex::new(()));
            let run = || {
                let _guard = ordered.then(|| lock.lock());
                // SAFETY: the processor was asked.
                assert_eq!(unsafe { add(&data, &all) }, 31 * 16);
            };
            thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(run)));
            assert_eq!(data.get(), expected);
        }
        if std::is_x86_feature_detected!("avx2") {
            finds(&searching(), Kind::DataRace, || vectors(false), |f| check(f, [WRITE, WRITE], "vectors"));
            passes(|| vectors(true));
        }
    }

    /// Before the first exploration, calls of instrumentation callbacks are taken out of code that runs often. All are back in place when
    /// an exploration begins.
    #[test]
    fn in_code_that_ran_often_before_the_exploration() {
        static DATA: Shared<u64> = Shared(UnsafeCell::new(0));
        #[inline(never)]
        fn add(data: &Shared<u64>) {
            data.set(data.get() + 1);
        }
        fn unordered() {
            thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(|| add(&DATA))));
        }
        fn writable_code() -> usize {
            let program = std::env::current_exe().unwrap();
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines()
                .filter(|line| line.contains("rwxp") && line.ends_with(program.to_str().unwrap()))
                .count()
        }
        // Other threads run the code while it changes.
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let own = Shared::default();
                    (0..100_000).for_each(|_| add(&own));
                    assert_eq!(own.get(), 100_000);
                });
            }
        });
        assert_eq!(writable_code(), 1, "calls are taken out");
        finds(&all(), Kind::DataRace, unordered, |failure| check(failure, [ANY, WRITE], "add"));
        assert_eq!(writable_code(), 0);
    }

    #[test]
    fn between_a_write_and_a_read() {
        fn unordered() {
            let data = Arc::new(Shared::<u64>::default());
            let other = Arc::clone(&data);
            let writer = thread::spawn(move || other.set(1));
            std::hint::black_box(data.get());
            writer.join().unwrap();
        }
        finds(&all(), Kind::DataRace, unordered, |failure| check(failure, [WRITE, READ], "unordered"));
        passes(|| {
            let data = Arc::new(Shared::<u64>::default());
            let other = Arc::clone(&data);
            thread::spawn(move || other.set(1)).join().unwrap();
            assert_eq!(data.get(), 1);
        });
    }

    #[test]
    fn of_a_flag_that_is_relaxed() {
        fn handoff(publish: std::sync::atomic::Ordering, consume: std::sync::atomic::Ordering) {
            let shared = Arc::new((Shared::<[u32; 4]>::default(), AtomicBool::new(false)));
            let other = Arc::clone(&shared);
            let writer = thread::spawn(move || {
                other.0.set([7; 4]);
                other.1.store(true, publish);
            });
            if shared.1.load(consume) {
                assert_eq!(shared.0.get(), [7; 4]);
            }
            writer.join().unwrap();
        }
        for orders in [(Relaxed, Acquire), (Release, Relaxed), (Relaxed, Relaxed)] {
            finds(
                &searching(),
                Kind::DataRace,
                || handoff(orders.0, orders.1),
                |f| check(f, [WRITE, READ], "handoff"),
            );
        }
        passes(|| handoff(Release, Acquire));
        passes(|| handoff(SeqCst, SeqCst));
    }

    #[test]
    fn of_fences_that_are_missing() {
        fn handoff(fences: bool) {
            let shared = Arc::new((Shared::<u64>::default(), AtomicBool::new(false)));
            let other = Arc::clone(&shared);
            let writer = thread::spawn(move || {
                other.0.set(7);
                if fences {
                    fence(Release);
                }
                other.1.store(true, Relaxed);
            });
            if shared.1.load(Relaxed) {
                if fences {
                    fence(Acquire);
                }
                assert_eq!(shared.0.get(), 7);
            }
            writer.join().unwrap();
        }
        finds(&searching(), Kind::DataRace, || handoff(false), |f| check(f, [WRITE, READ], "handoff"));
        passes(|| handoff(true));
    }

    #[test]
    fn of_an_atomic_and_a_plain_access() {
        fn mixed() {
            let counter = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&counter);
            let adder = thread::spawn(move || other.fetch_add(1, SeqCst));
            // SAFETY: none: this is the bug.
            unsafe { *counter.as_ptr() = 5 };
            adder.join().unwrap();
        }
        finds(&all(), Kind::DataRace, mixed, |f| check(f, [WRITE, &[Did::AtomicWrite]], "mixed"));
        passes(|| {
            let mut counter = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&counter);
            thread::spawn(move || other.fetch_add(1, SeqCst)).join().unwrap();
            *Arc::get_mut(&mut counter).unwrap().get_mut() = 5;
        });
    }

    #[test]
    fn under_two_different_locks() {
        static DATA: Shared<u64> = Shared(UnsafeCell::new(0));
        fn locked_by(lock: &Mutex<()>) {
            let guard = lock.lock().unwrap();
            DATA.set(DATA.get() + 1);
            drop(guard);
        }
        let run = |same: bool| {
            let (a, b) = (Mutex::new(()), Mutex::new(()));
            thread::scope(|scope| {
                scope.spawn(|| locked_by(&a));
                scope.spawn(|| locked_by(if same { &a } else { &b }));
            });
        };
        finds(
            &all(),
            Kind::DataRace,
            || run(false),
            |failure| {
                check(failure, [ANY, ANY], "locked_by");
                let name = failure.fault.as_ref().unwrap().place.as_ref().unwrap().name.as_deref();
                assert!(name.is_some_and(|name| name.contains("DATA")), "{name:?}");
            },
        );
        passes(|| run(true));
    }

    #[test]
    fn on_the_stack_of_a_thread_that_waits() {
        fn borrowed(split: bool) {
            let local = Shared::<[u64; 2]>::default();
            let part = |index: usize| local.0.get().cast::<u64>().wrapping_add(index).expose_provenance();
            let (one, two) = (part(0), part(usize::from(split)));
            thread::scope(|scope| {
                for place in [one, two] {
                    // SAFETY: none if both are the same: this is the bug.
                    scope.spawn(move || unsafe { *ptr::with_exposed_provenance_mut::<u64>(place) += 1 });
                }
            });
        }
        finds(&all(), Kind::DataRace, || borrowed(false), |f| check(f, [ANY, WRITE], "borrowed"));
        passes(|| borrowed(true));
    }

    #[test]
    fn of_neighbours_is_none() {
        passes(|| {
            let bytes = Arc::new([const { Shared::<u8>(UnsafeCell::new(0)) }; 8]);
            let threads: Vec<_> = (0..4)
                .map(|index| {
                    let bytes = Arc::clone(&bytes);
                    thread::spawn(move || bytes[index].set(1))
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(bytes[3].get(), 1);
        });
    }

    /// The compiler makes a loop of some operations, which begins with a plain read.
    #[test]
    fn of_an_operation_that_became_a_loop_is_none() {
        passes(|| {
            let most = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&most);
            let thread = thread::spawn(move || other.fetch_max(2, Relaxed));
            most.fetch_max(1, Relaxed);
            most.fetch_min(5, Relaxed);
            thread.join().unwrap();
            assert_eq!(most.load(Relaxed), 2);
        });
    }

    #[test]
    fn with_the_end_of_a_block() {
        // A count whose last decrement does not acquire: the memory is freed while another's last access is not over.
        struct Handle(*mut (AtomicUsize, Shared<u64>));
        // SAFETY: none: this is the bug.
        unsafe impl Send for Handle {}
        impl Handle {
            fn release(self, acquires: bool) {
                // SAFETY: none: this is the bug.
                unsafe {
                    std::hint::black_box((*self.0).1.get());
                    if (*self.0).0.fetch_sub(1, Release) == 1 {
                        if acquires {
                            fence(Acquire);
                        }
                        drop(Box::from_raw(self.0));
                    }
                }
            }
        }
        fn run(acquires: bool) {
            let block = Box::into_raw(Box::new((AtomicUsize::new(2), Shared::default())));
            let (mine, other) = (Handle(block), Handle(block));
            let thread = thread::spawn(move || other.release(acquires));
            mine.release(acquires);
            thread.join().unwrap();
        }
        finds(
            &all(),
            Kind::DataRace,
            || run(false),
            |failure| {
                let any = &[Did::Read, Did::AtomicWrite];
                check(failure, [&[Did::Free], any], "release");
            },
        );
        passes(|| run(true));
    }

    #[test]
    fn that_is_suppressed_is_not_reported() {
        fn careless() {
            let data = Arc::new(Shared::<u64>::default());
            let other = Arc::clone(&data);
            let writer = thread::spawn(move || other.set(1));
            std::hint::black_box(data.get());
            writer.join().unwrap();
        }
        let few = || Explorer::new().executions(200);
        passes_with(&few().suppress(["*::Shared<*>::get"]), careless);
        passes_with(&few().suppress(["*careless*"]), careless);
        passes_with(&few().races(false), careless);
        finds_with(&few().suppress(["*::other"]), &all(), Kind::DataRace, careless, |_| ());
    }

    #[test]
    fn is_found_by_the_exhaustive_search() {
        fn handoff(publish: std::sync::atomic::Ordering) {
            let shared = Arc::new((Shared::<u64>::default(), AtomicBool::new(false)));
            let other = Arc::clone(&shared);
            let writer = thread::spawn(move || {
                other.0.set(7);
                other.1.store(true, publish);
            });
            if shared.1.load(Acquire) {
                assert_eq!(shared.0.get(), 7);
            }
            // The last of the two frees what both have accessed.
            drop(shared);
            writer.join().unwrap();
        }
        for memory in [Memory::Sc, Memory::Rc11] {
            let exhaustive = Explorer::new().strategy(Strategy::Exhaustive).memory(memory);
            let failure =
                exhaustive.clone().try_run(|| handoff(Relaxed)).expect_err("nothing orders the two");
            assert_eq!(failure.kind, Kind::DataRace, "{}", failure.message);
            check(&failure, [WRITE, READ], "handoff");
            let report = exhaustive.clone().run(|| handoff(Release));
            assert!(report.complete);
            let report = exhaustive.run(|| {
                let data = Mutex::new(vec![1]);
                thread::scope(|scope| {
                    scope.spawn(|| data.lock().unwrap().push(2));
                    scope.spawn(|| data.lock().unwrap().pop());
                });
                assert!(!data.into_inner().unwrap().is_empty());
            });
            assert!(report.complete);
        }
    }

    /// Clocks of atomic accesses are not kept before some execution needs them.
    #[test]
    fn that_only_some_execution_shows_is_found_by_the_exhaustive_search() {
        /// Threads share nothing but counters, until one of them has seen the other at work.
        fn race_or_handoff(publish: std::sync::atomic::Ordering) {
            let shared = Arc::new((Shared::<u64>::default(), [(); 3].map(|()| AtomicUsize::new(0))));
            let other = Arc::clone(&shared);
            let writer = thread::spawn(move || {
                let (data, [first, second, done]) = &*other;
                (1..4).for_each(|count| first.store(count, SeqCst));
                if second.load(SeqCst) == 2 {
                    data.set(7);
                    done.store(1, publish);
                }
            });
            let (data, [first, second, done]) = &*shared;
            second.store(1, SeqCst);
            if first.load(SeqCst) == 2 {
                second.store(2, SeqCst);
                if done.load(Acquire) == 1 {
                    assert_eq!(data.get(), 7);
                }
            }
            writer.join().unwrap();
        }
        for memory in [Memory::Sc, Memory::Rc11] {
            let exhaustive = Explorer::new().strategy(Strategy::Exhaustive).memory(memory);
            let failure = exhaustive.clone().try_run(|| race_or_handoff(Relaxed));
            let failure = failure.expect_err("nothing orders the two");
            assert_eq!(failure.kind, Kind::DataRace, "{}", failure.message);
            assert!(failure.found_by.execution > 0, "other executions come first");
            check(&failure, [WRITE, READ], "race_or_handoff");
            let [with, without] = [true, false].map(|races| {
                let report = exhaustive.clone().races(races).run(|| race_or_handoff(Release));
                assert!(report.complete);
                report.executions
            });
            assert_eq!(with, without, "{memory:?}: executions with the detector and without");
        }
        let random = [Strategy::Random];
        let program = || race_or_handoff(Relaxed);
        finds_with(&Explorer::new().executions(10_000), &random, Kind::DataRace, program, |failure| {
            check(failure, [WRITE, READ], "race_or_handoff");
        });
    }

    /// The loop goes round once before it is known to be a spinloop, and never again.
    #[test]
    fn in_the_round_of_a_spinloop_is_found_by_the_exhaustive_search() {
        fn wait(written: bool) {
            let (data, flag) = (Shared::<u64>::default(), AtomicBool::new(false));
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !flag.load(Acquire) {
                        if written {
                            data.set(1);
                        }
                    }
                });
                let _ = data.get();
                flag.store(true, Release);
            });
        }
        for memory in [Memory::Sc, Memory::Rc11] {
            let exhaustive = Explorer::new().strategy(Strategy::Exhaustive).memory(memory);
            let failure = exhaustive.clone().try_run(|| wait(true)).expect_err("nothing orders the two");
            assert_eq!(failure.kind, Kind::DataRace, "{}", failure.message);
            check(&failure, [WRITE, READ], "wait");
            assert!(exhaustive.run(|| wait(false)).complete);
        }
    }
}

/// Failures that one in about two thousand executions shows. Most are beyond the executions that the race detector follows from the first
/// to the last.
mod rare_failure {
    use super::*;

    /// Whether a thread that counts to ten was seen at 1, 4 and 8.
    fn is_rare(counter: &AtomicUsize) -> bool {
        [1, 4, 8].map(|count| counter.load(Relaxed) == count) == [true; 3]
    }

    /// Runs `then` at a rare moment, while another thread counts that has run `first`.
    fn at_a_rare_moment(first: impl FnOnce() + Send, then: impl FnOnce()) {
        let counter = &AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(move || {
                first();
                (0..10).for_each(|_| _ = counter.fetch_add(1, Relaxed));
            });
            if is_rare(counter) {
                then();
            }
        });
    }

    /// The failure of a search with this seed, and whether races are looked for.
    #[track_caller]
    fn find(seed: u64, races: bool, program: impl Fn()) -> Box<Failure> {
        let explorer = Explorer::new().strategy(Strategy::Random).memory(Memory::Sc).executions(200_000);
        explorer.seed(seed).races(races).try_run(program).expect_err("one in two thousand executions fails")
    }

    const SEEDS: std::ops::Range<u64> = 0..24;

    /// The number of searches whose failing execution comes late.
    fn late(executions: impl Iterator<Item = u64>) -> usize {
        executions.filter(|&execution| execution > 2_000).count()
    }

    #[test]
    fn that_is_a_race_is_found() {
        let program = || {
            let data = Shared::<u64>::default();
            at_a_rare_moment(|| data.set(1), || _ = std::hint::black_box(data.get()));
        };
        let found = SEEDS.map(|seed| find(seed, true, program));
        let executions = found.inspect(|failure| assert_eq!(failure.kind, Kind::DataRace));
        assert!(late(executions.map(|failure| failure.found_by.execution)) > 0);
    }

    /// A panic that comes after a race is reported as the race, in the execution that panics.
    #[test]
    fn that_comes_after_a_race_is_the_race() {
        let program = || {
            let data = Shared::<u64>::default();
            at_a_rare_moment(|| data.set(1), || panic!("{}", data.get()));
        };
        let pairs = SEEDS.map(|seed| [true, false].map(|races| find(seed, races, program)));
        let executions = pairs.map(|[race, panic]| {
            assert_eq!([race.kind, panic.kind], [Kind::DataRace, Kind::Panic]);
            assert_eq!(race.found_by.execution, panic.found_by.execution);
            race.found_by.execution
        });
        assert!(late(executions) > 0);
    }

    #[test]
    fn that_is_no_race_is_found_in_the_same_execution_as_without_the_detector() {
        let use_after_free = || {
            let block = Box::into_raw(Box::new(7u64));
            let address = block.expose_provenance();
            let mut is_read = false;
            // SAFETY: the only reference.
            let free =
                move || drop(unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<u64>(address)) });
            at_a_rare_moment(free, || is_read = true);
            if is_read {
                // SAFETY: none: the block is freed.
                std::hint::black_box(unsafe { *block });
            }
        };
        let panic = || at_a_rare_moment(|| (), || panic!("rare"));
        for (kind, program) in [(Kind::UseAfterFree, &use_after_free as &dyn Fn()), (Kind::Panic, &panic)] {
            let executions = SEEDS.map(|seed| {
                let [with, without] = [true, false].map(|races| find(seed, races, program));
                assert_eq!([with.kind, without.kind], [kind; 2]);
                assert_eq!(with.found_by.execution, without.found_by.execution);
                assert_eq!(with.schedule, without.schedule);
                with.found_by.execution
            });
            assert!(late(executions) > 0);
        }
    }
}
