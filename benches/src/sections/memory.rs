//! Peak memory after ten thousand executions, and after a million.

use crate::cell::{Bench, Side, command};
use crate::table::{Table, mib, verdict};

/// The last one has the most orders of events that are recorded, up to a limit.
const SEARCHES: [(&str, &str); 5] = [
    ("racy 2x1", "random"),
    ("racy 2x1", "pct:3"),
    ("racy 2x1", "pos"),
    ("msqueue 2x2", "bounded"),
    ("treiber 3x1", "random"),
];

/// How much more may pass for none, in KiB.
const NOISE: f64 = 1024.0;

pub(crate) fn print(bench: &Bench) {
    let columns = [("program", 0), ("strategy", 0), ("10,000", 10), ("1,000,000", 10), ("", 6)];
    let table = Table::new("peak RSS after so many executions (goal: flat)", &columns);
    for (program, strategy) in SEARCHES {
        let rss = |executions: u64| {
            let (side, args) = command(Side::Engine, &["memory", program, strategy], executions);
            bench.run(side, &args)?.get("rss")
        };
        let (few, many) = (rss(10_000), rss(1_000_000));
        let growth = || Some(many? - few?);
        table.row(&[
            program.to_owned(),
            strategy.to_owned(),
            mib(few),
            mib(many),
            verdict(growth().map(|growth| growth <= NOISE)),
        ]);
    }
}
