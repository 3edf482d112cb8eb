//! An asynchronous channel without buffer: who sends waits for who receives, and the other way round.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// A rendezvous channel.
#[derive(Default)]
pub struct Rendezvous {
    waiting: Mutex<Waiting>,
}

/// At most one of the queues has members.
#[derive(Default)]
struct Waiting {
    senders: VecDeque<(u32, Arc<Slot>)>,
    receivers: VecDeque<Arc<Slot>>,
}

/// Where one that waits is told that it was met, and by which value.
#[derive(Default)]
struct Slot(Mutex<(Option<u32>, Option<Waker>)>);

impl Slot {
    fn meet(&self, value: u32) {
        let mut slot = self.0.lock().unwrap();
        slot.0 = Some(value);
        let waker = slot.1.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn met(&self) -> u32 {
        poll_fn(|context| {
            let mut slot = self.0.lock().unwrap();
            if let Some(value) = slot.0 {
                return Poll::Ready(value);
            }
            slot.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// [`met`](Self::met) with a bug: who meets between the two looks finds nobody to wake.
    async fn met_or_slept_through(&self) -> u32 {
        poll_fn(|context| {
            if let Some(value) = self.0.lock().unwrap().0 {
                return Poll::Ready(value);
            }
            self.0.lock().unwrap().1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl Rendezvous {
    /// Hands a value to a receiver; waits until there is one.
    pub async fn send(&self, value: u32) {
        if let Some(slot) = self.offer(value) {
            slot.met().await;
        }
    }

    /// Takes a value from a sender; waits until there is one.
    pub async fn receive(&self) -> u32 {
        match self.accept() {
            Ok(value) => value,
            Err(slot) => slot.met().await,
        }
    }

    /// [`receive`](Self::receive) with a bug: it may wait though a sender has come.
    pub async fn receive_or_sleep(&self) -> u32 {
        match self.accept() {
            Ok(value) => value,
            Err(slot) => slot.met_or_slept_through().await,
        }
    }

    /// Meets a receiver, or gets in line.
    fn offer(&self, value: u32) -> Option<Arc<Slot>> {
        let mut waiting = self.waiting.lock().unwrap();
        if let Some(receiver) = waiting.receivers.pop_front() {
            drop(waiting);
            receiver.meet(value);
            return None;
        }
        let slot = Arc::new(Slot::default());
        waiting.senders.push_back((value, Arc::clone(&slot)));
        Some(slot)
    }

    /// Meets a sender, or gets in line.
    fn accept(&self) -> Result<u32, Arc<Slot>> {
        let mut waiting = self.waiting.lock().unwrap();
        if let Some((value, sender)) = waiting.senders.pop_front() {
            drop(waiting);
            sender.meet(value);
            return Ok(value);
        }
        let slot = Arc::new(Slot::default());
        waiting.receivers.push_back(Arc::clone(&slot));
        Err(slot)
    }
}
