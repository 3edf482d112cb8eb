//! `cargo raddle debug`: a debugger at any event of a failing execution, forwards and backwards.
//!
//! To the editor this is a debug adapter. Behind it stands the debugger that is installed, which does the work; this adapter stands in
//! between and adds time. The test runs in replay, repeats the failing execution as often as it is told to, and stops at the event
//! that it is told to stop at.
//!
//! ```text
//!   editor ── session ── debugger (lldb-dap) ── test
//!                └──────────── table ───────────┘
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `framing` | messages of the Debug Adapter Protocol |
//! | `adapter` | the debuggers that can do the work, and their differences |
//! | `inner` | the conversation with the debugger |
//! | `table` | what is shared with the test: where to stop, where it stands |
//! | `events` | the events of the failure, as the test counts them |
//! | `target` | the test of a failure file |
//! | `session` | requests of the editor |
//! | `travel` | going to an event, a line back, to the breakpoint before |
//! | `frames` | call stacks without Raddle, names as in Rust |
//! | `console` | commands typed on the debugger's console |
//! | `prompt` | a command line, for those without an editor |
//! | `threads.py` | the plug-in that shows LLDB the virtual threads |
//!
//! **Invariant:** only this module knows the Debug Adapter Protocol.

mod adapter;
mod console;
mod events;
mod frames;
mod framing;
mod inner;
mod prompt;
mod session;
mod table;
mod target;
mod travel;

pub(crate) use self::adapter::Debugger;
pub(crate) use self::prompt::prompt;
pub(crate) use self::session::Session;
pub(crate) use self::target::Request;
