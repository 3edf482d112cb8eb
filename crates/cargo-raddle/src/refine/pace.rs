//! How long each schema of a batch is tried: what is left of the time of all, divided among those that are left.
//!
//! Most schemas are exhausted in milliseconds. What they do not need goes to the others, up to the most that a schema may take.

use std::time::{Duration, Instant};

/// The time of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The most for a schema.
    pub(crate) most: Duration,
    /// When all should be done.
    end: Instant,
}

/// The least for a schema, also when the time is over: a few hundred executions.
const LEAST: Duration = Duration::from_millis(50);

/// As many schemas get all the time that they may take, if they are tried one after another, unless `--time` says otherwise.
const FULL: f64 = 30.0;

/// Of more than a hundred schemas, each adds this part of the most that it may take.
const PART: f64 = 0.3;

impl Pace {
    /// Schemas that take at most this long, and together as long as was asked for.
    pub(crate) fn new(most: Duration, schemas: usize, asked: Option<Duration>) -> Pace {
        let all = asked.unwrap_or_else(|| most.mul_f64(FULL.max(PART * schemas as f64)));
        Pace { most, end: Instant::now() + all }
    }

    /// A part of the time of a batch, from now on.
    pub(crate) fn within(most: Duration, all: Duration) -> Pace {
        Pace { most, end: Instant::now() + all }
    }

    /// Whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.end <= Instant::now()
    }

    /// The time for the next schema of so many, if several are tried at once.
    pub(crate) fn share(&self, schemas: usize, workers: usize) -> Duration {
        self.share_of(self.end.saturating_duration_since(Instant::now()), schemas, workers)
    }

    fn share_of(&self, left: Duration, schemas: usize, workers: usize) -> Duration {
        let share = left.mul_f64(workers.max(1) as f64 / schemas.max(1) as f64);
        share.max(LEAST).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_some_do_not_need_goes_to_the_others() {
        let second = Duration::from_secs(1);
        let pace = Pace::new(second, 100, None);
        let left = pace.end - Instant::now();
        assert!(left <= 30 * second && left > 29 * second, "{left:?}");
        assert_eq!(pace.share_of(30 * second, 100, 2), second.mul_f64(0.6));
        assert_eq!(pace.share_of(30 * second, 40, 2), second, "half of them were exhausted at once");
        assert_eq!(pace.share_of(Duration::ZERO, 3, 2), LEAST, "every schema is tried");
        assert_eq!(Pace::new(second / 100, 1, None).share(1, 2), second / 100, "not longer than asked for");
    }

    #[test]
    fn more_schemas_get_more_time() {
        let second = Duration::from_secs(1);
        let all = |schemas, asked| Pace::new(second, schemas, asked).end - Instant::now();
        assert!(all(1000, None) > 299 * second);
        assert!(all(1000, Some(second)) <= second);
    }
}
