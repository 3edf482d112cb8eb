//! What people see of a run: the lines that the standard harness prints, binary after binary.
//!
//! Tests of several binaries run at once, but a binary's lines appear together: what finishes before its binary's turn
//! is kept until then.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::progress::Progress;
use super::{Finished, Job, Settings, Suite, Verdict};
use crate::binary::TestBinary;
use crate::terminal::{Style, Terminal};

/// The sums over all binaries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
    pub(crate) filtered_out: usize,
}

/// Prints results in order.
pub(crate) struct Printer<'a> {
    suites: &'a [Suite],
    settings: &'a Settings,
    terminal: &'a Terminal,
    progress: &'a Progress,
    /// The suite whose lines are being printed.
    current: usize,
    /// Invariant: of suites after the current one nothing has been printed.
    waiting: Vec<(Job, Finished)>,
    section: Option<Section>,
    totals: Totals,
    sections: usize,
    rerun: Vec<String>,
}

/// The suite that is being printed.
#[derive(Default)]
struct Section {
    totals: Totals,
    /// From the start of its first test to the end of its last.
    time: Option<Range<Instant>>,
    failures: Vec<(usize, Finished)>,
    successes: Vec<(usize, Finished)>,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(
        suites: &'a [Suite],
        settings: &'a Settings,
        terminal: &'a Terminal,
        progress: &'a Progress,
    ) -> Printer<'a> {
        let totals =
            Totals { filtered_out: suites.iter().map(|suite| suite.filtered_out).sum(), ..Totals::default() };
        let mut printer = Printer {
            suites,
            settings,
            terminal,
            progress,
            current: 0,
            waiting: Vec::new(),
            section: None,
            totals,
            sections: 0,
            rerun: Vec::new(),
        };
        printer.advance();
        printer
    }

    /// Takes in a result.
    pub(crate) fn add(&mut self, job: Job, finished: Finished) {
        self.waiting.push((job, finished));
        self.print_ready();
    }

    /// Prints what is left when no more results come.
    pub(crate) fn finish(mut self, time: Duration) -> Totals {
        self.print_ready();
        if self.section.as_ref().is_some_and(|section| section.count() > 0) {
            self.close();
            self.current += 1;
        }
        let left = &self.suites[self.current.min(self.suites.len())..];
        let left = left.iter().filter(|suite| !suite.tests.is_empty()).count();
        if left > 0 && self.totals.failed > 0 && !self.settings.no_fail_fast {
            let binaries = if left == 1 { "test binary was" } else { "test binaries were" };
            let text = format!("{left} {binaries} not run after this failure: --no-fail-fast runs all");
            self.progress.suspend(|| eprintln!("{}", self.terminal.status("Skipping", &text)));
        }
        if self.sections > 1 {
            self.print(&format!("{}\n", self.result_line(&self.totals, time)));
        }
        if self.settings.hint && !self.rerun.is_empty() {
            let error = self.terminal.paint(Style::Error, "error");
            let verb = if self.settings.no_fail_fast { "tests failed" } else { "test failed" };
            eprintln!("{error}: {verb}, to rerun pass `{}`", self.rerun.join("` or `"));
        }
        self.totals
    }

    fn print_ready(&mut self) {
        while let Some(index) = self.waiting.iter().position(|(job, _)| job.suite == self.current) {
            let (job, finished) = self.waiting.remove(index);
            if self.section.is_none() {
                self.open();
            }
            self.print_result(job, finished);
            let complete = self.suites[self.current].tests.len();
            if self.section.as_ref().is_some_and(|section| section.count() == complete) {
                self.close();
                self.current += 1;
                self.advance();
            }
        }
    }

    /// Goes to the next suite that has tests. Prints its heading, unless a failure may have kept it from being started: then its
    /// first result brings the heading.
    fn advance(&mut self) {
        while self.suites.get(self.current).is_some_and(|suite| suite.tests.is_empty()) {
            self.current += 1;
        }
        if self.totals.failed == 0 || self.settings.no_fail_fast {
            self.open();
        }
    }

    /// Prints the heading of the current suite.
    fn open(&mut self) {
        let Some(suite) = self.suites.get(self.current) else { return };
        self.section = Some(Section::default());
        self.sections += 1;
        if self.settings.quiet {
            return;
        }
        let status = self.terminal.status("Running", &heading(&suite.binary));
        self.progress.suspend(|| eprintln!("{status}"));
        if !suite.binary.own_main {
            let count = suite.tests.len();
            self.print(&format!("\nrunning {count} {}\n", if count == 1 { "test" } else { "tests" }));
        }
    }

    fn print_result(&mut self, job: Job, finished: Finished) {
        let suite = &self.suites[job.suite];
        let name = &suite.tests[job.test].name;
        let (word, style) = match &finished.verdict {
            Verdict::Passed => ("ok", Style::Good),
            Verdict::Failed(_) => ("FAILED", Style::Bad),
            Verdict::Ignored => ("ignored", Style::Warn),
        };
        if suite.binary.own_main {
            self.print(&finished.output);
        }
        let noted = match &finished.verdict {
            Verdict::Failed(Some(note)) => format!(" ({note})"),
            Verdict::Passed => self.terminal.paint(Style::Dim, &explored(&finished.explored)),
            _ => String::new(),
        };
        let shown = matches!(finished.verdict, Verdict::Failed(_)) || !self.settings.quiet;
        if shown && !(suite.binary.own_main && finished.verdict == Verdict::Passed) {
            let word = self.terminal.paint(style, word);
            self.print(&format!("test {name} ... {word}{noted}\n"));
        }
        let Some(section) = &mut self.section else { return };
        let Range { start, end } = finished.time;
        let time = section.time.get_or_insert(start..end);
        *time = time.start.min(start)..time.end.max(end);
        match finished.verdict {
            Verdict::Passed => {
                section.totals.passed += 1;
                if self.settings.show_output && !finished.output.is_empty() {
                    section.successes.push((job.test, finished));
                }
            }
            Verdict::Failed(_) => {
                section.totals.failed += 1;
                section.failures.push((job.test, finished));
            }
            Verdict::Ignored => section.totals.ignored += 1,
        }
    }

    /// Prints failures and the result of the current suite.
    fn close(&mut self) {
        let Some(mut section) = self.section.take() else { return };
        let suite = &self.suites[self.current];
        section.totals.filtered_out = suite.filtered_out;
        let mut text = String::new();
        if !suite.binary.own_main {
            let name = |test: usize| &*suite.tests[test].name;
            describe(&mut text, "successes", &mut section.successes, name);
            describe(&mut text, "failures", &mut section.failures, name);
        }
        if section.totals.failed > 0 {
            self.rerun.push(format!("-p {} {}", suite.binary.package, suite.binary.selector()));
        }
        if !suite.binary.own_main {
            let time = section.time.map_or(Duration::ZERO, |time| time.end - time.start);
            text.push_str(&format!("\n{}\n\n", self.result_line(&section.totals, time)));
        }
        self.print(&text);
        self.totals.passed += section.totals.passed;
        self.totals.failed += section.totals.failed;
        self.totals.ignored += section.totals.ignored;
    }

    fn result_line(&self, totals: &Totals, time: Duration) -> String {
        let verdict = match totals.failed {
            0 => self.terminal.paint(Style::Good, "ok"),
            _ => self.terminal.paint(Style::Bad, "FAILED"),
        };
        let Totals { passed, failed, ignored, filtered_out } = totals;
        format!(
            "test result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; \
             {filtered_out} filtered out; finished in {:.2}s",
            time.as_secs_f64()
        )
    }

    fn print(&self, text: &str) {
        self.progress.suspend(|| print!("{text}"));
    }
}

