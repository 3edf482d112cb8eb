struct Queue;

#[raddle_macros::test(threads)]
impl Queue {
    #[operation(weight)]
    fn push(&self) {}

    #[operation(group)]
    fn pop(&self) {}
}

fn main() {}
