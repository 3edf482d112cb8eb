//! The reach of an exploration: its threads, the sites in the code that it reached, and how threads met there.

use std::fmt::{self, Display, Formatter};
use std::panic::Location;

use raddle_engine::{SearchReport, coverage};
use raddle_reflect::Program;
use serde_json::{Value, json};

use super::progress::write_line;
use crate::options::is_on;

/// What an exploration reached of the code under test.
///
/// A *site* is a place in the code that accesses an atomic or takes a lock. A site is *contended* if some memory that it accesses is
/// accessed by several threads: only such sites can behave in one way under one schedule and in another way under another.
/// Without instrumentation no site is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reach {
    /// The largest number of threads of an execution, that of the closure among them.
    pub threads: u32,
    /// The sites that were reached.
    pub sites: usize,
    /// The sites that several threads reached.
    pub shared: usize,
    /// The sites that are contended.
    pub contended: usize,
    /// The pairs of sites at which two threads accessed the same memory, one directly after the other.
    pub pairs: u64,
}

impl Reach {
    /// What the exploration has reached so far.
    pub(crate) fn current() -> Reach {
        let coverage = coverage::current();
        let count =
            |is: fn(&coverage::CoveredSite) -> bool| coverage.sites.iter().filter(|site| is(site)).count();
        Reach {
            threads: coverage.threads,
            sites: coverage.sites.len(),
            shared: count(|site| site.is_shared),
            contended: count(|site| site.is_contended),
            pairs: coverage.pairs,
        }
    }
}

/// Sends what an exploration reached to `cargo raddle test --coverage`, which asks for it.
pub(crate) fn send_coverage(at: &Location<'_>, report: &SearchReport) {
    if !is_on("RADDLE_COVERAGE") {
        return;
    }
    let coverage = coverage::current();
    let program = Program::current().ok();
    let sites: Vec<Value> = coverage
        .sites
        .iter()
        .map(|site| {
            let frames = program.iter().flat_map(|program| program.frames(site.address as u64));
            let frame = frames.into_iter().find(|frame| !frame.internal && frame.line.is_some());
            json!({
                "file": frame.as_ref().and_then(|frame| frame.file.clone()),
                "line": frame.as_ref().and_then(|frame| frame.line),
                "function": frame.map(|frame| frame.function),
                "lock": site.is_lock,
                "shared": site.is_shared,
                "contended": site.is_contended,
            })
        })
        .collect();
    let line = json!({
        "exploration": format!("{}:{}", at.file(), at.line()),
        "executions": report.executions,
        "events": report.steps,
        "complete": report.complete,
        "threads": coverage.threads,
        "pairs": coverage.pairs,
        "sites": sites,
    });
    write_line(&format!("coverage\t{line}"));
}

/// `3 threads, 9 sites, 2 of them never contended`
impl Display for Reach {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        write!(f, "{} thread{}", self.threads, plural(self.threads as usize))?;
        match (self.sites, self.sites - self.contended) {
            (0, _) => write!(f, ", no atomic access and no lock"),
            (sites, 0) => write!(f, ", {sites} site{}", plural(sites)),
            (sites, alone) if alone == sites => write!(f, ", {sites} site{}, none contended", plural(sites)),
            (sites, alone) => write!(f, ", {sites} sites, {alone} of them never contended"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reach_in_words() {
        let text =
            |threads, sites, contended| Reach { threads, sites, contended, ..Reach::default() }.to_string();
        assert_eq!(text(1, 0, 0), "1 thread, no atomic access and no lock");
        assert_eq!(text(2, 1, 1), "2 threads, 1 site");
        assert_eq!(text(2, 3, 0), "2 threads, 3 sites, none contended");
        assert_eq!(text(3, 9, 7), "3 threads, 9 sites, 2 of them never contended");
    }
}
