struct Queue;

#[raddle_macros::test(thread = 3)]
impl Queue {
    #[operation]
    fn push(&self) {}
}

fn main() {}
