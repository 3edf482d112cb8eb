//! Sampling strategies in several processes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use super::mailbox::Mailbox;
use crate::execution::Judge;
use crate::exploration::{Search, SearchReport};
use crate::outcome::Outcome;
use crate::platform::processes::{self, Ended, Fork};

impl Search<'_> {
    /// Spreads the remaining executions over worker processes, in chunks, and takes the failing one with the lowest
    /// number: the same that a single process would have found.
    pub(in crate::exploration) fn run_workers(
        &mut self,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        begin: Instant,
        report: &mut SearchReport,
    ) {
        let shared = Shared::map();
        let mail = Mailbox::new();
        let made = report.executions;
        let mut workers = Vec::new();
        for _ in 0..self.config.workers {
            match processes::fork() {
                Fork::Child => {
                    if let Some(handlers) = &mut self.handlers {
                        handlers.start_watchdog();
                    }
                    self.work(body, judge, begin, made, shared);
                    mail.send(&self.outcome_counts);
                    processes::exit();
                }
                Fork::Parent(child) => workers.push(child),
                Fork::Failed => break,
            }
        }
        self.wait_for(&workers, shared);
        report.steps += shared.steps.load(SeqCst);
        report.switches += shared.switches.load(SeqCst);
        let failed = shared.failed.load(SeqCst);
        if failed == u64::MAX {
            report.executions += shared.executions.load(SeqCst);
            report.failure = self.count_remote(mail.open(), body, judge);
        } else {
            report.executions = failed + 1;
            // SAFETY: the engine lives as long as `self`.
            unsafe {
                (*self.engine).exploration.strategy.begin(failed);
                (*self.engine).number(failed);
            }
            let outcome = self.execute(body, judge);
            report.failure = self.failure(outcome, failed, body, judge).or_else(|| {
                let choice = self.found(Outcome::Passed, failed).schedule.threads.len();
                // It failed in the process that found it.
                Some(self.found(Outcome::Diverged { choice }, failed))
            });
        }
        // SAFETY: mapped above, not used any more.
        unsafe {
            processes::unmap_shared(std::ptr::from_ref(shared).cast_mut().cast(), size_of::<Shared>());
        }
    }

    fn wait_for(&mut self, workers: &[i32], shared: &Shared) {
        let mut left = workers.to_vec();
        let mut polls = 0u64;
        while !left.is_empty() {
            left.retain(|&child| {
                let ended = processes::has_ended(child);
                if ended == Some(Ended::BySignal) {
                    // The execution of a killed process is repeated here, with the same outcome.
                    shared.failed.fetch_min(shared.last_begun.load(SeqCst), SeqCst);
                }
                ended.is_none()
            });
            std::thread::sleep(Duration::from_micros(if polls < 100 { 50 } else { 1000 }));
            polls += 1;
            if polls.is_multiple_of(250) {
                let executions = shared.executions.load(SeqCst);
                let depth = shared.depth.load(SeqCst) as usize;
                self.report_progress(executions, depth);
            }
        }
    }

    /// Makes this process's share of the executions from number `made` on.
    fn work(
        &mut self,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        begin: Instant,
        made: u64,
        shared: &Shared,
    ) {
        const CHUNK: u64 = 64;
        self.outcome_counts.forget_counts();
        loop {
            let first = made + shared.next_chunk.fetch_add(1, SeqCst) * CHUNK;
            let last = (first + CHUNK).min(self.config.executions);
            for execution in first..last {
                if execution > shared.failed.load(SeqCst) || shared.out_of_time.load(SeqCst) {
                    return;
                }
                shared.last_begun.store(execution, SeqCst);
                // SAFETY: the engine lives as long as `self`.
                unsafe {
                    (*self.engine).exploration.strategy.begin(execution);
                    (*self.engine).number(execution);
                }
                let outcome = self.execute(body, judge);
                // SAFETY: as above.
                let engine = unsafe { &mut *self.engine };
                engine.exploration.strategy.end(engine.execution.schedule.len());
                shared.executions.fetch_add(1, SeqCst);
                shared.steps.fetch_add(engine.execution.steps, SeqCst);
                shared.switches.fetch_add(engine.execution.switches, SeqCst);
                shared.depth.store(engine.execution.schedule.len() as u64, SeqCst);
                if self.failure(outcome, execution, body, judge).is_some() {
                    shared.failed.fetch_min(execution, SeqCst);
                    return;
                }
                self.count_outcome();
            }
            if last < first + CHUNK {
                return;
            }
            if self.config.budget.is_some_and(|budget| begin.elapsed() >= budget) {
                shared.out_of_time.store(true, SeqCst);
            }
        }
    }
}

/// The shared memory of worker processes.
#[derive(Default)]
struct Shared {
    next_chunk: AtomicU64,
    failed: AtomicU64,
    last_begun: AtomicU64,
    executions: AtomicU64,
    steps: AtomicU64,
    switches: AtomicU64,
    depth: AtomicU64,
    out_of_time: AtomicBool,
}

impl Shared {
    fn map() -> &'static Shared {
        // SAFETY: a fresh mapping of zeros, large enough and aligned, is a valid `Shared`.
        let shared = unsafe { &*processes::map_shared(size_of::<Shared>()).cast::<Shared>() };
        shared.failed.store(u64::MAX, SeqCst);
        shared
    }
}
