//! Cancellation: a future may be dropped while it waits, also after it was woken and before it knows.

use examples::semaphore::Semaphore;

/// What a semaphore is. An object that loses permits is no good judge of itself: it loses them with one thread, too.
#[derive(Clone, Debug, PartialEq)]
struct Permits(usize);

impl Default for Permits {
    fn default() -> Self {
        Permits(1)
    }
}

impl Permits {
    fn acquire(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }

    fn release(&mut self) {
        self.0 += 1;
    }
}

struct SemaphoreTest(Semaphore);

#[raddle::test(iterations = 20, executions = 2000, operations = 3, spec = Permits)]
impl SemaphoreTest {
    #[init]
    fn with_one_permit() -> Self {
        SemaphoreTest(Semaphore::new(1))
    }

    #[operation(cancellable)]
    async fn acquire(&self) {
        self.0.acquire().await;
    }

    #[operation]
    fn release(&self) {
        self.0.release();
    }
}

struct ForgetfulSemaphoreTest(Semaphore);

// A permit goes to one that has given up, and stays there.
#[raddle::test(operations = 3, before = 0, spec = Permits, fails = LostWakeUp)]
impl ForgetfulSemaphoreTest {
    #[init]
    fn with_one_permit() -> Self {
        ForgetfulSemaphoreTest(Semaphore::forgetful(1))
    }

    #[operation(cancellable)]
    async fn acquire(&self) {
        self.0.acquire().await;
    }

    #[operation]
    fn release(&self) {
        self.0.release();
    }
}
