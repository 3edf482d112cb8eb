//! Declarative tests: how soon broken objects are found, and what verification costs.

use crate::cell::{Bench, Side, Values, command};
use crate::table::{Table, count, mib, none, ns, verdict};

const BROKEN: [&str; 10] = [
    "counter",
    "spsc queue",
    "michael-scott queue",
    "treiber stack",
    "treiber stack, ABA",
    "harris list",
    "bounded buffer",
    "rendezvous channel",
    "semaphore",
    "k-queue",
];

const GOAL_SHARE: f64 = 10.0;

/// Executions per second that a measurement of one is made for.
const RATE: f64 = 200_000.0;

/// How much more memory may pass for none, in KiB.
const NOISE: f64 = 1024.0;

/// The broken objects of `examples/`.
pub(crate) fn print_failures(bench: &Bench) {
    let columns = [("broken example", 0), ("found, ms", 10), ("operations", 10)];
    let more = [("made small, ms", 14), ("operations", 10)];
    let title = "declarative tests: CPU time to the first failure, with its trace, and until it is small";
    let table = Table::new(title, &[&columns[..], &more[..]].concat());
    for example in BROKEN {
        let commands = ["found", "small"].map(|how| command(Side::Engine, &["failure", example], how));
        let medians = bench.medians(&commands, |values| values.get("cpu"));
        let milliseconds = |values: &Option<Values>| {
            let cpu = values.as_ref().and_then(|values| values.get("cpu"));
            cpu.map_or_else(none, |cpu| format!("{:.0}", cpu * 1e3))
        };
        let operations = |values: &Option<Values>| {
            let operations = values.as_ref().and_then(|values| values.get("operations"));
            operations.map_or_else(none, |operations| operations.to_string())
        };
        let [found, small] = &medians[..] else { continue };
        table.row(&[
            example.to_owned(),
            milliseconds(found),
            operations(found),
            milliseconds(small),
            operations(small),
        ]);
    }
}

/// The same calls without a scenario, without a verdict, and with one.
pub(crate) fn print_verification(bench: &Bench) {
    let title = format!(
        "two threads with three operations each on a queue (goal: the verdict takes under {GOAL_SHARE} % of the time)"
    );
    let columns = [("", 0), ("executions/s", 12), ("ns/exec.", 9), ("verdict", 7), ("", 6)];
    let table = Table::new(&title, &columns);
    let executions = (RATE * bench.seconds) as u64;
    let kinds = [("bare", "explored"), ("recorded", "no verdict"), ("verified", "verified")];
    let commands = kinds.map(|(how, _)| command(Side::Engine, &["verification", how], executions));
    let medians = bench.medians(&commands, |values| values.rate("executions"));
    let rate = |index: usize| medians[index].as_ref()?.rate("executions");
    let share = || Some(100.0 * (1.0 - rate(2)? / rate(1)?));
    for (index, (_, name)) in kinds.iter().enumerate() {
        let mut cells = vec![(*name).to_owned(), count(rate(index)), ns(rate(index).map(|rate| 1e9 / rate))];
        if *name == "verified" {
            cells.push(share().map_or_else(none, |share| format!("{share:.0} %")));
            cells.push(verdict(share().map(|share| share < GOAL_SHARE)));
        }
        table.row(&cells);
    }
}

/// Memory must not grow with the number of executions.
pub(crate) fn print_memory(bench: &Bench) {
    let columns = [("", 0), ("10,000", 10), ("1,000,000", 10), ("", 6)];
    let table = Table::new("declarative tests: peak RSS after so many executions (goal: flat)", &columns);
    let rss = |executions: u64| {
        let (side, args) = command(Side::Engine, &["verification", "verified"], executions);
        bench.run(side, &args)?.get("rss")
    };
    let (few, many) = (rss(10_000), rss(1_000_000));
    let growth = || Some(many? - few?);
    let flat = verdict(growth().map(|growth| growth <= NOISE));
    table.row(&["queue, 2 x 3".to_owned(), mib(few), mib(many), flat]);
}
