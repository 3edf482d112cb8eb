//! The table of options.

use std::time::Duration;

use crate::choices::{Allocation, Also, Backend, Explored, Isolation, Memory};
use crate::entry::Entry;
use crate::parse::{columns, duration, list, one_of, paths, switch, whole};
use crate::strategy::Strategy;
use crate::suppression::Suppression;

/// Makes [`Values`] and [`SEARCH`] of lines that each have help, a field, its type and its value if nobody says anything; then
/// variable, flag, placeholder and default in words; and how text is put into the field.
macro_rules! search_options {
    ($(
        $(#[doc = $help:literal])+
        $field:ident: $type:ty = $value:expr,
        $variable:literal, $flag:literal, $placeholder:literal, $default:literal,
        $set:expr;
    )*) => {
        /// The values of the options that change a search.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Values {
            $($(#[doc = $help])+ pub $field: $type,)*
        }

        impl Default for Values {
            fn default() -> Values {
                Values { $($field: $value,)* }
            }
        }

        /// The options that change a search: each is a flag of `cargo raddle test`, and a method of `raddle::Explorer`.
        pub static SEARCH: &[Entry] = &[$(Entry {
            variable: $variable,
            flag: $flag,
            placeholder: $placeholder,
            default: $default,
            help: concat!($($help),+).trim_ascii(),
            public: true,
            set: |values, text| {
                let set: fn(&mut $type, &str) -> Result<(), String> = $set;
                set(&mut values.$field, text)
            },
        }),*];
    };
}

search_options! {
    /// How the next schedule is picked: `random`, `pct` or `pct:DEPTH`, `pos`, `bounded` or `bounded:PREEMPTIONS`, `round-robin`,
    /// `exhaustive`, `auto`, `schedule:STEPS`, `turns:THREADS`
    strategy: Strategy = Strategy::Auto,
    "RADDLE_STRATEGY", "--strategy", "STRATEGY", "`auto`",
    |strategy, text| text.parse().map(|chosen| *strategy = chosen);

    /// Which values a read may see: `sc`, `rc11`
    memory: Option<Memory> = None,
    "RADDLE_MEMORY", "--memory", "MODEL", "both for `auto`, `rc11` for `exhaustive`, else `sc`",
    |memory, text| text.parse().map(|chosen| *memory = Some(chosen));

    /// Preemptions in one execution at most, for `exhaustive` and `bounded`
    preemptions: Option<usize> = None,
    "RADDLE_PREEMPTIONS", "--preemptions", "N", "no limit",
    |most, text| whole(text, 0..=usize::MAX).map(|number| *most = Some(number));

    /// Whether threads change only at marked operations and at locks: `on`, `off`
    only_marked: bool = false,
    "RADDLE_ONLY_MARKED", "--only-marked", "ON|OFF", "`off`",
    |only, text| switch(text).map(|on| *only = on);

    /// Seed of the search
    seed: u64 = 0,
    "RADDLE_SEED", "--seed", "N", "`0`",
    |seed, text| whole(text, 0..=u64::MAX).map(|number| *seed = number);

    /// Number of executions at most
    executions: Option<u64> = None,
    "RADDLE_EXECUTIONS", "--executions", "N", "no limit for `auto` or with a budget, else 10000",
    |most, text| whole(text, 1..=u64::MAX).map(|number| *most = Some(number));

    /// Time for each exploration: `500ms`, `60s`, `2m`
    budget: Option<Duration> = None,
    "RADDLE_BUDGET", "--budget", "DURATION", "10s for `auto`, 60s with a number of executions, else no limit",
    |budget, text| duration(text).map(|time| *budget = Some(time));

    /// Events in one execution at most
    max_steps: u64 = 100_000,
    "RADDLE_MAX_STEPS", "--max-steps", "N", "`100000`",
    |most, text| whole(text, 1..=u64::MAX).map(|number| *most = number);

    /// Time for one execution
    time_limit: Duration = Duration::from_secs(10),
    "RADDLE_TIME_LIMIT", "--time-limit", "DURATION", "`10s`",
    |limit, text| duration(text).map(|time| *limit = time);

    /// Parallel workers of each exploration
    workers: Option<usize> = None,
    "RADDLE_WORKERS", "--workers", "N", "the processors that the test has to itself for `auto`, else 1",
    |workers, text| whole(text, 1..=usize::MAX).map(|number| *workers = Some(number));

    /// What virtual threads are made of: `coroutines`, `threads` (of the operating system, for debuggers)
    backend: Backend = Backend::Coroutines,
    "RADDLE_BACKEND", "--backend", "BACKEND", "`coroutines`",
    |backend, text| text.parse().map(|chosen| *backend = chosen);

    /// How executions are kept apart: `rollback`, `fork`
    isolation: Isolation = Isolation::Rollback,
    "RADDLE_ISOLATION", "--isolation", "ISOLATION", "`rollback`",
    |isolation, text| text.parse().map(|chosen| *isolation = chosen);

    /// What happens to freed memory: `quarantine` (it is not used again, so that uses of it are seen), `reuse`
    allocation: Allocation = Allocation::Quarantine,
    "RADDLE_ALLOCATION", "--allocation", "POLICY", "`quarantine`",
    |allocation, text| text.parse().map(|chosen| *allocation = chosen);

    /// Whether data races are looked for: `on`, `off`
    races: bool = true,
    "RADDLE_RACES", "--races", "ON|OFF", "`on`",
    |races, text| switch(text).map(|on| *races = on);

    /// Whether samples are recognised, and not made again, if they take no step that others did not take before: `on`, `off`
    recognise: bool = true,
    "RADDLE_RECOGNISE", "--recognise", "ON|OFF", "`on`",
    |recognise, text| switch(text).map(|on| *recognise = on);

    /// Failures that are not reported, with `;` between them: data races in `my_crate::stats::*,*::len`, or any kind, as in
    /// `thread-leak@my_pool::*: reason`
    suppress: Vec<Suppression> = Vec::new(),
    "RADDLE_SUPPRESS", "--suppress", "LIST", "none",
    |suppress, text| Suppression::list(text).map(|more| suppress.extend(more));

    /// Types or functions that count references as `Arc` does, for `exhaustive` and `auto`: `my_crate::Handle,*::release`
    reference_counts: Vec<String> = Vec::new(),
    "RADDLE_REFERENCE_COUNTS", "--reference-counts", "PATHS", "none",
    |code, text| { code.extend(paths(text)); Ok(()) };

    /// What else may happen, with commas between: `spurious-wake-ups`, `spurious-failures`, `timeouts`, `random-bytes`, `wake-orders`
    also: Vec<Also> = Vec::new(),
    "RADDLE_ALSO", "--also", "LIST", "nothing",
    |also, text| list::<Also>(text).map(|more| also.extend(more));

    /// Whether memory that is not freed is a failure: `on`, `off`
    check_leaks: bool = false,
    "RADDLE_CHECK_LEAKS", "--check-leaks", "ON|OFF", "`off`",
    |check, text| switch(text).map(|on| *check = on);

    /// Whether threads may be left that can never go on when the closure has returned: `on`, `off`
    allow_leaked_threads: bool = false,
    "RADDLE_ALLOW_LEAKED_THREADS", "--allow-leaked-threads", "ON|OFF", "`off`",
    |allow, text| switch(text).map(|on| *allow = on);

    /// Whether an exploration in which only one thread ever runs may pass: `on`, `off`
    allow_one_thread: bool = false,
    "RADDLE_ALLOW_ONE_THREAD", "--allow-one-thread", "ON|OFF", "`off`",
    |allow, text| switch(text).map(|on| *allow = on);

    /// Whether searches of strategy `exhaustive` that end early, also by Ctrl-C, are saved and go on the next time: `on`, `off`
    resume: bool = false,
    "RADDLE_RESUME", "--resume", "ON|OFF", "`off`",
    |resume, text| switch(text).map(|on| *resume = on);

    /// What explorations do in a program without instrumentation, as plain `cargo test` builds it: `required` (they fail), `optional`
    /// (they do what they can, and say so)
    explored: Option<Explored> = None,
    "RADDLE_EXPLORED", "--explored", "WORD", "`required` under `cargo raddle` and where `CI` is set, else `optional`",
    |explored, text| text.parse().map(|chosen| *explored = Some(chosen));

    /// Bytes of stack of each thread
    stack_size: usize = 2 << 20,
    "RADDLE_STACK_SIZE", "--stack-size", "N", "`2097152`",
    |size, text| whole(text, 1..=usize::MAX).map(|bytes| *size = bytes);
}

/// Everything else that is a variable: what becomes of failures, and what `cargo raddle` and the tests that it runs tell each
/// other.
pub static OTHERS: &[Entry] = &[
    Entry {
        variable: "RADDLE_FAILURES",
        flag: "",
        placeholder: "DIRECTORY",
        default: "`target/raddle/failures`",
        help: "Directory of failure files",
        public: true,
        set: |_, _| Ok(()),
    },
    Entry {
        variable: "RADDLE_COLOR",
        flag: "--color",
        placeholder: "WHEN",
        default: "`auto`",
        help: "Colours in reports: `auto`, `always`, `never`",
        public: true,
        set: |_, text| match text {
            "auto" | "always" | "never" => Ok(()),
            _ => Err(one_of(&["auto", "always", "never"])),
        },
    },
    Entry {
        variable: "RADDLE_COLUMNS",
        flag: "",
        placeholder: "N",
        default: "that of the terminal",
        help: "Width of reports",
        public: true,
        set: |_, text| columns(text).map(drop),
    },
    Entry {
        variable: "RADDLE_REPLAY",
        flag: "replay",
        placeholder: "FILE",
        default: "none",
        help: "Failure file to replay",
        public: true,
        set: |_, _| Ok(()),
    },
    Entry {
        variable: "RADDLE_FORCE",
        flag: "replay --force",
        placeholder: "ON|OFF",
        default: "`off`",
        help: "Replay even if the program has changed since: `on`, `off`",
        public: true,
        set: |_, text| switch(text).map(drop),
    },
    internal("RADDLE_OWNED", "Whether the process runs one test only"),
    internal("RADDLE_TEST", "The test, as the harness names it"),
    internal("RADDLE_PACKAGE", "What the test was built from"),
    internal("RADDLE_CARGO_ARGS", "How the test was built"),
    internal("RADDLE_PROGRESS", "File descriptor for lines about progress"),
    internal("RADDLE_DEBUGGER", "File that `cargo raddle debug` shares with the test"),
    internal("RADDLE_CORES", "Number of processors for each of the tests that run at once"),
    internal(
        "RADDLE_ALTERNATIVES",
        "Whether a replay looks for executions that pass, and adds them to the failure file",
    ),
    internal("RADDLE_COVERAGE", "Whether explorations without failure say which code they reached"),
    internal("RADDLE_RECORD", "File to which each search appends what it came to"),
    internal("RADDLE_LITMUS", "The columns that litmus tests fill: `hardware` or `models`"),
    internal(
        "RADDLE_LITMUS_REPORTS",
        "Directory for the reports of litmus tests, which then leave the verdict to others",
    ),
    internal("RADDLE_LITMUS_TIME", "Milliseconds of each litmus test on real threads"),
    internal("RADDLE_SLOW_TESTS", "Whether tests of Raddle itself that take long are run"),
];

/// Every line of the table.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    SEARCH.iter().chain(OTHERS)
}

/// A variable that people do not set. Its values are those of Raddle's own processes, and not checked.
const fn internal(variable: &'static str, help: &'static str) -> Entry {
    Entry { variable, flag: "", placeholder: "", default: "", help, public: false, set: |_, _| Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_and_flag_have_one_name() {
        for entry in SEARCH {
            let name = entry.variable.strip_prefix("RADDLE_").expect(entry.variable);
            assert_eq!(entry.flag, format!("--{}", name.to_lowercase().replace('_', "-")));
        }
    }

    #[test]
    fn help_is_one_line_without_a_full_stop() {
        for entry in all() {
            let help = entry.help;
            assert!(!help.is_empty() && !help.ends_with('.') && !help.contains("  "), "{help}");
            assert!(!help.contains('|') && !entry.default.contains('|'), "cells of a table: {help}");
        }
    }

    #[test]
    fn defaults_are_what_the_table_says() {
        for entry in SEARCH {
            let quoted = entry.default.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
            let Some(text) = quoted.filter(|text| !text.contains('`')) else { continue };
            let mut values = Values::default();
            entry.set(&mut values, entry.variable, text).unwrap();
            assert_eq!(values, Values::default(), "{}={text}", entry.variable);
        }
    }

    #[test]
    fn counts_and_durations_are_not_zero() {
        for (variable, zero) in [
            ("RADDLE_EXECUTIONS", "0"),
            ("RADDLE_WORKERS", "0"),
            ("RADDLE_MAX_STEPS", "0"),
            ("RADDLE_STACK_SIZE", "0"),
            ("RADDLE_COLUMNS", "0"),
            ("RADDLE_BUDGET", "0s"),
            ("RADDLE_TIME_LIMIT", "0ms"),
        ] {
            let entry = crate::find(variable).unwrap();
            assert!(entry.set(&mut Values::default(), variable, zero).is_err(), "{variable}");
        }
    }

    #[test]
    fn lists_add_to_what_the_code_says() {
        let mut values = Values { also: vec![Also::Timeouts], ..Values::default() };
        crate::find("RADDLE_ALSO").unwrap().set(&mut values, "--also", "random-bytes").unwrap();
        assert_eq!(values.also, [Also::Timeouts, Also::RandomBytes]);
    }
}
