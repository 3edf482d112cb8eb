//! The code that explorations without failure reached: as an annotated listing, and as JSON.

mod calls;
mod elf;
mod tracer;
mod units;
mod unseen;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use raddle_report::file;
use serde::{Deserialize, Serialize};

use self::unseen::Unseen;
use crate::error::{Error, Result};
use crate::run::{Contract, Settings, Suite, TestResult, Verdict, command_of};
use crate::session::Session;

/// The version of the JSON.
const FORMAT: u32 = 1;

/// The coverage of all tests of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Coverage {
    format: u32,
    tests: Vec<CoveredTest>,
    /// The calls of code that is not instrumented.
    unseen: Unseen,
}

#[derive(Debug, Serialize)]
struct CoveredTest {
    /// What the test was built from: `my-crate@test:counter`.
    package: String,
    name: String,
    explorations: Vec<Covered>,
}

/// The coverage of one exploration, as the test sends it.
#[derive(Debug, Serialize, Deserialize)]
struct Covered {
    /// Where it is called: `tests/counter.rs:10`.
    exploration: String,
    executions: u64,
    events: u64,
    /// Whether every execution was made.
    complete: bool,
    threads: u32,
    /// The pairs of sites at which two threads accessed the same memory, one directly after the other.
    pairs: u64,
    sites: Vec<Site>,
}

/// An atomic access or a lock in the code.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Site {
    file: Option<String>,
    line: Option<u32>,
    function: Option<String>,
    lock: bool,
    /// Whether several threads reached it.
    shared: bool,
    /// Whether memory that it accesses is accessed by several threads.
    contended: bool,
}

/// What is known of a line of code: the least of its sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// One thread reached it.
    Alone,
    /// Several threads reached it, each with memory of its own.
    Apart,
    Contended,
}

impl Mark {
    fn text(self) -> &'static str {
        match self {
            Mark::Alone => "one thread",
            Mark::Apart => "not contended",
            Mark::Contended => "contended",
        }
    }
}

impl Coverage {
    /// The coverage that tests have sent. What cannot be read is of a test that uses another version of Raddle, and left out.
    pub(crate) fn of(suites: &[Suite], results: &[TestResult]) -> Coverage {
        let tests = results.iter().map(|result| {
            let suite = &suites[result.suite];
            let sent = result.finished.coverage.iter();
            CoveredTest {
                package: suite.binary.id(),
                name: suite.tests[result.test].name.clone(),
                explorations: sent.filter_map(|json| serde_json::from_str(json).ok()).collect(),
            }
        });
        let tests = tests.filter(|test| !test.explorations.is_empty()).collect();
        Coverage { format: FORMAT, tests, unseen: Unseen::default() }
    }

    /// Runs the tests that explored and passed once more, to see which code that is not instrumented they call.
    pub(crate) fn trace(
        &mut self,
        session: &Session,
        suites: &[Suite],
        results: &[TestResult],
        settings: &Settings,
        contract: &Contract,
    ) -> Result<()> {
        for (number, suite) in suites.iter().enumerate() {
            let explored = results.iter().filter(|result| {
                let finished = &result.finished;
                result.suite == number && finished.verdict == Verdict::Passed && !finished.coverage.is_empty()
            });
            let tests: Vec<_> = explored
                .map(|result| command_of(&suite.binary, &suite.tests[result.test], settings, contract))
                .collect();
            if !tests.is_empty() {
                self.unseen.add(session, &suite.binary.executable, tests)?;
            }
        }
        Ok(())
    }

