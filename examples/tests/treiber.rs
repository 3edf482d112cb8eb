//! The options most people need: how long to search, and how large scenarios may be.

use examples::treiber::TreiberStack;
use examples::treiber_reusing::ReusingStack;

#[derive(Default)]
struct TreiberStackTest(TreiberStack<u32>);

#[raddle::test(budget = "3s", obstruction_free)]
impl TreiberStackTest {
    #[operation]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

#[derive(Default)]
struct PopTwiceTest(TreiberStack<u32>);

#[raddle::test(threads = 2, operations = 3, fails = IncorrectResults)]
impl PopTwiceTest {
    #[operation]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation]
    fn pop(&self) -> Option<u32> {
        self.0.pop_without_cas()
    }
}

/// ABA: five operations are needed to see it.
#[derive(Default)]
struct ReusingStackTest(ReusingStack<2>);

#[raddle::test(fails = IncorrectResults)]
impl ReusingStackTest {
    #[operation]
    fn push(&self, value: u32) -> bool {
        self.0.push(value)
    }

    #[operation]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}
