//! Exhaustive searches: as many executions as there are, and how fast.

use crate::cell::{Bench, Side, Values, command};
use crate::table::{Table, count, none, times, verdict};

/// A program: executions under SC and under RC11 as the literature has them, or as the axioms say (`suite/litmus`).
struct Known {
    program: &'static str,
    /// None where tools differ in what they count.
    executions: Option<[u64; 2]>,
    /// GenMC's executions per second of CPU time under each model.
    genmc: [Option<f64>; 2],
    /// Those of interweave.
    interweave: Option<f64>,
    /// How long loom and shuttle may take, as a multiple of the usual time. None if they cannot run it: they neither wait for
    /// values nor, in loom's case, run many threads.
    patience: Option<f64>,
}

const MODELS: [&str; 2] = ["sc", "rc11"];

const fn classic(program: &'static str, sc: u64, rc11: u64, genmc: [Option<f64>; 2]) -> Known {
    Known { program, executions: Some([sc, rc11]), genmc, interweave: None, patience: Some(1.0) }
}

const fn waiting(program: &'static str, executions: Option<[u64; 2]>) -> Known {
    Known { program, executions, genmc: [None; 2], interweave: None, patience: None }
}

/// A program so small that the peers come to an end.
const fn small(program: &'static str, executions: u64) -> Known {
    let known = classic(program, executions, executions, [None; 2]);
    Known { patience: Some(15.0), ..known }
}

const fn beside_interweave(known: Known, interweave: f64) -> Known {
    Known { interweave: Some(interweave), ..known }
}

/// The figures of GenMC 0.11 with one thread, time of its front end included, and those of interweave 0.1.1, were measured on
/// a machine like ours: quoted, not measured here.
const PROGRAMS: [Known; 30] = [
    small("readers(3)", 8),
    classic("readers(13)", 8192, 8192, [Some(31e3), Some(28e3)]),
    classic("lastzero(10)", 3328, 3328, [Some(17.6e3), Some(17.5e3)]),
    classic("lastzero(15)", 147_456, 147_456, [Some(14.0e3), Some(13.4e3)]),
    classic("indexer(15)", 4096, 4096, [Some(2.0e3), Some(1.9e3)]),
    classic("filesystem(19)", 64, 64, [Some(0.5e3), None]),
    small("ainc(4)", 24),
    beside_interweave(classic("ainc(7)", 5040, 5040, [Some(29e3), Some(28e3)]), 65e3),
    classic("casrot(9)", 8597, 8597, [Some(91e3), Some(86e3)]),
    classic("casw(5)", 32_880, 32_880, [Some(157e3), Some(157e3)]),
    classic("CoA(5)", 49_776, 57_600, [None, None]),
    classic("fib_bench(4)", 19_605, 34_205, [Some(119e3), Some(152e3)]),
    classic("fib_bench(5)", 218_243, 525_630, [Some(160e3), Some(181e3)]),
    classic("big0", 69_112, 82_472, [Some(222e3), Some(239e3)]),
    beside_interweave(classic("racy 2x4", 3334, 3334, [Some(20.8e3), None]), 53e3),
    classic("mutex 6x1", 720, 720, [None, None]),
    // With all failed attempts told apart there are 25,680. Those that lead back to the first attempt of an operation are not.
    beside_interweave(classic("treiber 3x1", 17_352, 17_352, [None, None]), 27e3),
    beside_interweave(classic("msqueue 2x2", 26_668, 26_668, [None, None]), 12e3),
    waiting("peterson", Some([4, 22])),
    waiting("peterson sc", Some([4, 4])),
    waiting("dekker sc", Some([4, 4])),
    waiting("szymanski", Some([29, 29])),
    waiting("lamport", Some([16, 16])),
    waiting("ticket lock(3)", Some([6, 6])),
    waiting("mcs lock(3)", Some([66, 66])),
    waiting("ttas lock(3)", Some([36, 36])),
    waiting("barrier(4)", Some([24, 24])),
    // Whether a reader that saw two versions waits, or only tries again, is a matter of taste.
    waiting("seqlock(2)", None),
    waiting("hazard ptr(2)", Some([69, 69])),
    waiting("chase-lev(2)", Some([149, 157])),
];

