//! Raddle's own options: the one table of `RADDLE_*` variables, and the command line that sets them.
//!
//! A test reads variables only. The command line sets them for the tests it starts, so it wins over the environment;
//! both win over what the test's code says. Values are looked at here so that a typing error costs no build.

use std::env;
use std::time::Duration;

use clap::Args;

use crate::error::{Error, Result};

/// A variable that Raddle knows.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// Whether people may set it; the others are between Raddle's own processes.
    pub(crate) public: bool,
    check: fn(&str) -> Result<(), String>,
}

/// Every variable there is.
pub(crate) const VARIABLES: &[Variable] = &[
    public("RADDLE_STRATEGY", "how the next schedule is picked", check_strategy),
    public("RADDLE_MEMORY", "which values a read may see", check_memory),
    public("RADDLE_PREEMPTIONS", "preemptions in one execution at most", check_number),
    public("RADDLE_SEED", "seed of the search", check_number),
    public("RADDLE_EXECUTIONS", "number of executions at most", check_count),
    public("RADDLE_BUDGET", "time for each exploration", check_duration),
    public("RADDLE_MAX_STEPS", "events in one execution at most", check_count),
    public("RADDLE_TIME_LIMIT", "time for one execution", check_duration),
    public("RADDLE_WORKERS", "parallel workers of each exploration", check_count),
    public("RADDLE_BACKEND", "what virtual threads are made of", check_backend),
    public("RADDLE_ISOLATION", "how executions are kept apart", check_isolation),
    public("RADDLE_ALLOCATION", "what happens to freed memory", check_allocation),
    public("RADDLE_RACES", "whether data races are looked for", check_on_off),
    public("RADDLE_SUPPRESS", "failures that are not reported", check_anything),
    public("RADDLE_REFERENCE_COUNTS", "code that counts references as Arc does", check_anything),
    public("RADDLE_ALSO", "what else may happen", check_also),
    public("RADDLE_CHECK_LEAKS", "whether memory that is not freed is a failure", check_on_off),
    public("RADDLE_ALLOW_LEAKED_THREADS", "whether threads may be left that can never go on", check_on_off),
    public("RADDLE_RESUME", "whether exhaustive searches are saved and go on", check_on_off),
    public("RADDLE_STACK_SIZE", "bytes of stack of each thread", check_count),
    public("RADDLE_FAILURES", "directory of failure files", check_anything),
    public("RADDLE_COLOR", "colours in reports", check_color),
    public("RADDLE_COLUMNS", "width of reports", check_count),
    public("RADDLE_REPLAY", "failure file to replay", check_anything),
    public("RADDLE_FORCE", "replay a file of another build", check_switch),
    internal("RADDLE_OWNED"),
    internal("RADDLE_TEST"),
    internal("RADDLE_PACKAGE"),
    internal("RADDLE_CARGO_ARGS"),
    internal("RADDLE_PROGRESS"),
    internal("RADDLE_CORES"),
    internal("RADDLE_RECORD"),
];

