//! `async` operations: suspension, resumption, cancellation.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

mod async_object {
    use super::*;

    /// A channel with a buffer, woken as `Wakes` says.
    struct Channel {
        capacity: usize,
        state: Mutex<State>,
    }

    #[derive(Default)]
    struct State {
        values: VecDeque<u32>,
        senders: VecDeque<Waker>,
        receivers: VecDeque<Waker>,
    }

    impl State {
        fn wake_all(&mut self) -> Vec<Waker> {
            self.senders.drain(..).chain(self.receivers.drain(..)).collect()
        }
    }

    impl Channel {
        fn new(capacity: usize) -> Channel {
            Channel { capacity, state: Mutex::default() }
        }

        async fn send(&self, value: u32) {
            poll_fn(|context| {
                let mut state = self.state.lock().unwrap();
                if state.values.len() == self.capacity {
                    state.senders.push_back(context.waker().clone());
                    return Poll::Pending;
                }
                state.values.push_back(value);
                wake(state.wake_all());
                Poll::Ready(())
            })
            .await;
        }

        async fn receive(&self) -> u32 {
            poll_fn(|context| {
                let mut state = self.state.lock().unwrap();
                let Some(value) = state.values.pop_front() else {
                    state.receivers.push_back(context.waker().clone());
                    return Poll::Pending;
                };
                wake(state.wake_all());
                Poll::Ready(value)
            })
            .await
        }

        /// Looks and gets in line in two steps.
        async fn receive_in_two_steps(&self) -> u32 {
            poll_fn(|context| {
                let value = self.state.lock().unwrap().values.pop_front();
                let Some(value) = value else {
                    self.state.lock().unwrap().receivers.push_back(context.waker().clone());
                    return Poll::Pending;
                };
                let wakers = self.state.lock().unwrap().wake_all();
                wake(wakers);
                Poll::Ready(value)
            })
            .await
        }

        /// Takes a value and wakes nobody who waits for room.
        async fn receive_silently(&self) -> u32 {
            poll_fn(|context| {
                let mut state = self.state.lock().unwrap();
                let Some(value) = state.values.pop_front() else {
                    state.receivers.push_back(context.waker().clone());
                    return Poll::Pending;
                };
                Poll::Ready(value)
            })
            .await
        }

        /// Sends beyond the capacity if two look at once.
        async fn send_after_a_look(&self, value: u32) {
            poll_fn(|context| {
                if self.state.lock().unwrap().values.len() == self.capacity {
                    self.state.lock().unwrap().senders.push_back(context.waker().clone());
                    return Poll::Pending;
                }
                let mut state = self.state.lock().unwrap();
                state.values.push_back(value);
                wake(state.wake_all());
                Poll::Ready(())
            })
            .await;
        }
    }

    fn wake(wakers: Vec<Waker>) {
        wakers.into_iter().for_each(Waker::wake);
    }

    /// What a channel with room for two is.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct RoomForTwo(VecDeque<u32>);

    impl RoomForTwo {
        fn send(&mut self, value: u32) -> Option<()> {
            (self.0.len() < 2).then(|| self.0.push_back(value))
        }

        fn receive(&mut self) -> Option<u32> {
            self.0.pop_front()
        }
    }

    struct BufferedChannel(Channel);

    #[raddle::test(iterations = 20, executions = 1000, operations = 3, before = 2, spec = RoomForTwo)]
    impl BufferedChannel {
        #[init]
        fn new() -> Self {
            BufferedChannel(Channel::new(2))
        }

        #[operation]
        async fn send(&self, value: u32) {
            self.0.send(value).await;
        }

        #[operation]
        async fn receive(&self) -> u32 {
            self.0.receive().await
        }
    }

    struct SleepsThrough(Channel);

    #[raddle::test(fails = LostWakeUp, operations = 3)]
    impl SleepsThrough {
        #[init]
        fn new() -> Self {
            SleepsThrough(Channel::new(2))
        }

        #[operation]
        async fn send(&self, value: u32) {
            self.0.send(value).await;
        }

        #[operation]
        async fn receive(&self) -> u32 {
            self.0.receive_in_two_steps().await
        }
    }

    struct WakesNobody(Channel);

    #[raddle::test(fails = LostWakeUp, operations = 3, spec = RoomForOne)]
    impl WakesNobody {
        #[init]
        fn new() -> Self {
            WakesNobody(Channel::new(1))
        }

        #[operation]
        async fn send(&self, value: u32) {
            self.0.send(value).await;
        }

        #[operation]
        async fn receive(&self) -> u32 {
            self.0.receive_silently().await
        }
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

    struct ExceedsItsCapacity(Channel);

    #[raddle::test(fails = IncorrectResults, operations = 3, spec = RoomForOne)]
    impl ExceedsItsCapacity {
        #[init]
        fn new() -> Self {
            ExceedsItsCapacity(Channel::new(1))
        }

        #[operation]
        async fn send(&self, value: u32) {
            self.0.send_after_a_look(value).await;
        }

        #[operation]
        async fn receive(&self) -> u32 {
            self.0.receive().await
        }
    }

    /// Waits until it is told twice: several suspensions in one operation.
    #[derive(Default)]
    struct SuspendsTwice {
        told: AtomicUsize,
        waiting: Mutex<Vec<Waker>>,
    }

    impl SuspendsTwice {
        async fn told(&self, times: usize) {
            poll_fn(|context| {
                let mut waiting = self.waiting.lock().unwrap();
                if self.told.load(SeqCst) >= times {
                    return Poll::Ready(());
                }
                waiting.push(context.waker().clone());
                Poll::Pending
            })
            .await;
        }
    }

