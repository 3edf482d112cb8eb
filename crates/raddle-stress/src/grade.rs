//! Which outcomes of a program are right.

use std::fmt;
use std::str::FromStr;

/// The grade of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Expect {
    /// The outcome is right, whether it occurs or not.
    Acceptable,
    /// The outcome is right, and worth a look: it shows an effect that surprises.
    Interesting,
    /// The outcome is wrong.
    Forbidden,
    /// No rule says anything about the outcome, which is wrong, too.
    Unknown,
}

impl Expect {
    /// Whether a test passes in which the outcome occurs.
    pub fn passes(self) -> bool {
        matches!(self, Expect::Acceptable | Expect::Interesting)
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Expect::Acceptable => "acceptable",
            Expect::Interesting => "interesting",
            Expect::Forbidden => "forbidden",
            Expect::Unknown => "unknown",
        })
    }
}

impl FromStr for Expect {
    type Err = String;

    fn from_str(text: &str) -> Result<Expect, String> {
        match text {
            "acceptable" => Ok(Expect::Acceptable),
            "interesting" => Ok(Expect::Interesting),
            "forbidden" => Ok(Expect::Forbidden),
            "unknown" => Ok(Expect::Unknown),
            _ => Err(format!("`{text}` is no grade: write `acceptable`, `interesting` or `forbidden`")),
        }
    }
}

/// What a rule says about the outcomes that it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// An outcome as text, `1, 0`, or a pattern; see [`Grading`].
    pub pattern: String,
    /// The grade of the outcomes.
    pub expect: Expect,
    /// What they mean.
    pub description: String,
}

/// The rules of a program.
///
/// A rule that is exactly the outcome comes first, then the first rule whose pattern matches. In a pattern `*` stands for any text within one
/// result, and `|` separates alternatives: `1, *` or `0|1, 2`. A pattern that is nothing but `*` matches every outcome.
///
/// ```
/// use raddle_stress::{Expect, Grading};
///
/// let grading = Grading::new()
///     .outcome("0, 0", Expect::Forbidden, "both loads missed both stores")
///     .outcome("0|1, *", Expect::Acceptable, "one after the other");
/// assert_eq!(grading.grade("0, 0").0, Expect::Forbidden);
/// assert_eq!(grading.grade("1, 7").0, Expect::Acceptable);
/// assert_eq!(grading.grade("2, 0").0, Expect::Unknown);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grading {
    /// The rules, in the order in which they were written.
    pub rules: Vec<Rule>,
}

impl Grading {
    /// No rules: every outcome is unknown.
    pub fn new() -> Grading {
        Grading::default()
    }

    /// Adds a rule.
    pub fn outcome(mut self, pattern: &str, expect: Expect, description: &str) -> Grading {
        let (pattern, description) = (pattern.to_owned(), description.to_owned());
        self.rules.push(Rule { pattern, expect, description });
        self
    }

    /// The grade of an outcome, and its description.
    pub fn grade(&self, outcome: &str) -> (Expect, &str) {
        let exact = self.rules.iter().find(|rule| rule.pattern == outcome);
        let rule = exact.or_else(|| self.rules.iter().find(|rule| matches(&rule.pattern, outcome)));
        rule.map_or((Expect::Unknown, "no rule matches"), |rule| (rule.expect, &rule.description))
    }
}

fn matches(pattern: &str, outcome: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let (patterns, cells) = (cells(pattern), cells(outcome));
    let cell_matches =
        |(pattern, cell): (&&str, &&str)| pattern.split('|').any(|choice| glob(choice.trim(), cell));
    patterns.len() == cells.len() && patterns.iter().zip(&cells).all(cell_matches)
}

/// The results of an outcome. Commas inside brackets belong to a result.
fn cells(text: &str) -> Vec<&str> {
    let (mut cells, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                cells.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    cells.push(text[start..].trim());
    cells
}

/// Whether the text is the pattern, where `*` is any text.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pattern.rfind('*').map(|at| &pattern[at + 1..]) else { return rest.is_empty() };
    let middle: Vec<&str> = parts.collect();
    for part in &middle[..middle.len() - 1] {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        for outcome in yes {
            assert!(matches(pattern, outcome), "{pattern} matches {outcome}");
        }
        for outcome in no {
            assert!(!matches(pattern, outcome), "{pattern} does not match {outcome}");
        }
    }

    #[test]
    fn patterns_match_results_one_by_one() {
        check("1, 0", &["1, 0", "1,0"], &["1, 00", "0, 1", "1", "1, 0, 0"]);
        check("*, 0", &["1, 0", "(2, 3), 0"], &["0, 1", "1, 1, 0"]);
        check("0|2, 1", &["0, 1", "2, 1"], &["1, 1"]);
        check("(*, 1), (0, 0)", &["(1, 1), (0, 0)"], &["(1, 0), (0, 0)", "(1, 1)"]);
        check("Some(*)", &["Some(1)", "Some([1, 2])"], &["None"]);
        check("a*b*c", &["abc", "axbyc", "abbc"], &["ab", "abcd", "xabc"]);
        check("aa*aa", &["aaaa", "aabaa"], &["aaa"]);
        check("*", &["", "1, 0", "anything"], &[]);
        check("", &[""], &["1"]);
    }

    #[test]
    fn an_exact_rule_comes_first_and_then_the_first_pattern() {
        let grading = Grading::new()
            .outcome("*, 0", Expect::Interesting, "first")
            .outcome("0, *", Expect::Acceptable, "second")
            .outcome("0, 0", Expect::Forbidden, "exact");
        assert_eq!(grading.grade("0, 0"), (Expect::Forbidden, "exact"));
        assert_eq!(grading.grade("1, 0"), (Expect::Interesting, "first"));
        assert_eq!(grading.grade("0, 1"), (Expect::Acceptable, "second"));
        assert_eq!(grading.grade("1, 1").0, Expect::Unknown);
    }
}
