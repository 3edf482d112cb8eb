//! Smaller programs that differ as well.

use std::time::{Duration, Instant};

use crate::program::{Body, Op, Program, Width};
use std::sync::atomic::Ordering::SeqCst;

/// The smallest program that is found within this time and of which the same still holds.
pub fn shrink(mut program: Program, time: Duration, holds: impl Fn(&Program) -> bool) -> Program {
    let begin = Instant::now();
    'smaller: loop {
        for candidate in candidates(&program) {
            if begin.elapsed() > time {
                return program;
            }
            if holds(&candidate) {
                program = candidate;
                continue 'smaller;
            }
        }
        return program;
    }
}

/// Programs that are a little smaller or simpler, the smallest first.
pub fn candidates(program: &Program) -> Vec<Program> {
    let mut candidates = Vec::new();
    let mut add = |candidate: Program| {
        let candidate = candidate.repaired();
        if candidate != *program {
            candidates.push(candidate);
        }
    };
    for thread in 0..program.threads.len() {
        for body in smaller(&program.threads[thread]) {
            let mut candidate = program.clone();
            candidate.threads[thread] = body;
            add(candidate);
        }
    }
    if program.atomics.iter().any(|width| *width != Width::U32) {
        let atomics = program.atomics.iter().map(|_| Width::U32).collect();
        add(Program { atomics, ..program.clone() });
    }
    if program.atomics.len() > 1 {
        let mut candidate = program.clone();
        let last = candidate.atomics.len() - 1;
        if !candidate.has(|op| op.accesses(last)) {
            candidate.atomics.pop();
            add(candidate);
        }
    }
    candidates
}

/// Bodies with one operation less, with what is inside of one instead of it, or with a simpler one.
fn smaller(body: &[Op]) -> Vec<Body> {
    let replace = |index: usize, by: Vec<Op>| [&body[..index], &by, &body[index + 1..]].concat();
    let mut all = Vec::new();
    for (index, op) in body.iter().enumerate() {
        all.push(replace(index, Vec::new()));
        if let Some(inner) = op.body() {
            if !inner.is_empty() {
                all.push(replace(index, inner.clone()));
            }
            for inner in smaller(inner) {
                let mut op = op.clone();
                *op.body_mut().expect("it has one") = inner;
                all.push(replace(index, vec![op]));
            }
        }
        all.extend(
            simpler(op).into_iter().filter(|simpler| simpler != op).map(|op| replace(index, vec![op])),
        );
    }
    all
}

fn simpler(op: &Op) -> Vec<Op> {
    match op {
        Op::Load(at, _) => vec![Op::Load(*at, SeqCst)],
        Op::Store(at, value, _) => vec![Op::Store(*at, *value, SeqCst)],
        Op::Fetch(change, at, value, _) => {
            vec![Op::Load(*at, SeqCst), Op::Fetch(*change, *at, *value, SeqCst)]
        }
        Op::CompareExchange(exchange) => vec![Op::Load(exchange.at, SeqCst)],
        Op::SpinUntil(at, value, _, _) => vec![Op::SpinUntil(*at, *value, SeqCst, false)],
        Op::Scope(threads, body) => (0..threads.len())
            .map(|index| Op::Scope([&threads[..index], &threads[index + 1..]].concat(), body.clone()))
            .collect(),
        Op::Locked { mode, lock, only_try: true, body } => {
            vec![Op::Locked { mode: *mode, lock: *lock, only_try: false, body: body.clone() }]
        }
        _ => Vec::new(),
    }
}
