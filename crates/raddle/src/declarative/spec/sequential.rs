//! The object itself as its own specification: states are named by the calls that lead there, and made again by making them.

use std::any::Any;
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::engine::interface::signals::leave;
use crate::engine::platform::global::GLOBAL;

use super::{Act, Called, Specification, State, Ticket};
use crate::declarative::subject::{Invoke, Object, Operation, Pending, Subject};
use crate::declarative::value::{Answer, Args};

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Sequential {
    /// What tells states apart, where the test says so.
    pub(crate) key: Option<KeyOf>,
}

/// Looks at an object and says what tells it from others.
pub(crate) type KeyOf = Box<dyn Fn(&Object) -> Rc<dyn Key>>;

/// What tells states apart.
pub(crate) trait Key {
    fn same(&self, other: &dyn Key) -> bool;
    fn text(&self) -> String;
    fn as_any(&self) -> &dyn Any;
}

impl<K: Eq + Hash + Debug + 'static> Key for K {
    fn same(&self, other: &dyn Key) -> bool {
        other.as_any().downcast_ref::<K>().is_some_and(|other| self == other)
    }

    fn text(&self) -> String {
        format!("{self:?}")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The acts that lead from a new object to the state.
struct Path {
    acts: Vec<Done>,
    key: Option<Rc<dyn Key>>,
    /// Calls that are suspended or deferred, in order of their tickets.
    open: Vec<(Ticket, bool)>,
}

#[derive(Clone)]
struct Done {
    act: Act,
    operation: usize,
    args: Args,
    ticket: Ticket,
}

impl State for Path {
    fn same(&self, other: &dyn State) -> bool {
        let Some(other) = other.as_any().downcast_ref::<Path>() else { return false };
        match (&self.key, &other.key) {
            // A future is more than what the key shows.
            (Some(mine), Some(others)) => {
                self.open.is_empty() && other.open.is_empty() && mine.same(&**others)
            }
            _ => false,
        }
    }

    fn is_comparable(&self) -> bool {
        self.key.is_some()
    }

    fn text(&self) -> Option<String> {
        self.key.as_ref().map(|key| key.text())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Specification for Sequential {
    fn initial(&self, subject: &Subject) -> Box<dyn State> {
        let key = self.key.as_ref().map(|key| key(&subject.object()));
        Box::new(Path { acts: Vec::new(), key, open: Vec::new() })
    }

    fn step(
        &self,
        subject: &Subject,
        state: &dyn State,
        act: Act,
        call: Called<'_>,
    ) -> Vec<(Answer, Box<dyn State>)> {
        let path = state.as_any().downcast_ref::<Path>().expect("a state of this specification");
        let mut rehearsal = Rehearsal::new(subject);
        for done in &path.acts {
            let call = Called { operation: done.operation, args: &done.args, ticket: done.ticket };
            rehearsal.act(done.act, call);
        }
        let Some(answer) = rehearsal.act(act, call) else { return Vec::new() };
        let mut acts = path.acts.clone();
        let Called { operation, args, ticket } = call;
        acts.push(Done { act, operation, args: args.clone(), ticket });
        let key = self.key.as_ref().map(|key| key(&rehearsal.object));
        let next = Path { acts, key, open: rehearsal.open() };
        vec![(answer, Box::new(next))]
    }
}

/// An operation is being called while nobody could let it go on, should it wait.
struct Alone;

impl Alone {
    fn calls(operation: &Operation) -> Alone {
        GLOBAL.overdue.set(Some((waits_alone, std::ptr::from_ref(operation).addr())));
        Alone
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        GLOBAL.overdue.set(None);
    }
}

/// Ends the process: whatever waits cannot be made to return. Called by a signal handler, with the address of the operation.
fn waits_alone(operation: usize) {
    use std::io::Write;
    // SAFETY: an operation of the test, which is being called.
    let name = unsafe { &(*(operation as *const Operation)).name };
    let mut text = [0; 512];
    let mut rest = &mut text[..];
    // A name that is too long is cut.
    let _ = writeln!(
        rest,
        "raddle: operation `{name}` does not return when nothing else is called, so the object cannot be its own specification: mark it \
         as blocking, and say with a specification when it may go on"
    );
    let left = rest.len();
    leave(&text[..text.len() - left])
}

/// A run of the object on its own.
struct Rehearsal<'a> {
    // Dropped before the object that they borrow.
    futures: Vec<(Ticket, Open)>,
    object: Box<Object>,
    subject: &'a Subject,
}

enum Open {
    Deferred,
    Suspended(Pending<'static>),
}

impl Rehearsal<'_> {
    fn new(subject: &Subject) -> Rehearsal<'_> {
        Rehearsal { futures: Vec::new(), object: Box::new(subject.object()), subject }
    }

    fn open(&self) -> Vec<(Ticket, bool)> {
        let mut open: Vec<(Ticket, bool)> =
            self.futures.iter().map(|(ticket, open)| (*ticket, matches!(open, Open::Deferred))).collect();
        open.sort_unstable();
        open
    }

    /// Does it; none if the call is not open although it should be.
    fn act(&mut self, act: Act, call: Called<'_>) -> Option<Answer> {
        let place = self.futures.iter().position(|(ticket, _)| *ticket == call.ticket);
        match act {
            Act::Request => Some(self.request(call)),
            Act::Defer => {
                self.futures.push((call.ticket, Open::Deferred));
                Some(Answer::Suspended)
            }
            Act::FollowUp => match self.futures.remove(place?).1 {
                Open::Deferred => Some(self.request(call)),
                Open::Suspended(future) => Some(self.poll(call.ticket, future)),
            },
            Act::Cancel => {
                let (_, open) = self.futures.remove(place?);
                match catch_unwind(AssertUnwindSafe(|| drop(open))) {
                    Ok(()) => Some(Answer::Cancelled),
                    Err(payload) => Some(Answer::of(Err(payload))),
                }
            }
        }
    }

    fn request(&mut self, call: Called<'_>) -> Answer {
        // SAFETY: the object has an address of its own, and outlives the futures that borrow it.
        let object: &Object = unsafe { &*std::ptr::from_ref(&*self.object) };
        match &self.subject.operations[call.operation].invoke {
            Invoke::Plain(invoke) => {
                let _alone = Alone::calls(&self.subject.operations[call.operation]);
                Answer::of(catch_unwind(AssertUnwindSafe(|| invoke(object, call.args))))
            }
            Invoke::Future(invoke) => {
                match catch_unwind(AssertUnwindSafe(|| invoke(object, call.args))) {
                    Ok(future) => {
                        // SAFETY: as above; the subject outlives both.
                        let future = unsafe { std::mem::transmute::<Pending<'_>, Pending<'static>>(future) };
                        self.poll(call.ticket, future)
                    }
                    Err(payload) => Answer::of(Err(payload)),
                }
            }
        }
    }

    fn poll(&mut self, ticket: Ticket, mut future: Pending<'static>) -> Answer {
        let mut context = Context::from_waker(Waker::noop());
        let step = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
        match step {
            Ok(Poll::Pending) => {
                self.futures.push((ticket, Open::Suspended(future)));
                Answer::Suspended
            }
            Ok(Poll::Ready(value)) => match catch_unwind(AssertUnwindSafe(|| drop(future))) {
                Ok(()) => Answer::Returned(value),
                Err(payload) => Answer::of(Err(payload)),
            },
            Err(payload) => {
                std::mem::forget(future);
                Answer::of(Err(payload))
            }
        }
    }
}
