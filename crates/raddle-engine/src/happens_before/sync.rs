//! The happens-before order of C++20, along one execution.
//!
//! Each thread has the three views of [`raddle_axioms::views`], and each store carries a message.
//!
//! The time of a thread advances when it releases its current view: events of one time are the same to all others.
//! Synchronisation that may be more than C++20 has, never less, is left to [`Sync::acquire_all`].
//!
//! Sequentially consistent fences are numbered. They do not synchronise by themselves, but the view of a fence's thread
//! binds the reads that happen after a later fence ([`Sync::seen_by_fences`]).

use raddle_axioms::views::{self, ThreadViews, View as _};

use super::clock::{Clock, FIRST, Time};
use crate::op::{Order, ThreadId};

/// A view: the events that happened before some event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The events, by thread.
    pub clock: Clock,
    /// The number of the last sequentially consistent fence that happened before.
    pub fences: u32,
}

/// The view that a store releases to the loads that read from it.
pub type Message = View;

impl View {
    /// Clears the view, and keeps the allocation.
    #[inline]
    pub fn clear(&mut self) {
        self.clock.clear();
        self.fences = 0;
    }
}

impl views::View for View {
    #[inline]
    fn include(&mut self, other: &View) {
        self.clock.join(&other.clock);
        self.fences = self.fences.max(other.fences);
    }

    #[inline]
    fn copy_from(&mut self, other: &View) {
        self.clone_from(other);
    }
}

impl Clone for View {
    #[inline]
    fn clone(&self) -> View {
        View { clock: self.clock.clone(), fences: self.fences }
    }

    #[inline]
    fn clone_from(&mut self, other: &View) {
        self.clock.clone_from(&other.clock);
        self.fences = other.fences;
    }
}

/// The synchronisation state of one thread.
#[derive(Debug, Default)]
struct ThreadView {
    /// The events that happened before the thread's next step.
    current: View,
    /// The messages of its relaxed loads, which an acquire fence acquires.
    acquirable: View,
    /// The view at its last release fence, which its relaxed stores release.
    released: View,
    /// Changes with the views, so that equal versions mean equal views.
    version: u64,
}

/// The synchronisation state of all threads.
#[derive(Debug, Default)]
pub struct Sync {
    /// By thread. The first `alive` belong to the current execution; the rest keep their allocations.
    threads: Vec<ThreadView>,
    alive: usize,
    /// For each sequentially consistent fence, the join of the views of it and all earlier ones. Those of the current
    /// execution are the first `fences`.
    seen_by_fences: Vec<Clock>,
    fences: u32,
    /// The latest version of a thread's views in any execution. Copies are changed by copying only, so that no version has two contents.
    version: u64,
}

impl Clone for ThreadView {
    fn clone(&self) -> ThreadView {
        let mut copy = ThreadView::default();
        copy.clone_from(self);
        copy
    }

    /// Keeps the memory. Most views are equal already, because executions share prefixes.
    #[inline]
    fn clone_from(&mut self, other: &ThreadView) {
        if self.version == other.version {
            debug_assert!(
                self.current == other.current
                    && self.acquirable == other.acquirable
                    && self.released == other.released,
                "equal versions have equal views"
            );
            return;
        }
        self.version = other.version;
        self.current.clone_from(&other.current);
        self.acquirable.clone_from(&other.acquirable);
        self.released.clone_from(&other.released);
    }
}

impl Clone for Sync {
    /// Copies the state of the current execution.
    fn clone(&self) -> Sync {
        let mut copy = Sync::default();
        copy.clone_from(self);
        copy
    }

    /// Keeps the memory.
    fn clone_from(&mut self, other: &Sync) {
        (self.alive, self.fences) = (other.alive, other.fences);
        self.version = self.version.max(other.version);
        if self.threads.len() < other.alive {
            self.threads.resize_with(other.alive, ThreadView::default);
        }
        for (mine, theirs) in self.threads.iter_mut().zip(&other.threads[..other.alive]) {
            mine.clone_from(theirs);
        }
        other.seen_by_fences[..other.fences as usize].clone_into(&mut self.seen_by_fences);
    }
}

impl Sync {
    /// Begins an execution with thread 0.
    pub fn begin(&mut self) {
        self.alive = 0;
        self.fences = 0;
        self.new_thread();
    }

    /// The events that happened before the next step of a thread.
    #[inline]
    pub fn view(&self, thread: ThreadId) -> &View {
        &self.threads[usize::from(thread)].current
    }

    /// The time of the thread's next step.
    #[inline]
    pub fn now(&self, thread: ThreadId) -> Time {
        self.view(thread).clock.get(thread)
    }

