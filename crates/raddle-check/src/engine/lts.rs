//! The model as a labelled transition system: states and operations numbered, transitions computed once.
//!
//! One system serves any number of histories of the same model, so a test that checks a million small histories
//! calls the model a few hundred times.

use std::hash::{Hash, Hasher};

use indexmap::{Equivalent, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::model::Model;

/// A state of the model, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StateId(pub(crate) u32);

/// All operations with the same input and output, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Class(pub(crate) u32);

/// Where a transition leads, packed: nowhere, to one state, or to the list of that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge(u32);

impl Edge {
    const UNKNOWN: Edge = Edge(u32::MAX);
    const NOWHERE: Edge = Edge(u32::MAX - 1);
    const LIST: u32 = 1 << 31;

    /// Whether the operation is possible.
    pub(crate) fn is_legal(self) -> bool {
        self != Edge::NOWHERE
    }
}

/// States and classes below these numbers have their transitions in a dense table; the others in a hash map.
const DENSE_STATES: usize = 1 << 12;
const DENSE_CLASSES: usize = 1 << 6;

/// Below this many states and classes nothing is ever dropped.
const KEEP: usize = 1 << 16;

/// The lazily built transition system of one model.
pub(crate) struct Lts<M: Model> {
    states: IndexSet<M::State, FxBuildHasher>,
    classes: IndexSet<Label<M>, FxBuildHasher>,
    read_only: Vec<bool>,
    dense: Vec<Edge>,
    sparse: FxHashMap<(StateId, Class), Edge>,
    lists: Vec<Box<[StateId]>>,
    state_bytes: usize,
    /// When to collect next.
    threshold: usize,
    /// How often classes have been given new numbers.
    pub(crate) generation: u64,
}

/// An operation as the model sees it.
struct Label<M: Model> {
    input: M::Input,
    output: Option<M::Output>,
}

impl<M: Model> PartialEq for Label<M> {
    fn eq(&self, other: &Self) -> bool {
        self.input == other.input && self.output == other.output
    }
}

impl<M: Model> Eq for Label<M> {}

impl<M: Model> Hash for Label<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.input, self.output.as_ref()).hash(state);
    }
}

/// A [`Label`] by reference, to look one up without cloning.
struct Borrowed<'a, M: Model>(&'a M::Input, Option<&'a M::Output>);

impl<M: Model> Hash for Borrowed<'_, M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0, self.1).hash(state);
    }
}

impl<M: Model> Equivalent<Label<M>> for Borrowed<'_, M> {
    fn equivalent(&self, label: &Label<M>) -> bool {
        *self.0 == label.input && self.1 == label.output.as_ref()
    }
}

impl<M: Model> Lts<M> {
    pub(crate) fn new() -> Lts<M> {
        Lts {
            states: IndexSet::default(),
            classes: IndexSet::default(),
            read_only: Vec::new(),
            dense: Vec::new(),
            sparse: FxHashMap::default(),
            lists: Vec::new(),
            state_bytes: 0,
            threshold: KEEP,
            generation: 0,
        }
    }

    /// The state in which every history begins.
    pub(crate) fn initial(&mut self, model: &M) -> StateId {
        self.intern(model, model.init())
    }

    /// The class of operations with this input and output.
    pub(crate) fn class(&mut self, model: &M, input: &M::Input, output: Option<&M::Output>) -> Class {
        if let Some(index) = self.classes.get_index_of(&Borrowed::<M>(input, output)) {
            return Class(index as u32);
        }
        let (index, _) = self.classes.insert_full(Label { input: input.clone(), output: output.cloned() });
        self.read_only.push(model.is_read_only(input, output));
        Class(index as u32)
    }

    /// Whether operations of the class leave every state in which they are possible as it was.
    pub(crate) fn is_read_only(&self, class: Class) -> bool {
        self.read_only[class.0 as usize]
    }

    /// Where an operation of `class` leads from `state`.
    pub(crate) fn edge(&mut self, model: &M, state: StateId, class: Class) -> Edge {
        let (s, c) = (state.0 as usize, class.0 as usize);
        if s < DENSE_STATES && c < DENSE_CLASSES {
            let at = s * DENSE_CLASSES + c;
            if at >= self.dense.len() {
                self.dense.resize((s + 1) * DENSE_CLASSES, Edge::UNKNOWN);
            }
            if self.dense[at] == Edge::UNKNOWN {
                self.dense[at] = self.compute(model, state, class);
            }
            return self.dense[at];
        }
        if let Some(&edge) = self.sparse.get(&(state, class)) {
            return edge;
        }
        let edge = self.compute(model, state, class);
        self.sparse.insert((state, class), edge);
        edge
    }

