struct Queue;

#[raddle_macros::test(obstruction_free = true)]
impl Queue {
    #[operation(once = 1)]
    fn push(&self) {}
}

fn main() {}