impl Section {
    fn count(&self) -> usize {
        self.totals.passed + self.totals.failed + self.totals.ignored
    }
}

/// What the explorations of a test that passed have done, behind the verdict. A test that explores nothing has nothing there.
fn explored(explored: &[String]) -> String {
    match explored {
        [] => String::new(),
        [explored] => format!(" ({explored})"),
        [first, _] => format!(" ({first}; and another exploration)"),
        [first, others @ ..] => format!(" ({first}; and {} other explorations)", others.len()),
    }
}

fn heading(binary: &TestBinary) -> String {
    let unit = if matches!(&*binary.kind, "lib" | "bin") { "unittests " } else { "" };
    let executable = std::env::current_dir()
        .ok()
        .and_then(|here| binary.executable.strip_prefix(here).ok())
        .unwrap_or(&binary.executable);
    format!("{unit}{} ({})", binary.source, executable.display())
}

/// The outputs of some tests, then their names.
fn describe<'a>(
    text: &mut String,
    title: &str,
    tests: &mut [(usize, Finished)],
    name: impl Fn(usize) -> &'a str,
) {
    if tests.is_empty() {
        return;
    }
    tests.sort_by_key(|(test, _)| *test);
    text.push_str(&format!("\n{title}:\n\n"));
    for (test, finished) in tests.iter() {
        text.push_str(&format!("---- {} stdout ----\n{}", name(*test), finished.output));
        if !finished.output.is_empty() && !finished.output.ends_with('\n') {
            text.push('\n');
        }
        if let Verdict::Failed(Some(note)) = &finished.verdict {
            text.push_str(&format!("{note}\n"));
        }
        text.push('\n');
    }
    text.push_str(&format!("\n{title}:\n"));
    for (test, _) in tests.iter() {
        text.push_str(&format!("    {}\n", name(*test)));
    }
}
