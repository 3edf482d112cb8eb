//! Everything that can be chosen: from code, from the environment, from the command line; the later wins.
//!
//! A variable is a flag of `cargo raddle test`, too: `RADDLE_MAX_STEPS` is `--max-steps`.
//!
//! | variable | method of [`Explorer`](crate::Explorer) | meaning | default |
//! |---|---|---|---|
//! | `RADDLE_STRATEGY` | [`strategy`](crate::Explorer::strategy) | How the next schedule is picked: `random`, `pct` or `pct:DEPTH`, `pos`, `bounded` or `bounded:PREEMPTIONS`, `round-robin`, `exhaustive`, `auto`, `schedule:STEPS`, `turns:THREADS` | `auto` |
//! | `RADDLE_MEMORY` | [`memory`](crate::Explorer::memory) | Which values a read may see: `sc`, `rc11` | both for `auto`, `rc11` for `exhaustive`, else `sc` |
//! | `RADDLE_PREEMPTIONS` | [`preemptions`](crate::Explorer::preemptions) | Preemptions in one execution at most, for `exhaustive` and `bounded` | no limit |
//! | `RADDLE_ONLY_MARKED` | [`only_marked`](crate::Explorer::only_marked) | Whether threads change only at marked operations and at locks: `on`, `off` | `off` |
//! | `RADDLE_SEED` | [`seed`](crate::Explorer::seed) | Seed of the search | `0` |
//! | `RADDLE_EXECUTIONS` | [`executions`](crate::Explorer::executions) | Number of executions at most | no limit for `auto` or with a budget, else 10000 |
//! | `RADDLE_BUDGET` | [`budget`](crate::Explorer::budget) | Time for each exploration: `500ms`, `60s`, `2m` | 10s for `auto`, 60s with a number of executions, else no limit |
//! | `RADDLE_MAX_STEPS` | [`max_steps`](crate::Explorer::max_steps) | Events in one execution at most | `100000` |
//! | `RADDLE_TIME_LIMIT` | [`time_limit`](crate::Explorer::time_limit) | Time for one execution | `10s` |
//! | `RADDLE_WORKERS` | [`workers`](crate::Explorer::workers) | Parallel workers of each exploration | the processors that the test has to itself for `auto`, else 1 |
//! | `RADDLE_BACKEND` | [`backend`](crate::Explorer::backend) | What virtual threads are made of: `coroutines`, `threads` (of the operating system, for debuggers) | `coroutines` |
//! | `RADDLE_ISOLATION` | [`isolation`](crate::Explorer::isolation) | How executions are kept apart: `rollback`, `fork` | `rollback` |
//! | `RADDLE_ALLOCATION` | [`allocation`](crate::Explorer::allocation) | What happens to freed memory: `quarantine` (it is not used again, so that uses of it are seen), `reuse` | `quarantine` |
//! | `RADDLE_RACES` | [`races`](crate::Explorer::races) | Whether data races are looked for: `on`, `off` | `on` |
//! | `RADDLE_RECOGNISE` | [`recognise`](crate::Explorer::recognise) | Whether samples are recognised, and not made again, if they take no step that others did not take before: `on`, `off` | `on` |
//! | `RADDLE_SUPPRESS` | [`suppress`](crate::Explorer::suppress) | Failures that are not reported, with `;` between them: data races in `my_crate::stats::*,*::len`, or any kind, as in `thread-leak@my_pool::*: reason` | none |
//! | `RADDLE_REFERENCE_COUNTS` | [`reference_counts`](crate::Explorer::reference_counts) | Types or functions that count references as `Arc` does, for `exhaustive` and `auto`: `my_crate::Handle,*::release` | none |
//! | `RADDLE_ALSO` | [`also`](crate::Explorer::also) | What else may happen, with commas between: `spurious-wake-ups`, `spurious-failures`, `timeouts`, `random-bytes`, `wake-orders` | nothing |
//! | `RADDLE_CHECK_LEAKS` | [`check_leaks`](crate::Explorer::check_leaks) | Whether memory that is not freed is a failure: `on`, `off` | `off` |
//! | `RADDLE_ALLOW_LEAKED_THREADS` | [`allow_leaked_threads`](crate::Explorer::allow_leaked_threads) | Whether threads may be left that can never go on when the closure has returned: `on`, `off` | `off` |
//! | `RADDLE_ALLOW_ONE_THREAD` | [`allow_one_thread`](crate::Explorer::allow_one_thread) | Whether an exploration in which only one thread ever runs may pass: `on`, `off` | `off` |
//! | `RADDLE_RESUME` | [`resume`](crate::Explorer::resume) | Whether searches of strategy `exhaustive` that end early, also by Ctrl-C, are saved and go on the next time: `on`, `off` | `off` |
//! | `RADDLE_EXPLORED` | [`explored`](crate::Explorer::explored) | What explorations do in a program without instrumentation, as plain `cargo test` builds it: `required` (they fail), `optional` (they do what they can, and say so) | `required` under `cargo raddle` and where `CI` is set, else `optional` |
//! | `RADDLE_STACK_SIZE` | [`stack_size`](crate::Explorer::stack_size) | Bytes of stack of each thread | `2097152` |
//! | `RADDLE_FAILURES` | – | Directory of failure files | `target/raddle/failures` |
//! | `RADDLE_COLOR` | – | Colours in reports: `auto`, `always`, `never` | `auto` |
//! | `RADDLE_COLUMNS` | – | Width of reports | that of the terminal |
//! | `RADDLE_REPLAY` | – | Failure file to replay | none |
//! | `RADDLE_FORCE` | – | Replay even if the program has changed since: `on`, `off` | `off` |
//!
//! Numbers may have underscores in them (`1_000`). Counts and durations are not zero. `1` and `0` stand for `on` and `off`. A list adds to
//! what the code says; any other variable takes its place. In code, [`suppress_kind`](crate::Explorer::suppress_kind) names failures
//! of any kind.
//!
//! These are how `cargo raddle` and the tests that it runs talk to each other:
//! `RADDLE_OWNED`, `RADDLE_TEST`, `RADDLE_PACKAGE`, `RADDLE_CARGO_ARGS`, `RADDLE_PROGRESS`, `RADDLE_DEBUGGER`, `RADDLE_CORES`, `RADDLE_ALTERNATIVES`, `RADDLE_COVERAGE`, `RADDLE_RECORD`, `RADDLE_LITMUS`, `RADDLE_LITMUS_REPORTS`, `RADDLE_LITMUS_TIME`, `RADDLE_SLOW_TESTS`
//!
//! Any other variable that begins with `RADDLE_` is an error: it is most likely a misspelt one.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::engine::exploration::Effort;
#[doc(inline)]
pub use raddle_options::{Allocation, Also, Backend, Explored, Isolation, Memory, Strategy};
use raddle_options::{Values, find, switch};
use raddle_report::Kind;

