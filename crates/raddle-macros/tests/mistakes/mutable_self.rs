struct Queue;

#[raddle_macros::test]
impl Queue {
    #[operation]
    fn push(&mut self) {}

    #[operation]
    fn pop(self) {}

    #[operation]
    fn len() -> usize {
        0
    }
}

fn main() {}
