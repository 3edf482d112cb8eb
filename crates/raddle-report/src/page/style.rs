//! The capabilities of the terminal.

use std::io::IsTerminal;

/// The width, colours and characters that a page may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The number of columns.
    pub width: usize,
    /// Whether ANSI colours may be used.
    pub colour: bool,
    /// Whether Unicode may be used for lines and arrows.
    pub unicode: bool,
}

/// The default width: fits a log file and half a screen.
const WIDTH: usize = 100;

impl Style {
    /// The style of standard error, where failures are printed.
    ///
    /// `COLUMNS` gives the width. `NO_COLOR` turns colours off, `CLICOLOR_FORCE` turns them on; otherwise they are on
    /// for a terminal that is not `dumb` and not under `CI`. A `C` or `POSIX` locale turns Unicode off.
    pub fn detect() -> Style {
        Style::from_environment(|name| std::env::var(name).ok(), std::io::stderr().is_terminal())
    }

    fn from_environment(variable: impl Fn(&str) -> Option<String>, is_terminal: bool) -> Style {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let width = set("COLUMNS").and_then(|columns| columns.trim().parse().ok()).unwrap_or(WIDTH);
        let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let dumb = set("TERM").is_some_and(|terminal| terminal == "dumb");
        let colour = set("NO_COLOR").is_none() && (forced || (is_terminal && !dumb && set("CI").is_none()));
        // The first of these variables that is set decides, as POSIX has it.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let unicode = !matches!(locale.as_deref(), Some("C" | "POSIX"));
        Style { width: width.max(20), colour, unicode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], is_terminal: bool, expected: (usize, bool, bool)) {
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let style = Style::from_environment(variable, is_terminal);
        assert_eq!((style.width, style.colour, style.unicode), expected);
    }

    #[test]
    fn the_environment_decides() {
        check(&[], true, (100, true, true));
        check(&[], false, (100, false, true));
        check(&[("COLUMNS", "72"), ("CI", "true")], true, (72, false, true));
        check(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true, (100, false, true));
        check(&[("CLICOLOR_FORCE", "1"), ("CI", "1")], false, (100, true, true));
        check(&[("CLICOLOR_FORCE", "0"), ("LANG", "C")], false, (100, false, false));
        check(&[("LC_ALL", "C.UTF-8"), ("LANG", "C"), ("TERM", "dumb")], true, (100, false, true));
    }
}
