struct Queue;

#[raddle_macros::test]
impl Queue {
    #[operation(blocking)]
    fn pop(&self) {}
}

struct Stack;

#[raddle_macros::test]
impl Stack {
    #[operation(spec = |stack: &mut Vec<u32>| stack.pop())]
    fn pop(&self) -> Option<u32> {
        None
    }
}

fn main() {}
