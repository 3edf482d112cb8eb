//! Everything that can be chosen: from code, from the environment, from the command line; the later wins.
//!
//! | variable | method of [`Explorer`](crate::Explorer) | meaning | default |
//! |---|---|---|---|
//! | `RADDLE_STRATEGY` | `strategy` | `random`, `pct:<depth>`, `pos`, `bounded:<preemptions>`, `round-robin`, `exhaustive`, `auto`, `schedule:<choices>` | `auto` |
//! | `RADDLE_MEMORY` | `memory` | `sc`, `rc11` | both for `auto`, `rc11` for `exhaustive`, else `sc` |
//! | `RADDLE_PREEMPTIONS` | `preemptions` | preemptions in one execution at most, for `exhaustive` and `bounded` | any number |
//! | `RADDLE_SEED` | `seed` | seed of the search | 0 |
//! | `RADDLE_EXECUTIONS` | `executions` | executions at most | none with a budget, else 10000 |
//! | `RADDLE_BUDGET` | `budget` | time at most (`500ms`, `10s`, `2m`) | 30s for `auto` without `executions`, else none |
//! | `RADDLE_MAX_STEPS` | `max_steps` | events of one execution at most | 100000 |
//! | `RADDLE_TIME_LIMIT` | `time_limit` | time of one execution at most | 10s |
//! | `RADDLE_WORKERS` | `workers` | worker processes | for `auto`, the processors that the test has to itself; else 1 |
//! | `RADDLE_BACKEND` | `backend` | `coroutines`, `threads` (OS threads, for debuggers) | `coroutines` |
//! | `RADDLE_ISOLATION` | `isolation` | `rollback`, `fork` | `rollback` |
//! | `RADDLE_ALLOCATION` | `allocation` | freed memory: `quarantine`, `reuse` | `quarantine` |
//! | `RADDLE_RACES` | `races` | whether data races are looked for: `on`, `off` | `on` |
//! | `RADDLE_SUPPRESS` | `suppress`, `suppress_kind` | failures that are not reported: functions whose data races are meant (`my_crate::stats::*,*::len`), or a kind, functions and the reason (`thread-leak@my_pool::*: lives as long as the process`), with `;` between them | none |
//! | `RADDLE_REFERENCE_COUNTS` | `reference_counts` | types or functions that count references as `Arc` does (`my_crate::Handle,*::release`), for `exhaustive` and `auto` | none |
//! | `RADDLE_ALSO` | `also` | what else may happen: `spurious-wake-ups`, `spurious-failures`, `timeouts`, `random-bytes`, with commas between them | nothing |
//! | `RADDLE_CHECK_LEAKS` | `check_leaks` | whether memory that is not freed is a failure: `on`, `off` | `off` |
//! | `RADDLE_ALLOW_LEAKED_THREADS` | `allow_leaked_threads` | whether threads may be left that can never go on: `on`, `off` | `off` |
//! | `RADDLE_RESUME` | `resume` | whether a search that ends early is saved and goes on in the next process, for `exhaustive`: `on`, `off` | `off` |
//! | `RADDLE_STACK_SIZE` | `stack_size` | bytes of stack per thread | 2097152 |
//! | `RADDLE_FAILURES` | – | directory of failure files | `target/raddle/failures` |
//! | `RADDLE_COLOR` | – | `auto`, `always`, `never` | `auto` |
//!
//! `RADDLE_TEST`, `RADDLE_OWNED`, `RADDLE_PACKAGE`, `RADDLE_CARGO_ARGS`, `RADDLE_PROGRESS`, `RADDLE_REPLAY`,
//! `RADDLE_FORCE`, `RADDLE_CORES`, `RADDLE_COLUMNS` and `RADDLE_RECORD` are how `cargo raddle` talks to the tests it runs. Any other variable that begins with
//! `RADDLE_` is an error: it is most likely a misspelt one.

use std::time::Duration;

use raddle_engine::search::Effort;
use raddle_report::failure::Schedule;

use crate::suppress::{self, Suppressed};

/// How the next schedule is picked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// Any thread that can go on, with equal probability.
    Random,
    /// Probabilistic concurrency testing: random priorities that change at `depth - 1` random points.
    Pct(usize),
    /// Partial order sampling: random priorities of events, drawn anew where events conflict.
    Pos,
    /// All interleavings with no preemption, then one, and so on up to this many. Never the same twice.
    Bounded(usize),
    /// Each thread in turn, with a growing quantum.
    RoundRobin,
    /// Every distinct execution once, under the chosen [`Memory`] model.
    Exhaustive,
    /// Several of these, as far as the time or the number of executions goes: exhaustive search if the program is small enough,
    /// else samples of several kinds, under both memory models and with freed memory treated in both ways. Finding out which
    /// is part of it.
    Auto,
    /// The given thread at each choice; then each thread as long as it can go on.
    Schedule(Vec<u16>),
}

