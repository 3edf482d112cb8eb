//! An exhaustive search in several processes.
//!
//! The ways that an exhaustive search has noted for later have nothing to do with each other. Whenever fewer processes search
//! than there may be, one that has ways left forks, and each of the two forgets every other one: the copy of the process is the
//! message. A process without ways left waits for those that it made, and ends. What they found is summed in shared memory, so
//! that all figures are those of a search in one process; only which of several failures is found depends on who is faster.

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

/// How many executions a process makes before it forks (again): what is done sooner is not worth a process.
const BETWEEN_FORKS: u64 = 32;

/// A process that takes part in a search.
#[derive(Debug)]
pub(crate) struct WorkerPool {
    shared: &'static Shared,
    /// What they tell the first one of the kinds of their executions; and a failing execution.
    kinds: Mailbox,
    failure: Mailbox,
    workers: i64,
    /// Whether this is the process that the search began in.
    is_first: bool,
    /// The processes that this one made.
    children: Vec<i32>,
    /// How many of the executions of this process the others know of.
    told: u64,
    /// How many it makes before it forks (again).
    alone_until: u64,
}

/// What the processes share.
#[repr(C)]
#[derive(Debug)]
struct Shared {
    /// Processes that have something to do.
    busy: AtomicI64,
    executions: AtomicU64,
    blocked: AtomicU64,
    steps: AtomicU64,
    switches: AtomicU64,
    exceeded: AtomicU64,
    unsure: AtomicBool,
    left_out: AtomicU32,
    /// Whether some process left ways unexplored.
    incomplete: AtomicBool,
    /// Whether all are to stop.
    called_off: AtomicBool,
    /// Whether the end is near enough to go on for longer.
    end_is_near: AtomicBool,
    /// What the search has to begin anew with.
    lesson: AtomicU64,
    /// Whether some process writes a failure down, or has.
    failing: AtomicBool,
}

/// Which of two processes this is, after a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forked {
    Parent,
    Child,
    /// There is only one.
    Not,
}

impl WorkerPool {
    /// A team of one process, so far, and until that has made so many executions.
    pub(crate) fn gather(workers: usize, alone: u64) -> WorkerPool {
        // SAFETY: a fresh mapping of zeros, large enough and aligned, is a valid `Shared`.
        let shared = unsafe { &*processes::map_shared(size_of::<Shared>()).cast::<Shared>() };
        shared.busy.store(1, SeqCst);
        WorkerPool {
            shared,
            kinds: Mailbox::new(),
            failure: Mailbox::new(),
            workers: workers as i64,
            is_first: true,
            children: Vec::new(),
            told: 0,
            alone_until: alone,
        }
    }

    /// Executions that all processes made.
    pub(crate) fn executions(&self) -> u64 {
        self.shared.executions.load(SeqCst)
    }

    /// Tells the others how far this process has come. False if it is to stop.
    pub(crate) fn goes_on(&mut self, executions: u64, lesson: Option<Refinement>) -> bool {
        if let Some(lesson) = lesson {
            self.shared.lesson.store(lesson.to_word(), SeqCst);
            self.call_off();
            return false;
        }
        self.shared.executions.fetch_add(executions - self.told, SeqCst);
        self.told = executions;
        !self.shared.called_off.load(SeqCst)
    }

    /// Tells the others what an estimate says.
    pub(crate) fn hear(&self, prospect: Prospect) {
        match prospect {
            Prospect::Near => self.shared.end_is_near.store(true, SeqCst),
            Prospect::Unsure => {}
            Prospect::Far => self.call_off(),
        }
    }

    /// Whether the search may go on for longer.
    pub(crate) fn reaches_further(&self) -> bool {
        self.shared.end_is_near.load(SeqCst)
    }

    /// Makes everybody stop.
    pub(crate) fn call_off(&self) {
        self.shared.called_off.store(true, SeqCst);
    }

    /// Lets another process do half of what is left, if there may be one more.
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
                (self.is_first, self.told, self.alone_until) = (false, 0, BETWEEN_FORKS);
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

    /// This process has come to its end, and waits for those that it made. Only the first process returns: with what all of
    /// them found, and what the search has to begin anew with, if it has to.
    pub(crate) fn leave(
        mut self,
        report: &mut SearchReport,
        kinds: &OutcomeCounts,
        waiting: impl FnMut(u64),
    ) -> Left {
        let shared = self.shared;
        shared.executions.fetch_add(report.executions.saturating_sub(self.told), SeqCst);
        shared.blocked.fetch_add(report.blocked, SeqCst);
        shared.steps.fetch_add(report.steps, SeqCst);
        shared.switches.fetch_add(report.switches, SeqCst);
        shared.exceeded.fetch_add(report.exceeded, SeqCst);
        shared.unsure.fetch_or(report.unsure, SeqCst);
        shared.left_out.fetch_or(report.left_out.bits(), SeqCst);
        shared.incomplete.fetch_or(!report.complete, SeqCst);
        if let Some(found) = &report.failure
            && !shared.failing.swap(true, SeqCst)
        {
            self.failure.append(1, &found.schedule);
        }
        if report.failure.is_some() {
            self.call_off();
        }
        if !self.is_first {
            self.kinds.send(kinds);
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
        report.unsure = shared.unsure.load(SeqCst);
        report.left_out = LeftOut::from_bits(shared.left_out.load(SeqCst));
        report.complete = !shared.incomplete.load(SeqCst);
        let lesson = Refinement::from_word(shared.lesson.load(SeqCst));
        let failed = self.failure.open().pop();
        // SAFETY: mapped by `gather`; the other processes have ended.
        unsafe {
            processes::unmap_shared(std::ptr::from_ref(shared).cast_mut().cast(), size_of::<Shared>());
        }
        match (failed, lesson) {
            (Some(RemoteOutcome { schedule, .. }), _) => Left::Failed(schedule),
            (None, Some(lesson)) => Left::MustBeginAnew(lesson),
            (None, None) => Left::Done(self.kinds.open()),
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
                // Whatever it was to do is lost, and nothing could be saved.
                self.shared.incomplete.store(true, SeqCst);
                self.shared.busy.fetch_sub(1, SeqCst);
            }
        }
    }
}

/// How a search ended in which several processes took part.
#[derive(Clone, Debug)]
pub(crate) enum Left {
    /// With what the report says, and these executions of others.
    Done(Vec<RemoteOutcome>),
    /// With a failing execution, which this makes again.
    Failed(Schedule),
    /// Too early: more has to be known.
    MustBeginAnew(Refinement),
}
