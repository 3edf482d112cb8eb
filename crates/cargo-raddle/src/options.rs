//! Raddle's own options on the command line, made of the table that tests read their variables by.
//!
//! A test reads variables only. The command line sets them for the tests it starts, so it wins over the environment;
//! both win over what the test's code says. Values are looked at here so that a typing error costs no build.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use raddle_options::{Entry, Explored, OTHERS, SEARCH, Values, environment, find};
use raddle_report::Kind;

use crate::error::{Error, Result};

/// The heading of the options in `--help`.
const HEADING: &str = "Exploration (each also a variable: --strategy is RADDLE_STRATEGY)";

/// The options that the command line sets for the tests, each with its value.
#[derive(Clone, Debug, Default)]
pub(crate) struct RaddleOptions {
    chosen: Vec<(&'static Entry, String)>,
}

impl RaddleOptions {
    /// The options with one more.
    pub(crate) fn with(mut self, entry: &'static Entry, value: Option<String>) -> RaddleOptions {
        self.chosen.extend(value.map(|value| (entry, value)));
        self
    }

    /// The variables that the command line sets.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        self.chosen.iter().map(|(entry, value)| (entry.variable, value.clone())).collect()
    }

    /// Looks at every option and at every `RADDLE_*` variable of the environment.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_with(environment()).map_err(Error::usage)
    }

    /// Whether tests need not be explored, as the command line says, or else the environment.
    pub(crate) fn is_exploring_optional(&self) -> bool {
        let mut values = Values::default();
        let entry = entry("RADDLE_EXPLORED");
        let chosen = self.chosen.iter().rfind(|(chosen, _)| chosen.variable == entry.variable);
        let text = chosen.map(|(_, text)| text.clone()).or_else(|| std::env::var(entry.variable).ok());
        // What is wrong with a value was said before.
        text.is_some_and(|text| entry.set(&mut values, entry.flag, &text).is_ok())
            && values.explored == Some(Explored::Optional)
    }

    fn check_with(&self, environment: impl Iterator<Item = (String, String)>) -> Result<(), String> {
        let mut values = Values::default();
        for (entry, value) in &self.chosen {
            entry.set(&mut values, entry.flag, value)?;
        }
        for (name, value) in environment {
            find(&name)?.set(&mut values, &name, &value)?;
        }
        for suppression in &values.suppress {
            suppression.find_kind(Kind::of_name)?;
        }
        Ok(())
    }
}

impl Args for RaddleOptions {
    fn augment_args(command: Command) -> Command {
        command.args(SEARCH.iter().map(|entry| argument(entry).help_heading(HEADING)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        RaddleOptions::augment_args(command)
    }
}

impl FromArgMatches for RaddleOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<RaddleOptions, clap::Error> {
        let value = |entry: &'static Entry| matches.get_one::<String>(entry.variable).cloned();
        Ok(SEARCH.iter().fold(RaddleOptions::default(), |options, entry| options.with(entry, value(entry))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = RaddleOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The argument of an option. Its value is any text, because [`RaddleOptions::check`] says in one sentence what is wrong with it.
fn argument(entry: &'static Entry) -> Arg {
    Arg::new(entry.variable)
        .long(entry.flag.trim_start_matches('-'))
        .value_name(entry.placeholder)
        .allow_hyphen_values(true)
        .help(help_of(entry))
}

/// The line of the table that is known to have this variable.
pub(crate) fn entry(variable: &str) -> &'static Entry {
    find(variable).expect("the table has it")
}

/// What `--help` says about one option.
pub(crate) fn help_of(entry: &Entry) -> String {
    format!("{} [default: {}]", entry.help, entry.default.replace('`', ""))
}

/// The part of `--help` that lists the variables which are no options of the command.
pub(crate) fn help() -> String {
    let mut text = String::from("Environment variables, besides those of the options:\n");
    for entry in OTHERS.iter().filter(|entry| entry.public) {
        text.push_str(&format!("  {:<15}  {}\n", entry.variable, help_of(entry)));
    }
    text
}

#[cfg(test)]
mod tests {
    use raddle_options::all;

    use super::*;

    fn chosen(variable: &str, value: &str) -> RaddleOptions {
        RaddleOptions::default().with(entry(variable), Some(value.to_owned()))
    }

    #[test]
    fn the_command_line_sets_every_option_of_a_search() {
        let command = RaddleOptions::augment_args(Command::new("test"));
        let args = SEARCH.iter().flat_map(|entry| [entry.flag, "-value"]);
        let matches = command.get_matches_from(["test"].into_iter().chain(args));
        let options = RaddleOptions::from_arg_matches(&matches).unwrap();
        let expected: Vec<_> = SEARCH.iter().map(|entry| (entry.variable, "-value".to_owned())).collect();
        assert_eq!(options.variables(), expected);
    }

    #[test]
    fn a_wrong_value_is_told_by_the_name_that_was_used() {
        let sentence = chosen("RADDLE_STRATEGY", "pct:0").check_with([].into_iter()).unwrap_err();
        assert!(sentence.starts_with("`--strategy` cannot be `pct:0`; write a depth"), "{sentence}");
        let variable = |name: &str, value: &str| {
            let variables = [(name.to_owned(), value.to_owned())];
            RaddleOptions::default().check_with(variables.into_iter())
        };
        let sentence = variable("RADDLE_STRATEGY", "pct:0").unwrap_err();
        assert!(sentence.starts_with("`RADDLE_STRATEGY` cannot be `pct:0`; write a depth"), "{sentence}");
        assert!(variable("RADDLE_SEDE", "1").unwrap_err().contains("RADDLE_SEED"));
        assert_eq!(variable("RADDLE_FORCE", "0"), Ok(()));
    }

    #[test]
    fn suppressed_failures_have_a_kind() {
        let check = |text| chosen("RADDLE_SUPPRESS", text).check_with([].into_iter());
        assert_eq!(check("*::len; thread-leak@my_pool::*: by design"), Ok(()));
        assert!(check("leak@x: y").unwrap_err().contains("`leak` is no kind of failure"));
        assert!(check("thread-leak@x").unwrap_err().contains("say why"));
    }

    #[test]
    fn the_readme_has_the_lines_of_the_table() {
        let expected: Vec<String> = all().filter(|entry| entry.public).map(line).collect();
        let readme = include_str!("../README.md");
        for line in &expected {
            assert!(readme.lines().any(|found| found == line), "add to README.md:\n{line}");
        }
        for line in readme.lines().filter(|line| line.contains("| `RADDLE_")) {
            assert!(
                expected.iter().any(|known| known == line),
                "not in the table of options, remove it:\n{line}"
            );
        }
    }

    fn line(entry: &Entry) -> String {
        let flag = if entry.flag.is_empty() { String::new() } else { format!("`{}` ", entry.flag) };
        format!("| {flag}| `{}` | {} | {} |", entry.variable, entry.help, entry.default)
    }
}
