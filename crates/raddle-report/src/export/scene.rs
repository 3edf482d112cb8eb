//! The scene of a failure: the line of source code to point at.

use crate::failure::{Action, Failure, Frame, ThreadEnd, Trace};

/// The innermost frame of a stack that is not of the standard library, or else the innermost one.
pub(super) fn own_frame(trace: &Trace, at: Option<u32>) -> Option<&Frame> {
    let frames = || stack(trace, at);
    frames()
        .find(|frame| !frame.internal && frame.file.is_some())
        .or_else(|| frames().find(|frame| frame.file.is_some()))
}

/// The frames of a stack, innermost first.
pub(super) fn stack(trace: &Trace, at: Option<u32>) -> impl Iterator<Item = &Frame> {
    let mut next = at;
    std::iter::from_fn(move || {
        let node = trace.stacks.get(next? as usize)?;
        next = node.caller;
        trace.frames.get(node.frame as usize)
    })
}

/// The frame at which a failure shows: that of the panic, of the last step of a memory error, of a thread that waits, or of the last
/// event.
pub(super) fn scene(failure: &Failure) -> Option<&Frame> {
    let trace = &failure.trace;
    let fault = failure.fault.iter().flat_map(|fault| fault.steps.iter().rev()).map(|step| step.at);
    let panics = |action: &Action| matches!(action, Action::Panic { .. });
    let events = || trace.events.iter().rev();
    let panic = events().filter(|event| panics(&event.action) && Some(event.thread) == failure.thread);
    let waits = failure.threads.iter().filter_map(|thread| match thread.end {
        ThreadEnd::Waiting { at, .. } => Some(at),
        _ => None,
    });
    let last = events().filter(|event| failure.thread.is_none_or(|thread| event.thread == thread));
    let stacks = fault.chain(panic.map(|event| event.at)).chain(waits).chain(last.map(|event| event.at));
    stacks.filter_map(|at| own_frame(trace, at)).find(|frame| !frame.internal)
}

/// The kind of a failure in words: `incorrect results`.
pub(super) fn kind(failure: &Failure) -> String {
    failure.kind.name().replace('-', " ")
}
