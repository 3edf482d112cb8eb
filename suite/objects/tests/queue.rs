//! A linked queue whose `enqueue` publishes a node before it links it.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

use raddle::{Failure, Scenario, call};
use raddle_report::failure::{Action, Event};

const STYLE: raddle_report::Style = raddle_report::Style { width: 110, colour: false, unicode: true };

struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

struct Queue {
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
}

impl Queue {
    fn new() -> Queue {
        let dummy = node(0);
        Queue { head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy) }
    }

    fn enqueue(&self, value: u32) {
        let new = node(value);
        let last = self.tail.swap(new, SeqCst);
        // SAFETY: nodes are never freed.
        unsafe { (*last).next.store(new, SeqCst) };
    }

    fn dequeue(&self) -> Option<u32> {
        let first = self.head.load(SeqCst);
        if first == self.tail.load(SeqCst) {
            return None;
        }
        // SAFETY: nodes are never freed.
        unsafe {
            let next = (*first).next.load(SeqCst);
            let value = next.as_ref().expect("a queue that is not empty has a first element").value;
            self.head.store(next, SeqCst);
            Some(value)
        }
    }
}

fn node(value: u32) -> *mut Node {
    Box::into_raw(Box::new(Node { value, next: AtomicPtr::new(ptr::null_mut()) }))
}

fn broken_queue() -> Box<Failure> {
    raddle::Test::new(Queue::new)
        .operation("enqueue", |queue: &Queue, value: u32| queue.enqueue(value))
        .operation("dequeue", |queue: &Queue| queue.dequeue())
        .scenario(Scenario::new().thread([call("enqueue", (7_u32,))]).thread([call("dequeue", ())]))
        .iterations(0)
        .try_run()
        .expect_err("the queue is broken")
}

#[test]
fn a_declarative_test_shows_the_object_under_test() {
    let failure = broken_queue();
    assert_eq!(
        objects::story(&failure),
        "\
T0 other: Queue#1 = Queue { head: Node#1, tail: Node#1 }
T0 other: Node#1 = Node { value: 0, next: null }
T1 rmw: Queue#1.1 = Node#2
T1 rmw: Node#2 = Node { value: 7, next: null }
T1 store: Node#1.1 = Node#2
"
    );
    assert_eq!(
        objects::end(&failure),
        [
            "Queue#1 = Queue { head: Node#1, tail: Node#2 }",
            "Node#1 = Node { value: 0, next: Node#2 }",
            "Node#2 = Node { value: 7, next: null }",
        ]
    );
    assert_eq!(objects::objects(&failure).roots[0].object, 0);
    // The dequeue reads the link that the enqueue has not made yet.
    let names = |event: &Event| event.action.place().and_then(|place| place.name.clone());
    let places: Vec<String> = failure.trace.events.iter().filter_map(names).collect();
    assert!(places.contains(&"Node#1.next".to_owned()), "{places:?}");
    let text = raddle_report::render(&failure, STYLE, None);
    assert!(text.contains("Node#1.next.load() -> 0"), "{text}");
    assert!(text.contains("queue.tail.swap(Node#2) -> Node#1"), "{text}");
    // What a node holds before it is linked comes from plain writes.
    let writes = |event: &&Event| matches!(event.action, Action::Write { .. });
    assert!(failure.trace.events.iter().any(|event| writes(&event)), "no plain writes");
}

#[test]
fn a_replay_shows_the_same() {
    let story = || objects::story(&broken_queue());
    assert_eq!(story(), story());
}

/// A pop that frees a node while another one looks at it.
struct Stack {
    top: AtomicPtr<Node>,
}

impl Stack {
    fn pop(&self) -> Option<u32> {
        let top = self.top.load(SeqCst);
        // SAFETY: not sound: another pop may have freed it.
        unsafe {
            let next = top.as_ref()?.next.load(SeqCst);
            if self.top.compare_exchange(top, next, SeqCst, SeqCst).is_err() {
                return None;
            }
            Some(Box::from_raw(top).value)
        }
    }
}

#[test]
fn freed_objects_are_marked() {
    let failure = raddle::Test::new(|| Stack { top: AtomicPtr::new(node(5)) })
        .operation("pop", |stack: &Stack| stack.pop())
        .scenario(Scenario::new().thread([call("pop", ())]).thread([call("pop", ())]))
        .iterations(0)
        .try_run()
        .expect_err("the stack is broken");
    let end = objects::end(&failure);
    assert_eq!(end, ["Stack#1 = Stack { top: null }", "Node#1 (freed) = Node { value: 5, next: null }"]);
}
