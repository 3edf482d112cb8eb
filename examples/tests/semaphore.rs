//! Cancellation: a future may be dropped while it waits, also after it was woken and before it knows.

use examples::semaphore::Semaphore;

struct SemaphoreTest(Semaphore);

#[raddle::test(iterations = 20, executions = 2000, operations = 3)]
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
#[raddle::test(operations = 3, fails = LostWakeUp)]
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
