//! The run of an exploration where nothing can be explored: once.

use std::collections::BTreeMap;
use std::time::Instant;

use raddle_report::Failure;

use crate::Explorer;
use crate::report::Report;
use crate::search::reach::Reach;
use crate::unsupported;

impl Explorer {
    /// Runs the closure once, because nothing can be explored here.
    ///
    /// # Errors
    /// None.
    ///
    /// # Panics
    /// If the closure does, or if the exploration must not be missing ([`explored`](Explorer::explored)).
    pub fn try_run<T: Ord + Clone>(self, body: impl Fn() -> T) -> Result<Report<T>, Box<Failure>> {
        unsupported::tell(&self.options);
        let begin = Instant::now();
        let outcome = body();
        Ok(Report {
            executions: 1,
            recognised: 0,
            blocked: 0,
            exceeded: 0,
            complete: false,
            exhausted: false,
            left_out: vec!["every other execution: exploring needs Linux on x86-64"],
            estimate: None,
            outcomes: BTreeMap::from([(outcome, 1)]),
            events: 0,
            switches: 0,
            elapsed: begin.elapsed(),
            seed: self.options.seed,
            searches: Vec::new(),
            reach: Reach::default(),
            suppressed: self.options.suppressed,
        })
    }
}
