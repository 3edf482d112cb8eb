//! Which thread gives up the last handle of a value, and who sees how many there are: all of it is explored, and nothing more.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicUsize, fence};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

use litmus::Model;
use litmus::check::explorer;

thread_local! {
    /// What the thread has seen.
    static SEEN: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

fn see(value: u32) {
    SEEN.with(|seen| seen.borrow_mut().push(value));
}

fn seen() -> Vec<u32> {
    SEEN.take()
}

/// A value whose end others can notice.
struct Loud(Arc<AtomicU32>);

impl Drop for Loud {
    fn drop(&mut self) {
        see(100 + self.0.load(Relaxed));
    }
}

/// Explores under both models; says how many executions there are, and what they come to.
#[track_caller]
fn all<T: Ord + Clone>(body: impl Fn() -> T) -> [(u64, BTreeSet<T>); 2] {
    Model::ALL.map(|model| {
        let report = explorer(model).run(&body);
        assert!(report.complete, "{model:?}: not complete after {} executions", report.executions);
        let outcomes: BTreeSet<T> = report.outcomes.keys().cloned().collect();
        assert_eq!(
            report.outcomes.values().sum::<u64>(),
            report.executions,
            "{model:?}: all are counted once"
        );
        (report.executions, outcomes)
    })
}

/// There are so many executions, and they come to so many different things.
#[track_caller]
fn counts<T: Ord + Clone>(executions: u64, outcomes: usize, body: impl Fn() -> T) {
    for (model, (made, seen)) in Model::ALL.iter().zip(all(body)) {
        assert_eq!((made, seen.len()), (executions, outcomes), "{model:?}");
    }
}

/// Hands a handle to each of some threads, and says what they saw.
fn in_threads<T: Send + 'static>(handles: Vec<T>, body: impl Fn(T) + Copy + Send + 'static) -> Vec<Vec<u32>> {
    let threads: Vec<_> = handles
        .into_iter()
        .map(|handle| {
            thread::spawn(move || {
                body(handle);
                seen()
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn shared<T>(count: usize, value: T) -> Vec<Arc<T>> {
    let first = Arc::new(value);
    let mut handles: Vec<_> = (1..count).map(|_| Arc::clone(&first)).collect();
    handles.push(first);
    handles
}

#[test]
fn each_thread_may_be_the_last_to_let_go() {
    for n in 1..5 {
        counts(n as u64, n, || in_threads(shared(n, Loud(Arc::default())), drop));
    }
}

#[test]
fn whoever_lets_go_after_all_others_is_the_last() {
    counts(1, 1, || {
        let handles = shared(3, Loud(Arc::default()));
        let own = Arc::clone(&handles[0]);
        let others = in_threads(handles, drop);
        drop(own);
        (others, seen())
    });
}

#[test]
fn ends_that_nobody_notices_are_one_execution() {
    for n in 1..5 {
        counts(1, 1, || in_threads(shared(n, AtomicU32::new(0)), drop));
        counts(1, 1, || in_threads(shared(n, vec![Box::new(1); 3]), drop));
        counts(1, 1, || in_threads(shared(n, Mutex::new(String::from("text"))), drop));
    }
}

#[test]
fn the_last_one_sees_what_the_others_did_before_they_let_go() {
    for (_, outcomes) in all(|| {
        let place = Arc::new(AtomicU32::new(0));
        let handles = shared(2, Loud(Arc::clone(&place)));
        let handles = handles.into_iter().map(|handle| (handle, Arc::clone(&place))).collect();
        in_threads(handles, |(handle, place)| {
            place.fetch_add(1, Relaxed);
            drop(handle);
        })
    }) {
        assert_eq!(outcomes, BTreeSet::from([vec![vec![102], vec![]], vec![vec![], vec![102]]]));
    }
}

#[test]
fn values_within_values_end_with_their_owner() {
    // The outer one ends in one of three threads, and the inner one there or in a fourth.
    counts(6, 4, || {
        let inner = Arc::new(Loud(Arc::default()));
        let outer = shared(3, Arc::clone(&inner));
        let alone = thread::spawn(move || {
            drop(inner);
            seen()
        });
        (in_threads(outer, drop), alone.join().unwrap())
    });
}

#[test]
fn only_one_of_several_gets_the_value_out() {
    for (n, executions) in [(2, 2), (3, 6)] {
        counts(executions, n, || {
            in_threads(shared(n, 7), |handle| see(Arc::into_inner(handle).map_or(0, |_| 1)))
        });
    }
}

#[test]
fn whoever_is_alone_may_look() {
    // The threads have ended: how many there are is no question.
    counts(1, 1, || {
        let mut own = Arc::new(AtomicU32::new(0));
        assert_eq!(Arc::strong_count(&own), 1);
        let handles = (0..3).map(|_| Arc::clone(&own)).collect();
        in_threads(handles, drop);
        assert_eq!(Arc::strong_count(&own), 1);
        *Arc::get_mut(&mut own).unwrap() = AtomicU32::new(1);
        Arc::try_unwrap(own).unwrap().into_inner()
    });
}

#[test]
fn who_looks_at_a_count_sees_all_that_it_can_be() {
    for (_, outcomes) in all(|| {
        let own = Arc::new(AtomicU32::new(0));
        let handles: Vec<_> = (0..2)
            .map(|_| {
                thread::spawn({
                    let own = Arc::clone(&own);
                    move || drop(own)
                })
            })
            .collect();
        let counted = Arc::strong_count(&own);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        counted
    }) {
        assert_eq!(outcomes, BTreeSet::from([1, 2, 3]));
    }
}

#[test]
fn a_weak_handle_finds_the_value_or_not() {
    for (_, outcomes) in all(|| {
        let own = Arc::new(Loud(Arc::default()));
        let weak: Weak<Loud> = Arc::downgrade(&own);
        let other = thread::spawn(move || {
            see(weak.upgrade().is_some().into());
            seen()
        });
        drop(own);
        (seen(), other.join().unwrap())
    }) {
        let expected = [(vec![100], vec![0]), (vec![100], vec![1]), (vec![], vec![100, 1])];
        let found: BTreeSet<_> = outcomes;
        assert!(found.is_superset(&BTreeSet::from([expected[0].clone(), expected[1].clone()])), "{found:?}");
        assert_eq!(found.len(), 3, "{found:?}");
    }
}

#[test]
fn a_weak_handle_sees_whether_the_value_is_left_though_nobody_notices_its_end() {
    fn raced<T: Ord + Clone + Send + 'static>(look: fn(Weak<u32>) -> T) -> [BTreeSet<T>; 2] {
        all(|| {
            let own = Arc::new(42);
            let (kept, given) = (Arc::downgrade(&own), Arc::downgrade(&own));
            let other = thread::spawn(move || look(given));
            drop(own);
            let seen = other.join().unwrap();
            drop(kept);
            seen
        })
        .map(|(_, outcomes)| outcomes)
    }
    assert_eq!(raced(|weak| weak.strong_count()), [BTreeSet::from([0, 1]), BTreeSet::from([0, 1])]);
    let upgraded = BTreeSet::from([None, Some(42)]);
    assert_eq!(raced(|weak| weak.upgrade().map(|value| *value)), [upgraded.clone(), upgraded]);
}

#[test]
fn a_value_that_may_not_end_in_some_thread_is_found_out() {
    struct Picky(Arc<AtomicU32>);
    impl Drop for Picky {
        fn drop(&mut self) {
            self.0.store(1, Relaxed);
            assert_ne!(thread::current().name(), Some("wrong"), "ended in the wrong thread");
        }
    }
    for model in Model::ALL {
        let failure = explorer(model).try_run(|| {
            let own = Arc::new(Picky(Arc::default()));
            let handle = Arc::clone(&own);
            let wrong = thread::Builder::new().name("wrong".into()).spawn(move || drop(handle)).unwrap();
            drop(own);
            wrong.join().unwrap();
        });
        let failure = failure.expect_err("the other thread may be the last");
        assert_eq!(failure.kind, raddle::Kind::Panic, "{model:?}");
    }
}

/// What `Arc` does, in code that is the program's own: all orders of its accesses are explored.
struct Counted<T>(*const Inner<T>);

struct Inner<T> {
    count: AtomicUsize,
    value: T,
}

// SAFETY: as for `Arc`.
unsafe impl<T: Send + Sync> Send for Counted<T> {}

/// A handle of either kind.
trait Handle: Clone + Send + Deref<Target = Loud> + 'static {
    fn new(value: Loud) -> Self;
    fn count(&self) -> usize;
    fn into_inner(self) -> Option<Loud>;
}

impl Handle for Arc<Loud> {
    fn new(value: Loud) -> Self {
        Arc::new(value)
    }

    fn count(&self) -> usize {
        Arc::strong_count(self)
    }

    fn into_inner(self) -> Option<Loud> {
        Arc::into_inner(self)
    }
}

impl Handle for Counted<Loud> {
    fn new(value: Loud) -> Self {
        Counted(Box::into_raw(Box::new(Inner { count: AtomicUsize::new(1), value })))
    }

    fn count(&self) -> usize {
        // SAFETY: the handle keeps it alive.
        unsafe { (*self.0).count.load(Relaxed) }
    }

    fn into_inner(self) -> Option<Loud> {
        let inner = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: the last one owns it.
        unsafe {
            ((*inner).count.fetch_sub(1, Release) == 1).then(|| {
                fence(Acquire);
                Box::from_raw(inner.cast_mut()).value
            })
        }
    }
}

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Self {
        // SAFETY: the handle keeps it alive.
        unsafe { (*self.0).count.fetch_add(1, Relaxed) };
        Counted(self.0)
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the handle keeps it alive.
        unsafe { &(*self.0).value }
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        // SAFETY: the last one owns it.
        unsafe {
            if (*self.0).count.fetch_sub(1, Release) == 1 {
                fence(Acquire);
                drop(Box::from_raw(self.0.cast_mut()));
            }
        }
    }
}

/// What a thread does with its two handles and two places.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(usize),
    Store(usize, u32),
    Clone(usize),
    Drop(usize),
    Count(usize),
    IntoInner(usize),
}

fn run<H: Handle>(program: &[Vec<Step>]) -> Vec<Vec<u32>> {
    let places = [Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0))];
    let handles = [0, 1].map(|index| H::new(Loud(Arc::clone(&places[index]))));
    let threads: Vec<_> = program
        .iter()
        .map(|steps| {
            let (steps, places) = (steps.clone(), places.clone());
            let mut handles = handles.clone().map(|handle| vec![handle]);
            thread::spawn(move || {
                for step in steps {
                    match step {
                        Step::Load(place) => see(places[place].load(Relaxed)),
                        Step::Store(place, value) => places[place].store(value, Relaxed),
                        Step::Clone(handle) => {
                            let more = handles[handle].last().cloned();
                            handles[handle].extend(more);
                        }
                        Step::Drop(handle) => drop(handles[handle].pop()),
                        Step::Count(handle) => {
                            handles[handle]
                                .last()
                                .into_iter()
                                .for_each(|handle| see(10 + handle.count() as u32));
                        }
                        Step::IntoInner(handle) => {
                            let value = handles[handle].pop().and_then(Handle::into_inner);
                            see(20 + u32::from(value.is_some()));
                        }
                    }
                }
                drop(handles);
                seen()
            })
        })
        .collect();
    drop(handles);
    threads.into_iter().map(|thread| thread.join().unwrap()).chain([seen()]).collect()
}

