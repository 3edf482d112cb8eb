//! Programs made flat: what a thread does, step by step, with jumps instead of bodies.

use crate::program::{Body, Mode, OnceKind, Op, Program, ThreadId};

/// One instruction. What has no body is as in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// An operation without a body.
    Do(Op),
    /// Takes a lock; goes elsewhere if it is not free and there is somewhere to go.
    Take(Mode, usize, Option<usize>),
    /// Gives a lock back.
    Give(Mode, usize),
    /// Begins to initialise, or goes elsewhere if that is done.
    Begin(OnceKind, usize, usize),
    /// Has initialised.
    Finish(OnceKind, usize, u64),
    /// Sees the value.
    See(OnceKind, usize),
    /// Waits for the threads of a scope.
    EndScope(Vec<ThreadId>),
    /// Drops one handle of the `Arc` after the other.
    DropArcs,
    /// Tells that the thread is done.
    Done,
    /// Destructors of thread-locals.
    Destroy,
    /// Sees what an atomic holds in the end.
    Finally(usize),
}

/// What a thread does.
pub fn code(program: &Program, thread: ThreadId) -> Vec<Code> {
    let mut code = Vec::new();
    add(&program.threads[thread], &mut code);
    if program.has_sender(thread) {
        code.push(Code::Do(Op::DropSender));
    }
    if program.receiver() == Some(thread) {
        code.push(Code::Do(Op::DropReceiver));
    }
    if program.has_arc(thread) {
        code.push(Code::DropArcs);
    }
    for joined in unjoined(program, thread) {
        code.push(Code::Do(Op::Join(joined)));
    }
    if thread == 0 {
        code.extend((0..program.atomics.len()).map(Code::Finally));
    } else {
        code.push(Code::Done);
        code.push(Code::Destroy);
    }
    code
}

/// The threads that a thread spawns and does not join.
pub fn unjoined(program: &Program, thread: ThreadId) -> Vec<ThreadId> {
    let ops = crate::program::flat(&program.threads[thread]);
    let spawned = ops.iter().filter_map(|op| if let Op::Spawn(spawned) = op { Some(*spawned) } else { None });
    spawned.filter(|spawned| !ops.iter().any(|op| **op == Op::Join(*spawned))).collect()
}

fn add(body: &Body, code: &mut Vec<Code>) {
    for op in body {
        match op {
            Op::Locked { mode, lock, only_try, body } => {
                let take = code.len();
                code.push(Code::Take(*mode, *lock, None));
                add(body, code);
                code.push(Code::Give(*mode, *lock));
                let end = code.len();
                code[take] = Code::Take(*mode, *lock, only_try.then_some(end));
            }
            Op::WaitWhileZero { mutex, .. } => {
                code.push(Code::Take(Mode::Mutex, *mutex, None));
                code.push(Code::Do(op.clone()));
                code.push(Code::Give(Mode::Mutex, *mutex));
            }
            Op::Initialise(kind, number, body, value) => {
                let begin = code.len();
                code.push(Code::Begin(*kind, *number, 0));
                add(body, code);
                code.push(Code::Finish(*kind, *number, *value));
                let end = code.len();
                code[begin] = Code::Begin(*kind, *number, end);
                code.push(Code::See(*kind, *number));
            }
            Op::Scope(threads, body) => {
                code.extend(threads.iter().map(|&thread| Code::Do(Op::Spawn(thread))));
                add(body, code);
                code.push(Code::EndScope(threads.clone()));
            }
            Op::Yield => {}
            other => code.push(Code::Do(other.clone())),
        }
    }
}
