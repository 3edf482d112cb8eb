//! Locks made of atomics. Each thread takes the lock once and increments a counter under it.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::machine::{Atomic, Machine, Test};

fn increment<A: Atomic>(counter: &A) -> u32 {
    let value = counter.load(Relaxed);
    counter.store(value + 1, Relaxed);
    value
}

/// Spins on a compare-exchange.
pub fn cas_lock<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, (M::Atomic::new(0), M::Atomic::new(0)), |(lock, counter), _| {
        M::retry(|| lock.compare_exchange(0, 1, Acquire, Relaxed).ok());
        let value = increment(counter);
        lock.store(0, Release);
        vec![value]
    })
}

/// Reads until the lock is free, and only then tries to take it.
pub fn ttas_lock<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, (M::Atomic::new(0), M::Atomic::new(0)), |(lock, counter), _| {
        // A swap that finds the lock taken puts back what was there: no effect.
        M::retry(|| (lock.load(Acquire) == 0 && lock.swap(1, AcqRel) == 0).then_some(()));
        let value = increment(counter);
        lock.store(0, Release);
        vec![value]
    })
}

/// Threads take numbers and wait for their turn.
pub fn ticket_lock<M: Machine>(threads: usize) -> Test {
    let shared = (M::Atomic::new(0), M::Atomic::new(0), M::Atomic::new(0));
    Test::alike(threads, shared, |(next, serving, counter), _| {
        let ticket = next.fetch_add(1, Relaxed);
        M::wait_until(|| serving.load(Acquire) == ticket);
        let value = increment(counter);
        serving.store(ticket + 1, Release);
        vec![value]
    })
}

/// Threads form a queue, and each waits on a flag of its own (Mellor-Crummey and Scott, 1991).
pub fn mcs_lock<M: Machine>(threads: usize) -> Test {
    struct Node<M: Machine> {
        next: M::Atomic,
        waits: M::Atomic,
    }
    let node = |_| Node::<M> { next: M::Atomic::new(0), waits: M::Atomic::new(0) };
    let nodes: Vec<_> = (0..=threads).map(node).collect();
    Test::alike(threads, (M::Atomic::new(0), nodes, M::Atomic::new(0)), |(tail, nodes, counter), index| {
        let me = index as u32 + 1;
        let node = &nodes[me as usize];
        node.waits.store(1, Relaxed);
        let before = tail.swap(me, AcqRel);
        if before != 0 {
            nodes[before as usize].next.store(me, Release);
            M::wait_until(|| node.waits.load(Acquire) == 0);
        }
        let value = increment(counter);
        if node.next.load(Acquire) == 0 {
            if tail.compare_exchange(me, 0, AcqRel, Relaxed).is_ok() {
                return vec![value];
            }
            M::wait_until(|| node.next.load(Acquire) != 0);
        }
        let after = node.next.load(Relaxed);
        nodes[after as usize].waits.store(0, Release);
        vec![value]
    })
}

/// Flags and a turn of two threads.
struct Two<M: Machine> {
    flags: [M::Atomic; 2],
    turn: M::Atomic,
    counter: M::Atomic,
}

impl<M: Machine> Two<M> {
    fn new() -> Two<M> {
        let cell = || M::Atomic::new(0);
        Two { flags: [cell(), cell()], turn: cell(), counter: cell() }
    }
}

/// Peterson's lock for two threads (1981), with these orders for loads and stores.
pub fn peterson<M: Machine>(load: Ordering, store: Ordering) -> Test {
    Test::alike(2, Two::<M>::new(), move |shared, me| {
        let other = 1 - me;
        shared.flags[me].store(1, store);
        shared.turn.store(other as u32, store);
        M::wait_until(|| shared.flags[other].load(load) == 0 || shared.turn.load(load) == me as u32);
        let value = increment(&shared.counter);
        shared.flags[me].store(0, store);
        vec![value]
    })
}

/// Dekker's lock for two threads (1965), with these orders for loads and stores.
pub fn dekker<M: Machine>(load: Ordering, store: Ordering) -> Test {
    Test::alike(2, Two::<M>::new(), move |shared, me| {
        let other = 1 - me;
        shared.flags[me].store(1, store);
        let free = || {
            let free = shared.flags[other].load(load) == 0;
            (free || shared.turn.load(load) != me as u32).then_some(free)
        };
        while !M::retry(free) {
            shared.flags[me].store(0, store);
            M::wait_until(|| shared.turn.load(load) == me as u32);
            shared.flags[me].store(1, store);
        }
        let value = increment(&shared.counter);
        shared.turn.store(other as u32, store);
        shared.flags[me].store(0, store);
        vec![value]
    })
}

/// Szymanski's lock (1988) for two threads.
pub fn szymanski<M: Machine>() -> Test {
    Test::alike(2, Two::<M>::new(), |shared, me| {
        let mine = |value| shared.flags[me].store(value, SeqCst);
        let other = || shared.flags[1 - me].load(SeqCst);
        mine(1);
        M::wait_until(|| other() < 3);
        mine(3);
        if other() == 1 {
            mine(2);
            M::wait_until(|| other() == 4);
        }
        mine(4);
        M::wait_until(|| me == 0 || other() < 2);
        let value = increment(&shared.counter);
        M::wait_until(|| me == 1 || !(2..=3).contains(&other()));
        mine(0);
        vec![value]
    })
}

/// Lamport's fast lock (1987) for two threads.
pub fn lamport<M: Machine>() -> Test {
    let shared = (Two::<M>::new(), M::Atomic::new(0), M::Atomic::new(0));
    Test::alike(2, shared, |(Two { flags, counter, .. }, x, y), index| {
        let me = index as u32 + 1;
        loop {
            flags[index].store(1, SeqCst);
            x.store(me, SeqCst);
            if y.load(SeqCst) != 0 {
                flags[index].store(0, SeqCst);
                M::wait_until(|| y.load(SeqCst) == 0);
                continue;
            }
            y.store(me, SeqCst);
            if x.load(SeqCst) == me {
                break;
            }
            flags[index].store(0, SeqCst);
            M::wait_until(|| flags[1 - index].load(SeqCst) == 0);
            if y.load(SeqCst) == me {
                break;
            }
            M::wait_until(|| y.load(SeqCst) == 0);
        }
        let value = increment(counter);
        y.store(0, SeqCst);
        flags[index].store(0, SeqCst);
        vec![value]
    })
}

/// Threads meet: the last one to come lets the others go.
pub fn barrier<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, (M::Atomic::new(0), M::Atomic::new(0)), move |(arrived, open), _| {
        let before = arrived.fetch_add(1, AcqRel);
        if before as usize == threads - 1 {
            open.store(1, Release);
        } else {
            M::wait_until(|| open.load(Acquire) == 1);
        }
        vec![before]
    })
}