    #[raddle::test(iterations = 20, executions = 1000, operations = 2)]
    impl SuspendsTwice {
        #[operation(once)]
        async fn wait_for_two(&self) -> usize {
            self.told(1).await;
            self.told(2).await;
            2
        }

        #[operation]
        fn tell(&self) {
            let waiting = {
                let mut waiting = self.waiting.lock().unwrap();
                self.told.fetch_add(1, SeqCst);
                std::mem::take(&mut *waiting)
            };
            wake(waiting);
        }
    }

    /// Suspends though it need not, and is resumed at once: allowed.
    #[derive(Default)]
    struct SuspendsNeedlessly(AtomicUsize);

    #[raddle::test(iterations = 20, executions = 1000, operations = 2)]
    impl SuspendsNeedlessly {
        #[operation]
        async fn add(&self) -> usize {
            let mut suspended = false;
            poll_fn(|context| {
                if suspended {
                    return Poll::Ready(());
                }
                suspended = true;
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            self.0.fetch_add(1, SeqCst)
        }
    }

    /// Suspends for ever, whatever happens, which its specification, the object called by one thread, does as well.
    #[derive(Default)]
    struct NeverReady(AtomicUsize);

    #[raddle::test(iterations = 5, executions = 200, operations = 2)]
    impl NeverReady {
        #[operation]
        async fn wait(&self) {
            std::future::pending().await
        }

        #[operation]
        fn count(&self) -> usize {
            self.0.fetch_add(1, SeqCst)
        }
    }

    /// Waiters with tickets, one of whom may give up.
    struct Queue {
        on_cancel: OnCancel,
        state: Mutex<Tickets>,
    }

    #[derive(Clone, Copy)]
    enum OnCancel {
        /// Leaves the line, and hands on what it has been given already.
        Leave,
        /// Leaves the line only if nothing was given to it: what was is lost.
        LoseWhatWasGiven,
        /// Tells everybody for a moment that nobody waits.
        HideOthers,
    }

    #[derive(Default)]
    struct Tickets {
        permits: usize,
        next: usize,
        waiting: VecDeque<(usize, Waker)>,
        given: Vec<usize>,
    }

    impl Queue {
        fn new(on_cancel: OnCancel) -> Queue {
            Queue { on_cancel, state: Mutex::default() }
        }

        fn acquire(&self) -> Acquire<'_> {
            Acquire { queue: self, ticket: None }
        }

        fn release(&self) {
            let mut state = self.state.lock().unwrap();
            match state.waiting.pop_front() {
                None => state.permits += 1,
                Some((ticket, waker)) => {
                    state.given.push(ticket);
                    drop(state);
                    waker.wake();
                }
            }
        }
    }

    struct Acquire<'a> {
        queue: &'a Queue,
        ticket: Option<usize>,
    }

    impl Future for Acquire<'_> {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            let mut state = self.queue.state.lock().unwrap();
            let Some(ticket) = self.ticket else {
                if state.permits > 0 {
                    state.permits -= 1;
                    return Poll::Ready(());
                }
                let ticket = state.next;
                state.next += 1;
                state.waiting.push_back((ticket, context.waker().clone()));
                drop(state);
                self.ticket = Some(ticket);
                return Poll::Pending;
            };
            if let Some(place) = state.given.iter().position(|&given| given == ticket) {
                state.given.remove(place);
                drop(state);
                self.ticket = None;
                return Poll::Ready(());
            }
            if let Some(waiting) = state.waiting.iter_mut().find(|waiting| waiting.0 == ticket) {
                waiting.1 = context.waker().clone();
            }
            Poll::Pending
        }
    }

    impl Drop for Acquire<'_> {
        fn drop(&mut self) {
            let Some(ticket) = self.ticket else { return };
            let mut state = self.queue.state.lock().unwrap();
            if let OnCancel::HideOthers = self.queue.on_cancel {
                let others = std::mem::take(&mut state.waiting);
                drop(state);
                state = self.queue.state.lock().unwrap();
                state.waiting = others;
            }
            state.waiting.retain(|waiting| waiting.0 != ticket);
            let given = state.given.iter().position(|&given| given == ticket);
            if let Some(place) = given {
                state.given.remove(place);
            }
            drop(state);
            if given.is_some() && !matches!(self.queue.on_cancel, OnCancel::LoseWhatWasGiven) {
                self.queue.release();
            }
        }
    }

    /// What the queue is about.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Permits(usize);

    impl Permits {
        fn acquire(&mut self) -> Option<()> {
            self.0 = self.0.checked_sub(1)?;
            Some(())
        }

        fn release(&mut self) {
            self.0 += 1;
        }
    }

    struct LeavesTheLine(Queue);

    #[raddle::test(iterations = 20, executions = 1000, operations = 3, spec = Permits)]
    impl LeavesTheLine {
        #[init]
        fn new() -> Self {
            LeavesTheLine(Queue::new(OnCancel::Leave))
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

    struct LosesWhatWasGiven(Queue);

    #[raddle::test(fails = LostWakeUp, operations = 3, before = 0, spec = Permits)]
    impl LosesWhatWasGiven {
        #[init]
        fn new() -> Self {
            LosesWhatWasGiven(Queue::new(OnCancel::LoseWhatWasGiven))
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

    /// While one gives up, others are not seen, and a permit is put down that one of them waits for.
    struct HidesOthers(Queue);

    #[raddle::test(fails = LostWakeUp, threads = 3, operations = 2)]
    impl HidesOthers {
        #[init]
        fn new() -> Self {
            HidesOthers(Queue::new(OnCancel::HideOthers))
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
}