const GOAL_GENMC: f64 = 3.0;
const GOAL_LOOM: f64 = 20.0;
const GOAL_INTERWEAVE: f64 = 10.0;

/// What was measured on one program.
struct Measured {
    /// Raddle by model, with default options.
    raddle: [Option<Values>; 2],
    /// The same without looking for data races.
    without_races: [Option<Values>; 2],
    loom: Option<Values>,
    shuttle: Option<Values>,
}

pub(crate) fn print(bench: &Bench) {
    let title = format!(
        "exhaustive search: executions, and executions per second of CPU time with default options and without looking for \
         data races (goals: the known number of executions, {GOAL_GENMC}x GenMC's speed, {GOAL_INTERWEAVE}x interweave's, \
         {GOAL_LOOM}x loom's; GenMC's and interweave's speed is quoted; `+`: not complete)"
    );
    let own = [("program", 0), ("model", 5), ("known", 8), ("raddle", 8), ("", 6), ("blocked", 7)];
    let speed = [("exec./s", 9), ("no races", 9), ("/ GenMC", 7), ("", 6), ("/ interweave", 7), ("", 6)];
    let peers = [("loom", 9), ("/ loom", 7), ("", 6), ("shuttle dfs", 11), ("/ shuttle", 9)];
    let table = Table::new(&title, &[&own[..], &speed[..], &peers[..]].concat());
    for known in &PROGRAMS {
        let measured = measure(bench, known);
        for model in 0..MODELS.len() {
            table.row(&cells(known, model, &measured));
        }
    }
}

fn measure(bench: &Bench, known: &Known) -> Measured {
    let (program, seconds) = (known.program, bench.seconds);
    let raddle =
        |races| MODELS.map(|model| command(Side::Engine, &["exhaust", program, model, races], seconds));
    let mut commands = [raddle("on"), raddle("off")].concat();
    if let Some(patience) = known.patience {
        commands.push(command(Side::Plain, &["loom", program], seconds * patience));
        commands.push(command(Side::Plain, &["shuttle", program, "dfs"], seconds * patience));
    }
    let mut medians = bench.medians(&commands, rate).into_iter();
    let mut next = || medians.next().flatten();
    Measured { raddle: [next(), next()], without_races: [next(), next()], loom: next(), shuttle: next() }
}

/// Executions per second.
fn rate(values: &Values) -> Option<f64> {
    values.get("rate").or_else(|| values.rate("executions"))
}

fn cells(known: &Known, model: usize, measured: &Measured) -> Vec<String> {
    let expected = known.executions.map(|executions| executions[model] as f64);
    let raddle = measured.raddle[model].as_ref();
    let executions = raddle.and_then(|values| values.get("executions"));
    let complete = raddle.is_some_and(|values| values.is("complete"));
    let as_known = || Some(complete && executions? == expected?);
    let own_rate = raddle.and_then(rate);
    let rate_of = |values: &Option<Values>| values.as_ref().and_then(rate);
    let over = |other: Option<f64>| Some(own_rate? / other?);
    let with_goal = |other: Option<f64>, goal: f64| {
        let ratio = over(other);
        [times(ratio), verdict(ratio.map(|ratio| ratio >= goal))]
    };
    let mut cells = vec![
        known.program.to_owned(),
        MODELS[model].to_owned(),
        count(expected),
        searched(raddle),
        verdict(as_known()),
        count(raddle.and_then(|values| values.get("blocked"))),
        count(own_rate),
        count(rate_of(&measured.without_races[model])),
    ];
    cells.extend(with_goal(known.genmc[model], GOAL_GENMC));
    // It knows sequential consistency only.
    cells.extend(with_goal(known.interweave.filter(|_| model == 0), GOAL_INTERWEAVE));
    cells.push(searched(measured.loom.as_ref()));
    cells.extend(with_goal(rate_of(&measured.loom), GOAL_LOOM));
    cells.extend([searched(measured.shuttle.as_ref()), times(over(rate_of(&measured.shuttle)))]);
    cells
}

/// Executions of one search; at least so many, if it did not end.
fn searched(values: Option<&Values>) -> String {
    let Some(values) = values else { return none() };
    let executions = values.get("search").or_else(|| values.get("executions"));
    format!("{}{}", count(executions), if values.is("complete") { "" } else { "+" })
}
