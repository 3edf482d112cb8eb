//! Bodies of ordinary tests, which explore nothing.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

/// The tests: name and body.
pub(crate) const TESTS: &[(&str, fn())] = &[
    ("sort", sort),
    ("matrix", matrix),
    ("vectors", vectors),
    ("hash map", hash_map),
    ("strings", strings),
    ("allocation", allocation),
    ("atomics", atomics),
    ("mutex", mutex),
    ("channel", channel),
    ("threads", threads),
];

fn numbers() -> impl Iterator<Item = u64> {
    let mut state = 1u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    })
}

fn sort() {
    let mut values: Vec<u64> = numbers().take(2000).collect();
    values.sort();
    black_box(values);
}

fn matrix() {
    const N: usize = 48;
    let a: Vec<f64> = numbers().take(N * N).map(|n| n as f64).collect();
    let mut c = vec![0.0; N * N];
    for row in 0..N {
        for column in 0..N {
            c[row * N + column] = (0..N).map(|k| a[row * N + k] * a[k * N + column]).sum();
        }
    }
    black_box(c);
}

/// Loops that the compiler vectorises.
fn vectors() {
    let mut a: Vec<u32> = (0..4096).collect();
    let b: Vec<u32> = (0..4096).rev().collect();
    for (a, b) in a.iter_mut().zip(&b) {
        *a = a.wrapping_mul(3).wrapping_add(*b);
    }
    black_box(a.iter().copied().fold(0, u32::wrapping_add));
}

fn hash_map() {
    let mut counts: HashMap<u64, u32> = HashMap::new();
    for number in numbers().take(2000) {
        *counts.entry(number % 257).or_default() += 1;
    }
    black_box(counts);
}

fn strings() {
    let text: String = numbers().take(500).map(|n| format!("{n} ")).collect();
    let sum: u64 = text.split_whitespace().map(|word| word.parse::<u64>().unwrap_or(0)).sum();
    black_box(sum);
}

fn allocation() {
    let mut tree = BTreeMap::new();
    for number in numbers().take(1000) {
        tree.insert(number % 499, Box::new(number));
    }
    black_box(tree);
}

fn atomics() {
    let counter = AtomicU64::new(0);
    for _ in 0..1000 {
        counter.fetch_add(1, Ordering::Relaxed);
        let seen = counter.load(Ordering::Acquire);
        let _ = counter.compare_exchange(seen, seen + 1, Ordering::AcqRel, Ordering::Acquire);
    }
    black_box(counter);
}

fn mutex() {
    let counter = Mutex::new(0);
    for _ in 0..1000 {
        *counter.lock().unwrap() += 1;
    }
    black_box(counter);
}

fn channel() {
    let (sender, receiver) = mpsc::channel();
    for number in numbers().take(500) {
        sender.send(number).unwrap();
    }
    drop(sender);
    black_box(receiver.iter().sum::<u64>());
}

fn threads() {
    let counter = Arc::new(Mutex::new(0));
    let handles: Vec<_> = (0..4)
        .map(|_| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || *counter.lock().unwrap() += 1)
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}