/// The options that each set a variable for the tests.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Exploration (each also a variable: RADDLE_STRATEGY, ...)")]
pub(crate) struct RaddleOptions {
    /// How the next schedule is picked: random, pct or pct:DEPTH, pos, bounded or bounded:SWITCHES, round-robin, exhaustive, auto, schedule:STEPS
    #[arg(long, value_name = "STRATEGY", allow_hyphen_values = true)]
    pub(crate) strategy: Option<String>,
    /// Which values a read may see: sc, rc11
    #[arg(long, value_name = "MODEL", allow_hyphen_values = true)]
    pub(crate) memory: Option<String>,
    /// Preemptions in one execution at most, for exhaustive and bounded
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) preemptions: Option<String>,
    /// Seed of the search
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seed: Option<String>,
    /// Number of executions at most
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) executions: Option<String>,
    /// Time for each exploration: 500ms, 60s, 2m
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) budget: Option<String>,
    /// Events in one execution at most
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) max_steps: Option<String>,
    /// Time for one execution
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) time_limit: Option<String>,
    /// Parallel workers of each exploration
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) workers: Option<String>,
    /// What virtual threads are made of: coroutines, threads
    #[arg(long, value_name = "BACKEND", allow_hyphen_values = true)]
    pub(crate) backend: Option<String>,
    /// How executions are kept apart: rollback, fork
    #[arg(long, value_name = "ISOLATION", allow_hyphen_values = true)]
    pub(crate) isolation: Option<String>,
    /// What happens to freed memory: quarantine (it is not used again), reuse
    #[arg(long, value_name = "POLICY", allow_hyphen_values = true)]
    pub(crate) allocation: Option<String>,
    /// Whether data races are looked for: on, off
    #[arg(long, value_name = "ON|OFF", allow_hyphen_values = true)]
    pub(crate) races: Option<String>,
    /// Failures that are not reported: data races in my_crate::stats::*,*::len, or any kind, as in "thread-leak@my_pool::*: reason"
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) suppress: Option<String>,
    /// Types or functions that count references as Arc does, for exhaustive and auto: my_crate::Handle,*::release
    #[arg(long, value_name = "PATHS", allow_hyphen_values = true)]
    pub(crate) reference_counts: Option<String>,
    /// What else may happen: spurious-wake-ups, spurious-failures, timeouts, random-bytes, with commas between them
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) also: Option<String>,
    /// Whether memory that is not freed is a failure: on, off
    #[arg(long, value_name = "ON|OFF", allow_hyphen_values = true)]
    pub(crate) check_leaks: Option<String>,
    /// Whether threads may be left that can never go on when the closure has returned: on, off
    #[arg(long, value_name = "ON|OFF", allow_hyphen_values = true)]
    pub(crate) allow_leaked_threads: Option<String>,
    /// Whether searches of strategy exhaustive that end early, also by Ctrl-C, are saved and go on the next time: on, off
    #[arg(long, value_name = "ON|OFF", allow_hyphen_values = true)]
    pub(crate) resume: Option<String>,
    /// Bytes of stack of each thread
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) stack_size: Option<String>,
}

impl RaddleOptions {
    /// The variables that the command line sets.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let options = [
            ("RADDLE_STRATEGY", &self.strategy),
            ("RADDLE_MEMORY", &self.memory),
            ("RADDLE_PREEMPTIONS", &self.preemptions),
            ("RADDLE_SEED", &self.seed),
            ("RADDLE_EXECUTIONS", &self.executions),
            ("RADDLE_BUDGET", &self.budget),
            ("RADDLE_MAX_STEPS", &self.max_steps),
            ("RADDLE_TIME_LIMIT", &self.time_limit),
            ("RADDLE_WORKERS", &self.workers),
            ("RADDLE_BACKEND", &self.backend),
            ("RADDLE_ISOLATION", &self.isolation),
            ("RADDLE_ALLOCATION", &self.allocation),
            ("RADDLE_RACES", &self.races),
            ("RADDLE_SUPPRESS", &self.suppress),
            ("RADDLE_REFERENCE_COUNTS", &self.reference_counts),
            ("RADDLE_ALSO", &self.also),
            ("RADDLE_CHECK_LEAKS", &self.check_leaks),
            ("RADDLE_ALLOW_LEAKED_THREADS", &self.allow_leaked_threads),
            ("RADDLE_RESUME", &self.resume),
            ("RADDLE_STACK_SIZE", &self.stack_size),
        ];
        options.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }

    /// Looks at every option and at every `RADDLE_*` variable of the environment.
    pub(crate) fn check(&self) -> Result<()> {
        for (name, value) in self.variables() {
            let option = name.trim_start_matches("RADDLE_").to_lowercase().replace('_', "-");
            check(name, &format!("--{option}"), &value)?;
        }
        for (name, value) in env::vars_os() {
            let Some(name) = name.to_str().filter(|name| name.starts_with("RADDLE_")) else { continue };
            check(name, name, &value.to_string_lossy())?;
        }
        Ok(())
    }
}

