//! Fresh programs for as many minutes as `DIFFERENTIAL_MINUTES` says, in two processes. Not among the usual tests.

use std::time::{Duration, SystemTime};

use differential::check::Effort;
use differential::fuzz::fuzz;
use differential::random::Profile;

fn fuzz_with_seeds(first: u64) {
    let minutes = std::env::var("DIFFERENTIAL_MINUTES").ok().and_then(|minutes| minutes.parse().ok());
    let seed = std::env::var("DIFFERENTIAL_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs());
    let seeds = (seed.unwrap_or(now * 1_000_000) + first..).step_by(2);
    let time = Duration::from_secs_f64(60.0 * minutes.unwrap_or(1.0));
    let table = fuzz(&Profile::ALL, seeds, &Effort::LONG, time);
    eprintln!("{table}");
    assert!(table.differences.is_empty(), "{} programs differ", table.differences.len());
}

mod fuzzing_with {
    use super::*;

    #[test]
    #[ignore = "takes as long as DIFFERENTIAL_MINUTES says"]
    fn even_seeds() {
        fuzz_with_seeds(0);
    }

    #[test]
    #[ignore = "takes as long as DIFFERENTIAL_MINUTES says"]
    fn odd_seeds() {
        fuzz_with_seeds(1);
    }
}
