//! An exhaustive search in several processes.
//!
//! The items of a work list are independent of each other. Whenever fewer processes search than may, one with items
//! left forks, and each of the two discards half of them: the copy of the process is the message. A process without
//! items waits for its children, and ends. Their results are summed in shared memory, so that all figures are those of
//! a search in one process; only which of several failures is found depends on timing.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use super::mailbox::Mailbox;
use crate::exploration::SearchReport;
use crate::exploration::estimate::Prospect;
use crate::exploration::outcomes::{OutcomeCounts, RemoteOutcome};
use crate::left_out::LeftOut;
use crate::model_checker::{ModelChecker, Refinement};
use crate::platform::processes::{self, Ended, Fork};
use crate::schedule::Schedule;

/// Executions of a process before it forks (again): a shorter search is not worth a process.
const BETWEEN_FORKS: u64 = 32;

/// A process of a shared search.
#[derive(Debug)]
pub(crate) struct WorkerPool {
    shared: &'static Shared,
    /// The outcome classes and the failing execution, sent to the first process.
    outcomes: Mailbox,
    failure: Mailbox,
    workers: i64,
    /// Whether the search began in this process.
    is_first: bool,
    /// The children of this process.
    children: Vec<i32>,
    /// Executions of this process that are published.
    reported: u64,
    /// Executions before this process forks (again).
    alone_until: u64,
}

/// The shared memory of the processes.
#[repr(C)]
#[derive(Debug)]
struct Shared {
    /// Processes with work.
    busy: AtomicI64,
    executions: AtomicU64,
    blocked: AtomicU64,
    steps: AtomicU64,
    switches: AtomicU64,
    exceeded: AtomicU64,
    inconclusive: AtomicBool,
    left_out: AtomicU32,
    /// Whether some process left work items unexplored.
    incomplete: AtomicBool,
    /// Whether all processes must stop.
    is_cancelled: AtomicBool,
    /// Whether the search is estimated to end within the extended effort.
    is_extended: AtomicBool,
    /// The refinement with which the search must restart.
    refinement: AtomicU64,
    /// Whether some process sends a failure, or has.
    failing: AtomicBool,
}

/// The result of an attempt to share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forked {
    Parent,
    Child,
    /// The process did not fork.
    Not,
}

impl WorkerPool {
    /// A pool of one process, which makes `alone` executions before it forks.
    pub(crate) fn new(workers: usize, alone: u64) -> WorkerPool {
        // SAFETY: a fresh mapping of zeros, large enough and aligned, is a valid `Shared`.
        let shared = unsafe { &*processes::map_shared(size_of::<Shared>()).cast::<Shared>() };
        shared.busy.store(1, SeqCst);
        WorkerPool {
            shared,
            outcomes: Mailbox::new(),
            failure: Mailbox::new(),
            workers: workers as i64,
            is_first: true,
            children: Vec::new(),
            reported: 0,
            alone_until: alone,
        }
    }

    /// Executions of all processes.
    pub(crate) fn executions(&self) -> u64 {
        self.shared.executions.load(SeqCst)
    }

    /// Publishes the number of executions, or a refinement. False if this process must stop.
    pub(crate) fn publish_progress(&mut self, executions: u64, refinement: Option<Refinement>) -> bool {
        if let Some(refinement) = refinement {
            self.shared.refinement.store(refinement.to_word(), SeqCst);
            self.cancel();
            return false;
        }
        self.shared.executions.fetch_add(executions - self.reported, SeqCst);
        self.reported = executions;
        !self.shared.is_cancelled.load(SeqCst)
    }

    /// Publishes the prospect of the search.
    pub(crate) fn announce(&self, prospect: Prospect) {
        match prospect {
            Prospect::Near => self.shared.is_extended.store(true, SeqCst),
            Prospect::Unsure => {}
            Prospect::Far => self.cancel(),
        }
    }

    /// Whether the search may take the extended effort.
    pub(crate) fn is_extended(&self) -> bool {
        self.shared.is_extended.load(SeqCst)
    }

    /// Stops all processes.
    pub(crate) fn cancel(&self) {
        self.shared.is_cancelled.store(true, SeqCst);
    }

