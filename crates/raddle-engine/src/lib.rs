//! The engine: runs a closure and the threads it makes as coroutines, one event at a time, in an order that a
//! [`Strategy`] chooses, and leaves nothing behind.
//!
//! | module | what it is |
//! |---|---|
//! | [`engine`] | the machine: threads, the one place where the next thread is chosen, the loop that runs them |
//! | [`op`] | what a thread can do that others can notice |
//! | [`futex`], [`time`], `time_stamp`, [`spin`] | waiting: on addresses, on the clock, in loops |
//! | [`thread`], `coroutine`, `os_thread`, [`stack`], [`tls_donor`] | virtual threads, what they run on, their stacks, the thread-locals they borrow |
//! | [`location_table`] | state by memory location: hashing, and freed memory |
//! | [`memory`] | what happened before what, and which values a read may see |
//! | [`isolate`] | what is rolled back after an execution: heap and memory pages |
//! | [`outcome`] | how executions end, and which of them do not count |
//! | [`fault`], [`race`] | what can be wrong with an access to memory |
//! | [`schedule`], [`strategy`] | the choices that make an execution, and how the next ones are picked |
//! | [`graph`] | the exhaustive search: execution graphs, memory models |
//! | `liveness` | whether a thread that went round is where it was: which values its code will still read |
//! | [`left_out`] | what a search does not try, so that it is not complete |
//! | [`search`], `fork`, `outcomes` | many executions: budgets, workers, processes, the first failure, what was counted |
//! | [`turn`] | one exploration at a time |
//! | [`trace`] | what one execution did, recorded when it is replayed |
//! | [`signal`] | crashes and time-outs inside the code under test |
//!
//! **Invariant:** the engine knows nothing of C symbols, of what operations do, or of contracts. `raddle-intercept` turns intercepted
//! calls into calls of [`hooks`]; `raddle` turns what comes out into reports.

pub mod detect;
pub mod execution;
pub mod exploration;
pub mod graph;
pub mod happens_before;
mod in_place;
pub mod interface;
pub mod isolate;
pub mod left_out;
pub mod location_table;
pub mod model_checker;
pub mod op;
pub mod outcome;
pub mod platform;
pub mod rng;
pub mod schedule;
mod semantics;
pub mod site;
pub mod spinloop;
pub mod strategy;
pub mod thread;
pub mod trace;
pub mod weak_memory;

pub use execution::{EndedExecution, Engine, Judge};
pub use exploration::{Config, Found, Search, SearchReport};
pub use left_out::LeftOut;
pub use op::ThreadId;
pub use outcome::{Discarded, Outcome};
pub use schedule::Schedule;
pub use strategy::Strategy;
