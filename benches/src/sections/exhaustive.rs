//! Exhaustive searches: as many executions as there are, and how fast.

use crate::cell::{Bench, Side, Values, command};
use crate::table::{Table, count, none, times, verdict};

/// A program: executions under SC and under RC11 as the literature has them, or as the axioms say (`suite/litmus`).
struct Known {
    program: &'static str,
    executions: [u64; 2],
    /// GenMC's executions per second of CPU time under each model.
    genmc: [Option<f64>; 2],
    /// Whether loom and shuttle can run it: they neither wait for values nor run many threads.
    on_peers: bool,
}

const MODELS: [&str; 2] = ["sc", "rc11"];

const fn classic(program: &'static str, sc: u64, rc11: u64, genmc: [Option<f64>; 2]) -> Known {
    Known { program, executions: [sc, rc11], genmc, on_peers: true }
}

const fn waiting(program: &'static str, sc: u64, rc11: u64) -> Known {
    Known { program, executions: [sc, rc11], genmc: [None; 2], on_peers: false }
}

/// GenMC's figures are those of version 0.11 with one thread on a machine like ours, time of its front end included: quoted,
/// not measured here.
const PROGRAMS: [Known; 29] = [
    classic("readers(3)", 8, 8, [None, None]),
    classic("readers(13)", 8192, 8192, [Some(31e3), Some(28e3)]),
    classic("lastzero(10)", 3328, 3328, [Some(17.6e3), Some(17.5e3)]),
    classic("lastzero(15)", 147_456, 147_456, [Some(14.0e3), Some(13.4e3)]),
    classic("indexer(15)", 4096, 4096, [Some(2.0e3), Some(1.9e3)]),
    classic("filesystem(19)", 64, 64, [Some(0.5e3), None]),
    classic("ainc(4)", 24, 24, [None, None]),
    classic("ainc(7)", 5040, 5040, [Some(29e3), Some(28e3)]),
    classic("casrot(9)", 8597, 8597, [Some(91e3), Some(86e3)]),
    classic("casw(5)", 32_880, 32_880, [Some(157e3), Some(157e3)]),
    classic("CoA(5)", 49_776, 57_600, [None, None]),
    classic("fib_bench(4)", 19_605, 34_205, [Some(119e3), Some(152e3)]),
    classic("fib_bench(5)", 218_243, 525_630, [Some(160e3), Some(181e3)]),
    classic("big0", 69_112, 82_472, [Some(222e3), Some(239e3)]),
    classic("racy 2x4", 3334, 3334, [Some(20.8e3), None]),
    classic("mutex 6x1", 720, 720, [None, None]),
    classic("treiber 3x1", 25_680, 25_680, [None, None]),
    classic("msqueue 2x2", 26_668, 26_668, [None, None]),
    waiting("peterson", 4, 22),
    waiting("peterson sc", 4, 4),
    waiting("dekker sc", 4, 4),
    waiting("szymanski", 29, 29),
    waiting("lamport", 16, 16),
    waiting("ticket lock(3)", 6, 6),
    waiting("mcs lock(3)", 66, 66),
    waiting("ttas lock(3)", 36, 36),
    waiting("barrier(4)", 24, 24),
    waiting("hazard ptr(2)", 69, 69),
    waiting("chase-lev(2)", 149, 157),
];

const GOAL_GENMC: f64 = 3.0;
const GOAL_LOOM: f64 = 20.0;

pub(crate) fn print(bench: &Bench) {
    let title = format!(
        "exhaustive search: executions, and executions per second of CPU time (goals: the known number of executions, \
         {GOAL_GENMC}x GenMC's speed, {GOAL_LOOM}x loom's; GenMC's speed is quoted; `+`: not complete)"
    );
    let own =
        [("program", 0), ("model", 5), ("known", 8), ("raddle", 8), ("", 6), ("blocked", 7), ("exec./s", 9)];
    let peers =
        [("/ GenMC", 7), ("", 6), ("loom", 9), ("/ loom", 7), ("", 6), ("shuttle dfs", 11), ("/ shuttle", 9)];
    let table = Table::new(&title, &[&own[..], &peers[..]].concat());
    for known in &PROGRAMS {
        let [sc, rc11, loom, shuttle] = measure(bench, known);
        for (index, raddle) in [sc, rc11].iter().enumerate() {
            table.row(&cells(known, index, raddle.as_ref(), loom.as_ref(), shuttle.as_ref()));
        }
    }
}

/// Raddle under SC and RC11, loom, and shuttle.
fn measure(bench: &Bench, known: &Known) -> [Option<Values>; 4] {
    let program = known.program;
    let raddle = MODELS.map(|model| command(Side::Engine, &["exhaust", program, model], bench.seconds));
    let loom = command(Side::Plain, &["loom", program], bench.seconds);
    let shuttle = command(Side::Plain, &["shuttle", program, "dfs"], bench.seconds);
    let mut commands = raddle.to_vec();
    if known.on_peers {
        commands.extend([loom, shuttle]);
    }
    let mut medians = bench.medians(&commands, rate).into_iter();
    [(); 4].map(|()| medians.next().flatten())
}

/// Executions per second.
fn rate(values: &Values) -> Option<f64> {
    values.get("rate").or_else(|| values.rate("executions"))
}

fn cells(
    known: &Known,
    model: usize,
    raddle: Option<&Values>,
    loom: Option<&Values>,
    shuttle: Option<&Values>,
) -> Vec<String> {
    let expected = known.executions[model] as f64;
    let executions = raddle.and_then(|values| values.get("executions"));
    let complete = raddle.is_some_and(|values| values.is("complete"));
    let own_rate = raddle.and_then(rate);
    let over = |other: Option<f64>| Some(own_rate? / other?);
    let (over_genmc, over_loom) = (over(known.genmc[model]), over(loom.and_then(rate)));
    vec![
        known.program.to_owned(),
        MODELS[model].to_owned(),
        count(Some(expected)),
        searched(raddle),
        verdict(executions.map(|executions| complete && executions == expected)),
        count(raddle.and_then(|values| values.get("blocked"))),
        count(own_rate),
        times(over_genmc),
        verdict(over_genmc.map(|ratio| ratio >= GOAL_GENMC)),
        searched(loom),
        times(over_loom),
        verdict(over_loom.map(|ratio| ratio >= GOAL_LOOM)),
        searched(shuttle),
        times(over(shuttle.and_then(rate))),
    ]
}

/// Executions of one search; at least so many, if it did not end.
fn searched(values: Option<&Values>) -> String {
    let Some(values) = values else { return none() };
    let executions = values.get("search").or_else(|| values.get("executions"));
    format!("{}{}", count(executions), if values.is("complete") { "" } else { "+" })
}