    /// A thread spawns another.
    pub fn spawn(&mut self, parent: ThreadId, child: ThreadId) {
        while self.alive <= usize::from(child) {
            self.new_thread();
        }
        let [child_view, parent_view] = self.changed_and_other(child, parent);
        child_view.current.include(&parent_view.current);
        self.tick(parent);
    }

    /// A thread joins another.
    pub fn join(&mut self, joiner: ThreadId, joined: ThreadId) {
        let [joiner, joined] = self.changed_and_other(joiner, joined);
        joiner.current.include(&joined.current);
    }

    /// A thread loads from a store with this message.
    #[inline]
    pub fn load(&mut self, thread: ThreadId, order: Order, message: &Message) {
        self.views(thread).read(order.into(), message);
    }

    /// A thread stores; `message` becomes the store's.
    #[inline]
    pub fn store(&mut self, thread: ThreadId, order: Order, message: &mut Message) {
        message.clone_from(self.views(thread).message(order.into()));
        self.advance_if_released(thread, order);
    }

    /// A read-modify-write of a thread. `message` is that of the store it reads from, and becomes that of its own.
    #[inline]
    pub fn rmw(&mut self, thread: ThreadId, order: Order, message: &mut Message) {
        let mut views = self.views(thread);
        views.read(order.into(), message);
        message.include(views.message(order.into()));
        self.advance_if_released(thread, order);
    }

    /// A thread makes a fence.
    pub fn fence(&mut self, thread: ThreadId, order: Order) {
        self.views(thread).acquire_fence(order.into());
        if order == Order::SeqCst {
            self.number_fence(thread);
        }
        self.views(thread).release_fence(order.into());
        self.advance_if_released(thread, order);
    }

    /// A thread acquires everything that every thread has done so far: for synchronisation that cannot be tracked
    /// exactly.
    pub fn acquire_all(&mut self, thread: ThreadId) {
        for other in (0..self.alive as ThreadId).filter(|&other| other != thread) {
            // No thread's view knows more of a thread's events than its own.
            let (now, fences) = (self.now(other), self.view(other).fences);
            let view = &mut self.changed(thread).current;
            view.clock.set(other, now);
            view.fences = view.fences.max(fences);
            self.tick(other);
        }
    }

    /// A message that releases everything that every thread has done so far.
    pub fn release_all(&mut self) -> Message {
        let mut message = Message::default();
        for thread in 0..self.alive as ThreadId {
            message.clock.set(thread, self.now(thread));
            message.fences = message.fences.max(self.view(thread).fences);
            self.tick(thread);
        }
        message
    }

    /// The join of the views of the sequentially consistent fences up to the last one that happened before the thread's
    /// next step. None if there is none.
    #[inline]
    pub fn seen_by_fences(&self, thread: ThreadId) -> Option<&Clock> {
        self.seen_by(self.view(thread).fences)
    }

    /// The join of the views of all sequentially consistent fences so far.
    #[inline]
    pub fn seen_by_all_fences(&self) -> Option<&Clock> {
        self.seen_by(self.fences)
    }

    /// Number of sequentially consistent fences so far.
    #[inline]
    pub fn fences(&self) -> u32 {
        self.fences
    }

