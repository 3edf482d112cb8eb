//! The stress harness: executions a second of wall-clock time, beside a bare loop.

use crate::cell::{Bench, Side, Values, command};
use crate::table::{Table, none, verdict};

/// Millions of executions a second of two threads with two accesses each: what jcstress has for a collection.
const GOAL: f64 = 4.0;

pub(crate) fn print(bench: &Bench) {
    let title =
        format!("stress: executions a second of two real threads (goal: {GOAL} million for the pair)");
    let columns = [("program", 0), ("million/s", 9), ("of the bare loop", 16), ("", 6)];
    let table = Table::new(&title, &columns);
    let plain = ["bare loop", "pair", "pair without delays", "queue"];
    let mut commands: Vec<_> =
        plain.iter().map(|program| command(Side::Plain, &["stress", program], bench.seconds)).collect();
    commands.push(command(Side::Engine, &["stress"], bench.seconds));
    let rate = |values: &Values| values.get("rate");
    let rates: Vec<Option<f64>> =
        bench.medians(&commands, rate).iter().map(|values| Some(rate(values.as_ref()?)? / 1e6)).collect();
    let names = plain.into_iter().chain(["the queue as a declarative test"]);
    for (name, &rate) in names.zip(&rates) {
        let share =
            rate.zip(rates[0]).map_or_else(none, |(rate, bare)| format!("{:.0} %", 100.0 * rate / bare));
        let judged = if name == "pair" { verdict(rate.map(|rate| rate >= GOAL)) } else { String::new() };
        table.row(&[name.to_owned(), rate.map_or_else(none, |rate| format!("{rate:.2}")), share, judged]);
    }
}