/// Which values a read may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Sequential consistency: the latest write.
    Sc,
    /// The memory model of C++20 and Rust, as repaired by Lahav et al. (RC11).
    Rc11,
}

/// What virtual threads are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Coroutines: fast.
    Coroutines,
    /// An OS thread each: slow, but debuggers understand them. Schedules mean the same.
    Threads,
}

/// How executions are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// Memory is rolled back in the process.
    Rollback,
    /// Every execution is made in a process of its own.
    Fork,
}

/// What happens to memory that the code under test frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Allocation {
    /// It is not used again within the execution: an access to it is an error that can be seen.
    Quarantine,
    /// The thread that freed it gets it back with its next allocation of that size: code that takes equal addresses for
    /// the same object (the ABA problem) fails.
    Reuse,
}

/// Something that may happen to a program, and that is explored only where it is asked for. A search that meets it and does not
/// explore it is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Also {
    /// `thread::park` and `Condvar::wait` return although nobody woke the thread: once for each thread of an execution.
    SpuriousWakeUps,
    /// `compare_exchange_weak` fails although the place held what was expected: once for each thread of an execution. Only in
    /// code that is not optimised, as tests usually are; elsewhere searches go on to say that they leave it out.
    SpuriousFailures,
    /// Timeouts, however long, end while other threads could go on. In an exhaustive search, up to two for each thread of an
    /// execution.
    Timeouts,
    /// Random bytes, which hash maps use too, differ from execution to execution. No search tries all of them.
    RandomBytes,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) strategy: Strategy,
    /// Whether the strategy is one of several that are tried.
    pub(crate) chosen_by_portfolio: bool,
    /// None: what suits the strategy.
    pub(crate) memory: Option<Memory>,
    pub(crate) preemptions: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) executions: Option<u64>,
    pub(crate) budget: Option<Duration>,
    /// What an exhaustive search may take if it then comes to its end.
    pub(crate) reach: Option<Effort>,
    pub(crate) max_steps: u64,
    pub(crate) time_limit: Duration,
    /// None: what suits the strategy.
    pub(crate) workers: Option<usize>,
    pub(crate) backend: Backend,
    pub(crate) isolation: Isolation,
    pub(crate) stack_size: usize,
    pub(crate) report_leaks: bool,
    pub(crate) allocation: Allocation,
    pub(crate) races: bool,
    pub(crate) suppress: Vec<Suppressed>,
    pub(crate) reference_counts: Vec<String>,
    pub(crate) also: Vec<Also>,
    pub(crate) check_leaks: bool,
    pub(crate) resume: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strategy: Strategy::Auto,
            chosen_by_portfolio: false,
            memory: None,
            preemptions: None,
            seed: 0,
            executions: None,
            budget: None,
            reach: None,
            max_steps: 100_000,
            time_limit: Duration::from_secs(10),
            workers: None,
            backend: Backend::Coroutines,
            isolation: Isolation::Rollback,
            stack_size: 2 << 20,
            report_leaks: true,
            allocation: Allocation::Quarantine,
            races: true,
            suppress: Vec::new(),
            reference_counts: Vec::new(),
            also: Vec::new(),
            check_leaks: false,
            resume: false,
        }
    }
}

/// Variables that do not change a search.
const OTHER_VARIABLES: [&str; 12] = [
    "RADDLE_CORES",
    "RADDLE_FAILURES",
    "RADDLE_COLOR",
    "RADDLE_COLUMNS",
    "RADDLE_TEST",
    "RADDLE_OWNED",
    "RADDLE_PACKAGE",
    "RADDLE_CARGO_ARGS",
    "RADDLE_PROGRESS",
    "RADDLE_REPLAY",
    "RADDLE_FORCE",
    "RADDLE_RECORD",
];

/// What [`Strategy::Auto`] may take if nobody says: it only does where there is more to explore than it can exhaust.
const AUTO_BUDGET: Duration = Duration::from_secs(30);

/// What other strategies may take if nobody says.
const EXECUTIONS: u64 = 10_000;

impl Options {
    /// How many executions may be made, and how long that may take. Either alone decides, if it was asked for.
    pub(crate) fn effort(&self) -> (u64, Option<Duration>) {
        match (self.executions, self.budget) {
            (None, None) if self.strategy == Strategy::Auto => (u64::MAX, Some(AUTO_BUDGET)),
            (None, None) => (EXECUTIONS, None),
            (executions, budget) => (executions.unwrap_or(u64::MAX), budget),
        }
    }

    /// The memory model: the one that was asked for, or what suits the strategy.
    pub(crate) fn memory(&self) -> Memory {
        self.memory.unwrap_or(match self.strategy {
            Strategy::Exhaustive => Memory::Rc11,
            _ => Memory::Sc,
        })
    }

