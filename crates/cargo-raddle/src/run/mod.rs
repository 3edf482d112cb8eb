//! Running tests, each in a process of its own, several at once.
//!
//! Workers take tests from one queue over all binaries and send what came of them to the thread that prints. The
//! printer alone decides in which order things appear.

mod child;
mod contract;
mod interrupt;
mod printer;
mod progress;
mod single;
mod watchdog;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

pub(crate) use self::child::prepare;
pub(crate) use self::contract::Contract;
use self::printer::Printer;
pub(crate) use self::printer::Totals;
use self::progress::Progress;
use self::single::run_one;
pub(crate) use self::single::{command_of, describe_status, run_quietly};
use crate::binary::TestBinary;
use crate::libtest::{ListedTest, Selected};
use crate::page::Roots;
use crate::terminal::Terminal;

/// A binary and those of its tests that were selected.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) binary: TestBinary,
    pub(crate) tests: Vec<ListedTest>,
    pub(crate) filtered_out: usize,
}

impl Suite {
    /// A suite of the standard harness's tests, or of the one "test" that a binary with its own `main` is.
    pub(crate) fn new(binary: TestBinary, selected: Selected) -> Suite {
        Suite { binary, tests: selected.tests, filtered_out: selected.filtered_out }
    }
}

/// How tests are run.
#[derive(Debug)]
pub(crate) struct Settings {
    /// How many at once.
    pub(crate) threads: usize,
    /// Their output goes straight to ours.
    pub(crate) nocapture: bool,
    /// Output of tests that passed is shown, too.
    pub(crate) show_output: bool,
    /// Go on with the next binary after a failure.
    pub(crate) no_fail_fast: bool,
    /// Only failures and results are printed.
    pub(crate) quiet: bool,
    /// How to run failed tests again is printed.
    pub(crate) hint: bool,
    /// Where the source code is that pages of failures show.
    pub(crate) roots: Roots,
    /// What a binary with its own `main` gets as arguments.
    pub(crate) own_main_args: Vec<String>,
}

/// What came of a test.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) verdict: Verdict,
    /// Its output, without the harness's lines.
    pub(crate) output: String,
    /// The pages of its failures.
    pub(crate) pages: Vec<PathBuf>,
    /// What its explorations without failure have done, in words.
    pub(crate) explored: Vec<String>,
    /// The code that they reached, as JSON, if that was asked for.
    pub(crate) coverage: Vec<String>,
    /// From when to when it ran.
    pub(crate) time: Range<Instant>,
}

/// The verdict on a test.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Passed,
    /// With what there is to say beyond the output: the signal that ended it, an unusual exit code.
    Failed(Option<String>),
    Ignored,
}

/// The result of one test: the numbers of its suite and of itself within the suite.
#[derive(Debug)]
pub(crate) struct TestResult {
    pub(crate) suite: usize,
    pub(crate) test: usize,
    pub(crate) finished: Finished,
}

/// Runs everything and prints it. The results are in the order of the suites.
pub(crate) fn run(
    suites: &[Suite],
    settings: &Settings,
    contract: &Contract,
    terminal: &Terminal,
) -> (Totals, Vec<TestResult>) {
    let progress = Progress::new(terminal.progress && !settings.nocapture);
    let queue = Mutex::new(Queue::new(suites, settings.no_fail_fast));
    interrupt::catch();
    let began = Instant::now();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..settings.threads {
            let worker = Worker {
                suites,
                settings,
                contract,
                progress: &progress,
                queue: &queue,
                results: sender.clone(),
            };
            scope.spawn(move || worker.work());
        }
        drop(sender);
        let mut printer = Printer::new(suites, settings, terminal, &progress);
        let mut results = Vec::new();
        for (job, finished) in receiver {
            results.push(TestResult { suite: job.suite, test: job.test, finished: finished.clone() });
            printer.add(job, finished);
        }
        results.sort_by_key(|result| (result.suite, result.test));
        (printer.finish(began.elapsed()), results)
    })
}

/// Which test of which suite.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Job {
    suite: usize,
    test: usize,
}

/// The tests still to be started, suite after suite.
struct Queue {
    jobs: std::vec::IntoIter<Job>,
    /// The last suite of which a test was started. It is finished even when another one has failed.
    begun: usize,
    failed: bool,
    no_fail_fast: bool,
}

impl Queue {
    fn new(suites: &[Suite], no_fail_fast: bool) -> Queue {
        let jobs: Vec<Job> = suites
            .iter()
            .enumerate()
            .flat_map(|(suite, tests)| (0..tests.tests.len()).map(move |test| Job { suite, test }))
            .collect();
        Queue { jobs: jobs.into_iter(), begun: 0, failed: false, no_fail_fast }
    }

    fn take(&mut self) -> Option<Job> {
        let next = *self.jobs.as_slice().first()?;
        if interrupt::is_requested() {
            return None;
        }
        if self.failed && !self.no_fail_fast && next.suite > self.begun {
            return None;
        }
        self.begun = next.suite;
        self.jobs.next()
    }
}

struct Worker<'a> {
    suites: &'a [Suite],
    settings: &'a Settings,
    contract: &'a Contract,
    progress: &'a Progress,
    queue: &'a Mutex<Queue>,
    results: Sender<(Job, Finished)>,
}

impl Worker<'_> {
    fn work(&self) {
        loop {
            let job = self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(job) = job else { return };
            let suite = &self.suites[job.suite];
            let finished =
                run_one(&suite.binary, &suite.tests[job.test], self.settings, self.contract, self.progress);
            if matches!(finished.verdict, Verdict::Failed(_)) {
                self.queue.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
            }
            // The printer only goes away when this process does.
            let _ = self.results.send((job, finished));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(no_fail_fast: bool) -> Queue {
        let jobs = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)].map(|(suite, test)| Job { suite, test });
        Queue { jobs: Vec::from(jobs).into_iter(), begun: 0, failed: false, no_fail_fast }
    }

    #[test]
    fn a_failure_ends_the_run_after_the_suites_that_have_begun() {
        let mut queue = queue(false);
        for _ in 0..3 {
            queue.take().unwrap();
        }
        queue.failed = true;
        assert_eq!(queue.take(), Some(Job { suite: 1, test: 1 }));
        assert_eq!(queue.take(), None);
    }

    #[test]
    fn without_fail_fast_everything_runs() {
        let mut queue = queue(true);
        queue.failed = true;
        assert_eq!(std::iter::from_fn(|| queue.take()).count(), 5);
    }
}
