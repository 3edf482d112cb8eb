//! The programs by which exhaustive searches are compared, and how many executions they have. One source for every tool, as
//! `programs.rs`; orders are those of the literature.

use std::sync::Arc;

use super::programs::{Program, michael_scott, mutex, racy, spawn_all, treiber};
use super::rt::{
    AtomicUsize, Mutex,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};

/// All of them.
pub(crate) const CLASSICS: &[Program] = &[
    ("readers(3)", 4, || readers(3)),
    ("readers(13)", 14, || readers(13)),
    ("lastzero(10)", 11, || lastzero(10)),
    ("lastzero(15)", 16, || lastzero(15)),
    ("indexer(15)", 15, || indexer(15)),
    ("filesystem(19)", 19, || filesystem(19)),
    ("ainc(4)", 4, || ainc(4)),
    ("ainc(7)", 7, || ainc(7)),
    ("casrot(9)", 9, || casrot(9)),
    ("casw(5)", 5, || casw(5)),
    ("CoA(5)", 6, || coherence(5)),
    ("fib_bench(4)", 3, || fib_bench(4)),
    ("fib_bench(5)", 3, || fib_bench(5)),
    ("big0", 4, big0),
    ("racy 2x4", 2, || racy(2, 4)),
    ("mutex 6x1", 6, || mutex(6, 1)),
    ("treiber 3x1", 3, || treiber(3, 1)),
    ("msqueue 2x2", 2, || michael_scott(2, 2)),
];

fn cells(count: usize) -> Vec<AtomicUsize> {
    (0..count).map(|_| AtomicUsize::new(0)).collect()
}

/// One thread writes, the others read.
fn readers(count: usize) {
    let x = AtomicUsize::new(0);
    spawn_all(count + 1, move |index| match index {
        0 => x.store(1, Release),
        _ => _ = x.load(Acquire),
    });
}

/// One thread looks for the last zero of an array, from its end; each other one makes an element one more than that before it.
fn lastzero(length: usize) {
    let array = cells(length + 1);
    spawn_all(length + 1, move |index| {
        if index == 0 {
            let _ = (0..=length).rev().find(|&at| array[at].load(Acquire) == 0);
        } else {
            let value = array[index - 1].load(Acquire);
            array[index].store(value + 1, Release);
        }
    });
}

/// Threads insert four words each into a hash table (Flanagan and Godefroid, 2005).
fn indexer(threads: usize) {
    const SIZE: usize = 128;
    let table = cells(SIZE);
    spawn_all(threads, move |index| {
        for message in 1..=4 {
            let word = message * 11 + index;
            let mut place = (word * 7) % SIZE;
            while table[place].compare_exchange(0, word, AcqRel, Acquire).is_err() {
                place = (place + 1) % SIZE;
            }
        }
    });
}

/// Threads allocate a block for an inode each, under locks (Flanagan and Godefroid, 2005).
fn filesystem(threads: usize) {
    const BLOCKS: usize = 26;
    const INODES: usize = 32;
    let inodes: Vec<Mutex<usize>> = (0..INODES).map(|_| Mutex::new(0)).collect();
    let blocks: Vec<Mutex<bool>> = (0..BLOCKS).map(|_| Mutex::new(false)).collect();
    spawn_all(threads, move |index| {
        let mut inode = inodes[index % INODES].lock().unwrap();
        let mut block = (index * 2) % BLOCKS;
        while *inode == 0 {
            let mut taken = blocks[block].lock().unwrap();
            if !*taken {
                *taken = true;
                *inode = block + 1;
            }
            block = (block + 1) % BLOCKS;
        }
    });
}

/// Each thread increments a counter.
fn ainc(threads: usize) {
    let x = AtomicUsize::new(0);
    spawn_all(threads, move |_| _ = x.fetch_add(1, Relaxed));
}

/// Each thread replaces its number by the next.
fn casrot(threads: usize) {
    let x = AtomicUsize::new(0);
    spawn_all(threads, move |index| _ = x.compare_exchange(index, index + 1, SeqCst, SeqCst));
}

/// Each thread tries to replace 0, and then writes.
fn casw(threads: usize) {
    let x = AtomicUsize::new(0);
    spawn_all(threads, move |index| {
        let _ = x.compare_exchange(0, 1, SeqCst, SeqCst);
        x.store(index + 3, Release);
    });
}

/// Two threads write one location and read others, which the rest write.
fn coherence(parameter: usize) {
    let (x, others) = (AtomicUsize::new(0), cells(2));
    spawn_all(parameter + 1, move |index| {
        if index < 2 {
            x.store(index + 1, Release);
            others[index].load(Acquire);
            x.load(Acquire);
        } else {
            others.iter().for_each(|other| other.store(index, Release));
        }
    });
}

/// Two threads add each other's number to theirs; a third one looks.
fn fib_bench(times: usize) {
    let numbers = [AtomicUsize::new(1), AtomicUsize::new(1)];
    spawn_all(3, move |index| {
        let read = || (numbers[0].load(Acquire), numbers[1].load(Acquire));
        if index == 2 {
            let (x, y) = read();
            assert!(x <= 144 && y <= 144);
        } else {
            for _ in 0..times {
                let (x, y) = read();
                numbers[index].store(x + y, Release);
            }
        }
    });
}

/// Two threads read four locations in turn; each of two others writes two of them in turn.
fn big0() {
    let places = Arc::new(cells(4));
    spawn_all(4, move |index| {
        let read = |count| (0..count).for_each(|time| _ = places[time % 4].load(Acquire));
        let write = |first: usize| {
            for value in 1..=3 {
                places[first].store(value, Release);
                places[first + 1].store(value, Release);
            }
        };
        match index {
            0 => read(7),
            1 => read(3),
            _ => write(2 * (index - 2)),
        }
    });
}
