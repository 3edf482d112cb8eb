//! Holds every strategy against the oracle.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use raddle::{Explorer, Kind, Memory, Strategy};

use crate::oracle::{Fault, Freedom, Known, known};
use crate::program::{Op, Outcome, Program};

/// How much is done for one program.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// More states than that are too many for the brute force.
    pub states: usize,
    /// Executions of a search that tries everything, at most.
    pub executions: u64,
    /// Executions of a search that takes samples.
    pub samples: u64,
    /// What a search may take.
    pub time: Duration,
    /// Whether to search in two processes, and with `auto`, too.
    pub all: bool,
}

impl Effort {
    /// What suits a test that everybody runs.
    pub const QUICK: Effort = Effort {
        states: 50_000,
        executions: 1_500,
        samples: 60,
        time: Duration::from_millis(150),
        all: false,
    };

    /// What suits a long run.
    pub const LONG: Effort = Effort {
        states: 400_000,
        executions: 20_000,
        samples: 200,
        time: Duration::from_millis(500),
        all: true,
    };
}

/// One search: what it is called, and what it claims.
struct Way {
    name: String,
    explorer: Explorer,
    claims: Claims,
    races: bool,
    /// Executions at most.
    limit: u64,
}

/// What a search claims about what it does not show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claims {
    /// To have tried everything under sequential consistency, if it says so.
    Everything,
    /// To have tried that and more: weaker memory.
    More,
    /// Nothing.
    Nothing,
}

/// What a search said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// No execution failed.
    Passed {
        /// What executions came to.
        outcomes: BTreeSet<Outcome>,
        /// Whether there is nothing else.
        complete: bool,
        /// Whether the search came to its end.
        ended: bool,
        /// What it does not try.
        left_out: Vec<&'static str>,
    },
    /// An execution did.
    Failed(Kind, String),
    /// The search itself did.
    Broke(String),
}

/// What two parties do not agree about.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What kind of difference it is. Shrinking keeps it.
    pub class: String,
    /// What is different.
    pub what: String,
    /// What every search said.
    pub said: Vec<(String, Said)>,
    /// What the brute force knows, with the least and with the most freedom.
    pub known: (Known, Known),
}

/// What was compared, if nothing differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Whether the program is too large for the brute force.
    pub too_large: bool,
    /// Whether some execution may fail.
    pub fails: bool,
    /// How many searches said that they are complete.
    pub complete: u64,
    /// How many searches were made.
    pub searches: u64,
}

/// Makes all searches of a program, which `run` runs once.
///
/// # Errors
/// The first difference.
pub fn check(
    program: &Program,
    run: impl Fn() -> Outcome,
    effort: &Effort,
) -> Result<Agreed, Box<Difference>> {
    let both =
        known(program, Freedom::Least, effort.states).zip(known(program, Freedom::Most, effort.states));
    let Some((least, most)) = both else {
        return Ok(Agreed { too_large: true, ..Agreed::default() });
    };
    let mut agreed = Agreed { fails: !most.faults.is_empty(), ..Agreed::default() };
    let mut said = Vec::new();
    for way in ways(effort) {
        // What is read in a race is anything.
        if !way.races && most.faults.contains(&Fault::Race) {
            continue;
        }
        let answer = explore(&way, effort, &run);
        agreed.searches += 1;
        agreed.complete += u64::from(matches!(answer, Said::Passed { complete: true, .. }));
        let judged = judge(program, &way, &answer, &least, &most);
        let name = way.name;
        said.push((name.clone(), answer));
        if let Err((class, what)) = judged {
            let class = format!("{name}: {class}");
            return Err(Box::new(Difference { class, what, said, known: (least, most) }));
        }
    }
    Ok(agreed)
}

fn ways(effort: &Effort) -> Vec<Way> {
    let mut ways = Vec::new();
    let mut add = |name: &str, explorer: Explorer, claims: Claims, races: bool, limit: u64| {
        let name = if races { name.to_owned() } else { format!("{name}, no races") };
        let explorer = explorer.executions(limit).races(races).time_limit(Duration::from_secs(3));
        ways.push(Way { name, explorer, claims, races, limit });
    };
    let by = |strategy: &Strategy| {
        Explorer::new().allow_one_thread(true).strategy(strategy.clone()).budget(effort.time)
    };
    for races in [true, false] {
        for (strategy, memory) in strategies::complete() {
            let name = format!("{strategy} {memory}");
            let explorer = by(&strategy).memory(memory);
            match memory {
                Memory::Sc => add(&name, explorer, Claims::Everything, races, effort.executions),
                // Executions without a detector of races differ under sequential consistency at most.
                _ if races => add(&name, explorer, Claims::More, races, effort.executions),
                _ => {}
            }
        }
    }
    let samples = strategies::basic().into_iter().filter(|strategy| !strategies::entry(strategy).can_end());
    for strategy in samples {
        add(&strategy.to_string(), by(&strategy), Claims::Nothing, true, effort.samples);
    }
    if effort.all {
        let under_sc = strategies::complete().into_iter().filter(|(_, memory)| *memory == Memory::Sc);
        for (strategy, _) in under_sc {
            let two = by(&strategy).memory(Memory::Sc).workers(2);
            add(&format!("{strategy} sc, 2 workers"), two, Claims::Everything, true, effort.executions);
        }
        for portfolio in strategies::portfolios() {
            let explorer = by(&portfolio).budget(effort.time / 2);
            add(&portfolio.to_string(), explorer, Claims::More, true, effort.executions);
        }
    }
    ways
}

