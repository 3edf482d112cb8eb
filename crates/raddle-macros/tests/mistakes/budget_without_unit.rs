struct Queue;

#[raddle_macros::test(budget = "10")]
impl Queue {
    #[operation]
    fn push(&self) {}
}

fn main() {}
