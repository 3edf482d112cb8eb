//! Keys: operations on different ones have nothing to do with each other, so they are checked apart.

use std::collections::BTreeSet;

use examples::harris_list::HarrisList;

#[derive(Default)]
struct HarrisListTest(HarrisList);

#[raddle::test(iterations = 20, executions = 5000, spec = BTreeSet<u32>)]
impl HarrisListTest {
    #[operation(key = |&(key,)| key)]
    fn insert(&self, #[arg(0..=2)] key: u32) -> bool {
        self.0.insert(key)
    }

    #[operation(key = |&(key,)| key, spec = |set, key| set.remove(&key))]
    fn remove(&self, #[arg(0..=2)] key: u32) -> bool {
        self.0.remove(key)
    }

    #[operation(key = |&(key,)| key, spec = |set, key| set.contains(&key), read_only)]
    fn contains(&self, #[arg(0..=2)] key: u32) -> bool {
        self.0.contains(key)
    }
}

#[derive(Default)]
struct NoMarkCheckTest(HarrisList);

#[raddle::test(spec = BTreeSet<u32>, fails = IncorrectResults)]
impl NoMarkCheckTest {
    #[operation]
    fn insert(&self, #[arg(0..=2)] key: u32) -> bool {
        self.0.insert(key)
    }

    #[operation(spec = |set, key| set.remove(&key))]
    fn remove(&self, #[arg(0..=2)] key: u32) -> bool {
        self.0.remove(key)
    }

    #[operation(spec = |set, key| set.contains(&key), read_only)]
    fn contains(&self, #[arg(0..=2)] key: u32) -> bool {
        self.0.contains_without_mark_check(key)
    }
}