    /// How many states `edge` leads to.
    pub(crate) fn fan_out(&self, edge: Edge) -> usize {
        match edge {
            Edge::NOWHERE => 0,
            Edge(bits) if bits & Edge::LIST == 0 => 1,
            Edge(bits) => self.lists[(bits & !Edge::LIST) as usize].len(),
        }
    }

    /// The `i`th of the states `edge` leads to.
    pub(crate) fn target(&self, edge: Edge, i: usize) -> StateId {
        if edge.0 & Edge::LIST == 0 {
            StateId(edge.0)
        } else {
            self.lists[(edge.0 & !Edge::LIST) as usize][i]
        }
    }

    pub(crate) fn state(&self, id: StateId) -> &M::State {
        &self.states[id.0 as usize]
    }

    /// Numbers a state that was found elsewhere.
    pub(crate) fn adopt(&mut self, model: &M, state: M::State) -> StateId {
        self.intern(model, state)
    }

    /// About how much memory the system holds.
    pub(crate) fn bytes(&self) -> usize {
        // An index set holds a hash, the entry and about one and a half words of table for each.
        let labels = self.classes.len() * (size_of::<Label<M>>() + 24);
        let states = self.state_bytes + self.states.len() * 24;
        labels + states + self.dense.len() * 4 + self.sparse.len() * 24 + self.lists.len() * 32
    }

    /// Whether so much has been seen that it is time to [`collect`](Lts::collect).
    pub(crate) fn is_crowded(&self) -> bool {
        self.states.len() + self.classes.len() + self.sparse.len() / 4 > self.threshold
    }

    /// Forgets everything but the given states and classes, and renumbers those in place. This is what keeps the
    /// memory of a long history that of its frontier.
    pub(crate) fn collect<'a>(
        &mut self,
        states: impl Iterator<Item = &'a mut StateId>,
        classes: impl Iterator<Item = &'a mut Class>,
        model: &M,
    ) {
        let old_states: Vec<M::State> = std::mem::take(&mut self.states).into_iter().collect();
        let old_classes: Vec<Label<M>> = std::mem::take(&mut self.classes).into_iter().collect();
        self.read_only.clear();
        self.dense.clear();
        self.sparse.clear();
        self.lists.clear();
        self.state_bytes = 0;
        for id in states {
            *id = self.intern(model, old_states[id.0 as usize].clone());
        }
        for class in classes {
            let label = &old_classes[class.0 as usize];
            *class = self.class(model, &label.input, label.output.as_ref());
        }
        self.generation += 1;
        self.threshold = KEEP.max(2 * (self.states.len() + self.classes.len()));
    }

    fn intern(&mut self, model: &M, state: M::State) -> StateId {
        if let Some(index) = self.states.get_index_of(&state) {
            return StateId(index as u32);
        }
        self.state_bytes += model.state_bytes(&state);
        let (index, _) = self.states.insert_full(state);
        assert!(index < Edge::LIST as usize, "over two billion states are held at once");
        StateId(index as u32)
    }

    fn compute(&mut self, model: &M, state: StateId, class: Class) -> Edge {
        let label = &self.classes[class.0 as usize];
        let (from, input, output) = (&self.states[state.0 as usize], &label.input, label.output.as_ref());
        let next: Vec<M::State> = model.step(from, input, output).into_iter().collect();
        if self.read_only[class.0 as usize] {
            assert!(
                next.iter().all(|to| to == from),
                "the model calls {} read-only, but it changes the state {}",
                model.describe(input, output),
                model.describe_state(from),
            );
        }
        let mut targets: Vec<StateId> = next.into_iter().map(|to| self.intern(model, to)).collect();
        targets.sort_unstable();
        targets.dedup();
        match targets[..] {
            [] => Edge::NOWHERE,
            [only] => Edge(only.0),
            _ => {
                self.lists.push(targets.into_boxed_slice());
                Edge((self.lists.len() - 1) as u32 | Edge::LIST)
            }
        }
    }
}
