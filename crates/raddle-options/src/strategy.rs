//! Strategies: how the next schedule is picked.

use std::fmt;
use std::str::FromStr;

use crate::parse::whole;
use crate::schedule;

/// How the next schedule is picked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// Any thread that can go on, with equal probability.
    Random,
    /// Probabilistic concurrency testing: random priorities that change at `depth - 1` random points.
    Pct(usize),
    /// Partial order sampling: random priorities of events, drawn anew where events conflict.
    Pos,
    /// All interleavings with no preemption, then one, and so on up to this many. Never the same twice.
    Bounded(usize),
    /// Each thread in turn, with a growing quantum.
    RoundRobin,
    /// Every distinct execution once, under the chosen [`Memory`](crate::Memory) model.
    Exhaustive,
    /// Several of these, as far as the time or the number of executions goes: exhaustive search if the program is small enough,
    /// else samples of several kinds, under both memory models and with freed memory treated in both ways. Finding out which
    /// is part of it.
    Auto,
    /// The given thread at each choice; then each thread as long as it can go on.
    Schedule(Vec<u16>),
    /// The threads take turns as listed, out of turn where they cannot, and then in order; a turn is a step before which threads may
    /// change. Thread 0 only makes the others, without entries.
    Turns(Vec<u16>),
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Strategy, String> {
        let (name, parameter) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        match (name, parameter) {
            ("random", None) => Ok(Strategy::Random),
            ("pct", None) => Ok(Strategy::Pct(3)),
            ("pct", Some(depth)) => whole(depth, 1..=usize::MAX)
                .map(Strategy::Pct)
                .map_err(|_| "write a depth of at least 1 after `pct:`, as in `pct:3`".into()),
            ("pos", None) => Ok(Strategy::Pos),
            ("bounded", None) => Ok(Strategy::Bounded(usize::MAX)),
            ("bounded", Some(most)) => whole(most, 0..=usize::MAX)
                .map(Strategy::Bounded)
                .map_err(|_| "write a number of preemptions after `bounded:`, as in `bounded:2`".into()),
            ("round-robin", None) => Ok(Strategy::RoundRobin),
            ("exhaustive", None) => Ok(Strategy::Exhaustive),
            ("auto", None) => Ok(Strategy::Auto),
            ("schedule", Some(choices)) => schedule::decode(choices).map(Strategy::Schedule),
            ("turns", Some(threads)) => schedule::decode(threads).map(Strategy::Turns),
            _ => Err("write `random`, `pct`, `pct:3`, `pos`, `bounded`, `bounded:2`, `round-robin`, `exhaustive`, `auto`, \
                      `schedule:0x3 1 0` or `turns:1x3 2 1`"
                .into()),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Random => f.write_str("random"),
            Strategy::Pct(depth) => write!(f, "pct:{depth}"),
            Strategy::Pos => f.write_str("pos"),
            Strategy::Bounded(usize::MAX) => f.write_str("bounded"),
            Strategy::Bounded(most) => write!(f, "bounded:{most}"),
            Strategy::RoundRobin => f.write_str("round-robin"),
            Strategy::Exhaustive => f.write_str("exhaustive"),
            Strategy::Auto => f.write_str("auto"),
            Strategy::Schedule(choices) => write!(f, "schedule:{}", schedule::encode(choices)),
            Strategy::Turns(threads) => write!(f, "turns:{}", schedule::encode(threads)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_are_written_as_they_are_read() {
        let plain = ["random", "pos", "bounded", "round-robin", "exhaustive", "auto"];
        for text in
            plain.into_iter().chain(["pct:3", "bounded:0", "bounded:2", "schedule:0x3 1 0", "turns:1x3 2 1"])
        {
            assert_eq!(text.parse::<Strategy>().unwrap().to_string(), text);
        }
        assert_eq!("pct".parse(), Ok(Strategy::Pct(3)));
    }

    #[test]
    fn mistakes_say_what_to_write_instead() {
        let check = |texts: &[&str], expected: &str| {
            for text in texts {
                let instead = text.parse::<Strategy>().unwrap_err();
                assert!(instead.contains(expected), "{text}: {instead}");
            }
        };
        check(&["", "dfs", "random:1", "pos:", "schedule"], "`bounded:2`");
        check(&["pct:0", "pct:", "pct:x"], "at least 1");
        check(&["bounded:-1", "bounded:"], "as in `bounded:2`");
        check(&["schedule:a", "turns:1,2"], "as in `0x3`");
    }
}
