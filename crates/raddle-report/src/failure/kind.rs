//! The class of a failure, and the strength of the evidence for it.

use serde::{Deserialize, Serialize};

/// The classes of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A panic left the closure, or ended a thread that no other thread joined.
    Panic,
    /// All unfinished threads are blocked.
    Deadlock,
    /// All running threads spin in loops whose condition no thread can change, or the execution does not end although every thread
    /// that can go on does. Files of older versions call the latter `step-limit`.
    #[serde(alias = "step-limit")]
    Livelock,
    /// The execution, or one step of it, exceeded the limit of time.
    TimeLimit,
    /// A thread was running when the closure returned.
    ThreadLeak,
    /// A signal: segmentation fault, illegal instruction, abort, ...
    Crash,
    /// A thread overflowed its stack.
    StackOverflow,
    /// The code under test ended the process.
    Exit,
    /// The results of the operations break the contract: no order that the contract allows explains them.
    IncorrectResults,
    /// The object's validation panicked after the operations.
    Validation,
    /// An operation stays suspended although it could resume.
    LostWakeUp,
    /// An operation of an object that is declared obstruction-free blocks.
    NotObstructionFree,
    /// No operation of an object that is declared lock-free completes for too long.
    NotLockFree,
    /// Two conflicting accesses, one of them not atomic, are not ordered by happens-before.
    DataRace,
    /// An access to freed memory.
    UseAfterFree,
    /// A second free of the same block.
    DoubleFree,
    /// A free of an address at which no block begins.
    InvalidFree,
    /// Unreachable memory that was not freed.
    MemoryLeak,
}

impl Kind {
    /// The name of the class in failure files.
    pub fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default()
    }

    /// The class with this name in failure files.
    pub fn of_name(name: &str) -> Option<Kind> {
        serde_json::from_value(name.into()).ok()
    }
}

/// The strength of the evidence that the code under test is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// The execution itself proves the failure.
    #[default]
    Proven,
    /// A limit ended the execution, which might have completed later.
    Limit {
        /// The limit, in a sentence without its full stop.
        reason: String,
    },
}
