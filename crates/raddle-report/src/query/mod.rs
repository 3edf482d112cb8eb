//! Questions about a failure, answered from the failure model alone.
//!
//! An [`Index`] is made once for a failure; every [`Question`] is then answered by looking at few events. The command line, the
//! query interface and the debugger ask the same index. `QUERY.md` describes questions and answers as JSON.
//!
//! - [`question`]: questions, and how a person writes them.
//! - [`answer`]: answers as data.
//! - `clocks`: happens-before, by vector clocks.
//! - `accesses`: the accesses to each memory location, in modification order.
//! - `origin`, `missed`, `before`: one kind of question each.
//! - `condition`: conditions on objects and locations, and when they hold.
//! - `text`: answers as text.
//! - [`exchange`]: requests and responses of the query interface.
//!
//! **Invariant:** an answer says whether it is recorded or only likely. The model has no edge from a read of a thread to the values
//! that the thread computed from it, so that such steps are likely at best.

mod accesses;
pub mod answer;
mod before;
mod clocks;
mod condition;
pub mod exchange;
mod missed;
mod origin;
pub mod question;
mod text;

use std::fmt;

use crate::failure::{Event, Failure, Location, Value};
use crate::graph::Graph;
use crate::narrative::calls::{Calls, Lines, calls};
use crate::narrative::locations::{Locations, Naming};
use crate::narrative::words::{self, Spelling};

use accesses::Accesses;
use clocks::Clocks;

pub use answer::{Answer, Moment};
pub use question::Question;
pub use text::render_answer;

/// The index over one failure, by which questions are answered.
pub struct Index<'f> {
    failure: &'f Failure,
    graph: Graph,
    clocks: Clocks,
    accesses: Accesses,
    locations: Locations,
    lines: Lines,
}

/// The reason why a question has no answer: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer(pub String);

impl<'f> Index<'f> {
    /// The index of a failure. Takes time once; questions are then cheap.
    pub fn of(failure: &'f Failure) -> Index<'f> {
        let graph = Graph::as_recorded(failure);
        Index {
            failure,
            clocks: Clocks::of(&graph),
            accesses: Accesses::of(&failure.trace.events, &graph),
            graph,
            locations: Locations::of(failure),
            lines: Lines::of(&failure.trace),
        }
    }

    /// Answers a question.
    ///
    /// # Errors
    /// A sentence that says why there is no answer, and where possible what to ask instead.
    pub fn answer(&self, question: &Question) -> Result<Answer, NoAnswer> {
        Ok(match question {
            Question::Origin { event } => Answer::Origin(origin::origin(self, self.event(*event)?)?),
            Question::Accesses { location } => Answer::Accesses(missed::accesses(self, location)?),
            Question::Missed { event } => Answer::Missed(missed::missed(self, self.event(*event)?)?),
            Question::Before { event } => Answer::Before(before::before(self, self.event(*event)?)),
            Question::Order { first, second } => {
                Answer::Order(before::order(self, self.event(*first)?, self.event(*second)?))
            }
            Question::When { condition } => Answer::When(condition::when(self, condition)?),
            Question::PointOfNoReturn => Answer::PointOfNoReturn(before::point_of_no_return(self)?),
            Question::NearestPass => Answer::NearestPass(before::nearest_pass(self)?),
            Question::Why { target } => {
                let questions = question::questions(self, target)?;
                let answers = questions.iter().map(|question| self.answer(question));
                Answer::Why { answers: answers.collect::<Result<_, _>>()? }
            }
        })
    }

    /// Every event in words.
    pub fn moments(&self) -> Vec<Moment> {
        (0..self.events().len()).map(|number| self.moment(number)).collect()
    }

    /// Whether one event happens before another.
    pub fn happens_before(&self, first: u32, second: u32) -> bool {
        let known = |event: u32| (event as usize) < self.graph.nodes.len();
        known(first) && known(second) && self.clocks.happens_before(first as usize, second as usize)
    }

    fn events(&self) -> &'f [Event] {
        &self.failure.trace.events
    }

    /// The event with this number.
    fn event(&self, number: u32) -> Result<usize, NoAnswer> {
        match self.events().len() {
            0 => Err(NoAnswer("the failure has no events, because it was not recorded".into())),
            count if number as usize >= count => Err(NoAnswer(format!(
                "there is no event {number}: the last one is {}; `cargo raddle show --numbers` prints the numbers",
                count - 1
            ))),
            _ => Ok(number as usize),
        }
    }

    /// An event in words.
    fn moment(&self, number: usize) -> Moment {
        let event = &self.events()[number];
        let around = self.around(number);
        let naming = Naming::of(&self.locations);
        Moment {
            event: number as u32,
            thread: event.thread,
            text: words::event(&event.action, &around, &naming, Spelling::Interleaved),
            line: around.line,
        }
    }

    fn around(&self, number: usize) -> Calls {
        calls(&self.failure.trace, self.events()[number].at, &self.lines)
    }

    fn name(&self, place: &Location) -> String {
        Naming::of(&self.locations).name(place)
    }

    /// A value as the report prints it.
    fn value(&self, value: Value, size: u8) -> String {
        Naming::of(&self.locations).pointer(value, size).unwrap_or_else(|| words::number(value, size))
    }
}

impl fmt::Debug for Index<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("events", &self.events().len()).finish_non_exhaustive()
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAnswer {}
