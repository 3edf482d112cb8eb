struct Queue;

#[raddle_macros::test]
impl Queue {
    fn push(&self) {}
}

fn main() {}
