struct Queue;

#[raddle_macros::test]
struct Stack;

#[raddle_macros::test]
impl Clone for Queue {
    #[operation]
    fn clone(&self) -> Self {
        Queue
    }
}

struct List<T>(T);

#[raddle_macros::test]
impl<T> List<T> {
    #[operation]
    fn push(&self) {}
}

fn main() {}
