struct Queue;

#[raddle_macros::test]
impl Queue {
    #[init]
    fn new(_capacity: usize) -> Self {
        Queue
    }

    #[validate]
    fn check(&mut self) {}

    #[setup(once)]
    fn prepare(&self) {}

    #[operation]
    fn push(&self) {}
}

fn main() {}