fn explore(way: &Way, effort: &Effort, run: &impl Fn() -> Outcome) -> Said {
    let result = catch_unwind(AssertUnwindSafe(|| way.explorer.clone().try_run(run)));
    match result {
        Ok(Ok(report)) => Said::Passed {
            complete: report.complete,
            ended: report.complete
                || (!report.left_out.is_empty()
                    && report.executions < way.limit
                    && report.elapsed < effort.time),
            left_out: report.left_out,
            outcomes: report.outcomes.into_keys().collect(),
        },
        Ok(Err(failure)) => {
            let message = failure.message.clone();
            if let Some(file) = &failure.file {
                // Not for anyone to replay: the program is made anew.
                let _ = std::fs::remove_file(file);
            }
            Said::Failed(failure.kind, message)
        }
        Err(panic) => Said::Broke(
            panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
                .unwrap_or_else(|| "a panic without a message".to_owned()),
        ),
    }
}

/// Left out, and not known by the brute force to be: then a search may have fewer outcomes.
const BEYOND: [&str; 3] = ["more rounds", "more events", "is_finished"];

/// The class of a difference, and what it is.
type Judgement = Result<(), (String, String)>;

fn judge(program: &Program, way: &Way, said: &Said, least: &Known, most: &Known) -> Judgement {
    let differs = |class: &str, what: String| Err((class.to_owned(), format!("{} {what}", way.name)));
    let seen_by_race = |fault: &&Fault| way.races || **fault != Fault::Race;
    match said {
        Said::Broke(message) => differs("broke", format!("gave up: {message}")),
        Said::Failed(kind, message) => match fault(*kind) {
            Some(fault) if most.faults.contains(&fault) || way.claims == Claims::More => Ok(()),
            _ => differs(
                &format!("false {kind:?}"),
                format!("reports what is impossible: {kind:?}: {message}"),
            ),
        },
        Said::Passed { outcomes, complete, ended, left_out } => {
            // What comes after a race is not known; only searches that claim something have to find it.
            let is_known = way.claims != Claims::More && !most.faults.contains(&Fault::Race);
            if is_known && let Some(outcome) = outcomes.difference(&most.outcomes).next() {
                return differs(
                    "impossible",
                    format!("has an outcome that is impossible: {}", show(outcome)),
                );
            }
            if way.claims == Claims::Nothing {
                return Ok(());
            }
            let has_to = if *complete {
                most
            } else if *ended
                && !left_out.iter().any(|reason| BEYOND.iter().any(|beyond| reason.contains(beyond)))
                && !least.is_vague
                && !depends_on_the_moment(program)
            {
                least
            } else {
                return Ok(());
            };
            let claim = if *complete { "is complete" } else { "came to its end" };
            if let Some(fault) = has_to.faults.iter().find(seen_by_race) {
                return differs(&format!("missed {fault:?}"), format!("{claim} and did not find {fault:?}"));
            }
            match has_to.outcomes.difference(outcomes).next() {
                Some(outcome) => {
                    let what = format!("{claim} and lacks {}", show(outcome));
                    differs(
                        if *complete { "lacks an outcome" } else { "lacks an outcome, not complete" },
                        what,
                    )
                }
                None => Ok(()),
            }
        }
    }
}

/// Whether what has to be explored is not known: `is_finished` may say either, and the end of a scope may wake its owner from `park`.
fn depends_on_the_moment(program: &Program) -> bool {
    let parks = program.has(|op| matches!(op, Op::Park | Op::ParkTimeout(_)));
    program.has(|op| matches!(op, Op::IsFinished(_)))
        || parks && program.has(|op| matches!(op, Op::Scope(..)))
}

fn fault(kind: Kind) -> Option<Fault> {
    match kind {
        Kind::Deadlock | Kind::Livelock | Kind::ThreadLeak => Some(Fault::Stuck),
        Kind::DataRace => Some(Fault::Race),
        _ => None,
    }
}

fn show(outcome: &Outcome) -> String {
    let value = |value: &u64| match *value {
        crate::program::NOTHING => "none".to_owned(),
        crate::program::TIMED_OUT => "late".to_owned(),
        value => value.to_string(),
    };
    let thread = |seen: &Vec<u64>| seen.iter().map(value).collect::<Vec<_>>().join(" ");
    outcome.iter().map(thread).collect::<Vec<_>>().join(" | ")
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        for (name, known) in [("at least", &self.known.0), ("at most", &self.known.1)] {
            writeln!(f, "  brute force, {name}: {:?}, {}", known.faults, list(&known.outcomes))?;
        }
        for (name, said) in &self.said {
            match said {
                Said::Passed { outcomes, complete, left_out, .. } => {
                    let claim =
                        if *complete { "complete".to_owned() } else { format!("left out {left_out:?}") };
                    writeln!(f, "  {name}: {claim}, {}", list(outcomes))?;
                }
                Said::Failed(kind, message) => writeln!(f, "  {name}: {kind:?}: {message}")?,
                Said::Broke(message) => writeln!(f, "  {name}: gave up: {message}")?,
            }
        }
        Ok(())
    }
}

fn list(outcomes: &BTreeSet<Outcome>) -> String {
    const MOST: usize = 12;
    let shown = outcomes.iter().take(MOST).map(show).collect::<Vec<_>>().join("; ");
    let more = if outcomes.len() > MOST { "; ..." } else { "" };
    format!("{} outcomes: {shown}{more}", outcomes.len())
}
