//! Objects whose operations may have to wait: dual data structures (Scherer and Scott, DISC 2004).
//!
//! An operation that cannot go on at once is a *request* that suspends and, once something has made it ready, a
//! *follow-up* that goes on; it may suspend again, and while it waits it may be cancelled. A [`Blocking`] specification
//! says what each of these does, and a history is correct if requests, follow-ups and cancellations can be put in an
//! order that it allows:
//!
//! - An operation that [returned](crate::Outcome::Returned) did so in its request or in its last follow-up. That it waited
//!   need not show: whether it did is nobody's business.
//! - One that was [cancelled](crate::Outcome::Cancelled) was waiting then, ready or not; or the specification would not
//!   have had it wait, and it had no effect.
//! - One that is [suspended](crate::Outcome::Suspended) at the end waits and is not ready. If everything else can be
//!   explained but not this, a wake-up was lost, and [`Answer::LostWakeUp`] says whose.
//!
//! All of an operation lies between its call and its end, in the order that the [`Contract`](crate::Contract) asks for.
//!
//! Most objects need no more than [`Guarded`]: when may an operation go, and what does it do then?
//!
//! ```
//! use raddle_check::dual::{Answer, Guarded, Verifier};
//! use raddle_check::{Contract, History};
//!
//! #[derive(Clone, Debug, PartialEq, Eq, Hash)]
//! enum Op { Put(u8), Take }
//!
//! let queue = Guarded::new(Vec::new(), |queue: &mut Vec<u8>, op: &Op| match op {
//!     Op::Put(value) => { queue.push(*value); Some(0) }
//!     Op::Take if queue.is_empty() => None, // It has to wait.
//!     Op::Take => Some(queue.remove(0)),
//! });
//! let mut history = History::new();
//! let take = history.invoke(0, Op::Take);
//! let put = history.invoke(1, Op::Put(7));
//! history.respond(put, 0);
//! history.suspend(take); // Nobody woke it.
//! let mut verifier = Verifier::new(queue, Contract::Linearizable);
//! assert_eq!(verifier.verify(&history), Ok(Answer::LostWakeUp(vec![take])));
//! ```

mod check;
mod guarded;
mod lts;
mod search;
mod verifier;

use std::fmt::Debug;
use std::hash::Hash;

pub use guarded::{Guarded, Queueing};
pub use verifier::{Answer, Verifier};

use crate::history::{Operation, Outcome};

/// Names an operation that waits, as long as it waits. Numbers are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u32);

/// What a request or a follow-up comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step<O> {
    /// The operation is over and returns this.
    Return(O),
    /// It waits, under its ticket.
    Suspend,
}

/// The sequential specification of an object whose operations may have to wait.
///
/// ```
/// use raddle_check::dual::{Blocking, Step, Ticket};
///
/// /// Two that meet go on together.
/// struct Barrier;
///
/// impl Blocking for Barrier {
///     /// Who waits for the other, and who may go on.
///     type State = (Option<Ticket>, Vec<Ticket>);
///     type Input = ();
///     type Output = ();
///
///     fn init(&self) -> Self::State {
///         (None, Vec::new())
///     }
///
///     fn request(&self, state: &mut Self::State, ticket: Ticket, _: &()) -> Step<()> {
///         match state.0.take() {
///             Some(first) => {
///                 state.1.push(first);
///                 Step::Return(())
///             }
///             None => {
///                 state.0 = Some(ticket);
///                 Step::Suspend
///             }
///         }
///     }
///
///     fn ready(&self, state: &Self::State, ticket: Ticket) -> bool {
///         state.1.contains(&ticket)
///     }
///
///     fn follow_up(&self, state: &mut Self::State, ticket: Ticket) -> Step<()> {
///         state.1.retain(|other| *other != ticket);
///         Step::Return(())
///     }
///
///     fn cancel(&self, state: &mut Self::State, ticket: Ticket) {
///         state.0 = state.0.filter(|other| *other != ticket);
///         state.1.retain(|other| *other != ticket);
///     }
/// }
/// ```
pub trait Blocking {
    /// What the object remembers, including who waits for what. Equal states must behave alike.
    type State: Clone + Eq + Hash + Debug;
    /// An operation with its arguments.
    type Input: Clone + Eq + Hash + Debug;
    /// What an operation returns.
    type Output: Clone + Eq + Hash + Debug;

    /// The state before any operation.
    fn init(&self) -> Self::State;

    /// An operation is called. If it suspends, `ticket` is its name until it is over.
    fn request(&self, state: &mut Self::State, ticket: Ticket, input: &Self::Input) -> Step<Self::Output>;

    /// Whether the operation that waits as `ticket` may go on. An operation that stays suspended though it may is a lost
    /// wake-up.
    fn ready(&self, state: &Self::State, ticket: Ticket) -> bool;

    /// The operation goes on, which is done only if it is [ready](Blocking::ready). It may suspend again, under the same
    /// ticket.
    fn follow_up(&self, state: &mut Self::State, ticket: Ticket) -> Step<Self::Output>;

    /// The operation gives up waiting. It may be ready: cancelled right after it was woken.
    fn cancel(&self, state: &mut Self::State, ticket: Ticket);

    /// Replaces every ticket in `state` by what `to` makes of it, in an order that does not depend on their numbers, and
    /// says so with `true`. Optional: states that differ only in these numbers then count as one.
    fn rename(&self, state: &mut Self::State, to: &mut dyn FnMut(Ticket) -> Ticket) -> bool {
        let _ = (state, to);
        false
    }

    /// Whether the operation is one of those to which [`Contract::Quiescent`](crate::Contract::Quiescent) gives freedom.
    fn is_relaxed(&self, input: &Self::Input) -> bool {
        let _ = input;
        true
    }

    /// The operation in words, for explanations.
    fn describe(&self, input: &Self::Input) -> String {
        format!("{input:?}")
    }

    /// What it returned in words.
    fn describe_output(&self, output: &Self::Output) -> String {
        format!("{output:?}")
    }

    /// The state in words.
    fn describe_state(&self, state: &Self::State) -> String {
        format!("{state:?}")
    }
}

/// The operation with how it ended, in words.
pub(crate) fn describe<B: Blocking>(spec: &B, operation: &Operation<B::Input, B::Output>) -> String {
    let call = spec.describe(&operation.input);
    match &operation.outcome {
        Outcome::Returned { output, .. } => format!("{call} -> {}", spec.describe_output(output)),
        Outcome::Unknown => format!("{call} -> ?"),
        Outcome::Suspended => format!("{call} waits to the end"),
        Outcome::Cancelled { .. } => format!("{call} is cancelled"),
    }
}