use crate::suppress::Suppressed;

/// The options of one search. Reads as the [`Values`] of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) values: Values,
    /// Failures that are not reported: those of the code, and those of [`Values::suppress`].
    pub(crate) suppressed: Vec<Suppressed>,
    /// Whether the strategy is one of several that are tried.
    pub(crate) chosen_by_portfolio: bool,
    /// What an exhaustive search may take if it then comes to its end.
    pub(crate) extended_effort: Option<Effort>,
}

impl Deref for Options {
    type Target = Values;

    fn deref(&self) -> &Values {
        &self.values
    }
}

impl DerefMut for Options {
    fn deref_mut(&mut self) -> &mut Values {
        &mut self.values
    }
}

impl From<Values> for Options {
    fn from(values: Values) -> Options {
        Options { values, ..Options::default() }
    }
}

/// The time that [`Strategy::Auto`] may take if nobody says. It takes that only where there is more to explore than it can exhaust,
/// and where it finds something new until the end.
pub(crate) const AUTO_BUDGET: Duration = Duration::from_secs(10);

/// The time that [`Strategy::Auto`] may take for a number of executions.
pub(crate) const COUNTED_BUDGET: Duration = Duration::from_secs(60);

/// What other strategies may take if nobody says.
const EXECUTIONS: u64 = 10_000;

impl Options {
    /// The number of executions and the time that the search may take. A strategy other than `auto` has no time limit of its own.
    pub(crate) fn effort(&self) -> Effort {
        let (executions, time) = match (self.executions, self.budget) {
            (None, None) if self.strategy == Strategy::Auto => (u64::MAX, Some(AUTO_BUDGET)),
            (None, None) => (EXECUTIONS, None),
            (Some(executions), None) if self.strategy == Strategy::Auto => (executions, Some(COUNTED_BUDGET)),
            (executions, budget) => (executions.unwrap_or(u64::MAX), budget),
        };
        Effort { executions, time }
    }

    /// The same options with another effort.
    pub(crate) fn with_effort(&self, Effort { executions, time }: Effort) -> Options {
        let mut options = self.clone();
        options.executions = Some(executions);
        options.budget = time;
        options
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

    /// Applies variables of the environment.
    pub(crate) fn override_by(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<(), String> {
        let variables: Vec<_> = variables.collect();
        for (name, text) in &variables {
            find(name)?.set(&mut self.values, name, text)?;
        }
        let is_set = |variable: &str| variables.iter().any(|(name, _)| name == variable);
        if is_set("RADDLE_BUDGET") && !is_set("RADDLE_EXECUTIONS") {
            // Time alone decides, unless a number of executions is asked for too.
            self.values.executions = None;
        }
        for suppression in std::mem::take(&mut self.values.suppress) {
            let kind = suppression.find_kind(Kind::of_name)?;
            self.suppressed.push(Suppressed::new(kind, suppression.functions, suppression.reason));
        }
        Ok(())
    }
}

/// Whether a variable is set to `on`.
pub(crate) fn is_on(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|text| switch(&text) == Ok(true))
}

#[cfg(test)]
mod tests {
    use raddle_options::{SEARCH, all};

