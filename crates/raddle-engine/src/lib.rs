//! The engine of Raddle: runs a closure and the threads that it spawns as coroutines, one event at a time, under schedules that a
//! [`Strategy`] or the [model checker](model_checker) chooses, and rolls the process back after each execution.
//!
//! The modules form layers. Each imports only modules that stand below it in this table; `tests/layers.rs` checks that.
//!
//! | module | what it is for | what holds for it |
//! |---|---|---|
//! | [`exploration`] | many executions: configuration, the loop of a search, replay, worker processes, the result | one exploration at a time owns the process |
//! | [`interface`] | one function for each operation that `raddle-intercept` catches | decides nothing: builds the operation, calls the semantics |
//! | `semantics` | how operations behave: interleavings that a strategy chooses, or executions driven by a graph | the only place that knows which of the two an exploration has |
//! | [`execution`] | one execution: threads, scheduler, control flow, blocking, futexes, virtual time, checkpoints, verdict | only one flow of control runs at any time; the state of an execution is [one struct](execution) |
//! | [`strategy`] | the strategies: random, PCT, POS, round robin, preemption-bounded, scripted | a strategy sees scheduling points, not the machine |
//! | [`thread`] | virtual threads and their state | all of a thread's state of an execution is copied into a checkpoint |
//! | [`trace`] | the record of an execution, made when it is replayed | searches record nothing |
//! | [`model_checker`] | the exhaustive search (TruSt): work list, revisits, checkpoints, refinement, estimates | knows graphs, not the machine |
//! | [`spinloop`] | detection of spinloops, and the liveness analysis of machine code that proves them | |
//! | [`graph`] | execution graphs, and their consistency under a memory model | pure data |
//! | [`weak_memory`] | store histories: the values that reads of interleavings may see | pure |
//! | [`location_table`] | state by memory location, which freed memory loses | |
//! | [`happens_before`] | vector clocks and synchronisation | pure |
//! | [`outcome`] | outcomes of executions, and why an execution is discarded | |
//! | [`detect`] | data races and memory errors | asks its caller what happened before |
//! | [`isolate`] | roll-back of heap, pages, borrowed locals and environment; memory images | addresses depend on a thread's own allocations only |
//! | [`coverage`] | the code that an exploration reached, and how threads met there | decides nothing in an execution |
//! | [`site`] | the class of the code at an address | |
//! | [`schedule`] | the choices that make an execution | |
//! | [`left_out`] | possible behaviour that a search leaves out | a search that leaves something out is not complete |
//! | [`rng`], [`op`] | random numbers; memory orders, read-modify-writes, callers | |
//! | [`platform`] | Linux on x86-64: coroutines, stacks, thread-locals, system calls, unwinding | knows no executions, events or schedules |
//! | `in_place` | copies of state into existing allocations | |
//!
//! **Invariant:** the engine knows no C symbols, no meaning of operations, no contracts and no reports. `raddle-intercept` turns
//! intercepted calls into calls of the [`interface`]; `raddle` turns results into reports.

pub mod coverage;
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
