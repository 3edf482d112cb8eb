//! Execution graphs (Alglave, Maranget and Tautschnig, *Herding cats*, TOPLAS 2014).
//!
//! A graph has the events of each thread in program order (`po`), for each read the write that it reads from (`rf`), and for each
//! location the modification order of its writes (`co`). Executions with equal graphs are the same to the program. A graph is
//! *consistent* if the memory model allows it.
//!
//! | module | what it is |
//! |---|---|
//! | [`event`] | the events |
//! | `execution_graph` | [`Graph`]: storage, adding and removing events |
//! | `coherence` | reads-from and modification order of each location |
//! | `clocks`, `views` | prefixes and happens-before, as vector clocks |
//! | `blocked` | reads that are blocked until a certain write comes |
//! | `revisit` | backward revisits: their conditions, and the graphs that they lead to |
//! | [`consistency`] | the graphs to explore: memory models, preemption bound, symmetry |
//! | `total_order` | the order that shows that a graph is sequentially consistent |
//! | `linearise` | linear extensions |
//! | [`locations`] | the locations that addresses stand for |
//! | [`stored`] | graphs as words, for saved searches |
//!
//! **Invariant:** graphs are pure data. Besides itself, this module imports `op` and `happens_before` only.

mod blocked;
mod clocks;
mod coherence;
pub(crate) mod consistency;
pub(crate) mod event;
mod execution_graph;
mod linearise;
pub(crate) mod locations;
mod revisit;
pub(crate) mod stored;
mod total_order;
mod views;

pub(crate) use execution_graph::{Graph, Scratch};
pub(crate) use locations::SYNTHETIC_SIZE;
pub(crate) use revisit::Revisited;
pub(crate) use views::covers;

pub use crate::happens_before::Model;