    use super::*;

    fn effort(executions: u64, time: Option<Duration>) -> Effort {
        Effort { executions, time }
    }

    #[track_caller]
    fn overridden(variables: &[(&str, &str)]) -> Result<Options, String> {
        let mut options = Options::default();
        options.override_by(variables.iter().map(|&(name, value)| (name.into(), value.into())))?;
        Ok(options)
    }

    #[test]
    fn variables_win_over_code() {
        let options = overridden(&[("RADDLE_STRATEGY", "pct:4"), ("RADDLE_SEED", "1_000")]).unwrap();
        assert_eq!((&options.strategy, options.seed), (&Strategy::Pct(4), 1000));
    }

    #[test]
    fn a_budget_alone_decides() {
        let mut options = Options::from(Values { executions: Some(7), ..Values::default() });
        let budget = ("RADDLE_BUDGET".to_owned(), "1.5s".to_owned());
        options.override_by(std::iter::once(budget)).unwrap();
        assert_eq!(options.effort(), effort(u64::MAX, Some(Duration::from_millis(1500))));
        let both = overridden(&[("RADDLE_EXECUTIONS", "7"), ("RADDLE_BUDGET", "1s")]).unwrap();
        assert_eq!(both.effort(), effort(7, Some(Duration::from_secs(1))));
    }

    #[test]
    fn what_nobody_chose_suits_the_strategy() {
        assert_eq!(overridden(&[]).unwrap().effort(), effort(u64::MAX, Some(AUTO_BUDGET)));
        assert_eq!(overridden(&[("RADDLE_STRATEGY", "pos")]).unwrap().effort(), effort(EXECUTIONS, None));
        let counted = overridden(&[("RADDLE_EXECUTIONS", "7")]).unwrap().effort();
        assert_eq!(counted, effort(7, Some(COUNTED_BUDGET)));
        assert!(find("RADDLE_BUDGET").unwrap().default.contains(&format!("{}s", AUTO_BUDGET.as_secs())));
        assert!(find("RADDLE_EXECUTIONS").unwrap().default.contains(&EXECUTIONS.to_string()));
    }

    #[test]
    fn mistakes_say_what_to_write_instead() {
        let message = |name, value| overridden(&[(name, value)]).unwrap_err();
        assert!(message("RADDLE_SEDE", "1").contains("RADDLE_SEED"));
        assert!(message("RADDLE_SEED", "one").contains("whole number"));
        assert!(message("RADDLE_EXECUTIONS", "0").contains("from 1"));
        assert!(message("RADDLE_COLOR", "blue").contains("`never`"));
        assert!(message("RADDLE_SUPPRESS", "leak@x: y").contains("no kind of failure"));
    }

    #[test]
    fn suppressed_failures_have_a_kind() {
        let options = overridden(&[("RADDLE_SUPPRESS", "*::len;thread-leak@my_pool::*: by design")]).unwrap();
        let texts: Vec<_> = options.suppressed.iter().map(Suppressed::to_string).collect();
        assert_eq!(texts, ["0 x data-race in `*::len`", "0 x thread-leak in `my_pool::*` (by design)"]);
    }

    #[test]
    fn every_option_of_a_search_is_a_method() {
        let explorer = include_str!("explorer.rs");
        for entry in SEARCH {
            let method = format!("pub fn {}", entry.variable.trim_start_matches("RADDLE_").to_lowercase());
            let found = ['(', '<'].iter().any(|&begin| explorer.contains(&format!("{method}{begin}")));
            assert!(found, "add to `Explorer`:\n{method}(mut self, ..) -> Explorer");
        }
    }

    #[test]
    fn the_documentation_has_the_lines_of_the_table() {
        let method = |variable: &str| {
            let name = variable.trim_start_matches("RADDLE_").to_lowercase();
            format!("[`{name}`](crate::Explorer::{name})")
        };
        let mut expected: Vec<String> = Vec::new();
        for entry in all().filter(|entry| entry.public) {
            let in_code = SEARCH.iter().any(|search| search.variable == entry.variable);
            let in_code = if in_code { method(entry.variable) } else { "–".to_owned() };
            expected.push(format!(
                "//! | `{}` | {in_code} | {} | {} |",
                entry.variable, entry.help, entry.default
            ));
        }
        let internal = all().filter(|entry| !entry.public).map(|entry| format!("`{}`", entry.variable));
        expected.push(format!("//! {}", internal.collect::<Vec<_>>().join(", ")));
        let source = include_str!("options.rs");
        for line in &expected {
            assert!(
                source.lines().any(|found| found == line),
                "add to the documentation of this module:\n{line}"
            );
        }
        for line in source.lines().filter(|line| line.starts_with("//! | `RADDLE_")) {
            assert!(
                expected.iter().any(|known| known == line),
                "not in the table of options, remove it:\n{line}"
            );
        }
    }
}
