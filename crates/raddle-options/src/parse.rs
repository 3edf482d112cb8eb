//! Numbers, durations, switches and paths as text.
//!
//! Each error is what to write instead.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// A whole number in a range: `1000`, `1_000`.
pub(crate) fn whole<T: FromStr + PartialOrd + Display>(
    text: &str,
    range: RangeInclusive<T>,
) -> Result<T, String> {
    let number = text.replace('_', "").parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("write a whole number from {} to {}", range.start(), range.end()))
}

/// The width of a terminal.
///
/// # Errors
/// What to write instead.
pub fn columns(text: &str) -> Result<u16, String> {
    whole(text, 1..=u16::MAX)
}

/// A duration that is not zero: `500ms`, `1.5s`, `2m`, `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let parsed = parse_duration(text).filter(|duration| !duration.is_zero());
    parsed.ok_or_else(|| "write a duration such as `500ms`, `10s` or `2m`".to_owned())
}

fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')?;
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.replace('_', "").parse::<f64>().ok()? * seconds).ok()
}

/// A switch: `on` or `1`, `off` or `0`.
///
/// # Errors
/// What to write instead.
pub fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "1" => Ok(true),
        "off" | "0" => Ok(false),
        _ => Err(one_of(&["on", "off"])),
    }
}

/// Paths with commas between them.
pub fn paths(text: &str) -> Vec<String> {
    parts(text).map(str::to_owned).collect()
}

/// Values with commas between them.
///
/// # Errors
/// What to write instead of the first that is wrong.
pub fn list<T: FromStr<Err = String>>(text: &str) -> Result<Vec<T>, String> {
    parts(text).map(str::parse).collect()
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// Says which words there are.
pub(crate) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("write {} or {last}", others.join(", ")),
        _ => format!("write {}", quoted.concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_range() {
        assert_eq!(whole("1_000", 0..=u64::MAX), Ok(1000));
        assert_eq!(whole("18446744073709551615", 0..=u64::MAX), Ok(u64::MAX));
        for text in ["", "_", "0", "-1", "0x10", "1.5", "18446744073709551616", "many"] {
            let instead = "write a whole number from 1 to 18446744073709551615";
            assert_eq!(whole(text, 1..=u64::MAX).unwrap_err(), instead, "{text}");
        }
    }

    #[test]
    fn durations_have_a_unit_and_are_not_zero() {
        for (text, milliseconds) in
            [("500ms", 500), ("10s", 10_000), ("1.5s", 1500), ("2m", 120_000), ("1_000ms", 1000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3600)));
        for text in ["", "10", "s", "0s", "0.0ms", "10 s", "-1s", "1d", "1..5s"] {
            assert!(duration(text).unwrap_err().contains("`10s`"), "{text}");
        }
    }

    #[test]
    fn switches_have_two_spellings() {
        assert_eq!(["on", "1", "off", "0"].map(switch), [Ok(true), Ok(true), Ok(false), Ok(false)]);
        assert_eq!(switch("yes").unwrap_err(), "write `on` or `off`");
    }

    #[test]
    fn paths_are_trimmed() {
        assert_eq!(paths(" a::b, *::len,"), ["a::b", "*::len"]);
        assert!(paths("").is_empty());
    }
}
