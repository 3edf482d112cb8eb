//! The sequential object as a machine with states, learned from runs of it one call at a time.

use std::collections::HashMap;
use std::fmt;

/// Something that can run calls one after another on a new object. Calls are numbers that the caller gives a meaning.
pub trait Oracle {
    /// Runs the calls on a new object.
    fn replay(&mut self, calls: &[usize]) -> Replay;
}

/// What a sequential run returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The result of each call, as text. A panic is a result, too.
    pub values: Vec<String>,
    /// The object's state after the last call, if something tells states apart. Objects with equal ones must behave alike.
    pub state: Option<String>,
}

impl<F: FnMut(&[usize]) -> Replay> Oracle for F {
    fn replay(&mut self, calls: &[usize]) -> Replay {
        self(calls)
    }
}

/// Why no outcomes can be expected of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSequential {
    /// The same calls on new objects had different results.
    Nondeterministic {
        /// The calls, in order.
        calls: Vec<usize>,
        /// What the last one returned first.
        first: String,
        /// What it returned another time.
        second: String,
    },
    /// A call that only reads has changed the object's state.
    Changes {
        /// The call.
        call: usize,
    },
    /// There are more states than can be told apart in reasonable time.
    TooMany {
        /// How many positions were examined.
        positions: usize,
    },
}

impl NotSequential {
    /// The reason in words, with names for the calls.
    pub fn describe(&self, name: impl Fn(usize) -> String) -> String {
        match self {
            NotSequential::Nondeterministic { calls, first, second } => {
                let calls: Vec<String> = calls.iter().map(|&call| name(call)).collect();
                format!(
                    "the object is not deterministic: after `{}`, the last call returned `{first}` once and `{second}` another time",
                    calls.join("; ")
                )
            }
            NotSequential::Changes { call } => format!(
                "`{}` is declared as read-only, but the state of the object was another one after it",
                name(*call)
            ),
            NotSequential::TooMany { positions } => format!(
                "the schema is too large: its outcomes were not known after {positions} positions; \
                 give the specification a `state` that tells states of the object apart, or make the schema smaller"
            ),
        }
    }
}

impl fmt::Display for NotSequential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(|call| format!("call {call}")))
    }
}

/// A state of the sequential object.
pub(super) type StateId = u32;
/// A result.
pub(super) type ValueId = u32;

/// The sequential object: states and what calls do in them, as far as anybody asked.
pub struct Machine<O> {
    oracle: O,
    /// Whether each call leaves the state as it is.
    readonly: Vec<bool>,
    /// The shortest known calls that lead to each state.
    paths: Vec<Vec<usize>>,
    by_fingerprint: HashMap<String, StateId>,
    steps: HashMap<(StateId, usize), (StateId, ValueId)>,
    values: Vec<String>,
    by_value: HashMap<String, ValueId>,
}

impl<O: Oracle> Machine<O> {
    /// A machine for an object with as many calls as there are flags, each saying whether the call only reads.
    pub fn new(mut oracle: O, readonly: Vec<bool>) -> Machine<O> {
        let initial = oracle.replay(&[]);
        Machine {
            oracle,
            readonly,
            paths: vec![Vec::new()],
            by_fingerprint: initial.state.into_iter().map(|state| (state, 0)).collect(),
            steps: HashMap::new(),
            values: Vec::new(),
            by_value: HashMap::new(),
        }
    }

    /// How many states are known.
    pub fn states(&self) -> usize {
        self.paths.len()
    }

    pub(super) fn is_readonly(&self, call: usize) -> bool {
        self.readonly[call]
    }

    fn value(&self, value: ValueId) -> &str {
        &self.values[value as usize]
    }

    /// The texts of all results so far, by their numbers.
    pub(super) fn values(&self) -> &[String] {
        &self.values
    }

