//! What can be said about operations, arguments and the object around them.

use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use raddle::{Kind, TestDefinition};

mod feature {
    use super::*;

    #[derive(Default)]
    struct Reported(AtomicUsize);

    #[raddle::test(manual)]
    impl Reported {
        #[operation]
        #[rustfmt::skip]
        fn inc(&self) -> (usize, u32) {
            let (value, line) = (self.0.load(SeqCst), line!() - 1);
            self.0.store(value + 1, SeqCst);
            (value, line)
        }
    }

    #[test]
    fn reports_have_the_lines_of_methods_and_a_setting_to_paste() {
        let failure = Reported::test().fails(Kind::IncorrectResults);
        let code = failure.scenario.as_ref().unwrap().code.as_deref().unwrap();
        assert!(code.starts_with("scenario = raddle::Scenario::new()\n    .thread("), "{code}");
        let line = Reported::default().inc().1;
        let calls = failure.trace.frames.iter().filter(|frame| frame.function.ends_with("test::{closure}"));
        let lines: Vec<Option<u32>> = calls.map(|frame| frame.line).collect();
        assert_eq!(lines, [Some(line)], "{:?}", failure.trace.frames);
    }

    /// An operation that no scenario calls twice.
    #[derive(Default)]
    struct CalledOnce(AtomicUsize);

    #[raddle::test(iterations = 30, executions = 100)]
    impl CalledOnce {
        #[operation(once)]
        fn start(&self) {
            self.0.fetch_add(1, SeqCst);
        }

        #[operation]
        fn started(&self) -> bool {
            self.0.load(SeqCst) > 0
        }

        #[validate]
        fn at_most_once(&self) {
            assert!(self.0.load(SeqCst) <= 1);
        }
    }

    /// Operations of a group never overlap.
    #[derive(Default)]
    struct NeverOverlap(AtomicBool);

    impl NeverOverlap {
        fn alone(&self) {
            assert!(!self.0.swap(true, SeqCst), "somebody is here");
            self.0.store(false, SeqCst);
        }
    }

    #[raddle::test(iterations = 30, executions = 200)]
    impl NeverOverlap {
        #[operation(group = "one")]
        fn here(&self) {
            self.alone();
        }

        #[operation(group = "one")]
        fn there(&self) {
            self.alone();
        }

        #[operation]
        fn elsewhere(&self) {}
    }

    /// Without the group, they do.
    #[derive(Default)]
    struct DoOverlap(NeverOverlap);

    #[raddle::test(fails = Panic)]
    impl DoOverlap {
        #[operation]
        fn here(&self) {
            self.0.alone();
        }

        #[operation]
        fn there(&self) {
            self.0.alone();
        }
    }

    /// Each thread has a place of its own.
    struct OwnPlaces(Mutex<Vec<usize>>);

    #[raddle::test(iterations = 20, executions = 200)]
    impl OwnPlaces {
        #[init]
        fn new() -> Self {
            OwnPlaces(Mutex::new(vec![0; 8]))
        }

        #[operation]
        fn count(&self, #[arg(thread_id())] thread: usize) -> usize {
            let mut places = self.0.lock().unwrap();
            places[thread] += 1;
            places[thread]
        }
    }

