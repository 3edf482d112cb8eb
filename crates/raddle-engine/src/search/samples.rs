//! Samples in several processes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use super::{Search, SearchReport};
use crate::engine::Judge;
use crate::outcome::Outcome;
use crate::outcomes::Mailbox;
use crate::sys;

impl Search<'_> {
    /// Spreads the executions that are left over worker processes, in chunks, and takes the failing one with the lowest number:
    /// the same that a single process would have found.
    pub(super) fn run_workers(
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
            // SAFETY: this OS thread is the only one that matters to the child: lenders lend memory, not time.
            match unsafe { libc::fork() } {
                0 => {
                    if let Some(handlers) = &mut self.handlers {
                        handlers.start_watchdog();
                    }
                    self.work(body, judge, begin, made, shared);
                    // SAFETY: the engine lives as long as `self`.
                    mail.send(unsafe { &(*self.engine).kinds });
                    // SAFETY: leaves without running anything of the parent's.
                    unsafe { sys::raw_syscall(libc::SYS_exit_group, [0; 6]) };
                }
                child if child > 0 => workers.push(child),
                _ => break,
            }
        }
        self.wait_for(&workers, shared);
        report.steps += shared.steps.load(SeqCst);
        report.switches += shared.switches.load(SeqCst);
        let failed = shared.failed.load(SeqCst);
        if failed == u64::MAX {
            report.executions += shared.executions.load(SeqCst);
            report.failure = self.hear(mail.open(), body, judge);
        } else {
            report.executions = failed + 1;
            // SAFETY: the engine lives as long as `self`.
            unsafe {
                (*self.engine).strategy.begin(failed);
                (*self.engine).number(failed);
            }
            let outcome = self.execute(body, judge);
            report.failure = self.failure(outcome, failed, body, judge).or_else(|| {
                let choice = self.found(Outcome::Passed, failed).schedule.threads.len();
                // It did not in the process that found it.
                Some(self.found(Outcome::Diverged { choice }, failed))
            });
        }
        // SAFETY: mapped above, not used any more.
        unsafe { libc::munmap(std::ptr::from_ref(shared).cast_mut().cast(), sys::PAGE) };
    }

    fn wait_for(&mut self, workers: &[i32], shared: &Shared) {
        let mut left = workers.to_vec();
        let mut polls = 0u64;
        while !left.is_empty() {
            left.retain(|&child| {
                let mut status = 0;
                // SAFETY: a child of ours.
                let ended = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
                if ended == child && libc::WIFSIGNALED(status) {
                    // Nothing could be saved in that process; its execution is made again here, to the same end.
                    shared.failed.fetch_min(shared.last_begun.load(SeqCst), SeqCst);
                }
                ended == 0
            });
            std::thread::sleep(Duration::from_micros(if polls < 100 { 50 } else { 1000 }));
            polls += 1;
            if polls.is_multiple_of(250) {
                let executions = shared.executions.load(SeqCst);
                let depth = shared.depth.load(SeqCst) as usize;
                self.tell_progress(executions, depth);
            }
        }
    }

    /// The executions from number `made` on, as far as they are left to this process.
    fn work(
        &mut self,
        body: &mut dyn FnMut(),
        judge: &mut Judge<'_>,
        begin: Instant,
        made: u64,
        shared: &Shared,
    ) {
        const CHUNK: u64 = 64;
        // SAFETY: the engine lives as long as `self`.
        unsafe { (*self.engine).kinds.forget_counts() };
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
                    (*self.engine).strategy.begin(execution);
                    (*self.engine).number(execution);
                }
                let outcome = self.execute(body, judge);
                // SAFETY: as above.
                let engine = unsafe { &mut *self.engine };
                engine.strategy.end(engine.schedule.len());
                shared.executions.fetch_add(1, SeqCst);
                shared.steps.fetch_add(engine.steps, SeqCst);
                shared.switches.fetch_add(engine.switches, SeqCst);
                shared.depth.store(engine.schedule.len() as u64, SeqCst);
                if self.failure(outcome, execution, body, judge).is_some() {
                    shared.failed.fetch_min(execution, SeqCst);
                    return;
                }
                self.count_kind();
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

/// What worker processes share.
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
        unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                sys::PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert!(memory != libc::MAP_FAILED, "raddle: no memory to share with worker processes");
            let shared = &*memory.cast::<Shared>();
            shared.failed.store(u64::MAX, SeqCst);
            shared
        }
    }
}