    /// How many processes search: as many as were asked for, or what suits the strategy.
    pub(crate) fn processes(&self) -> usize {
        let cores = || std::env::var("RADDLE_CORES").ok().and_then(|cores| cores.parse().ok());
        self.workers.or_else(|| cores().filter(|_| self.chosen_by_portfolio)).unwrap_or(1)
    }

    /// Whether the search is one that goes on in later processes.
    pub(crate) fn resumes(&self) -> bool {
        self.resume && self.strategy == Strategy::Exhaustive && !self.chosen_by_portfolio
    }

    /// Applies the variables of the environment.
    pub(crate) fn override_by(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<(), String> {
        for (name, value) in variables.filter(|(name, _)| name.starts_with("RADDLE_")) {
            if OTHER_VARIABLES.contains(&name.as_str()) {
                continue;
            }
            self.set(&name, &value).map_err(|problem| format!("{name}={value}: {problem}"))?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "RADDLE_STRATEGY" => self.strategy = value.parse()?,
            "RADDLE_MEMORY" => self.memory = Some(value.parse()?),
            "RADDLE_PREEMPTIONS" => self.preemptions = Some(number(value)? as usize),
            "RADDLE_SEED" => self.seed = number(value)?,
            "RADDLE_EXECUTIONS" => self.executions = Some(number(value)?),
            "RADDLE_BUDGET" => {
                self.budget = Some(duration(value)?);
                // Time alone decides, unless a number of executions is asked for too.
                if std::env::var_os("RADDLE_EXECUTIONS").is_none() {
                    self.executions = None;
                }
            }
            "RADDLE_MAX_STEPS" => self.max_steps = number(value)?,
            "RADDLE_TIME_LIMIT" => self.time_limit = duration(value)?,
            "RADDLE_WORKERS" => self.workers = Some(number(value)?.max(1) as usize),
            "RADDLE_BACKEND" => {
                self.backend = match value {
                    "coroutines" => Backend::Coroutines,
                    "threads" => Backend::Threads,
                    _ => return Err("use `coroutines` or `threads`".into()),
                }
            }
            "RADDLE_ALLOCATION" => self.allocation = value.parse()?,
            "RADDLE_RACES" => self.races = switch(value)?,
            "RADDLE_SUPPRESS" => self.suppress.extend(suppress::parse(value)?),
            "RADDLE_REFERENCE_COUNTS" => self.reference_counts.extend(paths(value)),
            "RADDLE_ALSO" => self.also.extend(also(value)?),
            "RADDLE_CHECK_LEAKS" => self.check_leaks = switch(value)?,
            "RADDLE_ALLOW_LEAKED_THREADS" => self.report_leaks = !switch(value)?,
            "RADDLE_RESUME" => self.resume = switch(value)?,
            "RADDLE_ISOLATION" => {
                self.isolation = match value {
                    "rollback" => Isolation::Rollback,
                    "fork" => Isolation::Fork,
                    _ => return Err("use `rollback` or `fork`".into()),
                }
            }
            "RADDLE_STACK_SIZE" => self.stack_size = number(value)? as usize,
            _ => return Err("there is no such option; `raddle::options` has the list".into()),
        }
        Ok(())
    }
}

const ALSO: [(&str, Also); 4] = [
    ("spurious-wake-ups", Also::SpuriousWakeUps),
    ("spurious-failures", Also::SpuriousFailures),
    ("timeouts", Also::Timeouts),
    ("random-bytes", Also::RandomBytes),
];

/// A list of what may also happen, with commas between its parts.
pub(crate) fn also(text: &str) -> Result<Vec<Also>, String> {
    let find = |part: &str| ALSO.iter().find(|(name, _)| *name == part).map(|&(_, also)| also);
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            find(part).ok_or_else(|| {
                "use `spurious-wake-ups`, `spurious-failures`, `timeouts`, `random-bytes`".to_owned()
            })
        })
        .collect()
}

impl std::fmt::Display for Also {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = ALSO.iter().find(|(_, also)| also == self).map_or("", |&(name, _)| name);
        f.write_str(name)
    }
}

/// Paths with commas between them.
pub(crate) fn paths(text: &str) -> impl Iterator<Item = String> {
    text.split(',').map(|path| path.trim().to_owned())
}

fn number(text: &str) -> Result<u64, String> {
    text.replace('_', "").parse().map_err(|_| "use a whole number".into())
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("use `on` or `off`".into()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (amount, unit) = text.split_at(digits);
    let help = || "use a time such as `500ms`, `10s` or `2m`".to_string();
    let amount: f64 = amount.parse().map_err(|_| help())?;
    let seconds = match unit {
        "ms" => amount / 1000.0,
        "s" => amount,
        "m" => amount * 60.0,
        "h" => amount * 3600.0,
        _ => return Err(help()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| help())
}

impl std::str::FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Memory, String> {
        match text {
            "sc" => Ok(Memory::Sc),
            "rc11" => Ok(Memory::Rc11),
            _ => Err("use `sc` or `rc11`".into()),
        }
    }
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Memory::Sc => "sc",
            Memory::Rc11 => "rc11",
        })
    }
}

