//! Schedules written down.

use std::fmt;
use std::str::FromStr;

use raddle_options::schedule::{decode, encode};

/// A schedule: the threads that take turns, by their numbers from 1.
///
/// A turn is a step before which threads may change: a marked operation, entering a monitor, waiting there, notifying, locking a mutex;
/// and, in instrumented code, every atomic access. Where several threads can take a turn, the first entry that names one of them is taken,
/// and the entries before it stay for later: an infeasible schedule is followed out of turn. Entries of threads that have ended are
/// skipped. A thread that is the only one goes on without an entry. When no entry is left, the threads take turns in order. A notification
/// that has several threads to choose from takes an entry as well: that of the thread that it wakes.
///
/// ```
/// use raddle::teach::Schedule;
///
/// let schedule: Schedule = "1x3 2 1".parse().unwrap();
/// assert_eq!(schedule, Schedule::from([1, 1, 1, 2, 1]));
/// assert_eq!(schedule, "1, 1, 1, 2, 1".parse().unwrap());
/// assert_eq!((schedule.switches(), schedule.to_string()), (2, "1x3 2 1".to_owned()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Schedule(Vec<u16>);

impl Schedule {
    /// The threads, in order.
    pub fn threads(&self) -> &[u16] {
        &self.0
    }

    /// Number of context switches: entries that name another thread than the one before.
    pub fn switches(&self) -> usize {
        self.0.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for Schedule {
    type Err = String;

    /// Reads threads with blanks or commas between them, each with a count if it takes several turns: `1x3 2`, `[1, 1, 1, 2]`.
    fn from_str(text: &str) -> Result<Schedule, String> {
        let text = text.trim();
        let listed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        let threads = decode(&listed.replace(',', " "))?;
        if threads.contains(&0) {
            return Err("`0` is not a thread of a test; the first is 1".to_owned());
        }
        Ok(Schedule(threads))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode(&self.0))
    }
}

impl From<Vec<u16>> for Schedule {
    fn from(threads: Vec<u16>) -> Schedule {
        Schedule(threads)
    }
}

impl From<&[u16]> for Schedule {
    fn from(threads: &[u16]) -> Schedule {
        Schedule(threads.to_vec())
    }
}

impl<const N: usize> From<[u16; N]> for Schedule {
    fn from(threads: [u16; N]) -> Schedule {
        Schedule(threads.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_say_what_is_wrong() {
        for (text, expected) in
            [("1 a", "`a` is not a step"), ("1 0", "the first is 1"), ("1x", "`1x` is not")]
        {
            let instead = text.parse::<Schedule>().unwrap_err();
            assert!(instead.contains(expected), "{text}: {instead}");
        }
        assert!("".parse::<Schedule>().unwrap().is_empty());
    }
}
