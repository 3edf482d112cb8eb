//! Options that are one of a few words.

use crate::parse::one_of;

/// Which values a read may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Sequential consistency: the latest write.
    Sc,
    /// The memory model of C++20 and Rust, as repaired by Lahav et al. (RC11).
    Rc11,
}

/// What virtual threads are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Coroutines: fast.
    Coroutines,
    /// An OS thread each: slow, but debuggers understand them. Schedules mean the same.
    Threads,
}

/// How executions are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// Memory is rolled back in the process.
    Rollback,
    /// Every execution is made in a process of its own.
    Fork,
}

/// What happens to memory that the code under test frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Allocation {
    /// It is not used again within the execution: an access to it is an error that can be seen.
    Quarantine,
    /// The thread that freed it gets it back with its next allocation of that size: code that takes equal addresses for
    /// the same object (the ABA problem) fails.
    Reuse,
}

/// Whether an exploration must be one: programs that were built without instrumentation hide most events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Explored {
    /// An exploration in a program without instrumentation fails, and says how to run it.
    Required,
    /// It does what it can, and says in one line what it cannot.
    Optional,
}

/// Something that may happen to a program, and that is explored only where it is asked for. A search that meets it and does not
/// explore it is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Also {
    /// `thread::park` and `Condvar::wait` return although nobody woke the thread: once for each thread of an execution.
    SpuriousWakeUps,
    /// `compare_exchange_weak` fails although the place held what was expected: once for each thread of an execution. Only in
    /// code that is not optimised, as tests usually are; elsewhere searches go on to say that they leave it out.
    SpuriousFailures,
    /// Timeouts, however long, end while other threads could go on. In an exhaustive search, up to two for each thread of an
    /// execution.
    Timeouts,
    /// Random bytes, which hash maps use too, differ from execution to execution. No search tries all of them.
    RandomBytes,
    /// A wake-up of one thread, such as `Condvar::notify_one`, wakes any of those that wait, not only the one that has waited longest.
    WakeOrders,
}

/// Spells the variants of a type, for `FromStr` and `Display`.
macro_rules! spell {
    ($type:ident { $($variant:ident => $word:literal),* $(,)? }) => {
        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<$type, String> {
                match text {
                    $($word => Ok($type::$variant),)*
                    _ => Err(one_of(&[$($word),*])),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $($type::$variant => $word,)*
                })
            }
        }
    };
}

spell!(Memory { Sc => "sc", Rc11 => "rc11" });
spell!(Backend { Coroutines => "coroutines", Threads => "threads" });
spell!(Isolation { Rollback => "rollback", Fork => "fork" });
spell!(Allocation { Quarantine => "quarantine", Reuse => "reuse" });
spell!(Explored { Required => "required", Optional => "optional" });
spell!(Also {
    SpuriousWakeUps => "spurious-wake-ups",
    SpuriousFailures => "spurious-failures",
    Timeouts => "timeouts",
    RandomBytes => "random-bytes",
    WakeOrders => "wake-orders",
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::list;

    #[test]
    fn words_are_written_as_they_are_read() {
        assert_eq!("rc11".parse::<Memory>().unwrap().to_string(), "rc11");
        assert_eq!("relaxed".parse::<Memory>().unwrap_err(), "write `sc` or `rc11`");
        assert_eq!(list("timeouts, random-bytes,"), Ok(vec![Also::Timeouts, Also::RandomBytes]));
        let instead =
            "write `spurious-wake-ups`, `spurious-failures`, `timeouts`, `random-bytes` or `wake-orders`";
        assert_eq!(list::<Also>("timeouts,bytes").unwrap_err(), instead);
    }
}
