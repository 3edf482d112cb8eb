struct Queue;

#[raddle_macros::test]
impl Queue {
    #[operation(cancellable)]
    fn push(&self) {}

    #[operation(blocking)]
    async fn pop(&self) {}
}

fn main() {}
