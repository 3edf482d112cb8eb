//! Containers as GenMC's own tests have them. Nodes are indices; 0 is none.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::machine::{Atomic, GAVE_UP, Machine, Test};

/// What a thread does to a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Adds an item.
    Push,
    /// Takes an item; from a deque, that which its owner pushed last.
    Pop,
    /// Takes the oldest item of a deque.
    Steal,
}

use Operation::{Pop, Push, Steal};

/// What each thread does.
pub type Client = &'static [&'static [Operation]];

/// What an operation came to that found nothing, and one that another thread was faster than.
const EMPTY: u32 = 0;
const LOST: u32 = 99;

/// Threads make their operations; the items that each one pushes are 1, 2, 4, … .
fn clients<C: Send + Sync + 'static>(
    container: C,
    client: Client,
    operate: fn(&C, usize, Operation, u32) -> u32,
) -> Test {
    Test::alike(client.len(), (container, operate), move |(container, operate), index| {
        let mut item = 1;
        let operation = |&operation: &Operation| {
            let result = operate(container, index, operation, item);
            if operation == Push {
                item *= 2;
            }
            result
        };
        client[index].iter().map(operation).collect()
    })
}

/// Orders that may be weaker than a container's inventors had them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orders {
    /// As invented.
    Usual,
    /// As weak as they may be.
    Weakest,
}

impl Orders {
    fn or(self, usual: Ordering, weakest: Ordering) -> Ordering {
        if self == Orders::Usual { usual } else { weakest }
    }
}

struct Deque<M: Machine> {
    orders: Orders,
    top: M::Atomic,
    bottom: M::Atomic,
    items: Vec<M::Atomic>,
}

/// A deque after Chase and Lev, whose owner is the first thread.
pub fn deque<M: Machine>(orders: Orders, client: Client) -> Test {
    let cell = || M::Atomic::new(0);
    let items = (0..10).map(|_| cell()).collect();
    clients(Deque::<M> { orders, top: cell(), bottom: cell(), items }, client, |deque, _, operation, item| {
        match operation {
            Push => deque.push(item),
            Pop => deque.pop(),
            Steal => deque.steal(),
        }
    })
}

impl<M: Machine> Deque<M> {
    fn item(&self, at: u32) -> &M::Atomic {
        &self.items[at as usize % self.items.len()]
    }

    fn push(&self, item: u32) -> u32 {
        let bottom = self.bottom.load(Relaxed);
        let _ = self.top.load(self.orders.or(Acquire, Relaxed));
        self.item(bottom).store(item, Relaxed);
        self.bottom.store(bottom + 1, Release);
        item
    }

    fn pop(&self) -> u32 {
        let bottom = self.bottom.load(Relaxed);
        self.bottom.store(bottom.wrapping_sub(1), Relaxed);
        M::fence(SeqCst);
        let top = self.top.load(Relaxed);
        let length = bottom.wrapping_sub(top).cast_signed();
        if length <= 0 {
            self.bottom.store(bottom, Relaxed);
            return EMPTY;
        }
        let item = self.item(bottom - 1).load(Relaxed);
        if length > 1 {
            return item;
        }
        let (success, failure) = (self.orders.or(AcqRel, Release), self.orders.or(Acquire, Relaxed));
        let taken = self.top.compare_exchange(top, top + 1, success, failure);
        self.bottom.store(bottom, Relaxed);
        taken.map_or(LOST, |_| item)
    }

    fn steal(&self) -> u32 {
        let top = self.top.load(Relaxed);
        M::fence(SeqCst);
        let bottom = self.bottom.load(Acquire);
        if bottom.wrapping_sub(top).cast_signed() <= 0 {
            return EMPTY;
        }
        let item = self.item(top).load(Relaxed);
        self.top.compare_exchange(top, top + 1, Release, Relaxed).map_or(LOST, |_| item)
    }
}

struct Node<M: Machine> {
    item: M::Atomic,
    next: M::Atomic,
}

