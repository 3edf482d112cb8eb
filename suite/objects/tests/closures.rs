//! Closures that are explored: their statics and locals are the roots.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use crossbeam_epoch::{self as epoch, Atomic, Owned, Shared};
use raddle::{Explorer, Failure};

struct Counter {
    value: AtomicUsize,
    name: &'static str,
}

impl Counter {
    fn add(&self) {
        let value = self.value.load(SeqCst);
        self.value.store(value + 1, SeqCst);
    }
}

fn failure(body: fn()) -> Box<Failure> {
    Explorer::new().try_run(body).expect_err("the closure fails")
}

#[track_caller]
fn check(failure: &Failure, root: &str, story: &str, end: &[&str]) {
    assert_eq!(objects::story(failure), story);
    assert_eq!(objects::end(failure), end);
    assert_eq!(objects::objects(failure).roots[0].name, root);
}

#[test]
fn a_local_that_threads_borrow_is_a_root() {
    let failure = failure(|| {
        let counter = Counter { value: AtomicUsize::new(0), name: "hits" };
        thread::scope(|scope| {
            scope.spawn(|| counter.add());
            scope.spawn(|| counter.add());
        });
        assert_eq!(counter.value.load(SeqCst), 2, "{}", counter.name);
    });
    check(
        &failure,
        "counter",
        "\
T2 load: Counter#1 = Counter { value: 0, name: \"hits\" }
T1 store: Counter#1.0 = 1
",
        &["Counter#1 (freed) = Counter { value: 1, name: \"hits\" }"],
    );
}

#[test]
fn locals_and_fields_that_closures_capture_have_names() {
    struct Pair {
        left: AtomicUsize,
        right: AtomicUsize,
    }
    let failure = failure(|| {
        let count = AtomicUsize::new(0);
        let pair = Pair { left: AtomicUsize::new(0), right: AtomicUsize::new(0) };
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let seen = count.load(SeqCst);
                    pair.left.load(SeqCst);
                    pair.right.load(SeqCst);
                    count.store(seen + 1, SeqCst);
                });
            }
        });
        assert_eq!(count.into_inner(), 2);
    });
    let places = failure.trace.events.iter().filter_map(|event| event.action.place()?.name.clone());
    let names: BTreeSet<String> = places.collect();
    assert_eq!(names, ["count", "pair.left", "pair.right"].map(str::to_owned).into());
}

/// A stack on crossbeam-epoch whose `push` can be lost.
struct Stack {
    head: Atomic<Element>,
}

struct Element {
    next: Atomic<Element>,
}

impl Stack {
    fn push(&self) {
        let guard = &epoch::pin();
        let element = Owned::new(Element { next: Atomic::null() });
        element.next.store(self.head.load(SeqCst, guard), SeqCst);
        self.head.store(element, SeqCst);
    }

    fn len(&self) -> usize {
        let guard = &epoch::pin();
        let mut at = self.head.load(SeqCst, guard);
        let mut len = 0;
        // SAFETY: elements are never freed.
        while let Some(element) = unsafe { at.as_ref() } {
            (at, len) = (element.next.load(SeqCst, guard), len + 1);
        }
        len
    }
}

#[test]
fn the_insides_of_dependencies_are_folded() {
    let failure = failure(|| {
        let stack = Stack { head: Atomic::null() };
        thread::scope(|scope| {
            scope.spawn(|| stack.push());
            scope.spawn(|| stack.push());
        });
        assert_eq!(stack.len(), 2);
    });
    let style = raddle_report::Style { width: 120, colour: false, unicode: true };
    let text = raddle_report::render(&failure, style, None);
    let count = |is: &dyn Fn(&str) -> bool| text.lines().filter(|line| is(line.trim_start())).count();
    assert!(count(&|line| line.contains("inside crossbeam-epoch)")) >= 2, "{text}");
    let stores = |line: &str| line.contains("stack.head.data.store(");
    assert_eq!(count(&stores), 2, "{text}");
    assert_eq!(count(&|line| stores(line) && line.starts_with("closures.rs:95")), 2, "{text}");
    assert_eq!(count(&|line| line.starts_with("atomic.rs:")), 0, "{text}");
}

static READY: AtomicBool = AtomicBool::new(false);

#[test]
fn handles_and_statics_are_roots() {
    let failure = failure(|| {
        let list = Arc::new(Mutex::new(vec![String::from("a")]));
        let other = list.clone();
        let pusher = thread::spawn(move || {
            other.lock().unwrap().push("b".into());
            READY.store(true, SeqCst);
        });
        let is_ready = READY.load(SeqCst);
        let length = list.lock().unwrap().len();
        pusher.join().unwrap();
        assert!(is_ready && length == 1, "{is_ready} {length}");
    });
    check(
        &failure,
        "READY",
        "\
T0 load: AtomicBool#1 = false
T0 cas: Mutex#1 = Mutex(locked by T0: [\"a\"])
T0 rmw: Mutex#1 = Mutex(unlocked: [\"a\"])
T1 cas: Mutex#1 = Mutex(locked by T1: [\"a\"])
T1 rmw: Mutex#1 = Mutex(unlocked: [\"a\", \"b\"])
T1 store: AtomicBool#1 = true
T0 rmw: Mutex#1.0 = <freed>
",
        &["AtomicBool#1 = true", "Mutex#1 = Mutex(unlocked: <freed>)"],
    );
}

struct Entry {
    key: u64,
    next: Atomic<Entry>,
}

#[test]
fn tagged_pointers_have_their_marks() {
    let failure = failure(|| {
        let list = Arc::new(Atomic::new(Entry { key: 1, next: Atomic::null() }));
        let other = list.clone();
        let marker = thread::spawn(move || {
            let guard = &epoch::pin();
            let first = other.load(SeqCst, guard);
            // SAFETY: entries are not freed.
            unsafe { first.deref() }.next.store(Shared::null().with_tag(1), SeqCst);
        });
        let guard = &epoch::pin();
        let first = list.load(SeqCst, guard);
        // SAFETY: entries are not freed.
        let first = unsafe { first.deref() };
        let second = Owned::new(Entry { key: 2, next: Atomic::null() }).into_shared(guard);
        first.next.store(second, SeqCst);
        let next = first.next.load(SeqCst, guard);
        marker.join().unwrap();
        assert!(next.is_null(), "{}", first.key);
    });
    check(
        &failure,
        "other",
        "\
T1 load: Atomic#1 = Entry#1
T1 load: Entry#1 = Entry { key: 1, next: null }
T1 store: Entry#1.1 = null tagged 1
T0 store: Entry#1.1 = Entry#2
T0 store: Entry#2 = Entry { key: 2, next: null }
",
        &[
            "Atomic#1 (freed) = Entry#1",
            "Entry#1 = Entry { key: 1, next: Entry#2 }",
            "Entry#2 = Entry { key: 2, next: null }",
        ],
    );
}
