//! One line of the table, and how it is found by the name of its variable.

use crate::table::{Values, all};

/// A line of the table: an option, or what `cargo raddle` and the tests that it runs tell each other.
#[derive(Debug)]
pub struct Entry {
    /// The variable of the environment: `RADDLE_SEED`.
    pub variable: &'static str,
    /// What sets it on the command line: `--seed`. Empty where nothing does.
    pub flag: &'static str,
    /// Stands for the value in help: `N`.
    pub placeholder: &'static str,
    /// What holds if nobody says anything, in words; a value as it would be written is quoted by backticks.
    pub default: &'static str,
    /// One sentence, without its full stop.
    pub help: &'static str,
    /// Whether people may set it. Other variables are between `cargo raddle` and the tests that it runs.
    pub public: bool,
    pub(crate) set: fn(&mut Values, &str) -> Result<(), String>,
}

impl Entry {
    /// Sets the value of the option. `shown` is how the user spelled its name.
    ///
    /// # Errors
    /// If the text is no value of this option: one sentence that says what to write.
    pub fn set(&self, values: &mut Values, shown: &str, text: &str) -> Result<(), String> {
        (self.set)(values, text).map_err(|instead| format!("`{shown}` cannot be `{text}`; {instead}"))
    }
}

/// The entry of a variable.
///
/// # Errors
/// If there is none: one sentence that names those that there are.
pub fn find(variable: &str) -> Result<&'static Entry, String> {
    all().find(|entry| entry.variable == variable).ok_or_else(|| {
        let known: Vec<_> = all().filter(|entry| entry.public).map(|entry| entry.variable).collect();
        format!("`{variable}` is not a variable of Raddle; unset it, or use one of {}", known.join(", "))
    })
}

/// The variables of the environment whose names begin with `RADDLE_`, and what they are set to.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("RADDLE_"))?;
        Some((name, value.to_string_lossy().into_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_variables_are_named_with_the_known_ones() {
        let sentence = find("RADDLE_SEDE").unwrap_err();
        assert!(sentence.contains("`RADDLE_SEDE` is not a variable of Raddle"), "{sentence}");
        assert!(sentence.contains("RADDLE_SEED") && !sentence.contains("RADDLE_OWNED"), "{sentence}");
    }

    #[test]
    fn wrong_values_are_one_sentence() {
        let sentence = |variable, shown, text| {
            find(variable).unwrap().set(&mut Values::default(), shown, text).unwrap_err()
        };
        assert_eq!(
            sentence("RADDLE_STRATEGY", "--strategy", "pct:0"),
            "`--strategy` cannot be `pct:0`; write a depth of at least 1 after `pct:`, as in `pct:3`"
        );
        assert_eq!(
            sentence("RADDLE_FORCE", "RADDLE_FORCE", "yes"),
            "`RADDLE_FORCE` cannot be `yes`; write `on` or `off`"
        );
    }
}
