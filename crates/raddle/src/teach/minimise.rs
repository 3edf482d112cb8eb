//! The smallest schedule that fails: fewest context switches, then fewest turns.
//!
//! A run of entries of one thread is moved to the next or to the previous run of that thread, which saves context switches, as long as the
//! execution still fails in the same way (delta debugging, Zeller and Hildebrandt 2002). Then all schedules with very few context switches
//! are tried, and at last the beginnings of the schedule, which may fail sooner.

use std::cell::RefCell;
use std::rc::Rc;

use raddle_engine::exploration::Found;
use raddle_engine::strategy::{TurnLog, Turns};
use raddle_report::Kind;

use super::schedule::Schedule;
use super::space::ScheduleSpace;
use crate::options::Options;
use crate::search::attempt::{Attempt, Workload};

/// Executions that may be made.
const MOST: usize = 6_000;

/// The smallest schedule that is found, and its execution. None if the turns of the execution do not suffice to make it fail again.
pub(super) fn minimise(
    options: &Options,
    attempt: &mut Attempt<'_>,
    found: &Found,
    log: &Rc<RefCell<TurnLog>>,
    work: &mut Workload<'_>,
) -> Option<(Schedule, Found)> {
    let kind = (work.kind)(&found.outcome)?;
    let made = log.borrow().made.clone();
    let mut executor = Executor { options, attempt, found, log, work, kind, left: MOST };
    let mut best = executor.fails(made)?;
    loop {
        let better = moved_runs(&best.made).find_map(|list| executor.better(list, &best));
        match better {
            Some(better) => best = better,
            None => break,
        }
    }
    let threads = best.made.iter().copied().max().unwrap_or(1);
    for switches in 0..best.switches() {
        let space = ScheduleSpace::new(threads, best.made.len(), switches);
        if space.len() > executor.left as u128 {
            break;
        }
        let exactly = space.iter().filter(|schedule| schedule.switches() == switches);
        let better =
            exactly.map(|schedule| schedule.threads().to_vec()).find_map(|list| executor.better(list, &best));
        if let Some(better) = better {
            best = better;
            break;
        }
    }
    let mut length = 0;
    while length < best.made.len() {
        match executor.fails(best.made[..length].to_vec()) {
            Some(shorter) if shorter.size() < best.size() => (best, length) = (shorter, 0),
            _ => length += 1,
        }
    }
    Some((Schedule::from(best.made), best.found))
}

/// An execution that fails as the first one does.
struct Failing {
    /// All its turns. As a schedule, they make it again.
    made: Vec<u16>,
    found: Found,
}

impl Failing {
    fn switches(&self) -> usize {
        switches(&self.made)
    }

    /// Context switches, and then turns.
    fn size(&self) -> (usize, usize) {
        (self.switches(), self.made.len())
    }
}

struct Executor<'e, 'c, 'w> {
    options: &'e Options,
    attempt: &'e mut Attempt<'c>,
    found: &'e Found,
    log: &'e Rc<RefCell<TurnLog>>,
    work: &'e mut Workload<'w>,
    kind: Kind,
    left: usize,
}

impl Executor<'_, '_, '_> {
    /// The execution of a list, if it fails in the same way and executions are left.
    fn fails(&mut self, list: Vec<u16>) -> Option<Failing> {
        self.left = self.left.checked_sub(1)?;
        let Workload { run, judge, kind } = &mut *self.work;
        let strategy = || -> Box<dyn raddle_engine::Strategy> {
            Box::new(Turns::of(&list, Rc::clone(self.log)).only_marked(self.options.only_marked))
        };
        let found = self.attempt.search.execute_by(strategy, &self.found.schedule, 0, *run, *judge)?;
        let made = self.log.borrow().made.clone();
        (kind(&found.outcome) == Some(self.kind)).then_some(Failing { made, found })
    }

    /// The same, if it has fewer context switches.
    fn better(&mut self, list: Vec<u16>, best: &Failing) -> Option<Failing> {
        if switches(&list) >= best.switches() {
            return None;
        }
        self.fails(list).filter(|failing| failing.switches() < best.switches())
    }
}

fn switches(list: &[u16]) -> usize {
    list.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// The lists in which one run of a thread is moved to its next or its previous run.
fn moved_runs(list: &[u16]) -> impl Iterator<Item = Vec<u16>> {
    let runs: Vec<&[u16]> = list.chunk_by(|a, b| a == b).collect();
    let moves = (0..runs.len()).flat_map(|run| [(run, true), (run, false)]);
    moves.filter_map(move |(moved, later)| {
        let same = |&other: &usize| runs[other][0] == runs[moved][0];
        let to = match later {
            // Without a later run, the last place serves.
            true => (moved + 1..runs.len()).find(same).unwrap_or(runs.len()),
            false => (0..moved).rev().find(same)?,
        };
        let mut moved_list = Vec::with_capacity(list.len());
        for place in 0..=runs.len() {
            if place == to {
                moved_list.extend_from_slice(runs[moved]);
            }
            if let Some(run) = runs.get(place).filter(|_| place != moved) {
                moved_list.extend_from_slice(run);
            }
        }
        Some(moved_list)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_moved_to_their_neighbours() {
        let moved: Vec<Vec<u16>> = moved_runs(&[1, 2, 2, 1, 3]).collect();
        assert_eq!(
            moved,
            [
                vec![2, 2, 1, 1, 3],
                vec![1, 1, 3, 2, 2],
                vec![1, 2, 2, 3, 1],
                vec![1, 1, 2, 2, 3],
                vec![1, 2, 2, 1, 3],
            ]
        );
    }
}
