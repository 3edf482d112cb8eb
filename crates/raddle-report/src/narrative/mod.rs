//! The narrative of a failure: its events in words, with the calls around them and without the details that explain nothing.
//!
//! The terminal, the pictures and the page render the same narrative.
//!
//! - `calls`: the calls around an event, and its line of source code.
//! - `dependencies`: the insides of dependencies, which are folded.
//! - `locations`: the names of memory locations, and the locations that threads share.
//! - `interest`: the events that concern more than their own thread.
//! - `words`: events, memory orders, values and threads in words.
//! - `rows`: the interleaving as rows, before a renderer lays them out.
//! - `tidy`: fewer rows that say the same.
//! - `rounds`: equal rounds of loops, counted.
//! - `explanation`: the diagnosis of weak memory and data races in words.
//! - `ending`: the class of the failure and the states of the threads in words.
//! - `starter`: scenarios without the thread that only starts the others.
//!
//! **Invariant:** nothing here knows colours, widths or files.

pub(crate) mod calls;
mod dependencies;
pub(crate) mod ending;
pub(crate) mod explanation;
pub(crate) mod interest;
pub(crate) mod locations;
pub(crate) mod rounds;
pub(crate) mod rows;
pub(crate) mod starter;
mod tidy;
pub(crate) mod words;

use crate::failure::Failure;
use crate::graph::Graph;
use crate::graph::diagnosis::{self, Diagnosis};

use calls::{Lines, calls};

/// The diagnosis of a failure's execution, whose repairs change lines of the program's own code only.
pub(crate) fn diagnose(failure: &Failure, graph: &Graph) -> Diagnosis {
    let lines = Lines::of(&failure.trace);
    let own_line = |event: usize| {
        let around = calls(&failure.trace, failure.trace.events[event].at, &lines);
        if around.is_in_std() { None } else { around.line }
    };
    diagnosis::diagnose(failure, graph, own_line)
}
