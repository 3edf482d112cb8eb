struct Queue;

#[raddle_macros::test]
impl Queue {
    #[operation]
    fn push(&self, _value: &str) {}

    #[operation]
    fn insert(&self, _value: impl Copy) {}

    #[operation]
    fn swap<T>(&self, _value: T) {}

    #[operation]
    fn remove(&self, #[arg] _value: u32) {}

    #[operation]
    fn get(&self, #[arg(0..=1)] #[arg(0..=2)] _value: u32) {}

    #[operation]
    fn put(&self, #[arg(0..3)] _value: u32) {}

    #[operation]
    fn set(&self, #[arg()] _value: u32) {}
}

fn main() {}
