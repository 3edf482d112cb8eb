//! Loops of nothing but events: what one costs.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Events of one call.
pub(crate) const EVENTS: u64 = 100_000;

/// A kind of event: its name and the loop, which makes `EVENTS` of them over places that change.
type Kind = (&'static str, fn(&[AtomicU64; 256]));

/// All of them.
pub(crate) const KINDS: &[Kind] = &[
    ("load", |places| {
        for index in 0..EVENTS {
            black_box(places[index as usize % 256].load(SeqCst));
        }
    }),
    ("store", |places| {
        for index in 0..EVENTS {
            places[index as usize % 256].store(index, SeqCst);
        }
    }),
    ("fetch_add", |places| {
        for index in 0..EVENTS {
            black_box(places[index as usize % 256].fetch_add(1, SeqCst));
        }
    }),
    ("load, store", |places| {
        for index in 0..EVENTS / 2 {
            let place = &places[index as usize % 256];
            place.store(place.load(SeqCst) + 1, SeqCst);
        }
    }),
];

/// The places, each with a value of its own.
pub(crate) fn places() -> [AtomicU64; 256] {
    std::array::from_fn(|index| AtomicU64::new(index as u64))
}
