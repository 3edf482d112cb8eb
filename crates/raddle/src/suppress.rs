//! Suppressions: known failures that are not reported, named by kind and function.

use raddle_report::Kind;

/// A suppression, and the number of failures that it suppressed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suppressed {
    /// The kind of the failures.
    pub kind: Kind,
    /// The functions in which they occur: a path in which `*` stands for any text.
    pub functions: String,
    /// The reason for the suppression; may be empty.
    pub reason: String,
    /// The number of executions that would have failed, including those that estimate the size of the search; for data races, the
    /// number of pairs of code locations. Other processes are not counted.
    pub count: u64,
}

impl Suppressed {
    pub(crate) fn new(kind: Kind, functions: String, reason: String) -> Suppressed {
        Suppressed { kind, functions, reason, count: 0 }
    }
}

impl std::fmt::Display for Suppressed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Suppressed { kind, functions, reason, count } = self;
        write!(f, "{count} x {} in `{functions}`", kind.name())?;
        if reason.is_empty() { Ok(()) } else { write!(f, " ({reason})") }
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        let check =
            |pattern, text, expected| assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        check("a::b", "a::b", true);
        check("a::b", "a::bc", false);
        check("a::*", "a::b::c", true);
        check("*::len", "a::b::len", true);
        check("*::len", "a::b::length", false);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c", false);
        check("*", "", true);
        check("ab*ba", "aba", false);
    }
}
