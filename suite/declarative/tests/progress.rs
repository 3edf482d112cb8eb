//! Progress: operations that should need nobody else's help to come to an end.

use std::hint;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};

mod progress_of_an_object_that {
    use super::*;

    /// Retries only if somebody else has succeeded.
    #[derive(Default)]
    struct RetriesAfterOthers(AtomicUsize);

    #[raddle::test(iterations = 20, executions = 500, obstruction_free)]
    impl RetriesAfterOthers {
        #[operation]
        fn add(&self) -> usize {
            let mut value = self.0.load(SeqCst);
            loop {
                match self.0.compare_exchange(value, value + 1, SeqCst, SeqCst) {
                    Ok(_) => return value + 1,
                    Err(now) => value = now,
                }
            }
        }

        #[operation(read_only)]
        fn get(&self) -> usize {
            self.0.load(SeqCst)
        }
    }

    /// A lock, whoever holds it, is in the way.
    #[derive(Default)]
    struct Locks(Mutex<u32>);

    #[raddle::test(fails = NotObstructionFree, obstruction_free)]
    impl Locks {
        #[operation]
        fn add(&self) -> u32 {
            let mut value = self.0.lock().unwrap();
            *value += 1;
            *value
        }
    }

    /// A lock that spins.
    #[derive(Default)]
    struct Spins(AtomicBool, AtomicU32);

    #[raddle::test(fails = NotObstructionFree, obstruction_free)]
    impl Spins {
        #[operation]
        fn add(&self) -> u32 {
            while self.0.swap(true, SeqCst) {
                hint::spin_loop();
            }
            let value = self.1.fetch_add(1, SeqCst);
            self.0.store(false, SeqCst);
            value
        }
    }

    /// A queue of slots in which who pops waits for who pushes to write its value.
    #[derive(Default)]
    struct WaitsForTheWriter {
        slots: [AtomicU32; 16],
        head: AtomicUsize,
        tail: AtomicUsize,
    }

    #[raddle::test(fails = NotObstructionFree, obstruction_free, operations = 3, before = 1, after = 1)]
    impl WaitsForTheWriter {
        #[operation]
        fn push(&self, #[arg(1..=3)] value: u32) {
            let slot = self.tail.fetch_add(1, SeqCst);
            self.slots[slot].store(value, SeqCst);
        }

        #[operation]
        fn pop(&self) -> Option<u32> {
            loop {
                let slot = self.head.load(SeqCst);
                if slot == self.tail.load(SeqCst) {
                    return None;
                }
                if self.head.compare_exchange(slot, slot + 1, SeqCst, SeqCst).is_err() {
                    continue;
                }
                loop {
                    match self.slots[slot].load(SeqCst) {
                        0 => hint::spin_loop(),
                        value => return Some(value),
                    }
                }
            }
        }
    }

    /// An operation that is meant to wait may do so while others are checked.
    #[derive(Default)]
    struct WaitsByDesign {
        tokens: AtomicU32,
    }

    /// What a counter of tokens is.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct Tokens(u32);

    impl Tokens {
        fn put(&mut self) {
            self.0 += 1;
        }

        fn take(&mut self) -> Option<()> {
            self.0 = self.0.checked_sub(1)?;
            Some(())
        }
    }

    #[raddle::test(iterations = 20, executions = 500, operations = 2, before = 1, obstruction_free, spec = Tokens)]
    impl WaitsByDesign {
        #[operation]
        fn put(&self) {
            self.tokens.fetch_add(1, SeqCst);
        }

        #[operation(blocking)]
        fn take(&self) {
            let mut tokens = self.tokens.load(SeqCst);
            loop {
                if tokens == 0 {
                    hint::spin_loop();
                    tokens = self.tokens.load(SeqCst);
                    continue;
                }
                match self.tokens.compare_exchange(tokens, tokens - 1, SeqCst, SeqCst) {
                    Ok(_) => return,
                    Err(now) => tokens = now,
                }
            }
        }
    }
}