    /// Writes the JSON.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self).map_err(Error::usage)?;
        file::replace(path, json).map_err(Error::file("write", path))
    }

    /// The listing: each line of code with an atomic access or a lock that was reached, and how threads met there.
    ///
    /// Files are looked for in `roots`: those of the workspace are relative to its root, those of other packages begin with the directory of
    /// the package, `once_cell-1.21.4/src/race.rs`.
    pub(crate) fn text(&self, roots: &[PathBuf]) -> String {
        let mut text = String::from("\ncoverage\n");
        let explorations: Vec<&Covered> = self.tests.iter().flat_map(|test| &test.explorations).collect();
        if explorations.is_empty() {
            text.push_str("  no exploration ended without a failure\n");
            return text;
        }
        let executions: u64 = explorations.iter().map(|covered| covered.executions).sum();
        let events: u64 = explorations.iter().map(|covered| covered.events).sum();
        let complete = explorations.iter().filter(|covered| covered.complete).count();
        let _ = writeln!(
            text,
            "  explorations: {}, of which {complete} made every execution; {executions} executions, {events} events",
            explorations.len()
        );
        let lines = lines(&explorations);
        let count = |mark| lines.values().flat_map(BTreeMap::values).filter(|&&of| of == mark).count();
        let _ = writeln!(
            text,
            "  lines with an atomic access or a lock: {} contended, {} reached by one thread only, {} by several that do not share memory",
            count(Mark::Contended),
            count(Mark::Alone),
            count(Mark::Apart)
        );
        for (file, marks) in &lines {
            let _ = writeln!(text, "\n  {file}");
            let source = roots.iter().find_map(|root| fs::read_to_string(root.join(file)).ok());
            let source = source.unwrap_or_default();
            for (&line, mark) in marks {
                let code = source.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().trim();
                let listed = format!("  {:>13}  {line:>5}  {code}", mark.text());
                let _ = writeln!(text, "{}", listed.trim_end());
            }
        }
        text + &self.unseen.text()
    }
}

/// The lines of code with sites, by file.
fn lines(explorations: &[&Covered]) -> BTreeMap<String, BTreeMap<u32, Mark>> {
    let mut lines: BTreeMap<String, BTreeMap<u32, Mark>> = BTreeMap::new();
    for site in explorations.iter().flat_map(|covered| &covered.sites) {
        let (Some(file), Some(line)) = (&site.file, site.line) else { continue };
        let mark = match (site.contended, site.shared) {
            (true, _) => Mark::Contended,
            (false, true) => Mark::Apart,
            (false, false) => Mark::Alone,
        };
        let known = lines.entry(file.clone()).or_default().entry(line).or_insert(mark);
        *known = mark.max(*known);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(sites: &[(&str, u32, bool, bool)]) -> Covered {
        let site = |&(file, line, shared, contended): &(&str, u32, bool, bool)| Site {
            file: Some(file.to_owned()),
            line: Some(line),
            function: None,
            lock: false,
            shared,
            contended,
        };
        Covered {
            exploration: "tests/x.rs:3".to_owned(),
            executions: 5,
            events: 20,
            complete: true,
            threads: 2,
            pairs: 1,
            sites: sites.iter().map(site).collect(),
        }
    }

    #[test]
    fn a_line_that_is_contended_in_one_exploration_is_contended() {
        let first = covered(&[("src/lib.rs", 8, false, false), ("src/lib.rs", 9, true, false)]);
        let second = covered(&[("src/lib.rs", 8, true, true)]);
        let lines = lines(&[&first, &second]);
        let expected = BTreeMap::from([(8, Mark::Contended), (9, Mark::Apart)]);
        assert_eq!(lines["src/lib.rs"], expected);
    }

    #[test]
    fn a_run_without_explorations_says_so() {
        let coverage = Coverage { format: FORMAT, tests: Vec::new(), unseen: Unseen::default() };
        assert!(coverage.text(&[]).contains("no exploration"));
    }

    #[test]
    fn lines_of_other_packages_are_shown_too() {
        let registry = tempfile::tempdir().unwrap();
        fs::create_dir_all(registry.path().join("cell-1.2.3/src")).unwrap();
        fs::write(registry.path().join("cell-1.2.3/src/lib.rs"), "// one\n    self.0.load(Acquire)\n")
            .unwrap();
        let sites = [("cell-1.2.3/src/lib.rs", 2, true, true), ("gone-1.0.0/src/lib.rs", 7, true, true)];
        let tests = vec![CoveredTest {
            package: "p".to_owned(),
            name: "t".to_owned(),
            explorations: vec![covered(&sites)],
        }];
        let coverage = Coverage { format: FORMAT, tests, unseen: Unseen::default() };
        let text = coverage.text(&["/nowhere".into(), registry.path().to_owned()]);
        assert!(text.contains("      contended      2  self.0.load(Acquire)\n"), "{text}");
        assert!(text.contains("      contended      7\n"), "{text}");
    }
}
