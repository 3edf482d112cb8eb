//! The invariants of the failure model. A file that breaks one was edited or damaged.
//!
//! **Invariant:** renderers, queries and exports index without looking, because every index was looked at here.

use crate::failure::{
    Action, Change, Datum, Failure, NearestPass, Objects, ThreadEnd, Trace, WaitingFor, Write,
};

/// Checks that every index is within its list, that stacks end, and that events come after those that they depend on. The error says
/// which part is wrong.
pub(super) fn validate(failure: &Failure) -> Result<(), String> {
    let lengths = Lengths {
        events: failure.trace.events.len(),
        stacks: failure.trace.stacks.len(),
        threads: Some(failure.threads.len()),
        objects: failure.objects.as_ref().map_or(0, |objects| objects.list.len()),
    };
    trace(&failure.trace, &lengths)?;
    threads(failure, &lengths)?;
    if let Some(fault) = &failure.fault {
        for (number, step) in fault.steps.iter().enumerate() {
            let of = || format!("step {number} of the fault");
            lengths.thread(step.thread, of)?;
            lengths.stack(step.at, of)?;
        }
    }
    if let Some(of) = &failure.objects {
        objects(of, &lengths)?;
    }
    if let Some(point) = &failure.point_of_no_return {
        lengths.event(point.event, || "the point of no return".into())?;
    }
    match &failure.nearest_pass {
        Some(pass) => nearest_pass(pass, failure, &lengths),
        None => Ok(()),
    }
}

/// The lengths of the lists that indices refer to.
struct Lengths {
    events: usize,
    stacks: usize,
    /// Not known for the threads of another execution.
    threads: Option<usize>,
    objects: usize,
}

impl Lengths {
    fn event(&self, event: u32, of: impl Fn() -> String) -> Result<(), String> {
        within(event, self.events, "event", of)
    }

    fn stack(&self, stack: Option<u32>, of: impl Fn() -> String) -> Result<(), String> {
        stack.map_or(Ok(()), |stack| within(stack, self.stacks, "stack", of))
    }

    fn thread(&self, thread: u32, of: impl Fn() -> String) -> Result<(), String> {
        self.threads.map_or(Ok(()), |threads| within(thread, threads, "thread", of))
    }

    fn object(&self, object: u32, of: impl Fn() -> String) -> Result<(), String> {
        within(object, self.objects, "object", of)
    }
}

fn within(index: u32, length: usize, what: &str, of: impl Fn() -> String) -> Result<(), String> {
    match (index as usize) < length {
        true => Ok(()),
        false => Err(format!("{} refers to {what} {index}, which is not there", of())),
    }
}

fn trace(trace: &Trace, lengths: &Lengths) -> Result<(), String> {
    for (index, node) in trace.stacks.iter().enumerate() {
        within(node.frame, trace.frames.len(), "frame", || format!("stack {index}"))?;
        if node.caller.is_some_and(|caller| caller as usize >= index) {
            return Err(format!("the caller of stack {index} does not come before it"));
        }
    }
    for (number, event) in trace.events.iter().enumerate() {
        let of = || format!("event {number}");
        lengths.thread(event.thread, of)?;
        lengths.stack(event.at, of)?;
        for write in [event.reads_from, event.overwrites].into_iter().flatten() {
            if let Write::Event(write) = write {
                lengths.event(write, of)?;
            }
        }
        let source = match event.reads_from {
            Some(Write::Event(write)) => Some(write),
            _ => None,
        };
        for &other in event.synchronises_with.iter().chain(&source) {
            lengths.event(other, of)?;
            if other as usize >= number {
                return Err(format!(
                    "event {number} depends on event {other}, which does not come before it"
                ));
            }
        }
        let others: &[u32] = match &event.action {
            Action::Spawn { thread } | Action::Join { thread } => &[*thread],
            Action::Wake { woken, .. } => woken,
            _ => &[],
        };
        for &other in others {
            lengths.thread(other, of)?;
        }
        for change in &event.changes {
            self::change(change, lengths, of)?;
        }
    }
    Ok(())
}

fn threads(failure: &Failure, lengths: &Lengths) -> Result<(), String> {
    if let Some(thread) = failure.thread {
        lengths.thread(thread, || "the failure".into())?;
    }
    for (number, thread) in failure.threads.iter().enumerate() {
        let of = || format!("thread {number}");
        if let ThreadEnd::Waiting { awaited, held_by, at, .. } = &thread.end {
            lengths.stack(*at, of)?;
            let joined = match awaited {
                Some(WaitingFor::Thread(thread)) => Some(*thread),
                _ => None,
            };
            for other in held_by.iter().chain(&joined) {
                lengths.thread(*other, of)?;
            }
        }
    }
    Ok(())
}

fn objects(objects: &Objects, lengths: &Lengths) -> Result<(), String> {
    for root in &objects.roots {
        lengths.object(root.object, || format!("root `{}`", root.name))?;
    }
    for object in &objects.list {
        for event in object.since.iter().chain(&object.freed) {
            lengths.event(*event, || format!("object `{}`", object.name))?;
        }
    }
    let initial = || "the initial value of objects".to_owned();
    objects.initial.iter().try_for_each(|change| self::change(change, lengths, initial))
}

fn change(change: &Change, lengths: &Lengths, of: impl Fn() -> String + Copy) -> Result<(), String> {
    lengths.object(change.object, of)?;
    pointers(&change.value, lengths, of)
}

fn pointers(value: &Datum, lengths: &Lengths, of: impl Fn() -> String + Copy) -> Result<(), String> {
    if let Datum::Pointer(pointer) = value {
        return pointer.object.map_or(Ok(()), |object| lengths.object(object, of));
    }
    value.children().into_iter().try_for_each(|child| pointers(child, lengths, of))
}

fn nearest_pass(pass: &NearestPass, failure: &Failure, lengths: &Lengths) -> Result<(), String> {
    let of = || "the nearest passing execution".to_owned();
    let passing = Lengths {
        events: pass.trace.events.len(),
        stacks: pass.trace.stacks.len(),
        // The execution may have other threads, and its objects are those of the failing one.
        threads: None,
        objects: lengths.objects,
    };
    trace(&pass.trace, &passing).map_err(|what| format!("in {}, {what}", of()))?;
    let common = pass.common as usize;
    if common > failure.trace.events.len() || pass.common_of_pass as usize > pass.trace.events.len() {
        return Err(format!("{} has more events in common than there are", of()));
    }
    lengths.thread(pass.failing_thread, of)
}