    /// Forks, and leaves half of the work to the child, if there may be one more process.
    pub(crate) fn share(&mut self, executions: u64, graphs: &mut ModelChecker) -> Forked {
        let busy = &self.shared.busy;
        if executions < self.alone_until || busy.load(SeqCst) >= self.workers || graphs.pending_work() < 2 {
            return Forked::Not;
        }
        self.alone_until = executions + BETWEEN_FORKS;
        if busy.fetch_update(SeqCst, SeqCst, |busy| (busy < self.workers).then_some(busy + 1)).is_err() {
            return Forked::Not;
        }
        match processes::fork() {
            Fork::Child => {
                graphs.discard_half_of_work(true);
                graphs.reset_graphs_beyond_bound();
                self.children.clear();
                (self.is_first, self.reported, self.alone_until) = (false, 0, BETWEEN_FORKS);
                Forked::Child
            }
            Fork::Parent(child) => {
                graphs.discard_half_of_work(false);
                self.children.push(child);
                Forked::Parent
            }
            Fork::Failed => {
                busy.fetch_sub(1, SeqCst);
                Forked::Not
            }
        }
    }

    /// Ends this process's part, and waits for its children. Only the first process returns, with the results of all.
    pub(crate) fn leave(
        mut self,
        report: &mut SearchReport,
        outcome_counts: &OutcomeCounts,
        waiting: impl FnMut(u64),
    ) -> PoolResult {
        let shared = self.shared;
        shared.executions.fetch_add(report.executions.saturating_sub(self.reported), SeqCst);
        shared.blocked.fetch_add(report.blocked, SeqCst);
        shared.steps.fetch_add(report.steps, SeqCst);
        shared.switches.fetch_add(report.switches, SeqCst);
        shared.exceeded.fetch_add(report.exceeded, SeqCst);
        shared.inconclusive.fetch_or(report.inconclusive, SeqCst);
        shared.left_out.fetch_or(report.left_out.bits(), SeqCst);
        shared.incomplete.fetch_or(!report.complete, SeqCst);
        if let Some(found) = &report.failure
            && !shared.failing.swap(true, SeqCst)
        {
            self.failure.append(1, &found.schedule);
        }
        if report.failure.is_some() {
            self.cancel();
        }
        if !self.is_first {
            self.outcomes.send(outcome_counts);
        }
        shared.busy.fetch_sub(1, SeqCst);
        self.wait(waiting);
        if !self.is_first {
            processes::exit();
        }
        report.executions = shared.executions.load(SeqCst);
        report.blocked = shared.blocked.load(SeqCst);
        report.steps = shared.steps.load(SeqCst);
        report.switches = shared.switches.load(SeqCst);
        report.exceeded = shared.exceeded.load(SeqCst);
        report.inconclusive = shared.inconclusive.load(SeqCst);
        report.left_out = LeftOut::from_bits(shared.left_out.load(SeqCst));
        report.complete = !shared.incomplete.load(SeqCst);
        let refinement = Refinement::from_word(shared.refinement.load(SeqCst));
        let failed = self.failure.open().pop();
        // SAFETY: mapped by `new`; the other processes have ended.
        unsafe {
            processes::unmap_shared(std::ptr::from_ref(shared).cast_mut().cast(), size_of::<Shared>());
        }
        match (failed, refinement) {
            (Some(RemoteOutcome { schedule, .. }), _) => PoolResult::Failed(schedule),
            (None, Some(refinement)) => PoolResult::MustRestart(refinement),
            (None, None) => PoolResult::Done(self.outcomes.open()),
        }
    }

    fn wait(&mut self, mut waiting: impl FnMut(u64)) {
        while let Some(&child) = self.children.last() {
            let Some(ended) = processes::has_ended(child) else {
                std::thread::sleep(Duration::from_micros(200));
                waiting(self.executions());
                continue;
            };
            self.children.pop();
            if ended == Ended::BySignal {
                // The work of a killed process is lost.
                self.shared.incomplete.store(true, SeqCst);
                self.shared.busy.fetch_sub(1, SeqCst);
            }
        }
    }
}

/// The result of a shared search.
#[derive(Clone, Debug)]
pub(crate) enum PoolResult {
    /// Done, with the figures of the report and these outcomes of other processes.
    Done(Vec<RemoteOutcome>),
    /// A failing execution, by its schedule.
    Failed(Schedule),
    /// The search must restart with a refinement.
    MustRestart(Refinement),
}
