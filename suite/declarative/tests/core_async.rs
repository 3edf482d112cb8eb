//! Operations that wait by design: futures, blocking calls, cancellation, lost wake-ups.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Condvar, Mutex};
use std::task::{Poll, Waker};

use raddle::{Also, Kind, Operation, Scenario, Spec, Test, call, generate};

/// An unbounded channel whose receivers wait in line.
#[derive(Default)]
struct Channel<const WAKES: bool, const FORGETS: bool> {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    items: VecDeque<u32>,
    waiting: VecDeque<Waker>,
}

impl<const WAKES: bool, const FORGETS: bool> Channel<WAKES, FORGETS> {
    fn send(&self, value: u32) {
        let mut state = self.state.lock().unwrap();
        state.items.push_back(value);
        if WAKES && let Some(waker) = state.waiting.pop_front() {
            drop(state);
            waker.wake();
        }
    }

    async fn receive(&self) -> u32 {
        poll_fn(|context| {
            if FORGETS {
                // Looks, lets go of the lock, and only then gets in line.
                if let Some(item) = self.state.lock().unwrap().items.pop_front() {
                    return Poll::Ready(item);
                }
                self.state.lock().unwrap().waiting.push_back(context.waker().clone());
                return Poll::Pending;
            }
            let mut state = self.state.lock().unwrap();
            match state.items.pop_front() {
                Some(item) => Poll::Ready(item),
                None => {
                    state.waiting.push_back(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

fn channel<const WAKES: bool, const FORGETS: bool>() -> Test<Channel<WAKES, FORGETS>> {
    Test::new(Channel::<WAKES, FORGETS>::default)
        .with(Operation::with_args(
            "send",
            (generate::int(1..=3),),
            |c: &Channel<WAKES, FORGETS>, value: u32| {
                c.send(value);
            },
        ))
        .with(Operation::future("receive", async |c: &Channel<WAKES, FORGETS>| c.receive().await))
        .operations_per_thread(2)
        .before(1)
        .iterations(12)
        .executions(2000)
}

#[test]
fn a_channel_passes() {
    let coverage = channel::<true, false>().run();
    assert!(coverage.executions() > 0, "{coverage}");
}

#[test]
fn a_sender_that_never_wakes_is_found() {
    let failure = channel::<false, false>().fails(Kind::LostWakeUp);
    let scenario = failure.scenario.unwrap();
    let calls: usize = scenario.parallel.iter().map(Vec::len).sum();
    assert_eq!((calls, scenario.init.len()), (2, 0), "{scenario:?}");
    assert!(failure.message.contains("receive()"), "{}", failure.message);
}

#[test]
fn a_receiver_that_gets_in_line_too_late_is_found() {
    channel::<true, true>().fails(Kind::LostWakeUp);
}

/// A semaphore; `RETURNS` says whether a permit that was handed to a future comes back when the future is dropped.
#[derive(Default)]
struct Semaphore<const RETURNS: bool> {
    state: Mutex<Permits>,
}

#[derive(Default)]
struct Permits {
    free: usize,
    next: u64,
    waiting: VecDeque<(u64, Waker)>,
    /// Handed to a future that waits.
    granted: Vec<u64>,
}

struct Acquire<'a, const RETURNS: bool> {
    semaphore: &'a Semaphore<RETURNS>,
    ticket: Option<u64>,
}

impl<const RETURNS: bool> Semaphore<RETURNS> {
    fn release(&self) {
        let mut state = self.state.lock().unwrap();
        match state.waiting.pop_front() {
            Some((ticket, waker)) => {
                state.granted.push(ticket);
                drop(state);
                waker.wake();
            }
            None => state.free += 1,
        }
    }

    async fn acquire(&self) {
        let mut acquire = Acquire { semaphore: self, ticket: None };
        poll_fn(|context| {
            let mut state = self.state.lock().unwrap();
            if let Some(ticket) = acquire.ticket {
                let granted = state.granted.iter().position(|&other| other == ticket);
                return match granted {
                    Some(place) => {
                        state.granted.remove(place);
                        acquire.ticket = None;
                        Poll::Ready(())
                    }
                    None => Poll::Pending,
                };
            }
            if state.free > 0 {
                state.free -= 1;
                return Poll::Ready(());
            }
            let ticket = state.next;
            state.next += 1;
            state.waiting.push_back((ticket, context.waker().clone()));
            acquire.ticket = Some(ticket);
            Poll::Pending
        })
        .await;
    }
}

impl<const RETURNS: bool> Drop for Acquire<'_, RETURNS> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let mut state = self.semaphore.state.lock().unwrap();
        state.waiting.retain(|&(other, _)| other != ticket);
        if let Some(place) = state.granted.iter().position(|&other| other == ticket) {
            state.granted.remove(place);
            drop(state);
            if RETURNS {
                self.semaphore.release();
            }
        }
    }
}

fn semaphore<const RETURNS: bool>() -> Test<Semaphore<RETURNS>> {
    Test::new(Semaphore::<RETURNS>::default)
        .operation("release", |s: &Semaphore<RETURNS>| s.release())
        .with(Operation::future("acquire", async |s: &Semaphore<RETURNS>| s.acquire().await).cancellable())
        .threads(3)
        .operations_per_thread(2)
        .before(1)
        .iterations(15)
        .executions(1000)
}

#[test]
fn a_semaphore_with_cancellation_passes() {
    semaphore::<true>().run();
}

#[test]
fn a_permit_that_is_lost_when_its_future_is_dropped_is_found() {
    // The specification gives a permit that was granted back, so it is not the object itself.
    let spec = Spec::new(|| 0usize)
        .operation("release", |free: &mut usize| *free += 1)
        .blocking("acquire", |free: &mut usize| free.checked_sub(1).map(|left| *free = left));
    let failure = semaphore::<false>().spec(spec).fails(Kind::LostWakeUp);
    assert!(failure.scenario.unwrap().parallel.iter().flatten().any(|op| op.call.contains("cancel")));
}

#[test]
fn a_semaphore_keeps_a_specification_with_guards() {
    let spec = Spec::new(|| 0usize)
        .operation("release", |free: &mut usize| *free += 1)
        .blocking("acquire", |free: &mut usize| free.checked_sub(1).map(|left| *free = left));
    semaphore::<true>().spec(spec).run();
}

/// A queue whose consumers block. With one condition for all, `notify_one` may wake the wrong one.
struct Buffer<const ALL: bool> {
    items: Mutex<VecDeque<u32>>,
    changed: Condvar,
}

impl<const ALL: bool> Buffer<ALL> {
    fn new() -> Self {
        Buffer { items: Mutex::default(), changed: Condvar::new() }
    }

    fn put(&self, item: u32) {
        let mut items = self.items.lock().unwrap();
        while !items.is_empty() {
            items = self.changed.wait(items).unwrap();
        }
        items.push_back(item);
        self.notify();
    }

    fn take(&self) -> u32 {
        let mut items = self.items.lock().unwrap();
        loop {
            if let Some(item) = items.pop_front() {
                self.notify();
                return item;
            }
            items = self.changed.wait(items).unwrap();
        }
    }

    fn notify(&self) {
        match ALL {
            true => self.changed.notify_all(),
            false => self.changed.notify_one(),
        }
    }
}

fn buffer<const ALL: bool>() -> Test<Buffer<ALL>> {
    let spec = Spec::new(|| None::<u32>)
        .blocking("put", |slot: &mut Option<u32>, item: u32| slot.is_none().then(|| *slot = Some(item)))
        .blocking("take", |slot: &mut Option<u32>| slot.take());
    Test::new(Buffer::<ALL>::new)
        .with(Operation::new("put", |b: &Buffer<ALL>, item: u32| b.put(item)).blocking())
        .with(Operation::new("take", |b: &Buffer<ALL>| b.take()).blocking())
        .spec(spec)
        .threads(3)
        .operations_per_thread(2)
        .iterations(10)
        .executions(3000)
}

#[test]
fn a_bounded_buffer_passes() {
    buffer::<true>().run();
}

#[test]
fn notifying_one_where_all_are_needed_is_found() {
    buffer::<false>().iterations(40).fails(Kind::LostWakeUp);
}

#[test]
fn a_custom_scenario_may_wait_for_ever_where_the_specification_does() {
    let scenario = Scenario::new().thread([call("take", ())]).thread([call("take", ())]);
    let test = buffer::<true>().explorer(|explorer| explorer.also(Also::SpuriousWakeUps));
    let coverage = test.scenario(scenario).iterations(0).run();
    assert!(coverage.scenarios[0].complete, "{coverage}");
}

/// Hands values over: a receiver gets in line before it looks whether somebody has already come.
#[derive(Default)]
struct Rendezvous {
    state: Mutex<Meeting>,
}

#[derive(Default)]
struct Meeting {
    next: u64,
    receivers: VecDeque<(u64, Waker)>,
    handed: Vec<(u64, u32)>,
}

impl Rendezvous {
    fn try_send(&self, value: u32) -> bool {
        let mut state = self.state.lock().unwrap();
        let Some((ticket, waker)) = state.receivers.pop_front() else { return false };
        state.handed.push((ticket, value));
        drop(state);
        waker.wake();
        true
    }

    async fn receive(&self) -> u32 {
        let mut ticket = None;
        poll_fn(|context| {
            let mine = *ticket.get_or_insert_with(|| {
                let mut state = self.state.lock().unwrap();
                let mine = state.next;
                state.next += 1;
                state.receivers.push_back((mine, context.waker().clone()));
                mine
            });
            let mut state = self.state.lock().unwrap();
            match state.handed.iter().position(|&(other, _)| other == mine) {
                Some(place) => Poll::Ready(state.handed.remove(place).1),
                None => Poll::Pending,
            }
        })
        .await
    }
}

#[test]
fn a_future_that_is_served_before_it_has_noticed_that_it_must_wait_is_right() {
    let test = Test::new(Rendezvous::default)
        .with(Operation::with_args("try_send", (generate::int(1..=2),), |r: &Rendezvous, v: u32| {
            r.try_send(v)
        }))
        .with(Operation::future("receive", async |r: &Rendezvous| r.receive().await))
        .operations_per_thread(2)
        .before(0)
        .iterations(20)
        .executions(3000);
    test.run();
}

/// A semaphore that serves those who wait in the order in which they came, however many permits each of them wants.
#[derive(Default)]
struct Fair {
    state: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    free: usize,
    next: u64,
    waiting: VecDeque<(u64, usize, Waker)>,
}

impl Fair {
    fn release(&self) {
        let mut state = self.state.lock().unwrap();
        state.free += 1;
        if let Some((_, wanted, waker)) = state.waiting.front()
            && *wanted <= state.free
        {
            waker.wake_by_ref();
        }
    }

    async fn acquire(&self, wanted: usize) {
        let mut ticket = None;
        poll_fn(|context| {
            let mut state = self.state.lock().unwrap();
            let mine = *ticket.get_or_insert_with(|| {
                let mine = state.next;
                state.next += 1;
                state.waiting.push_back((mine, wanted, context.waker().clone()));
                mine
            });
            if state.waiting[0].0 != mine || state.free < wanted {
                return Poll::Pending;
            }
            state.free -= wanted;
            state.waiting.pop_front();
            if let Some((_, wanted, waker)) = state.waiting.front()
                && *wanted <= state.free
            {
                waker.wake_by_ref();
            }
            Poll::Ready(())
        })
        .await;
    }
}

fn fair() -> Test<Fair> {
    let (two, one) = (call("acquire", (2usize,)), call("acquire", (1usize,)));
    let scenario = Scenario::new().init([call("release", ())]).thread([two]).thread([one]);
    Test::new(Fair::default)
        .operation("release", |semaphore: &Fair| semaphore.release())
        .with(Operation::future_with_args(
            "acquire",
            (generate::int(1..=2),),
            async |semaphore: &Fair, wanted: usize| semaphore.acquire(wanted).await,
        ))
        .operations_per_thread(2)
        .before(1)
        .scenario(scenario)
        .iterations(10)
        .executions(2000)
}

#[test]
fn a_call_that_waits_behind_another_by_specification_is_right() {
    fair().run();
}

#[test]
fn a_call_that_waits_behind_another_without_need_is_a_lost_wake_up() {
    let spec = Spec::new(|| 0usize)
        .operation("release", |free: &mut usize| *free += 1)
        .blocking("acquire", |free: &mut usize, wanted: usize| {
            free.checked_sub(wanted).map(|left| *free = left)
        });
    let failure = fair().spec(spec).fails(Kind::LostWakeUp);
    assert!(failure.message.contains("acquire(1)"), "{}", failure.message);
}
