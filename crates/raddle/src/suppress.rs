//! Data races that are not reported, by the functions that make the accesses.

use raddle_engine::engine::Suppress;
use raddle_reflect::{Program, Site};

/// Functions that access memory without order on purpose, in crates that many depend on, and that the compiler takes care of
/// all the same.
const KNOWN: [&str; 1] = [
    // Reads that may be torn, and are thrown away if the lock's stamp has changed.
    "crossbeam_utils::atomic::atomic_cell::AtomicCell<*>::load",
];

/// Says which races are not to be reported: those in functions that the patterns name.
pub(crate) fn suppress(patterns: &[String]) -> Suppress {
    let program = Program::current().ok();
    let patterns: Vec<String> =
        patterns.iter().cloned().chain(KNOWN.iter().map(|&known| known.to_owned())).collect();
    Box::new(move |calls| {
        let Some(program) = &program else { return false };
        // The compiler turned one atomic operation into a loop, which begins with a read that is not atomic.
        if calls.first().is_some_and(|&call| matches!(program.classify(call as u64), Site::ExpandedRmw(_))) {
            return true;
        }
        let frames = calls.iter().flat_map(|&call| program.frames(call as u64));
        frames.into_iter().any(|frame| patterns.iter().any(|pattern| matches(pattern, &frame.function)))
    })
}

/// Whether a text is what a pattern describes, in which `*` stands for any text.
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
