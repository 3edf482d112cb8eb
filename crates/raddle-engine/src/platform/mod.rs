//! The platform, Linux on x86-64: coroutines and their stacks, OS threads, thread-locals, system calls, unwinding, and
//! the state of the process that every intercepted call reads.
//!
//! | module | what it is |
//! |---|---|
//! | `coroutine` | the switch between stacks |
//! | [`debugger`] | what a debugger shares with the program |
//! | [`stack`] | stacks of virtual threads, at fixed addresses |
//! | `os_thread` | virtual threads that are OS threads, for debuggers |
//! | [`tls_donor`] | parked OS threads, whose thread-locals virtual threads borrow |
//! | [`sys`] | system calls that nothing intercepts, the FS base, real symbols |
//! | [`unwind`] | call stacks and frames |
//! | `elf` | segments of the program |
//! | `file_pages` | what is in memory only because the kernel maps more of a file than is asked for |
//! | [`idle_calls`] | calls of callbacks that are taken out of the code until something explores |
//! | `processes` | forked processes and shared memory |
//! | `words` | memory as a sequence of words: hashes and searches |
//! | [`global`] | whether a call comes from a virtual thread |
//!
//! **Invariant:** nothing here knows executions, events or schedules.

pub(crate) mod coroutine;
pub mod debugger;
pub(crate) mod elf;
pub(crate) mod file_pages;
pub mod global;
pub mod idle_calls;
pub(crate) mod os_thread;
pub(crate) mod processes;
pub mod stack;
pub mod sys;
pub mod tls_donor;
pub mod unwind;
pub(crate) mod words;
