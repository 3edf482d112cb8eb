struct Queue;

#[raddle_macros::test]
impl Queue {
    #[operation]
    fn push(&self) {}

    #[operation(name = "push")]
    fn append(&self) {}
}

fn main() {}
