//! The filters of failures: what the engine asks whether a failure is reported.

use std::cell::Cell;
use std::rc::Rc;

use raddle_engine::execution::Suppress;
use raddle_engine::{EndedExecution, Outcome};
use raddle_reflect::{Program, Site};
use raddle_report::Kind;

use crate::explain::kind;
use crate::suppress::{Suppressed, matches};

/// The number of suppressed failures, by suppression.
pub(crate) type Counts = Rc<[Cell<u64>]>;

/// The filter of failures of executions. Constructed while allocations belong to the engine.
pub(crate) struct Suppressions {
    program: Option<Program>,
    all: Vec<Suppressed>,
    pub(crate) counts: Counts,
}

impl Suppressions {
    pub(crate) fn new(all: &[Suppressed]) -> Suppressions {
        let counts = all.iter().map(|_| Cell::new(0)).collect();
        Suppressions { program: Program::current().ok(), all: all.to_vec(), counts }
    }

    /// Whether a suppression concerns anything but data races, which the race detector filters itself.
    pub(crate) fn need_stacks(all: &[Suppressed]) -> bool {
        all.iter().any(|suppressed| suppressed.kind != Kind::DataRace)
    }

    /// Whether a failing execution counted as passed.
    pub(crate) fn have_ended_executions(&self) -> bool {
        let ended = |(suppressed, count): (&Suppressed, &Cell<u64>)| {
            suppressed.kind != Kind::DataRace && count.get() > 0
        };
        self.all.iter().zip(&*self.counts).any(ended)
    }

    /// Whether an execution with this outcome counts as passed. Of a thread leak, each leaked thread must be in a named function; of
    /// other failures, one thread must be.
    pub(crate) fn cover(&self, outcome: &Outcome, ended: &EndedExecution<'_>) -> bool {
        let Some(kind) = kind(outcome) else { return false };
        let of_kind = |suppressed: &&(usize, &Suppressed)| suppressed.1.kind == kind;
        if kind == Kind::DataRace || !self.all.iter().enumerate().any(|suppressed| of_kind(&&suppressed)) {
            return false;
        }
        let (Some(program), stacks) = (&self.program, ended.stacks()) else { return false };
        let by = |stack: &Vec<usize>| {
            let names: Vec<String> =
                stack.iter().flat_map(|&at| program.frames(at as u64)).map(|frame| frame.function).collect();
            let fits = |(_, suppressed): &(usize, &Suppressed)| {
                names.iter().any(|name| matches(&suppressed.functions, name))
            };
            self.all.iter().enumerate().filter(|it| of_kind(&it)).find(fits).map(|(index, _)| index)
        };
        let mut found = stacks.iter().map(by);
        let covered = match kind {
            Kind::ThreadLeak => found.collect::<Option<Vec<_>>>().and_then(|all| all.first().copied()),
            _ => found.find_map(|index| index),
        };
        if let Some(index) = covered {
            self.counts[index].set(self.counts[index].get() + 1);
        }
        covered.is_some()
    }
}

/// Functions of widely used crates that race on purpose, and that are compiled as their authors expect.
const KNOWN: [&str; 1] = [
    // Torn reads of a sequence lock, which are discarded if the stamp has changed.
    "crossbeam_utils::atomic::atomic_cell::AtomicCell<*>::load",
];

/// The filter of data races: suppresses and counts races in named functions.
pub(crate) fn suppress(all: &[Suppressed], counts: Option<Counts>) -> Suppress {
    let program = Program::current().ok();
    let races = all.iter().enumerate().filter(|(_, suppressed)| suppressed.kind == Kind::DataRace);
    let known = KNOWN.iter().map(|&known| (None, known.to_owned()));
    let patterns: Vec<(Option<usize>, String)> =
        races.map(|(index, suppressed)| (Some(index), suppressed.functions.clone())).chain(known).collect();
    Box::new(move |calls| {
        let Some(program) = &program else { return false };
        // The compiler expanded an atomic operation into a loop that begins with a plain read.
        if calls.first().is_some_and(|&call| matches!(program.classify(call as u64), Site::ExpandedRmw(_))) {
            return true;
        }
        let names: Vec<String> =
            calls.iter().flat_map(|&call| program.frames(call as u64)).map(|frame| frame.function).collect();
        let fits = |(_, pattern): &&(Option<usize>, String)| names.iter().any(|name| matches(pattern, name));
        let Some((index, _)) = patterns.iter().find(fits) else { return false };
        if let (Some(counts), Some(index)) = (&counts, index) {
            counts[*index].set(counts[*index].get() + 1);
        }
        true
    })
}
