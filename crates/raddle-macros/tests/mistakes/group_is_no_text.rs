struct Queue;

#[raddle_macros::test]
impl Queue {
    #[operation(group = producer)]
    fn push(&self) {}
}

fn main() {}
