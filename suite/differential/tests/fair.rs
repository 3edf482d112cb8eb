//! Programs that end under every fair schedule are never reported, by any strategy.

use std::time::{Duration, Instant};

use differential::fair::{check, program};

#[track_caller]
fn never_reported(seeds: impl Iterator<Item = u64>) {
    let begin = Instant::now();
    for seed in seeds {
        if begin.elapsed() > Duration::from_secs(5) {
            break;
        }
        let program = program(seed);
        if let Err((strategy, failure)) = check(&program, 20, Duration::from_millis(50)) {
            panic!("seed {seed}, {strategy}: {:?}: {}\n{program:#?}", failure.kind, failure.message);
        }
    }
}

mod fair_programs {
    use super::*;

    #[test]
    fn even_seeds() {
        never_reported((0..40).step_by(2));
    }

    #[test]
    fn odd_seeds() {
        never_reported((1..40).step_by(2));
    }
}
