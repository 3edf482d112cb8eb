//! A program in isolation: limits on what it uses, and a view of the machine with nothing in it but what it needs.
//!
//! ```text
//! grader ──▶ supervisor ──▶ init ──▶ the program, and whatever it starts
//!            (A)            (B)      (C)
//! ```
//!
//! **A** is this executable again, started with [`ARGUMENT`]. It reads a [`Spec`] from standard input, enters new namespaces and
//! forks. **B** is process 1 of the new process namespace. It builds a file system of read-only mounts, starts the program,
//! watches it, and writes an [`Outcome`] to standard output. When B ends, the kernel ends all that is left of the program. When the
//! grader goes away, A and B do, too.
//!
//! What the program leaves in its directory of results is read by B, inside of the namespaces: a symbolic link there leads
//! nowhere that the program could not have read itself.
//!
//! | file | idea |
//! |---|---|
//! | `spec` | what is to be run, and what came of it |
//! | `client` | the grader's side: start a supervisor, wait for its answer |
//! | `supervisor` | A and B |
//! | `namespace` | the view of the machine |
//! | `limits` | what the kernel enforces for each process |
//! | `cgroup` | what the kernel enforces for all processes together, where control groups can be made |
//! | `watch` | what B enforces by looking |
//! | `probe` | what of this works on this machine |

mod cgroup;
mod client;
mod limits;
mod namespace;
mod probe;
mod spec;
mod supervisor;
mod watch;

pub use self::client::{Sandbox, SandboxError};
pub use self::probe::{Isolation, Part};
pub use self::spec::{Ending, Limit, Limits, Mount, Outcome, Spec};
pub use self::supervisor::{ARGUMENT, is_supervisor, supervise};