/// The table of variables for `--help`.
pub(crate) fn help() -> String {
    let mut text = String::from("Environment variables:\n");
    for variable in VARIABLES.iter().filter(|variable| variable.public) {
        text.push_str(&format!("  {:<18} {}\n", variable.name, variable.help));
    }
    text
}

/// Checks one value; `shown` is how the user spelled its name.
fn check(name: &str, shown: &str, value: &str) -> Result<()> {
    match VARIABLES.iter().find(|variable| variable.name == name) {
        None => {
            let known: Vec<_> =
                VARIABLES.iter().filter(|known| known.public).map(|known| known.name).collect();
            Err(Error::usage(format_args!(
                "`{name}` is not a variable of Raddle; unset it, or use one of {}",
                known.join(", ")
            )))
        }
        Some(variable) => (variable.check)(value)
            .map_err(|wanted| Error::usage(format_args!("`{shown}` cannot be `{value}`; write {wanted}"))),
    }
}

const fn public(name: &'static str, help: &'static str, check: fn(&str) -> Result<(), String>) -> Variable {
    Variable { name, help, public: true, check }
}

const fn internal(name: &'static str) -> Variable {
    Variable { name, help: "", public: false, check: check_anything }
}

fn check_anything(_: &str) -> Result<(), String> {
    Ok(())
}

fn check_strategy(value: &str) -> Result<(), String> {
    let (name, parameter) = match value.split_once(':') {
        Some((name, parameter)) => (name, Some(parameter)),
        None => (value, None),
    };
    let good = match (name, parameter) {
        ("random" | "pos" | "round-robin" | "pct" | "bounded" | "exhaustive" | "auto", None) => true,
        ("pct" | "bounded", Some(number)) => number.parse::<u32>().is_ok(),
        ("schedule", Some(steps)) => raddle_report::failure::Schedule::try_from(steps.to_owned()).is_ok(),
        _ => false,
    };
    let wanted = "`random`, `pct`, `pct:3`, `pos`, `bounded`, `bounded:2`, `round-robin`, `exhaustive`, `auto` or `schedule:0x3 1 0x2`";
    if good { Ok(()) } else { Err(wanted.into()) }
}

fn check_also(value: &str) -> Result<(), String> {
    let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
    let known = ["spurious-wake-ups", "spurious-failures", "timeouts", "random-bytes"];
    let mut checked = parts.map(|part| one_of(part, &known));
    checked.find(Result::is_err).unwrap_or(Ok(()))
}

fn check_allocation(value: &str) -> Result<(), String> {
    one_of(value, &["quarantine", "reuse"])
}

fn check_on_off(value: &str) -> Result<(), String> {
    one_of(value, &["on", "off"])
}

fn check_memory(value: &str) -> Result<(), String> {
    one_of(value, &["sc", "rc11"])
}

fn check_number(value: &str) -> Result<(), String> {
    value.parse::<u64>().map(drop).map_err(|_| "a whole number from 0 to 18446744073709551615".into())
}

fn check_count(value: &str) -> Result<(), String> {
    match value.parse::<u64>() {
        Ok(1..) => Ok(()),
        _ => Err("a whole number from 1".into()),
    }
}

fn check_duration(value: &str) -> Result<(), String> {
    parse_duration(value).map(drop).ok_or_else(|| "a duration such as `500ms`, `10s` or `2m`".into())
}

fn check_backend(value: &str) -> Result<(), String> {
    one_of(value, &["coroutines", "threads"])
}

fn check_isolation(value: &str) -> Result<(), String> {
    one_of(value, &["rollback", "fork"])
}

fn check_color(value: &str) -> Result<(), String> {
    one_of(value, &["auto", "always", "never"])
}

fn check_switch(value: &str) -> Result<(), String> {
    one_of(value, &["0", "1"])
}