/// Programs of random steps come to the same things with `Arc` as with counts that are memory like any other.
#[test]
fn random_programs_come_to_the_same_as_with_counts_in_plain_sight() {
    let cases = std::env::var("LITMUS_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let mut state = 1u64;
    let mut below = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for case in 0..cases {
        // Some look at counts.
        let kinds = if case % 3 == 0 { 6 } else { 4 };
        let program: Vec<Vec<Step>> = (0..2)
            .map(|_| {
                let steps = 1 + below(4);
                let mut step = || {
                    let which = below(2) as usize;
                    match below(kinds) {
                        0 => Step::Load(which),
                        1 => Step::Store(which, 1 + below(2) as u32),
                        2 => Step::Drop(which),
                        3 => Step::Clone(which),
                        4 => Step::Count(which),
                        _ => Step::IntoInner(which),
                    }
                };
                (0..steps).map(|_| step()).collect()
            })
            .collect();
        let (arcs, plain) = (all(|| run::<Arc<Loud>>(&program)), all(|| run::<Counted<Loud>>(&program)));
        for ((model, (made, ours)), (most, theirs)) in Model::ALL.iter().zip(&arcs).zip(&plain) {
            assert_eq!(ours, theirs, "case {case}, {model:?}: {program:?}");
            assert!(
                made <= most,
                "case {case}, {model:?}: {made} executions instead of {most} of {program:?}"
            );
        }
    }
}
