//! The model checker: explores all consistent execution graphs of a program, each once.
//!
//! The algorithm is TruSt (Kokologiannakis, Marmanis, Gladstein and Vafeiadis, *Truly stateless, optimal dynamic partial order
//! reduction*, POPL 2022). An execution follows the graph that is known so far. Where the graph ends, each event is added as a
//! *maximal extension*, which is always consistent: a read reads from the last write in modification order, a write comes last.
//! Each alternative becomes an item of the *work list*: another source or position of the event (a *forward revisit*), or an
//! earlier read that reads from the new write (a *backward revisit*, [`graph::revisit`](crate::graph)). A later execution follows
//! the graph of one item. Memory holds one graph for each backward revisit under way, and the work list of each.
//!
//! | module | what it is |
//! |---|---|
//! | `request` | the protocol with the engine: a thread requests an event, the checker answers |
//! | `driver` | the loop: the graph of the next execution, by applying a work item |
//! | `worklist` | work items, and the stack of branches that hold them |
//! | `extension` | adding events: maximal extensions, forward revisits, blocked reads |
//! | `revisit` | backward revisits, and the final decrements of reference counts |
//! | `scheduling` | the engine's queries: which thread goes next, which can go on |
//! | `threads` | numbers of threads that are the same in all executions |
//! | `symmetry` | symmetric threads |
//! | `spin_assumptions` | reads that are taken for spin iterations |
//! | `bound` | the preemption bound |
//! | `refinement`, `abstraction_log` | restarts with a finer abstraction; the abstraction of each access |
//! | `refcounts`, `rwlocks` | the abstractions of reference counts and of `RwLock`s |
//! | `checkpoints` | states of executions at which later ones begin |
//! | `estimate` | the number of executions, by random probes |
//! | `continuations` | searches whose executions all begin with the same events |
//! | `replay` | schedules: writing the one of an execution, and following one |
//! | `queries` | answers for reports: reads-from, modification order, happens-before, linear extension |
//! | `save` | searches that another process resumes |
//!
//! Deviations from the paper:
//!
//! - Locks, awaits and spin iterations block their thread instead of reading a useless value. A read that is blocked in a
//!   revisited graph stays there as a *blocked read*, like GenMC's block labels (see
//!   [`Event::blocked`](crate::graph::event::Event::blocked)).
//! - A read-modify-write whose source has a read-modify-write successor leads to revisits that delete the successor. They are
//!   computed when the item is taken from the work list, because there can be very many.
//! - Symmetry (SPORE, PLDI 2024), a preemption bound (TACAS 2023) and spin assumptions (FMCAD 2021) prune the search.
//! - Reference counts and `RwLock`s are abstracted, and the abstraction is refined when it hides behaviour (CEGAR, CAV 2000).
//! - An execution does not run its graph from the beginning, but from the last checkpoint.

mod abstraction_log;
mod bound;
mod checkpoints;
mod continuations;
mod driver;
mod estimate;
mod extension;
mod queries;
mod refcounts;
mod refinement;
mod replay;
mod request;
mod revisit;
mod rwlocks;
mod save;
mod scheduling;
mod spin_assumptions;
mod symmetry;
#[cfg(test)]
mod tests;
mod threads;
mod worklist;

pub(crate) use crate::graph::Model;
pub(crate) use refcounts::{Counting, FinalDrop, Purpose};
pub(crate) use refinement::{Refinement, Restart};
pub(crate) use request::{Answer, Location, Request};
pub(crate) use rwlocks::{LockUse, Locking};
pub(crate) use spin_assumptions::BlockedSpinners;

use self::abstraction_log::AbstractionLog;
use self::estimate::{Estimator, RandomProbe};
use self::refcounts::RefCounts;
use self::replay::Replay;
use self::rwlocks::RwLocks;
use self::scheduling::BlockedRequests;
use self::spin_assumptions::SpinAssumptions;
use self::threads::ThreadIds;
use self::worklist::Branches;
use crate::graph::consistency::preemption_bound::Bound;
use crate::graph::event::EventId;
use crate::graph::locations::Locations;
use crate::graph::{Graph, Scratch};
use crate::op::ThreadId;
use crate::schedule::Schedule;

