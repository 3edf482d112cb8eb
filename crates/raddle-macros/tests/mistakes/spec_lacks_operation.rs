use std::collections::VecDeque;

#[derive(Default)]
struct Queue;

#[raddle::test(spec = VecDeque<u32>)]
impl Queue {
    #[operation]
    fn offer(&self, _value: u32) {}
}

fn main() {}