impl std::str::FromStr for Allocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Allocation, String> {
        match text {
            "quarantine" => Ok(Allocation::Quarantine),
            "reuse" => Ok(Allocation::Reuse),
            _ => Err("use `quarantine` or `reuse`".into()),
        }
    }
}

impl std::fmt::Display for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Allocation::Quarantine => "quarantine",
            Allocation::Reuse => "reuse",
        })
    }
}

impl std::str::FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Strategy, String> {
        let (name, parameter) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let depth = |default: usize| match parameter {
            None => Ok(default),
            Some(text) => {
                text.parse().map_err(|_| format!("`{name}` takes a number, as in `{name}:{default}`"))
            }
        };
        match (name, parameter) {
            ("random", None) => Ok(Strategy::Random),
            ("pct", _) => match depth(3)? {
                0 => Err("the depth of `pct` is at least 1".into()),
                depth => Ok(Strategy::Pct(depth)),
            },
            ("pos", None) => Ok(Strategy::Pos),
            ("bounded", _) => Ok(Strategy::Bounded(depth(usize::MAX)?)),
            ("round-robin", None) => Ok(Strategy::RoundRobin),
            ("exhaustive", None) => Ok(Strategy::Exhaustive),
            ("auto", None) => Ok(Strategy::Auto),
            ("schedule", Some(choices)) => Ok(Strategy::Schedule(Schedule::try_from(choices.to_owned())?.0)),
            _ => Err("use `random`, `pct:3`, `pos`, `bounded:2`, `round-robin`, `exhaustive`, `auto` or `schedule:0x3 1 0`".into()),
        }
    }
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Strategy::Random => f.write_str("random"),
            Strategy::Pct(depth) => write!(f, "pct:{depth}"),
            Strategy::Pos => f.write_str("pos"),
            Strategy::Bounded(usize::MAX) => f.write_str("bounded"),
            Strategy::Bounded(most) => write!(f, "bounded:{most}"),
            Strategy::RoundRobin => f.write_str("round-robin"),
            Strategy::Exhaustive => f.write_str("exhaustive"),
            Strategy::Auto => f.write_str("auto"),
            Strategy::Schedule(choices) => write!(f, "schedule:{}", String::from(Schedule(choices.clone()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn overridden(variables: &[(&str, &str)]) -> Result<Options, String> {
        let mut options = Options::default();
        options.override_by(variables.iter().map(|&(name, value)| (name.into(), value.into())))?;
        Ok(options)
    }

    #[test]
    fn variables_win_over_code() {
        let options =
            overridden(&[("RADDLE_STRATEGY", "pct:4"), ("RADDLE_SEED", "7"), ("PATH", "x")]).unwrap();
        assert_eq!((options.strategy, options.seed), (Strategy::Pct(4), 7));
    }

    #[test]
    fn a_budget_alone_decides() {
        let options = overridden(&[("RADDLE_BUDGET", "1.5s")]).unwrap();
        assert_eq!(options.effort(), (u64::MAX, Some(Duration::from_millis(1500))));
    }

    #[test]
    fn what_nobody_chose_suits_the_strategy() {
        assert_eq!(overridden(&[]).unwrap().effort(), (u64::MAX, Some(AUTO_BUDGET)));
        assert_eq!(overridden(&[("RADDLE_STRATEGY", "pos")]).unwrap().effort(), (EXECUTIONS, None));
        assert_eq!(overridden(&[("RADDLE_EXECUTIONS", "7")]).unwrap().effort(), (7, None));
    }

    #[test]
    fn mistakes_say_what_to_write_instead() {
        let message = |name, value| overridden(&[(name, value)]).unwrap_err();
        assert!(message("RADDLE_SEDE", "1").contains("no such option"));
        assert!(message("RADDLE_SEED", "one").contains("whole number"));
        assert!(message("RADDLE_BUDGET", "10").contains("10s"));
        assert!(message("RADDLE_STRATEGY", "dfs").contains("bounded:2"));
        assert!(message("RADDLE_STRATEGY", "pct:0").contains("at least 1"));
    }

    #[test]
    fn strategies_are_written_as_they_are_read() {
        for text in [
            "random",
            "pct:3",
            "pos",
            "bounded:2",
            "bounded",
            "round-robin",
            "exhaustive",
            "auto",
            "schedule:0x3 1 0",
        ] {
            assert_eq!(text.parse::<Strategy>().unwrap().to_string(), text);
        }
    }
}