impl<M: Machine> Node<M> {
    /// Of each thread for each item, and one that nobody has.
    fn all(threads: usize) -> Vec<Node<M>> {
        (0..=threads * 8).map(|_| Node { item: M::Atomic::new(0), next: M::Atomic::new(0) }).collect()
    }
}

/// The node of a thread for an item.
fn node_of(thread: usize, item: u32) -> u32 {
    (1 + thread * 8) as u32 + item.trailing_zeros()
}

struct Stack<M: Machine> {
    orders: Orders,
    head: M::Atomic,
    nodes: Vec<Node<M>>,
}

/// Treiber's stack, with one attempt for each operation.
pub fn stack<M: Machine>(orders: Orders, client: Client) -> Test {
    let stack = Stack::<M> { orders, head: M::Atomic::new(0), nodes: Node::all(client.len()) };
    clients(stack, client, |Stack { orders, head, nodes }, thread, operation, item| {
        if operation == Push {
            let me = node_of(thread, item);
            let node = &nodes[me as usize];
            node.item.store(item, Relaxed);
            let top = head.load(Relaxed);
            node.next.store(top, Relaxed);
            return head.compare_exchange(top, me, Release, Relaxed).map_or(LOST, |_| item);
        }
        let top = head.load(orders.or(Acquire, Relaxed));
        if top == 0 {
            return EMPTY;
        }
        let node = &nodes[top as usize];
        let (item, next) = (node.item.load(Relaxed), node.next.load(Relaxed));
        head.compare_exchange(top, next, orders.or(Release, Relaxed), Relaxed).map_or(LOST, |_| item)
    })
}

/// Treiber's stack, with operations that try until they succeed.
pub fn stack_until_done<M: Machine>(client: Client) -> Test {
    let stack = (M::Atomic::new(0), Node::<M>::all(client.len()));
    clients(stack, client, |(head, nodes), thread, operation, item| {
        let me = node_of(thread, item);
        loop {
            let top = head.load(Acquire);
            let new = match operation {
                Push => {
                    nodes[me as usize].next.store(top, Relaxed);
                    me
                }
                _ if top == 0 => return EMPTY,
                _ => nodes[top as usize].next.load(Relaxed),
            };
            if head.compare_exchange(top, new, Release, Relaxed).is_ok() {
                return top;
            }
        }
    })
}

/// The queue of Michael and Scott, with operations that try until they succeed.
pub fn queue_until_done<M: Machine>(client: Client) -> Test {
    let nodes = Node::<M>::all(client.len());
    let dummy = nodes.len() as u32 - 1;
    let queue = (M::Atomic::new(dummy), M::Atomic::new(dummy), nodes);
    clients(queue, client, |(head, tail, nodes), thread, operation, item| {
        let next_of = |node: u32| &nodes[node as usize].next;
        let help = |last, next| tail.compare_exchange(last, next, Release, Relaxed);
        let enqueue = |node| {
            let last = tail.load(Acquire);
            let next = next_of(last).load(Acquire);
            if tail.load(Acquire) != last {
                return None;
            }
            if next != 0 {
                let _ = help(last, next);
                return None;
            }
            next_of(last).compare_exchange(0, node, Release, Relaxed).ok().map(|_| last)
        };
        let dequeue = || {
            let (first, last) = (head.load(Acquire), tail.load(Acquire));
            let next = next_of(first).load(Acquire);
            if head.load(Acquire) != first {
                return None;
            }
            if first != last {
                return head.compare_exchange(first, next, Release, Relaxed).ok().map(|_| next);
            }
            if next == 0 {
                return Some(EMPTY);
            }
            let _ = help(last, next);
            None
        };
        if operation == Push {
            let node = node_of(thread, item);
            let last = until_some(|| enqueue(node));
            let _ = help(last, node);
            return node;
        }
        until_some(dequeue)
    })
}

fn until_some<T>(attempt: impl Fn() -> Option<T>) -> T {
    loop {
        if let Some(result) = attempt() {
            return result;
        }
    }
}

