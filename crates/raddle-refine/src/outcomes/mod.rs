//! Expected outcomes: what the operations of a schema may return at given consistency levels.
//!
//! An outcome is expected if there is a linearization of the schema and a visibility for each operation such that each operation returns
//! what it returns if what it sees is run one call after another, and each visibility is one that the level of its operation
//! admits (Emmi and Enea, POPL 2019). The oracle is the object itself, run sequentially, or a model of it.
//!
//! Only the order that the program gives counts as happening before, not real time: an object all of whose methods are complete on
//! all schemas is linearizable.

mod expected;
mod machine;
mod program;
mod search;
#[cfg(test)]
mod tests;

pub use expected::Expected;
pub use machine::{Machine, NotSequential, Oracle, Replay};
pub use program::{MOST_OPERATIONS, Program};

/// All outcomes that a program may have.
///
/// # Errors
/// If the object is not one that can be run sequentially, or if there are too many states.
///
/// ```
/// use raddle_refine::{Level, Schema};
/// use raddle_refine::outcomes::{Machine, Program, Replay, expected};
///
/// // A counter: call 0 increments, call 1 reads.
/// let counter = |calls: &[usize]| {
///     let mut count = 0;
///     let values = calls.iter().map(|call| if *call == 0 { count += 1; count } else { count }.to_string());
///     Replay { values: values.collect(), state: Some(count.to_string()) }
/// };
/// let schema: Schema = "{ inc(); inc() } || { get() }".parse().unwrap();
/// let number = |invocation: &raddle_refine::Invocation| usize::from(invocation.method == "get");
/// let program = Program::new(&schema, number, |_| Level::Complete);
/// let expected = expected(&program, &mut Machine::new(counter, vec![false, true])).unwrap();
/// assert_eq!(expected.outcomes(10).unwrap().len(), 3);
/// assert!(expected.contains(&["1", "2", "0"]) && !expected.contains(&["1", "1", "0"]));
/// ```
pub fn expected<O: Oracle>(program: &Program, machine: &mut Machine<O>) -> Result<Expected, NotSequential> {
    let graph = search::search(program, machine)?;
    Ok(Expected { graph, values: machine.values().to_vec() })
}
