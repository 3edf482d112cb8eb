//! Schemas: which operations which threads call, in the notation of Violat.
//!
//! ```text
//! schema     ::= phase (";" phase)*               phases follow one another: initial, parallel, final
//! phase      ::= sequence ("||" sequence)*        the sequences of a phase run at once
//! sequence   ::= "{" invocation (";" invocation)* "}"
//! invocation ::= NAME "(" [literal ("," literal)*] ")"
//! literal    ::= integer | "true" | "false" | "null" | string | "[" literal, ... "]" | "[" literal "=" literal, ... "]"
//! ```
//!
//! Violat writes one phase. The partial order that it has between sequences besides is that between phases here.

mod parse;
mod print;

pub use parse::SchemaError;

use crate::literal::Literal;

/// What threads call. Operations are numbered in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Schema {
    /// Phases, one after another; each is a set of sequences that run at once.
    pub phases: Vec<Vec<Vec<Invocation>>>,
}

/// One call, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Invocation {
    /// The method's name.
    pub method: String,
    /// Its arguments.
    pub arguments: Vec<Literal>,
}

impl Schema {
    /// A schema of one phase.
    pub fn parallel(sequences: Vec<Vec<Invocation>>) -> Schema {
        Schema { phases: vec![sequences] }
    }

    /// All sequences with the number of their phase.
    pub fn sequences(&self) -> impl Iterator<Item = (usize, &[Invocation])> {
        self.phases
            .iter()
            .enumerate()
            .flat_map(|(number, phase)| phase.iter().map(move |sequence| (number, sequence.as_slice())))
    }

    /// All invocations, in the order in which they are written.
    pub fn invocations(&self) -> impl Iterator<Item = &Invocation> {
        self.sequences().flat_map(|(_, sequence)| sequence)
    }

    /// The number of invocations.
    pub fn len(&self) -> usize {
        self.invocations().count()
    }

    /// Whether nothing is called.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most threads that run at once.
    pub fn threads(&self) -> usize {
        self.phases.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The same schema for whatever order its threads are written in.
    pub fn canonical(mut self) -> Schema {
        for phase in &mut self.phases {
            phase.sort();
        }
        self
    }

    /// The schemas that have one invocation less. Sequences and phases that become empty are left out.
    pub fn smaller(&self) -> Vec<Schema> {
        let mut schemas = Vec::new();
        for (p, phase) in self.phases.iter().enumerate() {
            for (s, sequence) in phase.iter().enumerate() {
                for i in 0..sequence.len() {
                    let mut schema = self.clone();
                    schema.phases[p][s].remove(i);
                    schemas.push(schema.without_gaps());
                }
            }
        }
        schemas.retain(|schema| schema.threads() > 1);
        schemas
    }

    /// The schema without the invocations of a method.
    pub fn without(&self, method: &str) -> Schema {
        let mut schema = self.clone();
        for sequence in schema.phases.iter_mut().flatten() {
            sequence.retain(|invocation| invocation.method != method);
        }
        schema.without_gaps()
    }

    /// Leaves out sequences and phases that are empty.
    fn without_gaps(mut self) -> Schema {
        self.phases.iter_mut().for_each(|phase| phase.retain(|sequence| !sequence.is_empty()));
        self.phases.retain(|phase| !phase.is_empty());
        self
    }
}
