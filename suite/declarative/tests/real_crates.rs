//! Crates straight from the registry, unmodified, that keep their contracts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex as StdMutex, mpsc};

use crossbeam_deque::{Steal, Stealer, Worker};
use crossbeam_queue::{ArrayQueue, SegQueue};
use dashmap::DashMap;

struct ArrayQueueTest(ArrayQueue<u32>);

/// What a queue with room for two is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct RoomForTwo(VecDeque<u32>);

impl RoomForTwo {
    fn push(&mut self, value: u32) -> Result<(), u32> {
        if self.0.len() == 2 {
            return Err(value);
        }
        self.0.push_back(value);
        Ok(())
    }

    fn pop(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

#[raddle::test(iterations = 20, executions = 2000, operations = 3, before = 2, after = 2, spec = RoomForTwo)]
impl ArrayQueueTest {
    #[init]
    fn new() -> Self {
        ArrayQueueTest(ArrayQueue::new(2))
    }

    #[operation]
    fn push(&self, value: u32) -> Result<(), u32> {
        self.0.push(value)
    }

    #[operation]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

#[derive(Default)]
struct SegQueueTest(SegQueue<u32>);

#[raddle::test(iterations = 20, executions = 2000, operations = 3, before = 2, after = 2, spec = VecDeque<u32>)]
impl SegQueueTest {
    #[operation(spec = |queue, value| queue.push_back(value))]
    fn push(&self, value: u32) {
        self.0.push(value);
    }

    #[operation(spec = |queue| queue.pop_front())]
    fn pop(&self) -> Option<u32> {
        self.0.pop()
    }
}

struct DequeTest {
    // A worker belongs to one thread at a time, which the group sees to; the lock is for the compiler.
    worker: StdMutex<Worker<u32>>,
    stealer: Stealer<u32>,
}

#[raddle::test(iterations = 20, executions = 2000, operations = 3, before = 2, after = 2, spec = VecDeque<u32>)]
impl DequeTest {
    #[init]
    fn new() -> Self {
        let worker = Worker::new_lifo();
        DequeTest { stealer: worker.stealer(), worker: StdMutex::new(worker) }
    }

    #[operation(group = "worker", spec = |deque, value| deque.push_back(value))]
    fn push(&self, value: u32) {
        self.worker.lock().unwrap().push(value);
    }

    #[operation(group = "worker", spec = |deque| deque.pop_back())]
    fn pop(&self) -> Option<u32> {
        self.worker.lock().unwrap().pop()
    }

    #[operation(spec = |deque| deque.pop_front())]
    fn steal(&self) -> Option<u32> {
        loop {
            match self.stealer.steal() {
                Steal::Empty => return None,
                Steal::Success(value) => return Some(value),
                Steal::Retry => {}
            }
        }
    }
}

struct StdChannelTest {
    sender: mpsc::Sender<u32>,
    receiver: StdMutex<mpsc::Receiver<u32>>,
}

#[raddle::test(iterations = 20, executions = 1000, operations = 3, before = 2, after = 2, spec = VecDeque<u32>)]
impl StdChannelTest {
    #[init]
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        StdChannelTest { sender, receiver: StdMutex::new(receiver) }
    }

    #[operation(spec = |queue, value| queue.push_back(value))]
    fn send(&self, value: u32) {
        self.sender.send(value).unwrap();
    }

    #[operation(blocking, group = "receiver", spec = |queue| queue.pop_front())]
    fn receive(&self) -> u32 {
        self.receiver.lock().unwrap().recv().unwrap()
    }
}

struct FlumeTest(flume::Sender<u32>, flume::Receiver<u32>);

/// What a bounded channel with room for one is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct RoomForOne(Option<u32>);

impl RoomForOne {
    fn send(&mut self, value: u32) -> Option<()> {
        self.0.is_none().then(|| self.0 = Some(value))
    }

    fn receive(&mut self) -> Option<u32> {
        self.0.take()
    }

    fn try_receive(&mut self) -> Option<u32> {
        self.0.take()
    }
}

#[raddle::test(iterations = 20, executions = 1000, operations = 2, before = 1, after = 1, spec = RoomForOne)]
impl FlumeTest {
    #[init]
    fn new() -> Self {
        let (sender, receiver) = flume::bounded(1);
        FlumeTest(sender, receiver)
    }

    #[operation(blocking)]
    fn send(&self, value: u32) {
        self.0.send(value).unwrap();
    }

    #[operation(blocking)]
    fn receive(&self) -> u32 {
        self.1.recv().unwrap()
    }

    #[operation]
    fn try_receive(&self) -> Option<u32> {
        self.1.try_recv().ok()
    }
}

struct DashMapTest(DashMap<u32, u32>);

#[raddle::test(iterations = 20, executions = 1000, operations = 3, before = 2, after = 2, spec = BTreeMap<u32, u32>)]
impl DashMapTest {
    #[init]
    fn new() -> Self {
        DashMapTest(DashMap::with_shard_amount(2))
    }

    #[operation(key = |&(key, _)| key)]
    fn insert(&self, #[arg(0..=2)] key: u32, value: u32) -> Option<u32> {
        self.0.insert(key, value)
    }

    #[operation(key = |&(key,)| key, spec = |map, key| map.remove(&key))]
    fn remove(&self, #[arg(0..=2)] key: u32) -> Option<u32> {
        self.0.remove(&key).map(|(_, value)| value)
    }

    #[operation(key = |&(key,)| key, read_only, spec = |map, key| map.get(&key).copied())]
    fn get(&self, #[arg(0..=2)] key: u32) -> Option<u32> {
        self.0.get(&key).map(|value| *value)
    }

    #[operation(key = |&(key,)| key, spec = |map, key| { *map.entry(key).or_insert(0) += 1; })]
    fn increment(&self, #[arg(0..=2)] key: u32) {
        *self.0.entry(key).or_insert(0) += 1;
    }
}

/// A bin is locked while it is written.
struct DashMapLocks(DashMap<u32, u32>);

#[raddle::test(fails = NotObstructionFree, obstruction_free)]
impl DashMapLocks {
    #[init]
    fn new() -> Self {
        DashMapLocks(DashMap::with_shard_amount(2))
    }

    #[operation]
    fn insert(&self, #[arg(0..=2)] key: u32, value: u32) -> Option<u32> {
        self.0.insert(key, value)
    }
}

#[derive(Default)]
struct ParkingLotMutex(parking_lot::Mutex<u32>);

#[raddle::test(iterations = 20, executions = 1000, operations = 3)]
impl ParkingLotMutex {
    #[operation]
    fn add(&self, #[arg(1..=3)] value: u32) -> u32 {
        let mut sum = self.0.lock();
        *sum += value;
        *sum
    }

    #[operation(read_only)]
    fn get(&self) -> u32 {
        *self.0.lock()
    }
}

#[derive(Default)]
struct ParkingLotRwLock(parking_lot::RwLock<BTreeSet<u32>>);

#[raddle::test(iterations = 20, executions = 1000, operations = 3)]
impl ParkingLotRwLock {
    #[operation]
    fn insert(&self, #[arg(0..=2)] key: u32) -> bool {
        self.0.write().insert(key)
    }

    #[operation]
    fn remove(&self, #[arg(0..=2)] key: u32) -> bool {
        self.0.write().remove(&key)
    }

    #[operation(read_only)]
    fn contains(&self, #[arg(0..=2)] key: u32) -> bool {
        self.0.read().contains(&key)
    }
}

mod tokio_sync {
    use super::StdMutex;
    use std::collections::VecDeque;
    use tokio::sync::{Mutex, Notify, Semaphore, mpsc, oneshot};

    #[derive(Default)]
    struct TokioMutex(Mutex<u32>);

    #[raddle::test(iterations = 20, executions = 500, operations = 2, before = 1)]
    impl TokioMutex {
        #[operation(cancellable)]
        async fn add(&self, #[arg(1..=3)] value: u32) -> u32 {
            let mut sum = self.0.lock().await;
            *sum += value;
            *sum
        }

        #[operation(read_only)]
        async fn get(&self) -> u32 {
            *self.0.lock().await
        }
    }

    struct TokioSemaphore(Semaphore);

    #[raddle::test(iterations = 20, executions = 500, operations = 2, before = 1)]
    impl TokioSemaphore {
        #[init]
        fn new() -> Self {
            TokioSemaphore(Semaphore::new(1))
        }

        #[operation(cancellable)]
        async fn acquire(&self) {
            self.0.acquire().await.unwrap().forget();
        }

        #[operation]
        fn release(&self) {
            self.0.add_permits(1);
        }
    }

    struct TokioMpsc {
        sender: mpsc::Sender<u32>,
        receiver: Mutex<mpsc::Receiver<u32>>,
    }

    /// What a channel with room for one is.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct RoomForOne(Option<u32>);

    impl RoomForOne {
        fn send(&mut self, value: u32) -> Option<()> {
            self.0.is_none().then(|| self.0 = Some(value))
        }

        fn receive(&mut self) -> Option<u32> {
            self.0.take()
        }
    }

    #[raddle::test(iterations = 20, executions = 500, operations = 2, before = 1, spec = RoomForOne)]
    impl TokioMpsc {
        #[init]
        fn new() -> Self {
            let (sender, receiver) = mpsc::channel(1);
            TokioMpsc { sender, receiver: Mutex::new(receiver) }
        }

        #[operation]
        async fn send(&self, value: u32) {
            self.sender.send(value).await.unwrap();
        }

        #[operation(group = "receiver")]
        async fn receive(&self) -> u32 {
            self.receiver.lock().await.recv().await.unwrap()
        }
    }

    #[derive(Default)]
    struct TokioNotify(Notify);

    /// At most one permit is kept.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct Permit(bool);

    impl Permit {
        fn notify_one(&mut self) {
            self.0 = true;
        }

        fn notified(&mut self) -> Option<()> {
            std::mem::take(&mut self.0).then_some(())
        }
    }

    // With two that wait, `notify_one` twice wakes both, where one permit would be kept: so one waits.
    #[raddle::test(iterations = 20, executions = 500, operations = 2, before = 1, spec = Permit)]
    impl TokioNotify {
        #[operation]
        fn notify_one(&self) {
            self.0.notify_one();
        }

        #[operation(once)]
        async fn notified(&self) {
            self.0.notified().await;
        }
    }

    struct TokioOneshot {
        sender: StdMutex<Option<oneshot::Sender<u32>>>,
        receiver: Mutex<Option<oneshot::Receiver<u32>>>,
    }

    #[raddle::test(iterations = 10, executions = 500, operations = 1, before = 0, after = 0, spec = VecDeque<u32>)]
    impl TokioOneshot {
        #[init]
        fn new() -> Self {
            let (sender, receiver) = oneshot::channel();
            TokioOneshot { sender: StdMutex::new(Some(sender)), receiver: Mutex::new(Some(receiver)) }
        }

        #[operation(once, spec = |queue, value| queue.push_back(value))]
        fn send(&self, value: u32) {
            let sender = self.sender.lock().unwrap().take().expect("called once");
            sender.send(value).unwrap();
        }

        #[operation(once, spec = |queue| queue.pop_front())]
        async fn receive(&self) -> u32 {
            let receiver = self.receiver.lock().await.take().expect("called once");
            receiver.await.unwrap()
        }
    }
}
