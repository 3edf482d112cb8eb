//! Scenarios of which all executions are made: how many there are, and that none is missing.

use std::sync::atomic::{AtomicU32, Ordering::*};

use raddle::{Coverage, Kind, Memory, Mode, Operation, Scenario, Strategy, Test, call};

/// A test of just this scenario.
fn only<T: Send + Sync + 'static>(test: Test<T>, scenario: Scenario) -> Test<T> {
    test.scenario(scenario).iterations(0).mode(Mode::ModelChecking)
}

#[track_caller]
fn counts(coverage: &Coverage, sc: u64, rc11: u64) {
    let covered = &coverage.scenarios[0];
    assert!(covered.complete, "{coverage}");
    assert_eq!((covered.all(Memory::Sc), covered.all(Memory::Rc11)), (Some(sc), Some(rc11)), "{coverage}");
}

#[test]
fn time_is_part_of_what_is_explored() {
    let counter = || {
        Test::new(AtomicU32::default)
            .operation("inc", |counter: &AtomicU32| counter.fetch_add(1, Relaxed))
            .operation("get", |counter: &AtomicU32| counter.load(Relaxed))
    };
    let inc = || [call("inc", ())];
    let get = || [call("get", ())];
    // One of two comes first, and has ended before the other begins, or has not; a weak memory knows no time.
    let coverage = only(counter(), Scenario::new().thread(inc()).thread(inc())).run();
    counts(&coverage, 4, 2);
    let said = coverage.to_string();
    assert!(said.starts_with("all 6 executions of this scenario are linearizable (sc 4, rc11 2)"), "{said}");
    // Reads that are before or after the only write, or overlap it.
    counts(&only(counter(), Scenario::new().thread(inc()).thread(get())).run(), 4, 2);
    // Two that have nothing to do with each other.
    counts(&only(counter(), Scenario::new().thread(get()).thread(get())).run(), 3, 1);
    // What comes before and after all threads adds nothing.
    let around = Scenario::new().init(inc()).thread(get()).thread(get()).post(inc());
    counts(&only(counter(), around).run(), 3, 1);
    // Three that have nothing to do with each other: as many as there are interval orders.
    let three = Scenario::new().thread(get()).thread(get()).thread(get());
    counts(&only(counter(), three).run(), 19, 1);
}

/// A stale read is one of an operation that had ended. Only time tells.
#[derive(Default)]
struct Cached {
    value: AtomicU32,
    shown: AtomicU32,
}

impl Cached {
    fn set(&self, value: u32) {
        self.value.store(value, SeqCst);
    }

    fn get(&self) -> u32 {
        self.shown.load(SeqCst)
    }
}

#[test]
fn an_operation_that_comes_too_late_is_seen() {
    // Each operation alone, and even both in one thread, could be explained if they overlapped.
    let spec = raddle::Spec::new(|| 0)
        .operation("set", |state: &mut u32, value: u32| *state = value)
        .operation("get", |state: &mut u32| *state);
    let test = Test::new(Cached::default)
        .operation("set", |cached: &Cached, value: u32| cached.set(value))
        .operation("get", |cached: &Cached| cached.get())
        .spec(spec);
    let scenario = Scenario::new().thread([call("set", (1u32,))]).thread([call("get", ())]);
    let test = only(test, scenario).strategy(Strategy::Exhaustive);
    test.explorer(|explorer| explorer.memory(Memory::Sc)).fails(Kind::IncorrectResults);
}

#[test]
fn a_data_race_is_found() {
    struct Plain(std::cell::UnsafeCell<u32>);
    // SAFETY: it is not; that is what the test is about.
    unsafe impl Sync for Plain {}
    let test = || {
        Test::new(|| Plain(0.into()))
            // SAFETY: as above.
            .operation("set", |cell: &Plain, value: u32| unsafe { *cell.0.get() = value })
            // SAFETY: as above.
            .operation("get", |cell: &Plain| unsafe { *cell.0.get() })
            .mode(Mode::ModelChecking)
    };
    test().fails(Kind::DataRace);
    test().explorer(|explorer| explorer.suppress(["*a_data_race_is_found*"])).iterations(5).run();
}

/// Objects of two words whose operations are random accesses: each right or wrong by chance.
mod random {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Step {
        Load(usize),
        Store(usize, u32),
        Add(usize),
        /// Stores what was read last, plus one.
        StoreLast(usize),
    }

    pub(crate) struct Numbers(pub(crate) u64);

    impl Numbers {
        pub(crate) fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }

        pub(crate) fn steps(&mut self) -> Vec<Step> {
            (0..1 + self.below(2))
                .map(|_| {
                    let place = self.below(2) as usize;
                    match self.below(4) {
                        0 => Step::Load(place),
                        1 => Step::Store(place, 5 + self.below(2) as u32),
                        2 => Step::Add(place),
                        _ => Step::StoreLast(place),
                    }
                })
                .collect()
        }
    }

    pub(crate) fn perform(words: &[AtomicU32; 2], steps: &[Step]) -> u32 {
        let mut last = 0;
        for step in steps {
            match *step {
                Step::Load(place) => last = words[place].load(SeqCst),
                Step::Store(place, value) => words[place].store(value, SeqCst),
                Step::Add(place) => last = words[place].fetch_add(1, SeqCst),
                Step::StoreLast(place) => words[place].store(last + 1, SeqCst),
            }
        }
        last
    }
}

#[test]
fn the_verdict_is_that_of_all_interleavings() {
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..40 {
        let verdict = |strategy: Strategy| {
            let mut numbers = random::Numbers(seed);
            let mut test = Test::new(<[AtomicU32; 2]>::default);
            for name in ["a", "b", "c"] {
                let steps = numbers.steps();
                test = test
                    .with(Operation::new(name, move |words: &[AtomicU32; 2]| random::perform(words, &steps)));
            }
            let mut some = |most: u64| -> Vec<raddle::Call> {
                let count = 1 + numbers.below(most);
                (0..count).map(|_| call(["a", "b", "c"][numbers.below(3) as usize], ())).collect()
            };
            let scenario = match seed % 4 {
                0 => Scenario::new().thread(some(1)).thread(some(1)).thread(some(1)),
                _ => Scenario::new().thread(some(2)).thread(some(2)),
            };
            only(test, scenario)
                .strategy(strategy)
                .explorer(|explorer| explorer.memory(Memory::Sc))
                .minimize(false)
                .executions(3_000_000)
                .try_run()
        };
        let (graphs, all) = (verdict(Strategy::Exhaustive), verdict(Strategy::Bounded(usize::MAX)));
        match (&graphs, &all) {
            (Ok(graphs), Ok(all)) => {
                right += 1;
                assert!(graphs.scenarios[0].complete && all.scenarios[0].complete, "{seed}: {graphs} {all}");
                assert!(graphs.executions() <= all.executions(), "{seed}: {graphs} {all}");
            }
            (Err(graphs), Err(all)) => {
                wrong += 1;
                assert_eq!((graphs.kind, all.kind), (Kind::IncorrectResults, Kind::IncorrectResults));
            }
            _ => panic!("{seed}: {graphs:?}\n{all:?}"),
        }
    }
    assert!(right > 5 && wrong > 5, "{right} {wrong}");
}
