struct Queue;

#[raddle_macros::test]
impl Queue {
    #[operation]
    fn push(&self) {}

    #[validate]
    fn first(&self) {}

    #[validate]
    fn second(&self) {}
}

fn main() {}
