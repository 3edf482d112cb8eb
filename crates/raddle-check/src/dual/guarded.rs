//! Specifications by guard and effect.

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::marker::PhantomData;

use super::{Blocking, Step, Ticket};

/// An object each operation of which goes when its guard lets it, and then does all it does at once.
///
/// The closure gives the result, or `None` if the operation has to wait; what it does to the state then does not count.
/// Operations that wait are served in any order, unless [`fifo`](Guarded::fifo) says otherwise. For objects that do
/// something before they wait, such as a rendezvous, implement [`Blocking`].
pub struct Guarded<S, I, O, F> {
    initial: S,
    go: F,
    queue: Box<Queue<I>>,
    output: PhantomData<fn() -> O>,
}

/// The number of the queue that an operation waits in, if it is in one.
type Queue<I> = dyn Fn(&I) -> Option<u32> + Send + Sync;

/// The state of a [`Guarded`] object: itself, and the operations that wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Queueing<S, I> {
    object: S,
    /// In the order in which they came.
    waiting: Vec<(Ticket, I)>,
}

impl<S, I, O, F: Fn(&mut S, &I) -> Option<O>> Guarded<S, I, O, F> {
    /// The object that is `initial` at first and whose operations `go` lets go and runs.
    pub fn new(initial: S, go: F) -> Self {
        Guarded { initial, go, queue: Box::new(|_| None), output: PhantomData }
    }

    /// Operations for which `queue` gives the same number stand in one queue: none of them goes before those that have
    /// waited longer.
    pub fn fifo(mut self, queue: impl Fn(&I) -> Option<u32> + Send + Sync + 'static) -> Self {
        self.queue = Box::new(queue);
        self
    }
}

impl<S: Clone, I, O, F: Fn(&mut S, &I) -> Option<O>> Guarded<S, I, O, F> {
    fn try_go(&self, object: &S, input: &I) -> Option<(S, O)> {
        let mut next = object.clone();
        (self.go)(&mut next, input).map(|output| (next, output))
    }

    /// Whether some of these waits in the same queue.
    fn is_behind(&self, waiting: &[(Ticket, I)], input: &I) -> bool {
        let queue = (self.queue)(input);
        queue.is_some() && waiting.iter().any(|(_, other)| (self.queue)(other) == queue)
    }
}

impl<S: Debug, I, O, F> Debug for Guarded<S, I, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guarded").field(&self.initial).finish()
    }
}

impl<S, I, O, F> Blocking for Guarded<S, I, O, F>
where
    S: Clone + Eq + Hash + Debug,
    I: Clone + Eq + Hash + Debug,
    O: Clone + Eq + Hash + Debug,
    F: Fn(&mut S, &I) -> Option<O>,
{
    type State = Queueing<S, I>;
    type Input = I;
    type Output = O;

    fn init(&self) -> Queueing<S, I> {
        Queueing { object: self.initial.clone(), waiting: Vec::new() }
    }

    fn request(&self, state: &mut Queueing<S, I>, ticket: Ticket, input: &I) -> Step<O> {
        if !self.is_behind(&state.waiting, input)
            && let Some((next, output)) = self.try_go(&state.object, input)
        {
            state.object = next;
            return Step::Return(output);
        }
        state.waiting.push((ticket, input.clone()));
        Step::Suspend
    }

    fn ready(&self, state: &Queueing<S, I>, ticket: Ticket) -> bool {
        let Some(at) = state.waiting.iter().position(|(other, _)| *other == ticket) else { return false };
        let input = &state.waiting[at].1;
        !self.is_behind(&state.waiting[..at], input) && self.try_go(&state.object, input).is_some()
    }

    fn follow_up(&self, state: &mut Queueing<S, I>, ticket: Ticket) -> Step<O> {
        let at = state.waiting.iter().position(|(other, _)| *other == ticket);
        let Some((at, (next, output))) =
            at.and_then(|at| Some((at, self.try_go(&state.object, &state.waiting[at].1)?)))
        else {
            return Step::Suspend;
        };
        state.waiting.remove(at);
        state.object = next;
        Step::Return(output)
    }

    fn cancel(&self, state: &mut Queueing<S, I>, ticket: Ticket) {
        state.waiting.retain(|(other, _)| *other != ticket);
    }

    fn rename(&self, state: &mut Queueing<S, I>, to: &mut dyn FnMut(Ticket) -> Ticket) -> bool {
        state.waiting.iter_mut().for_each(|(ticket, _)| *ticket = to(*ticket));
        true
    }

    fn describe_state(&self, state: &Queueing<S, I>) -> String {
        let object = format!("{:?}", state.object);
        if state.waiting.is_empty() {
            return object;
        }
        let waiting: Vec<String> = state.waiting.iter().map(|(_, input)| format!("{input:?}")).collect();
        format!("{object}, waiting: {}", waiting.join(", "))
    }
}
