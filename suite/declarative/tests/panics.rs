//! Panics are results: a panic is wrong where the specification does not panic, and right where it does.

use std::collections::VecDeque;
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

mod object {
    use super::*;

    /// Panics in whichever order it is called.
    #[derive(Default)]
    struct PanicsAsSpecified(AtomicUsize);

    #[raddle::test(iterations = 20, executions = 1000)]
    impl PanicsAsSpecified {
        /// The second call panics, whoever makes it.
        #[operation]
        fn once_only(&self) {
            assert_eq!(self.0.fetch_add(1, SeqCst), 0, "called again");
        }

        #[operation(read_only)]
        fn get(&self) -> bool {
            self.0.load(SeqCst) > 0
        }
    }

    /// Panics only if two threads meet.
    #[derive(Default)]
    struct PanicsAmongOthers(AtomicUsize);

    #[raddle::test(fails = Panic)]
    impl PanicsAmongOthers {
        #[operation]
        fn enter_and_leave(&self) {
            let inside = self.0.fetch_add(1, SeqCst);
            assert_eq!(inside, 0, "somebody is inside");
            self.0.fetch_sub(1, SeqCst);
        }
    }

    /// Panics in the post part, after threads have met.
    #[derive(Default)]
    struct PanicsAfterwards(AtomicUsize);

    #[raddle::test(fails = Panic)]
    impl PanicsAfterwards {
        #[operation]
        fn count(&self) {
            self.0.store(self.0.load(SeqCst) + 1, SeqCst);
        }

        #[operation(once)]
        fn count_twice(&self) {
            let before = self.0.load(SeqCst);
            self.count();
            self.count();
            assert!(self.0.load(SeqCst) >= before + 2, "lost");
        }
    }

    /// A separate specification that never panics.
    #[derive(Default)]
    struct PanicsWhenEmpty(Mutex<VecDeque<u32>>);

    #[raddle::test(fails = Panic, spec = VecDeque<u32>)]
    impl PanicsWhenEmpty {
        #[operation(spec = |queue, value| queue.push_back(value))]
        fn push(&self, value: u32) {
            self.0.lock().unwrap_or_else(|poison| poison.into_inner()).push_back(value);
        }

        #[operation(spec = |queue| queue.pop_front())]
        fn pop(&self) -> Option<u32> {
            Some(self.0.lock().unwrap_or_else(|poison| poison.into_inner()).pop_front().expect("not empty"))
        }
    }

    /// A panic that is caught is nobody's business.
    #[derive(Default)]
    struct CatchesItsPanics(AtomicUsize);

    #[raddle::test(iterations = 10, executions = 500)]
    impl CatchesItsPanics {
        #[operation]
        fn add(&self) -> usize {
            let caught = panic::catch_unwind(|| panic::resume_unwind(Box::new(1usize)));
            let amount = *caught.unwrap_err().downcast::<usize>().unwrap();
            self.0.fetch_add(amount, SeqCst)
        }
    }

    /// A lock is poisoned by whoever panics first, and stays so.
    #[derive(Default)]
    struct Poisons(Mutex<u32>);

    #[raddle::test(iterations = 20, executions = 1000)]
    impl Poisons {
        #[operation]
        fn add(&self) -> Result<u32, String> {
            let mut value = self.0.lock().map_err(|error| error.to_string())?;
            *value += 1;
            Ok(*value)
        }

        #[operation]
        fn fail(&self) {
            let _value = self.0.lock();
            panic!("on purpose");
        }
    }

    /// Validation panics by itself.
    #[derive(Default)]
    struct IsNeverValid(AtomicUsize);

    #[raddle::test(fails = Validation)]
    impl IsNeverValid {
        #[operation]
        fn count(&self) -> usize {
            self.0.fetch_add(1, SeqCst)
        }

        #[validate]
        fn is_zero(&self) {
            assert_eq!(self.0.load(SeqCst), 0, "it counts");
        }
    }
}
