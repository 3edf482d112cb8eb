struct Queue;

#[raddle_macros::test(threads = 2, threads = 3)]
impl Queue {
    #[operation]
    fn push(&self) {}
}

fn main() {}
