//! Which thread gives up the last handle of a value, and who sees how many there are: all of it is explored, and nothing more.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicUsize, fence};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

use litmus::Model;
use litmus::check::explorer;
use raddle::{Explorer, Kind};

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
    all_with(|explorer| explorer, body)
}

/// [`all`], with options.
#[track_caller]
fn all_with<T: Ord + Clone>(
    options: impl Fn(Explorer) -> Explorer,
    body: impl Fn() -> T,
) -> [(u64, BTreeSet<T>); 2] {
    Model::ALL.map(|model| {
        let report = options(explorer(model)).run(&body as &dyn Fn() -> T);
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

/// Random numbers below another.
fn random() -> impl FnMut(u64) -> u64 {
    let mut state = 1u64;
    move |n| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    }
}

/// A random program of two threads. Some look at counts.
fn random_program(below: &mut impl FnMut(u64) -> u64, looks: bool) -> Vec<Vec<Step>> {
    let kinds = if looks { 6 } else { 4 };
    let step = |below: &mut dyn FnMut(u64) -> u64| {
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
    (0..2).map(|_| (0..1 + below(4)).map(|_| step(below)).collect()).collect()
}

/// Programs of random steps come to the same things with `Arc` as with counts that are memory like any other.
#[test]
fn random_programs_come_to_the_same_as_with_counts_in_plain_sight() {
    let cases = std::env::var("LITMUS_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let mut below = random();
    for case in 0..cases {
        let program = random_program(&mut below, case % 3 == 0);
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

/// Counts as people write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As `Arc`.
    Fence,
    /// The last one reads the count instead of using a fence.
    Load,
    /// Giving up also acquires.
    AcqRel,
    /// Stronger than needed.
    SeqCst,
    /// The last one reads 0.
    FromZero,
    /// In steps of two.
    ByTwos,
    /// Wrong: the last one does not see what others did.
    NoFence,
    /// Wrong: others do not tell what they did.
    Relaxed,
}

const WAYS: [Way; 8] =
    [Way::Fence, Way::Load, Way::AcqRel, Way::SeqCst, Way::FromZero, Way::ByTwos, Way::NoFence, Way::Relaxed];

/// A handle that counts in one of the [`WAYS`].
struct Varied<T, const WAY: usize>(*const Inner<T>);

// SAFETY: as for `Arc`, where it is right.
unsafe impl<T: Send + Sync, const WAY: usize> Send for Varied<T, WAY> {}

impl<T, const WAY: usize> Varied<T, WAY> {
    fn of(value: T) -> Self {
        let count = match WAYS[WAY] {
            Way::FromZero => 0,
            Way::ByTwos => 2,
            _ => 1,
        };
        Varied(Box::into_raw(Box::new(Inner { count: AtomicUsize::new(count), value })))
    }
}

impl<const WAY: usize> Handle for Varied<Loud, WAY> {
    fn new(value: Loud) -> Self {
        Varied::of(value)
    }

    fn count(&self) -> usize {
        // SAFETY: the handle keeps it alive.
        unsafe { (*self.0).count.load(Relaxed) }
    }

    fn into_inner(self) -> Option<Loud> {
        unreachable!("not used")
    }
}

impl<T, const WAY: usize> Clone for Varied<T, WAY> {
    fn clone(&self) -> Self {
        // SAFETY: the handle keeps it alive.
        let count = unsafe { &(*self.0).count };
        match WAYS[WAY] {
            Way::SeqCst => count.fetch_add(1, SeqCst),
            Way::ByTwos => count.fetch_add(2, Relaxed),
            _ => count.fetch_add(1, Relaxed),
        };
        Varied(self.0)
    }
}

impl<T, const WAY: usize> Deref for Varied<T, WAY> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the handle keeps it alive.
        unsafe { &(*self.0).value }
    }
}

impl<T, const WAY: usize> Drop for Varied<T, WAY> {
    fn drop(&mut self) {
        // SAFETY: the handle keeps it alive, and the last one owns it.
        unsafe {
            let count = &(*self.0).count;
            let is_last = match WAYS[WAY] {
                Way::Fence | Way::Load | Way::NoFence => count.fetch_sub(1, Release) == 1,
                Way::AcqRel => count.fetch_sub(1, AcqRel) == 1,
                Way::SeqCst => count.fetch_sub(1, SeqCst) == 1,
                Way::FromZero => count.fetch_sub(1, AcqRel) == 0,
                Way::ByTwos => count.fetch_sub(2, AcqRel) == 2,
                Way::Relaxed => count.fetch_sub(1, Relaxed) == 1,
            };
            if is_last {
                match WAYS[WAY] {
                    Way::Fence => fence(Acquire),
                    Way::Load => _ = count.load(Acquire),
                    _ => {}
                }
                drop(Box::from_raw(self.0.cast_mut()));
            }
        }
    }
}

fn marked(explorer: Explorer) -> Explorer {
    explorer.reference_counts(["reference_counts::Varied"])
}

/// Programs of random steps come to the same things whether counts are marked as such or not; with fewer executions, if they
/// are counted as `Arc` does.
#[test]
fn counts_that_are_marked_come_to_the_same() {
    fn compare<const WAY: usize>(cases: u64) {
        let mut below = random();
        let (mut less, mut more) = (0, 0);
        for case in 0..cases {
            // Wrong ones may lose sight of values, but not of memory: what is dropped too early is not looked at.
            let mut program = random_program(&mut below, false);
            if case % 3 == 0 {
                program[0].insert(0, Step::Count(0));
            }
            let body = || run::<Varied<Loud, WAY>>(&program);
            let plain = all_with(|explorer| explorer.races(false), body);
            let reduced = all_with(|explorer| marked(explorer.races(false)), body);
            for ((model, (made, ours)), (most, theirs)) in Model::ALL.iter().zip(&reduced).zip(&plain) {
                let way = WAYS[WAY];
                assert_eq!(ours, theirs, "{way:?}, case {case}, {model:?}: {program:?}");
                assert!(made <= most, "{way:?}, case {case}, {model:?}: {made} of {most}: {program:?}");
                (less, more) = (less + made, more + most);
            }
        }
        println!("{:?}: {less} executions instead of {more}", WAYS[WAY]);
        let counts_as_arc = matches!(WAYS[WAY], Way::Fence | Way::Load | Way::AcqRel);
        assert!(!counts_as_arc || less * 2 < more, "{:?}: {less} instead of {more}", WAYS[WAY]);
    }
    let cases = std::env::var("LITMUS_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    compare::<0>(cases);
    compare::<1>(cases);
    compare::<2>(cases);
    compare::<3>(cases);
    compare::<4>(cases);
    compare::<5>(cases);
    compare::<6>(cases);
    compare::<7>(cases);
}

/// What is wrong with counts is still found.
#[test]
fn counts_that_are_marked_need_not_be_right() {
    struct Owner(*mut u32);
    // SAFETY: only whoever drops it looks at it.
    unsafe impl Send for Owner {}
    // SAFETY: as above: the last owner alone touches the value.
    unsafe impl Sync for Owner {}
    impl Drop for Owner {
        fn drop(&mut self) {
            // SAFETY: the last one owns it.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
    fn explored<const WAY: usize>(model: Model) -> Option<Kind> {
        let result = marked(explorer(model)).try_run(|| {
            let own = Varied::<Owner, WAY>::of(Owner(Box::into_raw(Box::new(0))));
            let other = own.clone();
            let thread = thread::spawn(move || {
                // SAFETY: the other thread does not look at it.
                unsafe { *Deref::deref(&other).0 = 1 };
            });
            drop(own);
            thread.join().unwrap();
        });
        result.err().map(|failure| failure.kind)
    }
    for model in Model::ALL {
        let right = [explored::<0>(model), explored::<1>(model), explored::<2>(model), explored::<4>(model)];
        assert_eq!(right, [None; 4], "{model:?}");
        let wrong = [explored::<6>(model), explored::<7>(model)];
        assert_eq!(wrong, [Some(Kind::DataRace); 2], "{model:?}");
    }
}

/// Handles that are kept for later count on where they ended.
#[test]
fn marked_counts_that_are_used_again_are_explored_like_other_memory() {
    struct Slot(AtomicUsize, AtomicU32);
    struct Kept(&'static Slot);
    impl Clone for Kept {
        fn clone(&self) -> Kept {
            self.0.0.fetch_add(1, Relaxed);
            Kept(self.0)
        }
    }
    impl Drop for Kept {
        fn drop(&mut self) {
            if self.0.0.fetch_sub(1, AcqRel) == 1 {
                see(self.0.1.fetch_add(1, Relaxed));
            }
        }
    }
    let body = || {
        let slot: &'static Slot = Box::leak(Box::new(Slot(AtomicUsize::new(1), AtomicU32::new(0))));
        let first = Kept(slot);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let handle = first.clone();
                thread::spawn(move || {
                    drop(handle);
                    drop(Kept(slot).clone());
                    seen()
                })
            })
            .collect();
        drop(first);
        (seen(), threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>())
    };
    let mark = |explorer: Explorer| explorer.reference_counts(["*Kept*"]);
    let (plain, reduced) = (all(body), all_with(mark, body));
    assert_eq!(plain.map(|all| all.1), reduced.map(|all| all.1));
}
