//! Prefixes of sampled executions: the tree of first choices, and checkpoints at which later executions begin.
//!
//! Executions of a sampling strategy differ by their choices, and many have their first choices in common. The events before them, among
//! which are the spawns of threads, need not be made again: the state is copied at choices that many executions come to. An execution asks the strategy for its first choices along this tree, and begins at the checkpoint of the
//! last one that is known:
//!
//! ```text
//!   checkpoint at the first choice ─┬─ 0 ── checkpoint at the second ─┬─ 0 ── …
//!                                   │                                 └─ 1
//!                                   └─ 1 ── checkpoint at the second ─── …
//! ```
//!
//! **Invariants:** The strategy is asked the same questions in the same order as if the execution began at the beginning, so the
//! execution is the same. A prefix has choices of threads only: what the strategy is asked otherwise ends the prefix.

use super::Engine;
use super::checkpoint::MachineSnapshot;
use crate::op::{Pending, ThreadId};
use crate::spinloop::watch::SpinWatch;
use crate::strategy::{Point, Steps};

/// The number of executions that must take a branch before its next choice gets a checkpoint.
const WORTH: u32 = 3;

/// Largest number of checkpoints in a tree. More of them save more events and take more memory. Larger trees were not faster in rough
/// measurements; the best size is not known.
const MOST_NODES: usize = 64;

/// Largest size of all checkpoints of a tree, in bytes.
const MOST_BYTES: usize = 1 << 18;

/// The place of a choice that has no checkpoint: behind a choice that has one, or the first of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    First,
    Behind { node: u32, branch: u32 },
}

/// The relation of an execution to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// The execution has left the tree.
    Left,
    /// The next choice of a thread gets a checkpoint.
    Grows(Place),
    /// The execution begins at the checkpoint of a choice, which the strategy has made already.
    Chosen { thread: ThreadId, behind: Option<Place> },
}

/// The tree of prefixes of a search. Empty until executions come by.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    nodes: Vec<Node>,
    bytes: usize,
}

/// A choice of a thread, and the state of the execution before it.
#[derive(Debug)]
struct Node {
    machine: MachineSnapshot,
    /// The spinloop detectors of threads, which the snapshot does not have.
    spins: Vec<SpinWatch>,
    choice: Choice,
    branches: Vec<Branch>,
}

/// A point at which a thread is chosen.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) current: ThreadId,
    pub(crate) runnable: Vec<ThreadId>,
    pub(crate) active: Vec<ThreadId>,
    pub(crate) pending: Vec<Pending>,
    /// Number of choices before.
    pub(crate) number: usize,
}

/// The executions that choose the same thread.
#[derive(Debug)]
struct Branch {
    thread: ThreadId,
    executions: u32,
    /// The next choice, if it has a checkpoint.
    next: Option<u32>,
}

/// The beginning of an execution: a checkpoint, and the choice there.
pub(crate) struct Beginning<'t> {
    pub(crate) machine: &'t MachineSnapshot,
    pub(crate) spins: &'t [SpinWatch],
    pub(crate) prefix: Prefix,
}

impl Choice {
    fn point(&self) -> Point<'_> {
        Point {
            current: self.current,
            runnable: &self.runnable,
            active: &self.active,
            steps: Steps::Saved(&self.pending),
            choice: self.number,
        }
    }
}

impl Prefixes {
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Makes the choices of the execution that begins, as far as the tree has them. The tree must not be empty.
    pub(crate) fn descend(&mut self, mut choose: impl FnMut(&Point<'_>) -> ThreadId) -> Beginning<'_> {
        let has_room = self.has_room();
        let mut at = 0;
        let (thread, behind) = loop {
            let Node { choice, branches, .. } = &mut self.nodes[at];
            let thread = choose(&choice.point());
            let known = branches.iter().position(|branch| branch.thread == thread);
            let branch = known.unwrap_or_else(|| {
                branches.push(Branch { thread, executions: 0, next: None });
                branches.len() - 1
            });
            let Branch { executions, next, .. } = &mut branches[branch];
            if let Some(next) = *next {
                at = next as usize;
                continue;
            }
            *executions = executions.saturating_add(1);
            let is_worth_it = has_room && *executions >= WORTH;
            break (thread, is_worth_it.then_some(Place::Behind { node: at as u32, branch: branch as u32 }));
        };
        let Node { machine, spins, .. } = &self.nodes[at];
        Beginning { machine, spins, prefix: Prefix::Chosen { thread, behind } }
    }

    /// Adds a checkpoint at a choice.
    pub(crate) fn add(
        &mut self,
        place: Place,
        choice: Choice,
        machine: MachineSnapshot,
        spins: Vec<SpinWatch>,
    ) {
        let number = self.nodes.len() as u32;
        if let Place::Behind { node, branch } = place {
            self.nodes[node as usize].branches[branch as usize].next = Some(number);
        }
        self.bytes += machine.bytes() + size_of_val(&spins[..]);
        self.nodes.push(Node { machine, spins, choice, branches: Vec::new() });
    }

    /// Removes everything: executions of another program follow, or the checkpoints lack something.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.bytes = 0;
    }

    fn has_room(&self) -> bool {
        self.nodes.len() < MOST_NODES && self.bytes < MOST_BYTES
    }
}

impl Engine {
    /// The prefixes of executions that the race detector follows, and that start threads, as the current one.
    pub(crate) fn prefixes(&mut self) -> &mut Prefixes {
        let follows = self.exploration.detector.is_some();
        &mut self.exploration.prefixes[usize::from(follows)][usize::from(self.execution.starts_eagerly)]
    }

    /// Removes all prefixes.
    pub(crate) fn forget_prefixes(&mut self) {
        self.exploration.prefixes.iter_mut().flatten().for_each(Prefixes::clear);
    }
}
