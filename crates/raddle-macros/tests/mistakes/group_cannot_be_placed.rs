struct Queue;

#[raddle_macros::test(threads = 3)]
impl Queue {
    #[operation(group = "producer")]
    fn push(&self) {}

    #[operation(group = "consumer")]
    fn pop(&self) {}
}

struct Stack;

#[raddle_macros::test]
impl Stack {
    #[operation(group = "owner")]
    fn push(&self) {}
}

fn main() {}
