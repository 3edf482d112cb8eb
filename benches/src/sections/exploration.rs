//! The same programs on every tool: executions and events per second.

use crate::cell::{Bench, Side, Values, command};
use crate::table::{self, Table, count, mib, ns, times};

pub(super) const PROGRAMS: [&str; 7] =
    ["racy 2x4", "treiber 3x1", "msqueue 2x2", "mutex 3x2", "ainc 4", "readers 8", "segqueue 2x2"];

/// Only Raddle can run it.
pub(super) const ONLY_RADDLE: &str = "segqueue 2x2";

/// `random/made` makes executions that `random` recognises.
const RADDLE: [&str; 5] = ["random", "random/made", "pct:3", "pos", "bounded"];
const SHUTTLE: [&str; 3] = ["random", "pct:3", "dfs"];

/// Published for interweave 0.1.1 on a machine like ours; it needs a newer compiler than this repository.
const INTERWEAVE: [(&str, f64); 3] = [("racy 2x4", 53e3), ("treiber 3x1", 27e3), ("msqueue 2x2", 12e3)];

const GOAL_LOOM: f64 = 20.0;
const GOAL_SHUTTLE: f64 = 5.0;
const GOAL_INTERWEAVE: f64 = 10.0;

/// One line of the table.
struct Line {
    program: &'static str,
    tool: String,
    values: Option<Values>,
}

impl Line {
    fn executions(&self) -> Option<f64> {
        self.values.as_ref()?.rate("executions")
    }
}

pub(crate) fn print(bench: &Bench) {
    let title = "executions and events (scheduling points) per second of CPU time, one core";
    let columns = [("program", 0), ("tool", 0), ("executions/s", 12), ("events/s", 11), ("ns/event", 8)];
    let more = [("events/exec.", 12), ("ns/exec.", 8), ("recognised", 10), ("peak RSS", 9), ("", 8)];
    let table = Table::new(title, &[&columns[..], &more[..]].concat());
    let mut ratios = Vec::new();
    for program in PROGRAMS {
        let lines = measure(bench, program);
        lines.iter().for_each(|line| table.row(&cells(line)));
        ratios.push(lines);
    }
    print_ratios(&ratios);
}

fn measure(bench: &Bench, program: &'static str) -> Vec<Line> {
    let seconds = bench.seconds;
    let mut tools = Vec::new();
    for strategy in RADDLE {
        let args = ["explore", program, strategy];
        tools.push((format!("raddle {strategy}"), command(Side::Engine, &args, seconds)));
    }
    if program != ONLY_RADDLE {
        for strategy in SHUTTLE {
            let args = ["shuttle", program, strategy];
            tools.push((format!("shuttle {strategy}"), command(Side::Plain, &args, seconds)));
        }
        tools.push(("loom".into(), command(Side::Plain, &["loom", program], seconds)));
    }
    let (tools, commands): (Vec<_>, Vec<_>) = tools.into_iter().unzip();
    let medians = bench.medians(&commands, |values| values.rate("executions"));
    tools.into_iter().zip(medians).map(|(tool, values)| Line { program, tool, values }).collect()
}

fn cells(line: &Line) -> Vec<String> {
    let values = line.values.as_ref();
    let get = |name| values?.get(name);
    let per = |a: Option<f64>, b: Option<f64>| Some(a? / b?);
    let ns_per = |name| per(get("cpu").map(|cpu| cpu * 1e9), get(name));
    let note = match values {
        None => "cannot",
        Some(values) if values.is("complete") => "complete",
        Some(_) => "",
    };
    vec![
        line.program.to_owned(),
        line.tool.clone(),
        count(line.executions()),
        count(values.and_then(|values| values.rate("events"))),
        ns(ns_per("events")),
        per(get("events"), get("executions")).map_or_else(table::none, |events| format!("{events:.1}")),
        ns(ns_per("executions")),
        per(get("recognised"), get("executions"))
            .map_or_else(table::none, |share| format!("{:.1} %", 100.0 * share)),
        mib(get("rss")),
        note.to_owned(),
    ]
}

fn print_ratios(programs: &[Vec<Line>]) {
    let title = format!(
        "raddle random's executions/s over theirs (goals: loom {GOAL_LOOM}x, shuttle {GOAL_SHUTTLE}x, interweave \
         {GOAL_INTERWEAVE}x; interweave's figures are quoted, not measured here)"
    );
    let columns = [("program", 0), ("/ shuttle random", 8), ("", 6), ("/ loom", 7), ("", 6)];
    let more = [("/ interweave (quoted)", 8), ("", 6), ("all made / shuttle random", 8)];
    let table = Table::new(&title, &[&columns[..], &more].concat());
    for lines in programs {
        let of = |tool: &str| lines.iter().find(|line| line.tool == tool)?.executions();
        let over = |other: Option<f64>| Some(of("raddle random")? / other?);
        let program = lines[0].program;
        let quoted = INTERWEAVE.iter().find(|known| known.0 == program).map(|known| known.1);
        let mut cells = vec![program.to_owned()];
        let peers =
            [(of("shuttle random"), GOAL_SHUTTLE), (of("loom"), GOAL_LOOM), (quoted, GOAL_INTERWEAVE)];
        for (other, goal) in peers {
            let ratio = over(other);
            cells.push(times(ratio));
            cells.push(table::verdict(ratio.map(|ratio| ratio >= goal)));
        }
        let made = || Some(of("raddle random/made")? / of("shuttle random")?);
        cells.push(times(made()));
        table.row(&cells);
    }
}