    /// What a call does in a state: the next state and the result.
    pub(super) fn step(&mut self, state: StateId, call: usize) -> Result<(StateId, ValueId), NotSequential> {
        if let Some(&known) = self.steps.get(&(state, call)) {
            return Ok(known);
        }
        let mut calls = self.paths[state as usize].clone();
        calls.push(call);
        let replay = self.oracle.replay(&calls);
        self.compare(&calls, &replay.values)?;
        let text = replay.values.last().cloned().unwrap_or_default();
        let value = self.intern(text);
        let next = match (self.readonly[call], replay.state) {
            (true, None) => state,
            (true, Some(fingerprint)) => {
                if self.by_fingerprint.get(&fingerprint) != Some(&state) {
                    return Err(NotSequential::Changes { call });
                }
                state
            }
            // Nothing tells states apart: each history is a state of its own.
            (false, None) => self.add_state(calls),
            (false, Some(fingerprint)) => match self.by_fingerprint.get(&fingerprint) {
                Some(&known) => known,
                None => {
                    let new = self.add_state(calls);
                    self.by_fingerprint.insert(fingerprint, new);
                    new
                }
            },
        };
        self.steps.insert((state, call), (next, value));
        Ok((next, value))
    }

    /// Compares the results of calls that were made before with what they returned then.
    fn compare(&self, calls: &[usize], values: &[String]) -> Result<(), NotSequential> {
        let mut state = 0;
        for (position, (&call, value)) in calls.iter().zip(values).enumerate() {
            let Some(&(next, known)) = self.steps.get(&(state, call)) else { return Ok(()) };
            if self.value(known) != value {
                return Err(NotSequential::Nondeterministic {
                    calls: calls[..=position].to_vec(),
                    first: self.value(known).to_owned(),
                    second: value.clone(),
                });
            }
            state = next;
        }
        Ok(())
    }

    fn add_state(&mut self, path: Vec<usize>) -> StateId {
        self.paths.push(path);
        StateId::try_from(self.paths.len() - 1).expect("fewer states than 2^32, each of which took a run")
    }

    fn intern(&mut self, text: String) -> ValueId {
        if let Some(&known) = self.by_value.get(&text) {
            return known;
        }
        let new = ValueId::try_from(self.values.len()).expect("fewer results than 2^32");
        self.values.push(text.clone());
        self.by_value.insert(text, new);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_with_one_fingerprint_are_one() {
        let mut runs = 0;
        let oracle = |calls: &[usize]| {
            runs += 1;
            let sum: usize = calls.iter().sum();
            Replay {
                values: calls.iter().map(ToString::to_string).collect(),
                state: Some((sum % 2).to_string()),
            }
        };
        let mut machine = Machine::new(oracle, vec![false, false]);
        let (one, _) = machine.step(0, 1).unwrap();
        assert_eq!(machine.step(one, 1).unwrap().0, 0);
        assert_eq!(machine.step(0, 0).unwrap().0, 0);
        machine.step(0, 1).unwrap();
        assert_eq!((machine.states(), runs), (2, 4));
    }

    #[test]
    fn objects_that_are_not_sequential_are_told() {
        let mut counter = 0;
        let oracle = |calls: &[usize]| {
            counter += 1;
            Replay { values: vec![counter.to_string(); calls.len()], state: None }
        };
        let mut machine = Machine::new(oracle, vec![false]);
        let (next, _) = machine.step(0, 0).unwrap();
        let error = machine.step(next, 0).unwrap_err();
        assert_eq!(
            error.describe(|_| "roll()".to_owned()),
            "the object is not deterministic: after `roll()`, the last call returned `2` once and `3` another time"
        );
        let oracle = |calls: &[usize]| Replay {
            values: vec![String::new(); calls.len()],
            state: Some(calls.len().to_string()),
        };
        let error = Machine::new(oracle, vec![true]).step(0, 0).unwrap_err();
        assert_eq!(error, NotSequential::Changes { call: 0 });
    }
}
