struct Queue;

#[raddle_macros::test]
impl Queue {
    #[operation(ones)]
    fn push(&self) {}
}

fn main() {}
