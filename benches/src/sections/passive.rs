//! What instrumentation costs a test that explores nothing.

use crate::cell::{Bench, Side, command};
use crate::table::{Table, ns, verdict};

const TESTS: [&str; 10] = [
    "sort",
    "matrix",
    "vectors",
    "hash map",
    "strings",
    "allocation",
    "atomics",
    "mutex",
    "channel",
    "threads",
];

const GOAL: f64 = 2.0;

pub(crate) fn print(bench: &Bench) {
    let title = format!("a test that explores nothing, plain and instrumented (goal: under {GOAL} times)");
    let columns = [("test", 0), ("plain ns", 10), ("instrumented ns", 15), ("ratio", 6), ("", 6)];
    let table = Table::new(&title, &columns);
    for test in TESTS {
        let commands = [Side::Plain, Side::Engine].map(|side| command(side, &["test", test], bench.seconds));
        let [plain, instrumented] = bench.nanoseconds(&commands)[..] else { continue };
        let ratio = || Some(instrumented? / plain?);
        table.row(&[
            test.to_owned(),
            ns(plain),
            ns(instrumented),
            ratio().map_or_else(crate::table::none, |ratio| format!("{ratio:.2}")),
            verdict(ratio().map(|ratio| ratio < GOAL)),
        ]);
    }
}
