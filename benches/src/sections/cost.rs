//! What the engine's own work costs: switches, events, threads, executions.

use crate::cell::{Bench, Side, command};
use crate::table::{Table, ns, verdict};

const KINDS: [&str; 4] = ["load", "store", "fetch_add", "load, store"];

const GOAL_SAME_THREAD: f64 = 10.0;
const GOAL_AVERAGE: f64 = 40.0;

/// Executions that do next to nothing, beside a bare switch.
pub(crate) fn print_parts(bench: &Bench) {
    let table = Table::new("costs of parts", &[("ns", 10), ("part", 0)]);
    let seconds = bench.seconds;
    let switches = ["bare", "fs", "call"].map(|kind| command(Side::Plain, &["switch", kind], seconds));
    let switches = bench.nanoseconds(&switches);
    table.row(&[ns(switches[0]), "a bare coroutine switch (resume and suspend)".into()]);
    table.row(&[ns(switches[1]), "the same with two wrfsbase".into()]);
    table
        .row(&[ns(switches[2]), "the same without, suspended one call deep, as threads are in hooks".into()]);

    let programs = ["nothing", "spawn 1", "spawn 2", "spawn 4"];
    let commands =
        programs.map(|program| command(Side::Engine, &["explore", program, "random/made"], seconds));
    let medians = bench.medians(&commands, |values| values.rate("executions"));
    let cost = |index: usize| Some(1e9 / medians[index].as_ref()?.rate("executions")?);
    table.row(&[ns(cost(0)), "an execution of an empty closure".into()]);
    for (index, program) in programs.iter().enumerate().skip(1) {
        let threads = program.trim_start_matches("spawn ");
        let part = format!("an execution that spawns and joins {threads} empty thread(s)");
        table.row(&[ns(cost(index)), part]);
    }
    let each = || Some((cost(3)? - cost(1)?) / 3.0);
    table.row(&[ns(each()), "each thread more".into()]);
    let setup = || Some(medians[1].as_ref()?.get("setup")? * 1e9);
    table.row(&[ns(setup()), "setting an exploration up, once".into()]);
}

/// One event, by kind, and by whether the thread changes.
pub(crate) fn print_events(bench: &Bench) {
    let title = format!(
        "ns per event, in an execution of 100,000 (goals: at most {GOAL_SAME_THREAD} where the thread does not change, \
         {GOAL_AVERAGE} on average, where every second event changes it)"
    );
    let columns = [("event", 0), ("native", 6), ("alone", 7), ("", 6), ("one of two", 10), ("", 6)];
    let more = [("changes every time", 8), ("average", 7), ("", 6)];
    let table = Table::new(&title, &[&columns[..], &more[..]].concat());
    for kind in KINDS {
        let mut commands = vec![command(Side::Plain, &["event", kind], bench.seconds)];
        for threads in ["alone", "same thread", "every event"] {
            commands.push(command(Side::Engine, &["event", kind, threads], bench.seconds));
        }
        let [native, alone, same, every] = bench.nanoseconds(&commands)[..] else { continue };
        let average = || Some((same? + every?) / 2.0);
        let within = |time: Option<f64>, goal: f64| verdict(time.map(|time| time <= goal));
        table.row(&[
            kind.to_owned(),
            ns(native),
            ns(alone),
            within(alone, GOAL_SAME_THREAD),
            ns(same),
            within(same, GOAL_SAME_THREAD),
            ns(every),
            ns(average()),
            within(average(), GOAL_AVERAGE),
        ]);
    }
}
