//! The beginning of a given schedule, and then everything else.

use super::{Point, Strategy};
use crate::op::ThreadId;
use crate::schedule::{ALL_POINTS, Schedule};

/// A strategy that makes the first choices of a schedule, then another choice than the schedule does, and goes on in every possible way, one
/// execution after the other, depth first. Threads and sources of reads are choices, in the order of the execution.
#[derive(Debug)]
pub struct Enumerating {
    script: Schedule,
    /// The number of choices that are made as the script has them.
    prefix: usize,
    /// The choices beyond the prefix.
    path: Vec<Choice>,
    /// The number of choices so far.
    made: usize,
    /// The number of the current execution.
    execution: u64,
}

/// A choice among several alternatives.
#[derive(Clone, Copy, Debug)]
struct Choice {
    taken: usize,
    alternatives: usize,
    /// The alternative that is left out: that of the script.
    avoided: Option<usize>,
}

impl Choice {
    /// Takes the next alternative. False if there is none.
    fn advance(&mut self) -> bool {
        self.taken += 1;
        self.taken += usize::from(self.avoided == Some(self.taken));
        self.taken < self.alternatives
    }
}

impl Enumerating {
    /// The strategy that leaves the script after this many choices.
    pub fn new(mut script: Schedule, prefix: usize) -> Enumerating {
        if script.threads.first() == Some(&ALL_POINTS) {
            script.threads.remove(0);
        }
        Enumerating { script, prefix, path: Vec::new(), made: 0, execution: 0 }
    }

    /// Makes a choice; `scripted` is that of the script, if it has one.
    fn take(&mut self, alternatives: usize, scripted: Option<usize>) -> usize {
        let made = self.made;
        self.made += 1;
        if let Some(scripted) = scripted.filter(|_| made < self.prefix) {
            return scripted;
        }
        let Some(beyond) = made.checked_sub(self.prefix) else { return 0 };
        if let Some(choice) = self.path.get(beyond) {
            return choice.taken;
        }
        let avoided = scripted.filter(|_| beyond == 0);
        let taken = usize::from(avoided == Some(0));
        self.path.push(Choice { taken, alternatives, avoided });
        taken
    }
}

impl Strategy for Enumerating {
    /// An execution that is begun again makes the same choices.
    fn begin(&mut self, execution: u64) -> bool {
        self.made = 0;
        if std::mem::replace(&mut self.execution, execution) == execution {
            return true;
        }
        while let Some(last) = self.path.last_mut() {
            if last.advance() {
                return true;
            }
            self.path.pop();
        }
        false
    }

    fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        let scripted = self.script.threads.get(point.choice);
        let scripted = scripted.and_then(|thread| point.runnable.iter().position(|other| other == thread));
        point.runnable[self.take(point.runnable.len(), scripted)]
    }

    fn choose_reads_from(&mut self, alternatives: usize, choice: usize) -> usize {
        let scripted = self.script.mo_offsets.get(choice).map(|&offset| usize::from(offset));
        self.take(alternatives, scripted)
    }

    fn is_indexed(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::Steps;
    use std::collections::BTreeSet;

    use super::*;

    /// The choices of an execution of two threads, each of which makes two steps; the second step of thread 1 is a read with two sources.
    fn execution(strategy: &mut Enumerating) -> Vec<usize> {
        let (mut left, mut made, mut reads) = ([2, 2], Vec::new(), 0);
        let mut choice = 0;
        loop {
            let runnable: Vec<ThreadId> = (0..2).filter(|&thread| left[usize::from(thread)] > 0).collect();
            let thread = match runnable[..] {
                [] => return made,
                [only] => only,
                _ => {
                    let point = Point {
                        current: 0,
                        runnable: &runnable,
                        active: &runnable,
                        steps: Steps::Now(&[]),
                        choice,
                    };
                    choice += 1;
                    let thread = strategy.choose(&point);
                    made.push(thread.into());
                    thread
                }
            };
            left[usize::from(thread)] -= 1;
            if thread == 1 && left[1] == 0 {
                made.push(strategy.choose_reads_from(2, reads));
                reads += 1;
            }
        }
    }

    fn all(script: &Schedule, prefix: usize) -> Vec<Vec<usize>> {
        let (mut strategy, mut made) = (Enumerating::new(script.clone(), prefix), Vec::new());
        while strategy.begin(made.len() as u64) {
            made.push(execution(&mut strategy));
        }
        made
    }

    #[test]
    fn all_prefixes_together_make_each_other_execution_once() {
        // 0 1 1 and the newest source, then 0.
        let script = Schedule { threads: vec![0, 1, 1], mo_offsets: vec![0], ..Schedule::default() };
        let own = vec![0, 1, 1, 0];
        let others: Vec<Vec<usize>> = (0..own.len()).rev().flat_map(|prefix| all(&script, prefix)).collect();
        let distinct: BTreeSet<&Vec<usize>> = others.iter().collect();
        assert_eq!(distinct.len(), others.len(), "each once");
        // Six interleavings, with two sources each.
        assert_eq!(others.len(), 11);
        assert!(!others.contains(&own));
    }

    #[test]
    fn executions_have_the_prefix_in_common_and_nothing_more() {
        let script = Schedule { threads: vec![0, 1, 1], mo_offsets: vec![0], ..Schedule::default() };
        let own = [0, 1, 1, 0];
        for prefix in 0..own.len() {
            for made in all(&script, prefix) {
                assert_eq!(made[..prefix], own[..prefix]);
                assert_ne!(made[prefix], own[prefix]);
            }
        }
    }
}
