//! Executions in child processes: for code whose effects no roll-back can undo.
//!
//! The parent never runs the code under test. It prepares the strategy, forks, and waits. The child makes one execution and
//! leaves its choices and its result in a [`ChoiceLog`](crate::execution::ChoiceLog).

use crate::platform::processes::{self, Fork};

/// Runs `work` in a child and waits for it.
pub(crate) fn in_child(work: impl FnOnce()) {
    match processes::fork() {
        Fork::Child => {
            work();
            processes::exit();
        }
        Fork::Parent(child) => processes::wait(child),
        Fork::Failed => panic!("raddle: cannot fork; is there a limit on processes (ulimit -u)?"),
    }
}