/// A search for all execution graphs, or the replay of one execution.
#[derive(Debug)]
pub struct ModelChecker {
    model: Model,
    branches: Branches,
    locations: Locations,
    /// The number of leading events of the graph that the current execution has made. Blocked reads count once they are passed.
    made: usize,
    /// The length of the graph when the current execution began. The execution added all events from there on.
    initial_len: usize,
    /// Whether the first execution has begun.
    started: bool,
    /// Whether the next execution follows the current graph once more.
    repeat: bool,
    /// Whether the latest search for work gave up without a result (see [`ModelChecker::take_paused`]).
    paused: bool,
    blocked: BlockedRequests,
    /// Threads of the current execution that no longer wait for their symmetric predecessors, which have ended.
    exempt_from_symmetry: Vec<ThreadId>,
    spins: SpinAssumptions,
    thread_ids: ThreadIds,
    /// The schedule to follow, if this is no search.
    replay: Option<Replay>,
    /// The schedule with which the first execution begins, if the search is one of continuations, until that execution was made.
    beginning: Option<Replay>,
    /// The number of leading events of the graph that all executions have in common, because the search is one of continuations.
    fixed: usize,
    /// Whether each thread has added a write in the first execution.
    has_written: Vec<bool>,
    /// Whether threads that have not written are taken for readers. None until the first execution has ended. **Invariant:** what the order
    /// of events depends on does not change from then on, or a graph could be reached in two ways, or in none.
    knows_readers: Option<bool>,
    /// The thread that goes on only where no other can, because its failure would hide what the others do.
    goes_last: Option<ThreadId>,
    bound: Option<Bound>,
    abstractions: AbstractionLog,
    refcounts: RefCounts,
    rwlocks: RwLocks,
    /// The refinement of the latest restart, until it is taken.
    refinement: Option<Refinement>,
    estimator: Estimator,
    /// The random probe under way. While there is one, the branches are those of the probe.
    probe: Option<RandomProbe>,
    scratch: Scratch,
    /// A buffer for the prefix of an event.
    prefix: Vec<u32>,
    /// A buffer for the reads that an event may revisit.
    revisitable: Vec<EventId>,
}

impl ModelChecker {
    /// A search under a memory model.
    pub fn new(model: Model) -> ModelChecker {
        ModelChecker {
            model,
            branches: Branches::new(model),
            locations: Locations::default(),
            made: 0,
            initial_len: 0,
            started: false,
            repeat: false,
            paused: false,
            blocked: BlockedRequests::default(),
            exempt_from_symmetry: Vec::new(),
            spins: SpinAssumptions::default(),
            thread_ids: ThreadIds::default(),
            replay: None,
            beginning: None,
            fixed: 0,
            has_written: Vec::new(),
            knows_readers: None,
            goes_last: None,
            bound: None,
            abstractions: AbstractionLog::default(),
            refcounts: RefCounts::default(),
            rwlocks: RwLocks::default(),
            refinement: None,
            estimator: Estimator::default(),
            probe: None,
            scratch: Scratch::default(),
            prefix: Vec::new(),
            revisitable: Vec::new(),
        }
    }

    /// The same search, of graphs with at most this many preemptions only (see
    /// [`preemption_bound`](crate::graph::consistency::preemption_bound)).
    pub(crate) fn with_preemption_bound(self, preemptions: usize) -> ModelChecker {
        ModelChecker { bound: Some(Bound::new(preemptions)), ..self }
    }

    /// The replay of a schedule under a memory model.
    pub fn replaying(model: Model, schedule: Schedule) -> ModelChecker {
        ModelChecker { replay: Some(Replay::new(schedule)), ..ModelChecker::new(model) }
    }

    /// The memory model.
    pub(crate) fn model(&self) -> Model {
        self.model
    }

    /// The graph that the current execution follows and extends.
    pub(crate) fn graph(&self) -> &Graph {
        &self.branches.current().graph
    }

    fn graph_mut(&mut self) -> &mut Graph {
        &mut self.branches.current_mut().graph
    }
}
