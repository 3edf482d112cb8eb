//! Axiomatic memory models: which execution graphs RC11 and sequential consistency allow.
//!
//! RC11 is the model of Lahav, Vafeiadis, Kang, Hur and Dreyer, *Repairing Sequential Consistency in C/C++11* (PLDI 2017), with
//! two deviations. Release sequences are those of C++20: a write and a chain of read-modify-writes, without later writes of the
//! same thread. A read-modify-write is one event that reads and writes, not a pair of events.
//!
//! | relation | definition | here |
//! |---|---|---|
//! | `po` | program order: the order of one thread | [`Execution::po`] |
//! | `rf` | reads-from: from a write to its reads | [`rf`], [`Execution::rf`] |
//! | `mo` | modification order: the total order of the writes to a location | [`mo`] |
//! | `fr` | from-read, `rf⁻¹ ; mo` without the identity | [`fr`] |
//! | `eco` | extended coherence order, `(rf ∪ mo ∪ fr)⁺` | [`eco`] |
//! | `sw` | synchronizes-with, `[⊒rel] ; ([F] ; po)? ; [W] ; (rf ; [RMW])* ; rf ; [R] ; (po ; [F])? ; [⊒acq]` | [`Execution::sw`] |
//! | `hb` | happens-before, `(po ∪ sw)⁺` | [`Execution::hb`], [`views`] |
//! | `psc` | partial SC order | [`Psc`] |
//!
//! | axiom | condition | here |
//! |---|---|---|
//! | NO-THIN-AIR | `po ∪ rf` is acyclic | [`rc11::no_thin_air`] |
//! | ATOMICITY | a read-modify-write comes right after its source in `mo` | [`rc11::atomicity`] |
//! | COHERENCE | `hb ; eco?` is irreflexive | [`rc11::coherence`] |
//! | SC | `psc` is acyclic | [`Psc::is_acyclic`] |
//!
//! The axioms judge anything that implements [`Graph`]: events, and happens-before between them. The trait costs nothing at run
//! time, and [`Psc`] uses its memory again: the exhaustive search asks for each event that it adds.
//!
//! **Invariant:** this crate has no dependencies. It knows neither how executions are made nor how they are shown.
#![forbid(unsafe_code)]

mod event;
mod execution;
pub mod rc11;
mod relation;
pub mod sc;
pub mod views;

pub use event::{Event, Graph, Kind, acquires, eco, fr, mo, releases, rf, same_location};
pub use execution::{Execution, HappensBefore, Selection};
pub use rc11::{Axiom, Psc};
pub use relation::Relation;
