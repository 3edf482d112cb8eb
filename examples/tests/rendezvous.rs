//! `async` operations: they suspend, are resumed by other threads, and must not sleep for ever if they need not.

use examples::rendezvous::Rendezvous;

#[derive(Default)]
struct RendezvousTest(Rendezvous);

#[raddle::test(iterations = 20, executions = 2000, operations = 3)]
impl RendezvousTest {
    #[operation]
    async fn send(&self, value: u32) {
        self.0.send(value).await;
    }

    #[operation]
    async fn receive(&self) -> u32 {
        self.0.receive().await
    }
}

#[derive(Default)]
struct SleepyRendezvousTest(Rendezvous);

#[raddle::test(operations = 3, fails = LostWakeUp)]
impl SleepyRendezvousTest {
    #[operation]
    async fn send(&self, value: u32) {
        self.0.send(value).await;
    }

    #[operation]
    async fn receive(&self) -> u32 {
        self.0.receive_or_sleep().await
    }
}
