//! Specifications: what the object should do when its operations run one after another.
//!
//! By default that is what the object itself does ([`sequential`]); [`Spec`] is for a separate, simpler type.

mod separate;
pub(crate) mod sequential;

use std::any::Any;

pub use separate::Spec;

use super::subject::Subject;
use super::value::{Answer, Args};

/// The number of a call within its scenario: names it while it is suspended.
pub(crate) type Ticket = u32;

/// A call as a specification sees it.
#[derive(Clone, Copy)]
pub(crate) struct Called<'a> {
    pub(crate) operation: usize,
    pub(crate) args: &'a Args,
    pub(crate) ticket: Ticket,
}

/// What may be done to a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    /// The call is made.
    Request,
    /// A suspended call goes on.
    FollowUp,
    /// A suspended call is given up.
    Cancel,
    /// The call is made, but has no effect yet: it will be made when it goes on.
    Defer,
}

/// A sequential specification.
pub(crate) trait Specification {
    /// The state before any operation.
    fn initial(&self, subject: &Subject) -> Box<dyn State>;

    /// All that the act may come to, each with the state after it. None if it cannot happen there.
    fn step(
        &self,
        subject: &Subject,
        state: &dyn State,
        act: Act,
        call: Called<'_>,
    ) -> Vec<(Answer, Box<dyn State>)>;
}

/// A state of a specification.
pub(crate) trait State {
    /// Whether the other behaves like this one. May be false of those that do.
    fn same(&self, other: &dyn State) -> bool;
    /// Whether [`same`](State::same) ever says yes of different objects.
    fn is_comparable(&self) -> bool;
    fn text(&self) -> Option<String>;
    fn as_any(&self) -> &dyn Any;
}
