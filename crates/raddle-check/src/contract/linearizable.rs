//! Linearizability (Herlihy and Wing 1990): a total order of the operations that the model allows and that never
//! contradicts real time. Operations of unknown outcome may be left out.

use super::{Finding, Problem, Rejected};
use crate::engine::frontier::{Frontier, NO_DEADLINE};
use crate::engine::limits::Exhausted;
use crate::history::Operation;
use crate::model::Model;
use crate::timeline::{Event, NEVER, Span};

/// How many failed attempts are kept to explain a rejection.
const ATTEMPTS: usize = 8;

pub(crate) fn check<M: Model>(problem: &mut Problem<'_, M>) -> Finding {
    check_with(problem, Crash::Ignored)
}

/// What a crash does to the operations that are open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Crash {
    /// Nothing: they may take effect at any later time.
    Ignored,
    /// They take effect before it or never.
    Ends,
    /// Like `Ends`, and of what took effect since the crash before only a prefix survives.
    Cuts,
}

pub(super) fn check_with<M: Model>(problem: &mut Problem<'_, M>, crash: Crash) -> Finding {
    let all = problem.timeline.len();
    let frontier = Frontier::new(problem.lts.initial(problem.model));
    match walk(problem, crash, frontier, all, all) {
        Walked::Through(frontier) => {
            problem.widest = frontier.widest();
            Finding::Accepted
        }
        Walked::Stuck { rank, operation, frontier } => {
            problem.widest = frontier.widest();
            if !problem.explain {
                return Finding::Rejected(Rejected::default());
            }
            // Explaining is not deciding: it is not counted.
            let steps = problem.budget.steps;
            // Once more, up to the event that failed, to see how far each order got.
            let recording = Frontier::recording(problem.lts.initial(problem.model));
            let attempts = match walk(problem, crash, recording, rank + 1, all) {
                Walked::Stuck { frontier, .. } => frontier.attempts(ATTEMPTS),
                // A limit that is reached only now costs the explanation, not the verdict.
                Walked::Through(_) | Walked::Exhausted { .. } => Vec::new(),
            };
            let prefix = shortest_wrong_prefix(problem, crash, rank);
            problem.budget.steps = steps;
            let operation = Some(operation);
            Finding::Rejected(Rejected { operation, prefix, attempts, ..Rejected::default() })
        }
        Walked::Exhausted { limit, rank } => Finding::Unknown { limit, events: rank },
    }
}

/// How many events are wrong whatever the operations that are open after them return. What the search found at `rank`
/// it may have found because it knows how they ended.
fn shortest_wrong_prefix<M: Model>(problem: &mut Problem<'_, M>, crash: Crash, rank: usize) -> usize {
    let spans = problem.timeline.spans(problem.operations.len());
    let is_open = |span: &&Span| span.call as usize <= rank && span.ret as usize > rank && span.ret != NEVER;
    let all_ended = spans.iter().filter(is_open).map(|span| span.ret as usize + 1).max();
    let (mut fine, mut wrong) = (rank, all_ended.unwrap_or(rank + 1));
    while wrong - fine > 1 {
        let middle = fine.midpoint(wrong);
        let frontier = Frontier::new(problem.lts.initial(problem.model));
        // If a limit is reached, what is known to be wrong is still so.
        match walk(problem, crash, frontier, middle, middle) {
            Walked::Stuck { .. } => wrong = middle,
            Walked::Through(_) => fine = middle,
            Walked::Exhausted { .. } => break,
        }
    }
    wrong
}

enum Walked {
    Through(Frontier),
    Stuck { rank: usize, operation: usize, frontier: Frontier },
    Exhausted { limit: Exhausted, rank: usize },
}

/// Takes `frontier` along the first `until` events, as if returns from the rank `horizon` on had not been seen.
fn walk<M: Model>(
    problem: &mut Problem<'_, M>,
    crash: Crash,
    mut frontier: Frontier,
    until: usize,
    horizon: usize,
) -> Walked {
    let timeline = problem.timeline;
    let deadlines = timeline.returns(problem.operations.len());
    let mut slots = vec![0u32; problem.operations.len()];
    let mut crashes = timeline.crashes.iter().filter(|_| crash != Crash::Ignored).peekable();
    // Whether what is left until the next crash cannot have survived it.
    let mut lost = false;
    if crash == Crash::Cuts {
        frontier.remember_cuts();
    }
    for (rank, event) in timeline.events().take(until).enumerate() {
        while crashes.next_if(|&&at| at == rank).is_some() {
            if let Err(limit) = frontier.crash(problem.lts, problem.model, problem.budget) {
                return Walked::Exhausted { limit, rank };
            }
            lost = false;
        }
        if lost {
            continue;
        }
        if rank.is_multiple_of(4096)
            && let Err(limit) = problem.budget.check_time()
        {
            return Walked::Exhausted { limit, rank };
        }
        match event {
            Event::Call(op) => {
                let deadline = if deadlines[op] as usize >= horizon { NEVER } else { deadlines[op] };
                let Operation { input, .. } = problem.operations[op];
                let output = problem.operations[op].output().filter(|_| deadline != NEVER);
                let class = problem.lts.class(problem.model, input, output);
                let deadline = match deadline {
                    // Whether a read of unknown outcome took place or not makes no difference.
                    NEVER if problem.lts.is_read_only(class) => continue,
                    NEVER => NO_DEADLINE,
                    rank => u64::from(rank),
                };
                slots[op] = frontier.open(problem.lts, class, deadline, op) as u32;
            }
            Event::Return(op) => {
                match frontier.close(problem.lts, problem.model, slots[op] as usize, problem.budget) {
                    Ok(true) => frontier.tidy(problem.lts, problem.model),
                    Ok(false) if crash == Crash::Cuts && crashes.peek().is_some() => lost = true,
                    Ok(false) => return Walked::Stuck { rank, operation: op, frontier },
                    Err(limit) => return Walked::Exhausted { limit, rank },
                }
            }
        }
    }
    Walked::Through(frontier)
}