struct Queue<M: Machine> {
    orders: Orders,
    initialised: M::Atomic,
    head: M::Atomic,
    tail: M::Atomic,
    nodes: Vec<Node<M>>,
}

/// The queue of Michael and Scott, with one attempt for each operation. The first thread initialises it; others that come
/// earlier do nothing.
pub fn queue<M: Machine>(orders: Orders, client: Client) -> Test {
    let cell = || M::Atomic::new(0);
    let queue = Queue::<M> {
        orders,
        initialised: cell(),
        head: cell(),
        tail: cell(),
        nodes: Node::all(client.len()),
    };
    Test::alike(client.len(), queue, move |queue, thread| {
        if thread == 0 {
            queue.initialise();
        } else if queue.initialised.load(Acquire) == 0 {
            return Vec::new();
        }
        let operate = |(operation, item): (&Operation, u32)| match operation {
            Push => queue.enqueue(node_of(thread, item), item),
            _ => queue.dequeue(),
        };
        client[thread].iter().zip([1, 2, 4, 8]).map(operate).collect()
    })
}

impl<M: Machine> Queue<M> {
    fn next(&self, node: u32) -> &M::Atomic {
        &self.nodes[node as usize].next
    }

    fn initialise(&self) {
        let first = self.nodes.len() as u32 - 1;
        self.next(first).store(0, Release);
        self.head.store(first, Release);
        self.tail.store(first, Release);
        self.initialised.store(1, Release);
    }

    fn find_tail(&self) -> u32 {
        loop {
            let tail = self.tail.load(self.orders.or(Acquire, Relaxed));
            let next = self.next(tail).load(Relaxed);
            if next == 0 {
                return tail;
            }
            self.tail.store(next, self.orders.or(Release, Relaxed));
        }
    }

    fn enqueue(&self, node: u32, item: u32) -> u32 {
        self.nodes[node as usize].item.store(item, Relaxed);
        self.next(node).store(0, Relaxed);
        let tail = self.find_tail();
        if self.next(tail).compare_exchange(0, node, Release, Relaxed).is_err() {
            return LOST;
        }
        self.tail.store(node, self.orders.or(Release, Relaxed));
        item
    }

    fn dequeue(&self) -> u32 {
        let order = self.orders.or(Acquire, Relaxed);
        let head = self.head.load(order);
        let next = self.next(head).load(order);
        if next == 0 {
            return EMPTY;
        }
        match self.head.compare_exchange(head, next, Relaxed, Relaxed) {
            Ok(_) => self.nodes[next as usize].item.load(Relaxed),
            Err(_) => LOST,
        }
    }
}

struct HerlihyWing<M: Machine> {
    back: M::Atomic,
    items: Vec<M::Atomic>,
}

/// The queue of Herlihy and Wing: threads that do not find an item among those that were there give up. Some look whether
/// an item is there before they take it.
pub fn herlihy_wing<M: Machine>(looks: bool, client: Client) -> Test {
    let cell = || M::Atomic::new(0);
    let queue = HerlihyWing::<M> { back: cell(), items: (0..8).map(|_| cell()).collect() };
    Test::alike(client.len(), queue, move |queue, thread| {
        let mut seen = Vec::new();
        for (operation, item) in client[thread].iter().zip(1 + 10 * thread as u32..) {
            let result = match operation {
                Push => queue.enqueue(item),
                _ => queue.dequeue(looks),
            };
            seen.push(result.unwrap_or(GAVE_UP));
            if result.is_none() {
                break;
            }
        }
        seen
    })
}

impl<M: Machine> HerlihyWing<M> {
    fn enqueue(&self, item: u32) -> Option<u32> {
        let at = self.back.fetch_add(1, AcqRel);
        self.items[at as usize].store(item, Release);
        Some(at)
    }

    fn dequeue(&self, looks: bool) -> Option<u32> {
        let back = self.back.load(Acquire);
        let take = |item: &M::Atomic| {
            if looks && item.load(Acquire) == 0 { 0 } else { item.swap(0, AcqRel) }
        };
        self.items[..back as usize].iter().map(take).find(|&item| item != 0)
    }
}
