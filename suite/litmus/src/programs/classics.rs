//! The programs by which partial-order reductions are compared.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::machine::{Atomic, Lock, Machine, Test};

fn cells<M: Machine>(count: usize) -> Vec<M::Atomic> {
    (0..count).map(|_| M::Atomic::new(0)).collect()
}

/// Threads increment a counter by a load and a store.
pub fn racy<M: Machine>(threads: usize, times: usize) -> Test {
    Test::alike(threads, M::Atomic::new(0), move |counter, _| {
        let increment = || {
            let value = counter.load(SeqCst);
            counter.store(value + 1, SeqCst);
            value
        };
        (0..times).map(|_| increment()).collect()
    })
}

/// One thread writes, others read.
pub fn readers<M: Machine>(readers: usize) -> Test {
    Test::alike(readers + 1, M::Atomic::new(0), |x, index| {
        if index > 0 {
            return vec![x.load(SeqCst)];
        }
        x.store(1, SeqCst);
        Vec::new()
    })
}

/// Threads increment a counter at once.
pub fn ainc<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, M::Atomic::new(0), |counter, _| vec![counter.fetch_add(1, SeqCst)])
}

/// One thread looks for the last zero of an array, from its end; each other one makes an element one more than that before it.
pub fn lastzero<M: Machine>(length: usize) -> Test {
    Test::alike(length + 1, cells::<M>(length + 1), move |array, index| {
        if index == 0 {
            let last = (0..=length).rev().find(|&at| array[at].load(SeqCst) == 0);
            return last.map(|at| at as u32).into_iter().collect();
        }
        let value = array[index - 1].load(SeqCst);
        array[index].store(value + 1, SeqCst);
        vec![value]
    })
}

/// Threads insert four words each into a hash table (Flanagan and Godefroid, 2005).
pub fn indexer<M: Machine>(threads: usize) -> Test {
    const SIZE: usize = 128;
    Test::alike(threads, cells::<M>(SIZE), |table, index| {
        let insert = |message: usize| {
            let word = message * 11 + index;
            let places = (0..SIZE).map(|probe| (word * 7 + probe) % SIZE);
            let mut probes =
                places.map(|place| table[place].compare_exchange(0, word as u32, SeqCst, SeqCst));
            probes.position(|probe| probe.is_ok()).expect("the table has room") as u32
        };
        (1..=4).map(insert).collect()
    })
}

/// Threads allocate a block for an inode each, under locks (Flanagan and Godefroid, 2005).
pub fn filesystem<M: Machine>(threads: usize) -> Test {
    const BLOCKS: usize = 26;
    const INODES: usize = 32;
    struct Guarded<M: Machine>(M::Lock, M::Atomic);
    let guarded = |count| (0..count).map(|_| Guarded::<M>(M::Lock::new(), M::Atomic::new(0))).collect();
    let disk: (Vec<Guarded<M>>, Vec<Guarded<M>>) = (guarded(INODES), guarded(BLOCKS));
    Test::alike(threads, disk, |(inodes, blocks), index| {
        let inode = &inodes[index % INODES];
        inode.0.with(|| {
            if inode.1.load(Relaxed) != 0 {
                return Vec::new();
            }
            let mut at = (index * 2) % BLOCKS;
            let take = |block: &Guarded<M>| {
                let free = block.1.load(Relaxed) == 0;
                if free {
                    block.1.store(1, Relaxed);
                }
                free
            };
            while !blocks[at].0.with(|| take(&blocks[at])) {
                at = (at + 1) % BLOCKS;
            }
            inode.1.store(at as u32 + 1, Relaxed);
            vec![at as u32]
        })
    })
}

/// Threads increment a counter under a lock.
pub fn mutex<M: Machine>(threads: usize, times: usize) -> Test {
    Test::alike(threads, (M::Lock::new(), M::Atomic::new(0)), move |(lock, counter), _| {
        let increment = || {
            let value = counter.load(Relaxed);
            counter.store(value + 1, Relaxed);
            value
        };
        (0..times).map(|_| lock.with(increment)).collect()
    })
}

/// Threads do nothing but read under a lock.
pub fn reads_under_lock<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, (M::Lock::new(), M::Atomic::new(0)), |(lock, x), _| {
        vec![lock.with(|| x.load(Relaxed))]
    })
}

/// Store buffering around critical sections that are empty.
pub fn store_buffering_with_locks<M: Machine>() -> Test {
    let shared = (M::Lock::new(), [M::Atomic::new(0), M::Atomic::new(0)]);
    Test::alike(2, shared, |(lock, cells), index| {
        cells[index].store(1, Relaxed);
        lock.with(|| ());
        vec![cells[1 - index].load(Relaxed)]
    })
}
