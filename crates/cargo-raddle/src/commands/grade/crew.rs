//! Workers that grade submissions, several at once, and a bar that shows how far they are.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::thread;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use raddle_grade::gradebook::Grade;
use raddle_grade::grader::Grader;
use raddle_grade::submission::Submission;

use crate::error::{Error, Result};
use crate::terminal::Terminal;

/// The workers.
pub(super) struct Crew<'a> {
    pub(super) grader: &'a Grader,
    pub(super) terminal: &'a Terminal,
    pub(super) jobs: u32,
    pub(super) quiet: bool,
}

/// What they did.
pub(super) struct Graded {
    /// In the order of the submissions.
    pub(super) grades: Vec<Grade>,
    /// How many were graded before.
    pub(super) unchanged: usize,
    pub(super) interrupted: bool,
}

impl Crew<'_> {
    /// Grades all submissions, or as many as there is time for.
    pub(super) fn grade(&self, submissions: &[Submission]) -> Result<Graded> {
        let bar = self.bar(submissions.len());
        let queue = Mutex::new(submissions.iter());
        let done = Mutex::new(Graded { grades: Vec::new(), unchanged: 0, interrupted: false });
        let workers = self.jobs.min(u32::try_from(submissions.len()).unwrap_or(u32::MAX));
        let result: Result<()> = thread::scope(|scope| {
            let (queue, done, bar) = (&queue, &done, &bar);
            let workers: Vec<_> =
                (0..workers).map(|worker| scope.spawn(move || self.work(worker, queue, done, bar))).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        });
        bar.finish_and_clear();
        result?;
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.interrupted = self.grader.stop.load(Ordering::Relaxed);
        done.grades.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(done)
    }

    fn work<'s>(
        &self,
        worker: u32,
        queue: &Mutex<impl Iterator<Item = &'s Submission>>,
        done: &Mutex<Graded>,
        bar: &ProgressBar,
    ) -> Result<()> {
        loop {
            if self.grader.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(submission) = next else { return Ok(()) };
            bar.set_message(submission.name.clone());
            let known = self.grader.known(submission);
            let unchanged = known.is_some();
            let grade = match known {
                Some(grade) => grade,
                None => {
                    let graded = self.grader.grade(submission, worker);
                    let Some(grade) = graded.map_err(Error::file("keep the result of", &submission.path))?
                    else {
                        return Ok(());
                    };
                    grade
                }
            };
            if !self.quiet && !unchanged {
                bar.suspend(|| println!("{}", line(&grade)));
            }
            bar.inc(1);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.unchanged += usize::from(unchanged);
            done.grades.push(grade);
        }
    }

    fn bar(&self, count: usize) -> ProgressBar {
        if !self.terminal.progress {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::stderr_with_hz(8));
        let template = "{bar:30} {pos} of {len} submissions, {eta} to go: {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }
}

/// A submission and what it reached: `anna  7 of 10  deadlock, data-race`.
fn line(grade: &Grade) -> String {
    let mut kinds: Vec<String> = grade.tests.iter().filter_map(|test| test.kind()).collect();
    kinds.sort();
    kinds.dedup();
    let why = match grade.status.word() {
        Some(word) => word.to_owned(),
        None => kinds.join(", "),
    };
    format!("{:30} {:>5} of {:<5} {why}", grade.name, grade.points(), grade.max_points())
        .trim_end()
        .to_owned()
}
