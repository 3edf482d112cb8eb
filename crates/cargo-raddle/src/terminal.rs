//! What is known about the place the output goes to.

use std::env;
use std::io::{self, IsTerminal};

use console::Term;
use raddle_options::columns;

use crate::cargo::options::Output;

/// Colours, width, and whether a line may be redrawn.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    pub(crate) color: bool,
    pub(crate) columns: u16,
    /// Whether progress is shown: people are watching.
    pub(crate) progress: bool,
}

/// The width for output that goes to a file or a pipe.
const DEFAULT_COLUMNS: u16 = 100;

impl Terminal {
    /// Looks at the options, the environment and the standard streams.
    pub(crate) fn new(options: &Output) -> Terminal {
        let variable = |name| env::var(name).ok();
        let choice = options.color.clone().or_else(|| variable("RADDLE_COLOR"));
        let choice = choice.or_else(|| variable("CARGO_TERM_COLOR"));
        let color = match choice.as_deref() {
            Some("always") => true,
            Some("never") => false,
            _ => io::stdout().is_terminal() && !is_set("NO_COLOR"),
        };
        let columns = number("RADDLE_COLUMNS")
            .or_else(|| Term::stdout().size_checked().map(|(_, columns)| columns))
            .or_else(|| number("COLUMNS"))
            .unwrap_or(DEFAULT_COLUMNS);
        let progress = io::stderr().is_terminal() && !options.quiet && !is_set("CI");
        Terminal { color, columns, progress }
    }

    /// Puts text into a colour, if there are colours.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let code = match style {
            Style::Good => "32",
            Style::Bad => "31",
            Style::Warn => "33",
            Style::Heading => "1;32",
            Style::Error => "1;31",
            Style::Dim => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// A line such as cargo's `     Running tests/counter.rs`.
    pub(crate) fn status(&self, verb: &str, text: &str) -> String {
        format!("{} {text}", self.paint(Style::Heading, &format!("{verb:>12}")))
    }
}

/// What a piece of text means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    Good,
    Bad,
    Warn,
    Heading,
    Error,
    Dim,
}

fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}

fn number(name: &str) -> Option<u16> {
    columns(&env::var(name).ok()?).ok()
}
