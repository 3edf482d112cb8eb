//! Operations that block by design: the specification says when they have to wait, by returning `None`.

use std::collections::VecDeque;

use examples::bounded_buffer::BoundedBuffer;

/// What a buffer of one value is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct OneValue(VecDeque<u32>);

impl OneValue {
    fn put(&mut self, value: u32) -> Option<()> {
        if self.0.len() == 1 {
            return None;
        }
        self.0.push_back(value);
        Some(())
    }

    fn take(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

#[derive(Default)]
struct BoundedBufferTest(BoundedBuffer<1>);

#[raddle::test(iterations = 20, executions = 2000, threads = 3, operations = 2, spec = OneValue)]
impl BoundedBufferTest {
    #[operation(blocking)]
    fn put(&self, value: u32) {
        self.0.put(value);
    }

    #[operation(blocking)]
    fn take(&self) -> u32 {
        self.0.take()
    }
}

#[derive(Default)]
struct WakeOneTest(BoundedBuffer<1>);

// Who is woken may have nothing to do, and who has something to do sleeps on. That takes three threads: Raddle chooses so many, because
// operations may wait.
#[raddle::test(operations = 2, spec = OneValue, fails = LostWakeUp)]
impl WakeOneTest {
    #[operation(blocking)]
    fn put(&self, value: u32) {
        self.0.put_and_wake_one(value);
    }

    #[operation(blocking)]
    fn take(&self) -> u32 {
        self.0.take_and_wake_one()
    }
}
