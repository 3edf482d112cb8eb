//! What threads tell each other: the channel, and parking.

use super::Freedom;
use super::state::{Phase, State};
use super::step::Model;
use crate::program::{NOTHING, Op, TIMED_OUT, ThreadId};

impl Model<'_> {
    pub(super) fn send(&self, state: &mut State, thread: ThreadId, value: u64) -> bool {
        if !state.threads[thread].has_sender {
            state.next(thread);
            return true;
        }
        let phase = state.threads[thread].phase;
        let is_full = self.program.capacity.is_some_and(|capacity| state.channel.queue.len() >= capacity);
        if phase == Phase::Woken {
            state.see(thread, 1);
        } else if !state.channel.has_receiver {
            state.channel.offers.retain(|offer| offer.0 != thread);
            state.see(thread, 0);
        } else if phase == Phase::Asleep {
            return false;
        } else if self.program.capacity == Some(0) {
            self.order_by_channel(state, thread);
            let clock = self.release(state, thread);
            match state.channel.waits.take() {
                Some(receiver) => {
                    self.acquire(state, receiver, &clock);
                    state.threads[receiver].note = value;
                    state.threads[receiver].phase = Phase::Woken;
                    state.see(thread, 1);
                }
                None => {
                    state.channel.offers.push((thread, value, clock));
                    state.sleep(thread, None);
                }
            }
        } else if is_full {
            return false;
        } else {
            self.order_by_channel(state, thread);
            let clock = self.release(state, thread);
            state.channel.queue.push((value, clock));
            state.see(thread, 1);
        }
        true
    }

    pub(super) fn receive(&self, state: &mut State, thread: ThreadId, op: &Op) -> bool {
        let phase = state.threads[thread].phase;
        let channel = &mut state.channel;
        if !channel.has_receiver {
            state.next(thread);
        } else if phase == Phase::Woken {
            let value = state.threads[thread].note;
            state.see(thread, value);
        } else if !channel.queue.is_empty() {
            let (value, clock) = channel.queue.remove(0);
            self.acquire(state, thread, &clock);
            self.order_by_channel(state, thread);
            state.see(thread, value);
        } else if !channel.offers.is_empty() {
            let (sender, value, clock) = channel.offers.remove(0);
            self.acquire(state, thread, &clock);
            self.order_by_channel(state, thread);
            state.threads[sender].phase = Phase::Woken;
            state.see(thread, value);
        } else if channel.senders == 0 {
            channel.waits = None;
            self.order_by_channel(state, thread);
            state.see(thread, NOTHING);
        } else if *op == Op::TryReceive || phase == Phase::TimedOut {
            state.see(thread, TIMED_OUT);
        } else if phase == Phase::Asleep {
            return false;
        } else {
            if self.program.capacity == Some(0) {
                channel.waits = Some(thread);
            }
            let time = if let Op::ReceiveTimeout(time) = op { Some(*time) } else { None };
            state.sleep(thread, time);
        }
        true
    }

    pub(super) fn drop_sender(&self, state: &mut State, thread: ThreadId) {
        if std::mem::take(&mut state.threads[thread].has_sender) {
            self.order_by_channel(state, thread);
            state.channel.senders -= 1;
        }
        state.next(thread);
    }

    pub(super) fn drop_receiver(&self, state: &mut State, thread: ThreadId) {
        if std::mem::take(&mut state.channel.has_receiver) {
            self.order_by_channel(state, thread);
            state.channel.queue.clear();
        }
        state.next(thread);
    }

    /// What is done to a channel orders more than its messages do, but nobody may rely on it.
    fn order_by_channel(&self, state: &mut State, thread: ThreadId) {
        if self.freedom == Freedom::Least {
            let known = state.channel.clock;
            self.acquire(state, thread, &known);
            let clock = self.release(state, thread);
            state.channel.clock.join(&clock);
        }
    }

    pub(super) fn park(&self, state: &mut State, thread: ThreadId, op: &Op) -> bool {
        let phase = state.threads[thread].phase;
        if std::mem::take(&mut state.threads[thread].token) {
            let clock = state.threads[thread].token_clock;
            self.acquire(state, thread, &clock);
            state.next(thread);
            return true;
        }
        match (phase, op) {
            (Phase::TimedOut, _) => state.next(thread),
            (Phase::Ready, Op::ParkTimeout(time)) => state.sleep(thread, Some(*time)),
            _ => return false,
        }
        true
    }

    pub(super) fn unpark(&self, state: &mut State, thread: ThreadId, target: ThreadId) {
        let clock = self.release(state, thread);
        state.threads[target].token = true;
        state.threads[target].token_clock.join(&clock);
        state.next(thread);
    }
}
