//! The coverage of an exploration, as reports have it and as `cargo raddle test --coverage` lists it.

use std::panic::Location;

use raddle_engine::{SearchReport, coverage};
use raddle_reflect::Program;
use serde_json::{Value, json};

use super::progress::write_line;
use super::reach::Reach;
use crate::options::is_on;

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
