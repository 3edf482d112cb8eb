struct Queue;

#[raddle_macros::test]
impl Queue {
    #[init]
    async fn new() -> Self {
        Queue
    }

    #[operation]
    fn push(&self) {}
}

fn main() {}
