//! What is known to be wrong and not mended yet. Programs with such a thing are left out; nothing should be.

use crate::program::{Mode, Op, Program, Width, flat};

/// Whether a program has something of which it is known that strategies do not agree about it.
pub fn is_known(program: &Program) -> bool {
    KNOWN.iter().any(|(_, has)| has(program))
}

type Predicate = fn(&Program) -> bool;

/// What it is, and which programs have it.
pub const KNOWN: [(&str, Predicate); 7] = [
    ("an exhaustive search lets readers in while a writer waits", readers_pass_writers),
    ("an exhaustive search opens a barrier twice", |program| {
        count(program, |op| *op == Op::Barrier) > program.barrier
    }),
    ("a thread that waits at a `sync_channel` looks at freed memory", |program| {
        program.has_channel() && program.capacity.is_some()
    }),
    (
        "other answers of `is_finished` are not left out where both kinds of handle share its code",
        |program| program.has(|op| matches!(op, Op::IsFinished(_))),
    ),
    ("an exhaustive search that lets timeouts of a condition variable end diverges", |program| {
        count(program, |op| matches!(op, Op::WaitWhileZero { timeout: Some(_), .. })) > 1
    }),
    (
        "an exhaustive search misses what the last handle of an `Arc` does in code that is interpreted",
        |program| (0..program.threads.len()).filter(|&thread| program.has_arc(thread)).count() == 1,
    ),
    ("a livelock at an atomic of less than four bytes aborts", |program| {
        let is_narrow = |at: usize| matches!(program.atomics[at], Width::Bool | Width::U8 | Width::U16);
        program.has(|op| matches!(op, Op::SpinUntil(at, ..) if is_narrow(*at)))
    }),
];

fn readers_pass_writers(program: &Program) -> bool {
    let locks = |mode: Mode| move |op: &Op| matches!(op, Op::Locked { mode: of, .. } if *of == mode);
    let waits = |op: &Op| match op {
        Op::Locked { mode: Mode::Read, only_try, body, .. } => {
            *only_try || body.iter().any(|op| !matches!(op, Op::Replace(..)))
        }
        _ => false,
    };
    program.has(locks(Mode::Write)) && program.has(waits)
}

fn count(program: &Program, like: impl Fn(&Op) -> bool) -> usize {
    program.threads.iter().flat_map(|body| flat(body)).filter(|op| like(op)).count()
}
