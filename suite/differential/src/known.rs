//! What is known to be wrong and not mended yet. Programs with such a thing are left out; nothing should be.

use crate::program::{ArcOp, Op, Program, Width, flat};

/// Whether a program has something of which it is known that strategies do not agree about it.
pub fn is_known(program: &Program) -> bool {
    KNOWN.iter().any(|(_, has)| has(program))
}

type Predicate = fn(&Program) -> bool;

/// What it is, and which programs have it.
pub const KNOWN: [(&str, Predicate); 6] = [
    (
        "other answers of `is_finished` are not left out where both kinds of handle share its code",
        |program| program.has(|op| matches!(op, Op::IsFinished(_))),
    ),
    (
        "an exhaustive search diverges after `Condvar::wait_timeout` was late and another timeout begins",
        |program| {
            let waits = |op: &Op| matches!(op, Op::WaitWhileZero { timeout: Some(_), .. });
            let is_timed = |op: &Op| {
                waits(op) || matches!(op, Op::Sleep(_) | Op::ParkTimeout(_) | Op::ReceiveTimeout(_))
            };
            program.has(waits) && count(program, is_timed) > 1
        },
    ),
    ("what an `Arc` holds is dropped by a tail call, which is taken for counting", |program| {
        program.has(|op| matches!(op, Op::Arc(_))) && program.has(|op| op.accesses(0))
    }),
    ("`Arc::downgrade` waits for `Arc::get_mut` without giving way", |program| {
        program.has(|op| *op == Op::Arc(ArcOp::GetMut)) && program.has(|op| *op == Op::Arc(ArcOp::Downgrade))
    }),
    (
        "an exhaustive search waits for destructors at the end of a scope while there is another thread",
        |program| {
            let starts = |thread: usize| program.started_by(thread).is_some();
            program.has(|op| *op == Op::ThreadLocal)
                && (0..program.threads.len()).filter(|&thread| starts(thread)).count() > 1
        },
    ),
    ("a livelock at an atomic of less than four bytes aborts", |program| {
        let is_narrow = |at: usize| matches!(program.atomics[at], Width::Bool | Width::U8 | Width::U16);
        program.has(|op| matches!(op, Op::SpinUntil(at, ..) if is_narrow(*at)))
    }),
];

fn count(program: &Program, like: impl Fn(&Op) -> bool) -> usize {
    program.threads.iter().flat_map(|body| flat(body)).filter(|op| like(op)).count()
}