    /// Operations come from a trait.
    trait Register: Default + Send + Sync + 'static {
        fn write(&self, value: usize);
        fn read(&self) -> usize;
        fn swap(&self, value: usize) -> usize {
            let old = self.read();
            self.write(value);
            old
        }
    }

    impl Register for AtomicUsize {
        fn write(&self, value: usize) {
            self.store(value, SeqCst);
        }

        fn read(&self) -> usize {
            self.load(SeqCst)
        }
    }

    #[derive(Default)]
    struct FromATrait(AtomicUsize);

    #[raddle::test(fails = IncorrectResults)]
    impl FromATrait {
        #[operation]
        fn swap(&self, value: usize) -> usize {
            Register::swap(&self.0, value)
        }

        #[operation]
        fn read(&self) -> usize {
            Register::read(&self.0)
        }
    }

    /// Arguments of all kinds, and the ways of making them.
    #[derive(Clone, Debug, raddle::Arbitrary)]
    #[expect(dead_code, reason = "what it has is only printed")]
    enum Colour {
        Red,
        Mixed(u8, u8),
        Named { name: String },
    }

    #[derive(Clone, Debug, raddle::Arbitrary)]
    #[expect(dead_code, reason = "what it has is only printed")]
    struct Pair<T> {
        first: T,
        second: Option<T>,
    }

    #[derive(Default)]
    struct TakesAnything(Mutex<Vec<String>>);

    impl TakesAnything {
        fn note(&self, argument: &impl Debug) -> usize {
            let mut notes = self.0.lock().unwrap();
            notes.push(format!("{argument:?}"));
            notes.len()
        }
    }

    #[raddle::test(iterations = 20, executions = 100)]
    impl TakesAnything {
        #[operation]
        fn numbers(&self, a: i8, b: u64, c: usize) -> usize {
            self.note(&(a, b, c))
        }

        #[operation]
        fn others(&self, a: bool, b: char, c: String) -> usize {
            self.note(&(a, b, c))
        }

        #[operation]
        fn compounds(&self, a: Option<u8>, b: Vec<u8>, c: (bool, i32)) -> usize {
            self.note(&(a, b, c))
        }

        #[operation]
        fn own_types(&self, colour: Colour, pair: Pair<u8>) -> usize {
            self.note(&(colour, pair))
        }

        #[operation]
        fn chosen(
            &self,
            #[arg(one_of(["a", "b"]))] name: &'static str,
            #[arg(vec(just('c'), 0..=2))] letters: Vec<char>,
        ) -> usize {
            assert!(letters.len() <= 2);
            self.note(&(name, letters))
        }

        #[operation]
        fn even(&self, #[arg(from_fn(|source| 2 * source.int(0..=3)))] even: u32) -> usize {
            assert_eq!(even % 2, 0);
            self.note(&even)
        }

        #[operation]
        fn in_range(&self, #[arg(5..=7)] number: u8) -> usize {
            assert!((5..=7).contains(&number));
            self.note(&number)
        }
    }

    /// What has to come before.
    #[derive(Default)]
    struct NeedsALock(AtomicUsize);

    #[raddle::test(iterations = 30, executions = 100, threads = 2)]
    impl NeedsALock {
        #[operation(group = "owner")]
        fn lock(&self) {
            self.0.fetch_add(1, SeqCst);
        }

        #[operation(group = "owner", precondition = |earlier, _| earlier.count("lock") > earlier.count("unlock"))]
        fn unlock(&self) {
            let held = self.0.fetch_sub(1, SeqCst);
            assert_ne!(held, 0, "unlocked without being locked");
        }

        #[operation(read_only)]
        fn held(&self) -> usize {
            self.0.load(SeqCst)
        }
    }

    /// What happens around the operations of every execution.
    #[derive(Default)]
    struct SetUpAndTornDown(AtomicUsize);

    #[raddle::test(iterations = 10, executions = 100)]
    impl SetUpAndTornDown {
        #[setup]
        fn begin(&self) {
            assert_eq!(self.0.swap(1, SeqCst), 0);
        }

        #[operation]
        fn add(&self) -> usize {
            self.0.fetch_add(1, SeqCst)
        }

        #[validate]
        fn was_set_up(&self) {
            assert!(self.0.load(SeqCst) >= 1);
        }

        #[teardown]
        fn end(&self) {
            self.0.store(0, SeqCst);
        }
    }

    /// A rare operation that breaks everything is found sooner if it is not rare.
    #[derive(Default)]
    struct Weighted(AtomicUsize);

    #[raddle::test(fails = IncorrectResults)]
    impl Weighted {
        #[operation(weight = 20, read_only)]
        fn get(&self) -> usize {
            self.0.load(SeqCst)
        }

        #[operation(weight = 1)]
        fn set(&self) {
            let value = self.0.load(SeqCst);
            self.0.store(value + 1, SeqCst);
        }
    }

    /// Without a test function of its own, a definition can be used in many ways.
    #[derive(Default)]
    struct ByHand(AtomicUsize);

    #[raddle::test(manual)]
    impl ByHand {
        #[operation]
        fn add(&self) -> usize {
            let value = self.0.load(SeqCst);
            self.0.store(value + 1, SeqCst);
            value
        }
    }

    #[test]
    fn by_hand() {
        ByHand::test().threads(3).fails(Kind::IncorrectResults);
        ByHand::test().seed(7).fails(Kind::IncorrectResults);
    }

    /// A plain function is explored.
    #[raddle::test(executions = 200)]
    fn a_function() {
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| total.fetch_add(1, SeqCst));
            }
        });
        assert_eq!(total.into_inner(), 2);
    }

    #[raddle::test(strategy = Bounded(2))]
    #[should_panic(expected = "lost")]
    fn a_function_that_fails() {
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| total.store(total.load(SeqCst) + 1, SeqCst));
            }
        });
        assert_eq!(total.into_inner(), 2, "lost");
    }
}
