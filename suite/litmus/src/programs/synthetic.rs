//! Programs of GenMC's and Miri's own tests that are no data structures, and too long for [`catalogue`](crate::catalogue).

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crate::machine::{Atomic, GAVE_UP, Lock, Machine, Test};

fn cells<M: Machine, const COUNT: usize>() -> [M::Atomic; COUNT] {
    std::array::from_fn(|_| M::Atomic::new(0))
}

/// Two threads sieve the numbers from 2 on for primes.
pub fn eratosthenes<M: Machine>(count: usize) -> Test {
    let naturals: Vec<_> = (0..count).map(|_| M::Atomic::new(0)).collect();
    Test::alike(2, naturals, move |naturals, _| {
        let sieve = |at: usize| {
            let found = naturals[at].load(Acquire);
            if found == 0 {
                naturals[at].store(1, Release);
                (2 * at + 2..count).step_by(at + 2).for_each(|multiple| naturals[multiple].store(2, Release));
            }
            found
        };
        (0..count).map(sieve).collect()
    })
}

/// Two threads point to a cell, read the other cell so many times, and add to what is pointed to.
pub fn shared_pointer<M: Machine>(reads: usize) -> Test {
    let shared = ([M::Atomic::new(3), M::Atomic::new(4)], M::Atomic::new(0));
    Test::alike(2, shared, move |shared, index| add_to_target::<M>(shared, index, reads))
}

/// The same, after a third thread has given the cells their values; who comes too early gives up.
pub fn shared_pointer_initialised<M: Machine>(reads: usize) -> Test {
    let shared = ((cells::<M, 2>(), M::Atomic::new(0)), M::Atomic::new(0));
    Test::alike(3, shared, move |(shared, ready), index| match index.checked_sub(1) {
        None => {
            shared.0[0].store(3, Release);
            shared.0[1].store(4, Release);
            ready.store(1, Release);
            Vec::new()
        }
        Some(_) if ready.load(Acquire) == 0 => vec![GAVE_UP],
        Some(index) => add_to_target::<M>(shared, index, reads),
    })
}

fn add_to_target<M: Machine>(
    (cells, pointer): &([M::Atomic; 2], M::Atomic),
    index: usize,
    reads: usize,
) -> Vec<u32> {
    pointer.store(1 - index as u32, Release);
    let mut seen: Vec<u32> = (0..reads).map(|_| cells[index].load(Acquire)).collect();
    let target = pointer.load(Acquire);
    let value = cells[target as usize].load(Acquire);
    cells[target as usize].store(value + 3, Release);
    seen.extend([target, value]);
    seen
}

/// A value is published by a flag; the reader looks for it so many times, and then no more.
pub fn publish<M: Machine>(looks: usize) -> Test {
    Test::alike(2, cells::<M, 2>(), move |[value, flag], index| {
        if index == 0 {
            value.store(42, Release);
            flag.store(1, Release);
            return Vec::new();
        }
        match (0..looks).position(|_| flag.load(Acquire) == 1) {
            Some(look) => vec![look as u32, value.load(Acquire)],
            None => Vec::new(),
        }
    })
}

/// Threads link nodes in front of a list; an attempt that failed has found what to link next.
pub fn list_prepend<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, M::Atomic::new(0), |list, index| {
        let mut seen = vec![list.load(SeqCst)];
        while let Err(found) = list.compare_exchange(seen[seen.len() - 1], index as u32 + 1, SeqCst, SeqCst) {
            seen.push(found);
        }
        seen
    })
}

/// A store beside two critical sections.
pub fn store_beside_lock<M: Machine>() -> Test {
    Test::alike(3, (M::Lock::new(), M::Atomic::new(0)), |(lock, x), index| match index {
        0 => {
            x.store(42, Relaxed);
            Vec::new()
        }
        1 => lock.with(|| {
            x.store(1, Relaxed);
            Vec::new()
        }),
        _ => lock.with(|| {
            x.store(2, Relaxed);
            vec![x.load(Relaxed)]
        }),
    })
}

/// Threads increment under one lock, take and release another one, and increment under the first again.
pub fn two_locks<M: Machine>(threads: usize) -> Test {
    let shared = (M::Lock::new(), M::Lock::new(), M::Atomic::new(0));
    Test::alike(threads, shared, |(lock, other, counter), _| {
        let increment = || {
            let value = counter.load(Relaxed);
            counter.store(value + 1, Relaxed);
            value
        };
        let first = lock.with(increment);
        other.with(|| ());
        vec![first, lock.with(increment)]
    })
}

/// As `casw` of the catalogue, with locks instead of read-modify-writes.
pub fn casw_with_locks<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, (M::Lock::new(), M::Atomic::new(0)), |(lock, x), index| {
        let found = lock.with(|| {
            let found = x.load(Relaxed);
            if found == 0 {
                x.store(1, Relaxed);
            }
            found
        });
        lock.with(|| x.store(index as u32 + 4, Relaxed));
        vec![found]
    })
}

/// A stack under a lock: one thread pushes, another one pops what is there.
pub fn locked_stack<M: Machine>(size: usize) -> Test {
    Test::alike(2, (M::Lock::new(), M::Atomic::new(0)), move |(lock, top), index| {
        let change = |_| {
            lock.with(|| {
                let height = top.load(Relaxed);
                match index {
                    0 => top.store(height + 1, Relaxed),
                    _ if height > 0 => top.store(height - 1, Relaxed),
                    _ => {}
                }
                height
            })
        };
        (0..size).map(change).collect()
    })
}

/// Writes of two locations and reads of both, each in a critical section.
pub fn locked_message<M: Machine>() -> Test {
    Test::alike(3, (M::Lock::new(), cells::<M, 2>()), |(lock, cells), index| match cells.get(index) {
        Some(cell) => {
            lock.with(|| cell.store(1, Relaxed));
            Vec::new()
        }
        None => lock.with(|| cells.iter().map(|cell| cell.load(Relaxed)).collect()),
    })
}
