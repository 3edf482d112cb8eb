//! Data structures without locks whose operations do not insist: one that loses to another thread reports it. Nodes are
//! indices, and never used again.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::machine::{Atomic, Machine, Test};

fn cells<M: Machine>(count: usize) -> Vec<M::Atomic> {
    (0..count).map(|_| M::Atomic::new(0)).collect()
}

/// A deque of work: its owner pushes so many items, pops so many, and pushes so many again; each thief tries to steal so many
/// times.
pub fn deque<M: Machine>(pushes: [u32; 2], pops: u32, steals: &'static [u32]) -> Test {
    const LENGTH: u32 = 10;
    let shared = (M::Atomic::new(0), M::Atomic::new(0), cells::<M>(LENGTH as usize));
    Test::alike(1 + steals.len(), shared, move |(bottom, top, items), index| {
        let item = |at: u32| &items[(at % LENGTH) as usize];
        let push = |value: u32| {
            let last = bottom.load(Relaxed);
            let first = top.load(Acquire);
            assert!(last.wrapping_sub(first) < LENGTH, "there is room");
            item(last).store(value, Relaxed);
            bottom.store(last + 1, Release);
            value
        };
        let pop = || {
            let last = bottom.load(Relaxed);
            bottom.store(last - 1, Relaxed);
            M::fence(SeqCst);
            let first = top.load(Relaxed);
            let length = last.wrapping_sub(first) as i32;
            if length <= 0 {
                bottom.store(last, Relaxed);
                return 0;
            }
            let value = item(last - 1).load(Relaxed);
            if length > 1 {
                return value;
            }
            let taken = top.compare_exchange(first, first + 1, AcqRel, Acquire);
            bottom.store(last, Relaxed);
            taken.map_or(0, |_| value)
        };
        let steal = |_| {
            let first = top.load(Relaxed);
            M::fence(SeqCst);
            let last = bottom.load(Acquire);
            if last.wrapping_sub(first) as i32 <= 0 {
                return 0;
            }
            let value = item(first).load(Relaxed);
            top.compare_exchange(first, first + 1, Release, Relaxed).map_or(0, |_| value)
        };
        if index > 0 {
            return (0..steals[index - 1]).map(steal).collect();
        }
        (1..=pushes[0]).for_each(|value| _ = push(value));
        let popped = (0..pops).map(|_| pop()).collect();
        (1..=pushes[1]).for_each(|value| _ = push(pushes[0] + value));
        popped
    })
}

/// A stack: the first thread tries to push two items and to pop one, the second to pop one and to push one.
pub fn stack<M: Machine>() -> Test {
    struct Stack<M: Machine> {
        head: M::Atomic,
        data: Vec<M::Atomic>,
        next: Vec<M::Atomic>,
    }
    let stack = Stack::<M> { head: M::Atomic::new(0), data: cells::<M>(5), next: cells::<M>(5) };
    Test::alike(2, stack, |Stack { head, data, next }, index| {
        let push = |node: usize, value: u32| {
            data[node].store(value, Relaxed);
            let top = head.load(Relaxed);
            next[node].store(top, Relaxed);
            head.compare_exchange(top, node as u32, Release, Relaxed).is_ok()
        };
        let pop = || {
            let top = head.load(Acquire);
            if top == 0 {
                return 0;
            }
            let value = data[top as usize].load(Relaxed);
            let below = next[top as usize].load(Relaxed);
            head.compare_exchange(top, below, Release, Relaxed).map_or(0, |_| value)
        };
        if index == 1 {
            return vec![pop(), u32::from(push(4, 1))];
        }
        let first = push(1, 1);
        let second = push(2, 1 + u32::from(first));
        vec![u32::from(first), u32::from(second), pop()]
    })
}

/// A queue: the first thread makes it and enqueues; if it is there, the second enqueues and the third dequeues. Who enqueues
/// helps the tail along as often as it has to.
pub fn queue<M: Machine>() -> Test {
    struct Queue<M: Machine> {
        ready: M::Atomic,
        head: M::Atomic,
        tail: M::Atomic,
        next: Vec<M::Atomic>,
    }
    let cell = || M::Atomic::new(0);
    let queue = Queue::<M> { ready: cell(), head: cell(), tail: cell(), next: cells::<M>(4) };
    Test::alike(3, queue, |Queue { ready, head, tail, next }, index| {
        const DUMMY: usize = 3;
        let enqueue = |node: usize| {
            next[node].store(0, Relaxed);
            let last = loop {
                let last = tail.load(Acquire);
                let after = next[last as usize].load(Relaxed);
                if after == 0 {
                    break last;
                }
                tail.store(after, Release);
            };
            let won = next[last as usize].compare_exchange(0, node as u32, Release, Relaxed).is_ok();
            if won {
                tail.store(node as u32, Release);
            }
            vec![u32::from(won)]
        };
        if index == 0 {
            next[DUMMY].store(0, Release);
            head.store(DUMMY as u32, Release);
            tail.store(DUMMY as u32, Release);
            ready.store(1, Release);
            return enqueue(1);
        }
        if ready.load(Acquire) == 0 {
            return Vec::new();
        }
        if index == 1 {
            return enqueue(2);
        }
        let first = head.load(Acquire);
        let after = next[first as usize].load(Acquire);
        let won = after != 0 && head.compare_exchange(first, after, Relaxed, Relaxed).is_ok();
        vec![after, u32::from(won)]
    })
}

/// What a thread sees that gives up.
pub const GAVE_UP: u32 = u32::MAX - 1;

/// The queue of Herlihy and Wing (1990): four threads, two of which enqueue before or after they dequeue. Who finds nothing
/// gives up.
pub fn herlihy_wing<M: Machine>() -> Test {
    let shared = (M::Atomic::new(0), cells::<M>(4));
    Test::alike(4, shared, |(back, items), index| {
        let enqueue = |value: u32| {
            let at = back.fetch_add(1, AcqRel);
            items[at as usize].store(value, Release);
        };
        let dequeue = || {
            let range = back.load(Acquire) as usize;
            let mut found = items[..range].iter().map(|item| item.swap(0, AcqRel));
            found.find(|&value| value != 0).unwrap_or(GAVE_UP)
        };
        match index {
            0 => {
                enqueue(1);
                vec![dequeue()]
            }
            1 => {
                enqueue(2);
                enqueue(3);
                Vec::new()
            }
            2 => {
                let value = dequeue();
                if value != GAVE_UP {
                    enqueue(4);
                }
                vec![value]
            }
            _ => match dequeue() {
                GAVE_UP => vec![GAVE_UP],
                value => vec![value, dequeue()],
            },
        }
    })
}
