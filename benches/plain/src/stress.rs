//! The stress harness beside its limit: two threads that make the same accesses, without anything around them.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_queue::SegQueue;
use raddle_stress::Stress;

use crate::measure;

/// Two locations that share no cache line with their neighbours.
#[derive(Default)]
#[repr(align(64))]
struct Pair {
    x: AtomicU32,
    y: AtomicU32,
}

fn left(pair: &Pair) -> u32 {
    pair.x.store(1, Relaxed);
    pair.y.load(Relaxed)
}

fn right(pair: &Pair) -> u32 {
    pair.y.store(1, Relaxed);
    pair.x.load(Relaxed)
}

/// Prints executions a second of wall-clock time.
pub(crate) fn stress(program: &str, seconds: f64) {
    let time = Duration::from_secs_f64(seconds);
    let rate = match program {
        "bare loop" => bare(time),
        "pair" => Stress::new(Pair::default).actor(left).actor(right).time(time).run().rate(),
        "pair without delays" => {
            Stress::new(Pair::default).actor(left).actor(right).delays(false).time(time).run().rate()
        }
        "queue" => {
            let calls = |value: u32| {
                move |queue: &SegQueue<u32>| {
                    queue.push(value);
                    raddle_stress::pause_point();
                    queue.pop()
                }
            };
            Stress::new(SegQueue::new).actor(calls(1)).actor(calls(2)).time(time).run().rate()
        }
        _ => panic!("no such program"),
    };
    measure::print("rate", rate);
}

/// Both threads sweep the same instances and store what they read; one of them makes the instances new. Nothing is counted.
fn bare(time: Duration) -> f64 {
    const INSTANCES: usize = 10_240;
    let pairs: Vec<Pair> = (0..INSTANCES).map(|_| Pair::default()).collect();
    let (begin, meet) = (Instant::now(), Barrier::new(2));
    let sweep = |actor: fn(&Pair) -> u32, clears: bool| {
        let mut results = vec![0; INSTANCES];
        let mut sweeps = 0u64;
        loop {
            for (pair, result) in pairs.iter().zip(&mut results) {
                *result = actor(pair);
            }
            std::hint::black_box(&results);
            sweeps += 1;
            // Both leave in the same round: whether to go on is looked up between two meetings.
            meet.wait();
            let over = begin.elapsed() >= time;
            if clears {
                for pair in &pairs {
                    pair.x.store(u32::from(over) * 2, Relaxed);
                    pair.y.store(0, Relaxed);
                }
            }
            meet.wait();
            if pairs[0].x.load(Relaxed) == 2 {
                return sweeps;
            }
            // Nobody begins before both have looked.
            meet.wait();
        }
    };
    let sweeps = thread::scope(|scope| {
        let other = scope.spawn(|| sweep(right, false));
        let sweeps = sweep(left, true);
        other.join().expect("a loop does not panic");
        sweeps
    });
    (sweeps * INSTANCES as u64) as f64 / begin.elapsed().as_secs_f64()
}
