//! Rounds of loops that do the same again and again, as in a livelock: the first one is shown, and how many follow.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::rows::{Row, RowKind};
use super::words::counted;

/// The largest number of rows in a round.
const LONGEST: usize = 40;
/// The smallest number of equal rounds in a row that are folded.
const FEWEST: usize = 3;

/// Replaces equal rounds after the first by a row that counts them.
pub(crate) fn fold(rows: Vec<Row>) -> Vec<Row> {
    let kinds = kinds(&rows);
    let mut folded = Vec::with_capacity(rows.len());
    let mut at = 0;
    while at < rows.len() {
        let Some((length, rounds)) = round_at(&kinds[at..]) else {
            folded.push(rows[at].clone());
            at += 1;
            continue;
        };
        let (first, others) = rows[at..at + length * rounds].split_at(length);
        folded.extend_from_slice(first);
        folded.push(again(first, others, rounds - 1));
        at += length * rounds;
    }
    folded
}

/// The row for rounds that are equal to the one before.
fn again(round: &[Row], others: &[Row], times: usize) -> Row {
    let events: u64 = round.iter().map(|row| row.events).sum();
    let last = &others[others.len() - 1];
    let times = counted(times as u64, "time");
    Row {
        kind: RowKind::Switch,
        text: format!("the {} above, {times} more", counted(events, "event")),
        depth: 0,
        within: None,
        numbers: Default::default(),
        line: None,
        events: others.iter().map(|row| row.events).sum(),
        span: last.span.end..last.span.end,
        ..*last
    }
}

/// The length of the shortest round at the beginning that is repeated often enough, and how often it is there.
fn round_at(kinds: &[usize]) -> Option<(usize, usize)> {
    (2..=LONGEST.min(kinds.len() / FEWEST)).find_map(|length| {
        let (round, mut rest) = kinds.split_at(length);
        let mut rounds = 1;
        while rest.starts_with(round) {
            rest = &rest[length..];
            rounds += 1;
        }
        (rounds >= FEWEST).then_some((length, rounds))
    })
}

/// A number for each row, equal for rows that look the same.
fn kinds(rows: &[Row]) -> Vec<usize> {
    let mut known = HashMap::new();
    rows.iter()
        .map(|row| {
            let next = known.len();
            let look = (row.kind as u8, row.thread, row.depth, &row.within, &row.text, &row.line);
            match known.entry(look) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => *entry.insert(next),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(texts: &str) -> Vec<Row> {
        let row = |(at, text): (usize, char)| Row {
            kind: RowKind::Event,
            thread: 1,
            depth: 0,
            within: None,
            text: text.to_string(),
            numbers: Default::default(),
            line: None,
            events: 1,
            span: at..at + 1,
        };
        texts.chars().enumerate().map(row).collect()
    }

    fn folded(texts: &str) -> String {
        let words = fold(rows(texts)).into_iter().map(|row| row.text).collect::<Vec<_>>();
        words.join(" ")
    }

    #[test]
    fn the_shortest_round_is_shown_once_and_a_part_of_one_remains() {
        assert_eq!(folded("xabcabcabcabcab"), "x a b c the 3 events above, 3 times more a b");
        assert_eq!(folded("abababababab"), "a b the 2 events above, 5 times more");
    }

    #[test]
    fn rounds_that_are_few_or_differ_are_kept() {
        assert_eq!(folded("abcabcab"), "a b c a b c a b");
        assert_eq!(folded("abacadae"), "a b a c a d a e");
        assert_eq!(folded(""), "");
    }

    #[test]
    fn no_event_is_lost() {
        let events = |rows: &[Row]| rows.iter().map(|row| row.events).sum::<u64>();
        let before = rows("xabcabcabcabcabyyzyyzyyz");
        assert_eq!(events(&fold(before.clone())), events(&before));
    }
}
