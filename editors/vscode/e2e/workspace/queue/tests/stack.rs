use queue::Stack;

#[derive(Default)]
struct StackTest(Stack);

#[raddle::test]
impl StackTest {
    #[operation]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}
