//! Making the calls of a thread, one after the other, and noting what happens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::history::{Note, Step};
use super::scenario::{Cancel, Invocation};
use super::subject::{Invoke, Object, Pending, Subject};
use super::value::{Answer, Value};

/// Where calls are made: on virtual threads or on real ones.
pub(crate) trait Stage {
    /// Another thread may go first.
    fn before_step(&self, call: usize, invocation: &Invocation);

    /// Notes something. A step has begun or ended just now.
    fn note(&self, note: Note, invocation: &Invocation);

    /// Who is to be told when a future can go on.
    type Bell: Bell;
    /// A bell for the calling thread.
    fn bell(&self) -> Arc<Self::Bell>;
}

/// Wakes a thread whose future waits.
pub(crate) trait Bell: Wake + Send + Sync + 'static {
    /// Waits until it rings. False if it never will: the future stays suspended.
    fn wait(&self) -> bool;
}

/// Makes the calls; `first` is the number of the first one. False if one of them stays suspended.
// Not inlined: a panic counts as caught if a frame of its own catches it.
#[inline(never)]
pub(crate) fn perform<S: Stage>(
    subject: &Subject,
    object: &Object,
    calls: &[Invocation],
    first: usize,
    stage: &S,
) -> bool {
    calls.iter().enumerate().all(|(position, invocation)| {
        let call = first + position;
        match &subject.operations[invocation.operation].invoke {
            Invoke::Plain(invoke) => {
                begin(stage, call, Step::Request, invocation);
                let result = catch_unwind(AssertUnwindSafe(|| invoke(object, &invocation.args)));
                stage.note(Note::Ended(call, Answer::of(result)), invocation);
                true
            }
            Invoke::Future(invoke) => {
                begin(stage, call, Step::Request, invocation);
                match catch_unwind(AssertUnwindSafe(|| invoke(object, &invocation.args))) {
                    Ok(future) => await_it(stage, call, invocation, future),
                    Err(payload) => {
                        stage.note(Note::Ended(call, Answer::of(Err(payload))), invocation);
                        true
                    }
                }
            }
        }
    })
}

fn begin<S: Stage>(stage: &S, call: usize, step: Step, invocation: &Invocation) {
    stage.before_step(call, invocation);
    stage.note(Note::Begun(call, step), invocation);
}

/// Polls a future until it is ready or given up. The first step has begun.
#[inline(never)]
fn await_it<S: Stage>(stage: &S, call: usize, invocation: &Invocation, future: Pending<'_>) -> bool {
    let bell = stage.bell();
    let waker = Waker::from(Arc::clone(&bell));
    let mut context = Context::from_waker(&waker);
    let mut future = Some(future);
    loop {
        let step = catch_unwind(AssertUnwindSafe(|| {
            let ready = poll(&mut future, &mut context);
            if ready.is_some() {
                // What its end does is part of the call.
                future = None;
            }
            ready
        }));
        match step {
            Ok(Some(value)) => {
                stage.note(Note::Ended(call, Answer::Returned(value)), invocation);
                return true;
            }
            Err(payload) => {
                stage.note(Note::Ended(call, Answer::of(Err(payload))), invocation);
                return true;
            }
            Ok(None) => stage.note(Note::Ended(call, Answer::Suspended), invocation),
        }
        let given_up = match invocation.cancel {
            Cancel::OnceSuspended => true,
            Cancel::OnceWoken | Cancel::Never if !bell.wait() => {
                // It may not be dropped: nobody gave it up.
                std::mem::forget(future);
                return false;
            }
            Cancel::OnceWoken => true,
            Cancel::Never => false,
        };
        if given_up {
            begin(stage, call, Step::Cancel, invocation);
            let dropped = catch_unwind(AssertUnwindSafe(|| future = None));
            let answer = match dropped {
                Ok(()) => Answer::Cancelled,
                Err(payload) => Answer::of(Err(payload)),
            };
            stage.note(Note::Ended(call, answer), invocation);
            return true;
        }
        begin(stage, call, Step::FollowUp, invocation);
    }
}

fn poll(future: &mut Option<Pending<'_>>, context: &mut Context<'_>) -> Option<Value> {
    match future.as_mut()?.as_mut().poll(context) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