fn one_of(value: &str, choices: &[&str]) -> Result<(), String> {
    if choices.contains(&value) {
        return Ok(());
    }
    let quoted: Vec<_> = choices.iter().map(|choice| format!("`{choice}`")).collect();
    Err(quoted.join(" or "))
}

/// Reads `500ms`, `10s`, `1.5s`, `2m`, `1h`.
fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let duration = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
    (!duration.is_zero()).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn good(name: &str, values: &[&str]) {
        for value in values {
            assert!(check(name, name, value).is_ok(), "{name}={value}");
        }
    }

    #[track_caller]
    fn bad(name: &str, values: &[&str]) {
        for value in values {
            let message = check(name, name, value).expect_err(value).to_string();
            assert!(message.contains(name) && message.contains("write"), "{message}");
        }
    }

    #[test]
    fn strategies() {
        let name = "RADDLE_STRATEGY";
        good(
            name,
            &[
                "random",
                "pct",
                "pct:3",
                "pos",
                "bounded",
                "bounded:2",
                "round-robin",
                "exhaustive",
                "auto",
                "schedule:0x3 1",
            ],
        );
        bad(name, &["", "rand", "pct:", "pct:x", "random:1", "bounded:-1", "schedule", "schedule:a", "pos:"]);
    }

    #[test]
    fn numbers_durations_and_choices() {
        good("RADDLE_SEED", &["0", "18446744073709551615"]);
        bad("RADDLE_SEED", &["", "-1", "0x10", "18446744073709551616"]);
        good("RADDLE_PREEMPTIONS", &["0", "2"]);
        bad("RADDLE_PREEMPTIONS", &["", "few"]);
        good("RADDLE_EXECUTIONS", &["1", "100000"]);
        bad("RADDLE_EXECUTIONS", &["0", "many"]);
        good("RADDLE_BUDGET", &["500ms", "10s", "2m", "1h", "1.5s"]);
        bad("RADDLE_BUDGET", &["", "10", "s", "0s", "10 s", "-1s", "1d", "1..5s"]);
        good("RADDLE_BACKEND", &["coroutines", "threads"]);
        bad("RADDLE_BACKEND", &["fibers"]);
        bad("RADDLE_ISOLATION", &["none"]);
    }

    #[test]
    fn unknown_variables_are_named_with_the_known_ones() {
        let message = check("RADDLE_SEDE", "RADDLE_SEDE", "1").unwrap_err().to_string();
        assert!(message.contains("RADDLE_SEDE") && message.contains("RADDLE_SEED"), "{message}");
        assert!(!message.contains("RADDLE_OWNED"), "{message}");
    }

    #[test]
    fn the_command_line_sets_variables_that_are_in_the_table() {
        let all = RaddleOptions {
            strategy: Some("pos".into()),
            seed: Some("1".into()),
            executions: Some("1".into()),
            budget: Some("1s".into()),
            max_steps: Some("1".into()),
            time_limit: Some("1s".into()),
            workers: Some("1".into()),
            backend: Some("threads".into()),
            isolation: Some("fork".into()),
            allocation: Some("reuse".into()),
            races: Some("off".into()),
            suppress: Some("my_crate::*".into()),
            reference_counts: Some("my_crate::Handle".into()),
            also: Some("timeouts".into()),
            check_leaks: Some("on".into()),
            allow_leaked_threads: Some("on".into()),
            resume: Some("on".into()),
            memory: Some("rc11".into()),
            preemptions: Some("0".into()),
            stack_size: Some("65536".into()),
        };
        assert_eq!(all.variables().len(), 20);
        all.check().unwrap();
        let wrong = RaddleOptions { max_steps: Some("x".into()), ..RaddleOptions::default() };
        assert!(wrong.check().unwrap_err().to_string().contains("`--max-steps`"));
    }

    #[test]
    fn the_readme_lists_every_public_variable() {
        let readme = include_str!("../README.md");
        for variable in VARIABLES.iter().filter(|variable| variable.public) {
            assert!(readme.contains(&format!("`{}`", variable.name)), "{}", variable.name);
        }
    }
}
