//! The choice between controlled and real threads.

/// How executions are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// On virtual threads and on real ones, where that makes sense.
    #[default]
    Both,
    /// On virtual threads, whose interleavings are controlled.
    ModelChecking,
    /// On real threads, many times.
    Stress,
}