    /// The three views of a thread.
    #[inline]
    fn views(&mut self, thread: ThreadId) -> ThreadViews<'_, View> {
        let ThreadView { current, acquirable, released, .. } = self.changed(thread);
        ThreadViews { current, acquirable, released }
    }

    #[inline]
    fn advance_if_released(&mut self, thread: ThreadId, order: Order) {
        if order.releases() {
            self.tick(thread);
        }
    }

    /// Advances the thread's time: later events are not part of the released view.
    #[inline]
    fn tick(&mut self, thread: ThreadId) {
        let next = self.now(thread) + 1;
        self.changed(thread).current.clock.set(thread, next);
    }

    fn seen_by(&self, fences: u32) -> Option<&Clock> {
        fences.checked_sub(1).map(|last| &self.seen_by_fences[last as usize])
    }

    fn number_fence(&mut self, thread: ThreadId) {
        let number = self.fences as usize;
        self.fences += 1;
        if number == self.seen_by_fences.len() {
            self.seen_by_fences.push(Clock::default());
        }
        self.changed(thread);
        let (before, this) = self.seen_by_fences.split_at_mut(number);
        let view = &mut self.threads[usize::from(thread)].current;
        this[0].clone_from(&view.clock);
        if let Some(last) = before.last() {
            this[0].join(last);
        }
        view.fences = self.fences;
    }

    fn new_thread(&mut self) {
        let id = self.alive;
        if id == self.threads.len() {
            self.threads.push(ThreadView::default());
        }
        self.alive += 1;
        let thread = self.changed(id as ThreadId);
        thread.current.clear();
        thread.acquirable.clear();
        thread.released.clear();
        thread.current.clock.set(id as ThreadId, FIRST);
    }

    /// The views of a thread, which are about to change.
    #[inline]
    fn changed(&mut self, thread: ThreadId) -> &mut ThreadView {
        self.version += 1;
        let views = &mut self.threads[usize::from(thread)];
        views.version = self.version;
        views
    }

    /// The views of a thread, which are about to change, and those of another.
    fn changed_and_other(&mut self, thread: ThreadId, other: ThreadId) -> [&mut ThreadView; 2] {
        self.changed(thread);
        let indices: [usize; 2] = [thread.into(), other.into()];
        self.threads.get_disjoint_mut(indices).expect("two threads that were made")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Sync {
        /// Whether what `thread` did at `time` happened before the next step of `observer`.
        fn happened_before(&self, thread: ThreadId, time: Time, observer: ThreadId) -> bool {
            self.view(observer).clock.knows(thread, time)
        }
    }

    fn threads(count: ThreadId) -> Sync {
        let mut sync = Sync::default();
        sync.begin();
        (1..count).for_each(|child| sync.spawn(0, child));
        sync
    }

    /// Whether what thread 0 does now is known to thread 1 once it has done `receive` with what thread 0 did in `send`.
    #[track_caller]
    fn check(
        known: bool,
        send: impl FnOnce(&mut Sync, &mut Message),
        receive: impl FnOnce(&mut Sync, &mut Message),
    ) {
        let mut sync = threads(3);
        let now = sync.now(0);
        let mut message = Message::default();
        send(&mut sync, &mut message);
        receive(&mut sync, &mut message);
        assert_eq!(sync.happened_before(0, now, 1), known);
        assert!(!sync.happened_before(0, sync.now(0), 1), "what comes later is never known");
    }

    #[test]
    fn release_and_acquire_synchronise() {
        use Order::*;
        for (released, acquired) in
            [(Release, Acquire), (SeqCst, SeqCst), (Relaxed, Acquire), (Release, Relaxed)]
        {
            check(
                released != Relaxed && acquired != Relaxed,
                |sync, message| sync.store(0, released, message),
                |sync, message| sync.load(1, acquired, message),
            );
        }
    }

    #[test]
    fn fences_make_relaxed_accesses_synchronise() {
        let send = |sync: &mut Sync, message: &mut Message| {
            sync.fence(0, Order::Release);
            sync.store(0, Order::Relaxed, message);
        };
        let receive = |sync: &mut Sync, message: &mut Message| {
            sync.load(1, Order::Relaxed, message);
            sync.fence(1, Order::Acquire);
        };
        check(true, send, receive);
        check(false, send, |sync, message| sync.load(1, Order::Relaxed, message));
        check(false, |sync, message| sync.store(0, Order::Relaxed, message), receive);
    }

    #[test]
    fn a_release_sequence_goes_on_through_rmws_only() {
        let send = |sync: &mut Sync, message: &mut Message| sync.store(0, Order::Release, message);
        check(true, send, |sync, message| {
            sync.rmw(2, Order::Relaxed, message);
            sync.load(1, Order::Acquire, message);
        });
        check(false, send, |sync, message| {
            sync.store(0, Order::Relaxed, message);
            sync.load(1, Order::Acquire, message);
        });
    }

    #[test]
    fn joining_a_thread_takes_over_what_it_did() {
        let mut sync = threads(2);
        let now = sync.now(1);
        assert!(!sync.happened_before(1, now, 0));
        sync.join(0, 1);
        assert!(sync.happened_before(1, now, 0));
    }

    #[test]
    fn sequentially_consistent_fences_do_not_synchronise_but_know_each_other() {
        let mut sync = threads(2);
        let now = sync.now(0);
        sync.fence(0, Order::SeqCst);
        assert!(sync.seen_by_fences(1).is_none());
        sync.fence(1, Order::SeqCst);
        assert!(!sync.happened_before(0, now, 1));
        assert!(sync.seen_by_fences(1).unwrap().knows(0, now));
    }

    #[test]
    fn acquiring_all_takes_over_what_was_done_and_no_more() {
        let mut sync = threads(3);
        let before = sync.now(2);
        sync.acquire_all(1);
        assert!(sync.happened_before(2, before, 1));
        assert!(!sync.happened_before(2, sync.now(2), 1));
        assert!(!sync.happened_before(1, sync.now(1), 2));
    }
}
