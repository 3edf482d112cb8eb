//! Calls of operating systems other than Linux: threads stay where the system puts them.

/// The processors on which this process may run.
pub(crate) fn allowed_processors() -> Vec<usize> {
    (0..std::thread::available_parallelism().map_or(1, |n| n.get())).collect()
}

/// Threads cannot be bound to processors.
pub(crate) fn bind(_: &[usize]) {}

/// Threads have no numbers.
pub(crate) fn thread_id() -> i32 {
    0
}

/// Threads keep their priority.
pub(crate) fn demote(_: i32, _: &[usize]) {}

/// Bytes of memory that the process occupies: unknown.
pub(crate) fn resident_bytes() -> u64 {
    0
}
