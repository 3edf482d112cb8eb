//! Quantitative relaxation (Henzinger, Kirsch, Payer, Sezgin and Sokolova, POPL 2013): linearizability with respect to a
//! model in which operations may deviate, at a cost that stays bounded along the way.
//!
//! The cost of a single deviation is its [`Measure`], the cost of a whole order its [`PathCost`]. The contract holds if
//! real time allows an order of cost `k` or less, which is the paper's k-relaxation; a tool that asks for a cost *below*
//! its factor accepts with the factor `k + 1` what is accepted here with `k`. An object of independent parts pays for
//! each part by itself.
//!
//! Deviation from the paper: which operations a run consists of is not a free predicate. A deviation lengthens it, an
//! operation that could have deviated and did not ends it, and all others leave it alone.

use std::fmt;
use std::ops::Deref;

use crate::model::Model;
use crate::value::Value;

/// How far an order may be from what the model allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Relaxation {
    /// What a deviation costs.
    pub measure: Measure,
    /// What an order costs.
    pub path: PathCost,
    /// The most that an order may cost.
    pub k: usize,
}

/// What a single deviation is, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// What [`Model::step_with_cost`] says; for collections, how many elements a removal passes over.
    OutOfOrder,
    /// An operation returns what it should but leaves the object as it was, at a cost of one. For any model: a lost
    /// increment, a lost write, an element that is taken twice.
    Stuttering,
}

/// What an order costs, by the costs of its operations. A run is a sequence of deviations with no operation between them
/// that could have been one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathCost {
    /// The most that any operation costs.
    Max,
    /// The length of the longest run: the paper's φ-interval cost.
    Interval,
    /// The most that any deviation costs together with the length of its run before it: the paper's φ-interval
    /// restricted maximal cost.
    IntervalMax,
}

/// What [`Model::step_with_cost`] says of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cost {
    /// The operation cannot deviate.
    Exempt,
    /// It deviates by this much; 0 if it does not.
    Of(usize),
}

impl Relaxation {
    /// Removals may pass over up to `k` elements: `k-relaxed:K`.
    pub const fn out_of_order(k: usize) -> Relaxation {
        Relaxation { measure: Measure::OutOfOrder, path: PathCost::Max, k }
    }

    /// Up to `k` removals in a row may pass over the element whose turn it is: `lateness:K`.
    pub const fn lateness(k: usize) -> Relaxation {
        Relaxation { measure: Measure::OutOfOrder, path: PathCost::Interval, k }
    }

    /// Up to `k` operations in a row may leave the object as it was: `stuttering:K`.
    pub const fn stuttering(k: usize) -> Relaxation {
        Relaxation { measure: Measure::Stuttering, path: PathCost::Interval, k }
    }

    /// Reads what stands behind the name of a relaxation, `K` or `K:PATH`.
    pub(super) fn parse(name: &str, rest: Option<&str>) -> Result<Relaxation, String> {
        let (number, path) = match rest.map(|rest| rest.split_once(':').unwrap_or((rest, ""))) {
            Some((number, path)) => (number, path),
            None => ("", ""),
        };
        let k = number.parse().map_err(|_| format!("contract `{name}` needs a number: `{name}:2`"))?;
        let usual = match name {
            "lateness" => Relaxation::lateness(k),
            "stuttering" => Relaxation::stuttering(k),
            _ => Relaxation::out_of_order(k),
        };
        let path = match path {
            "" => usual.path,
            "max" => PathCost::Max,
            "interval" => PathCost::Interval,
            "interval-max" => PathCost::IntervalMax,
            _ => {
                return Err(format!(
                    "no path cost is called `{path}`: there are max, interval, interval-max"
                ));
            }
        };
        Ok(Relaxation { path, ..usual })
    }
}

impl fmt::Display for Relaxation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Relaxation { measure, path, k } = self;
        match (measure, path) {
            (Measure::OutOfOrder, PathCost::Max) => write!(f, "k-relaxed:{k}"),
            (Measure::OutOfOrder, PathCost::Interval) => write!(f, "lateness:{k}"),
            (Measure::OutOfOrder, PathCost::IntervalMax) => write!(f, "k-relaxed:{k}:interval-max"),
            (Measure::Stuttering, PathCost::Max) => write!(f, "stuttering:{k}:max"),
            (Measure::Stuttering, PathCost::Interval) => write!(f, "stuttering:{k}"),
            (Measure::Stuttering, PathCost::IntervalMax) => write!(f, "stuttering:{k}:interval-max"),
        }
    }
}

/// A model in which operations may deviate; with no relaxation, the model behind `P` itself.
pub(crate) struct Graded<P> {
    pub(crate) model: P,
    pub(crate) relaxation: Option<Relaxation>,
}

/// A state, and the runs that go on in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Running<S> {
    state: S,
    /// How long the run in each part is, by part; those of length 0 are left out.
    runs: Vec<(Option<Value>, usize)>,
}

impl<S> Running<S> {
    fn run(&self, part: &Option<Value>) -> usize {
        self.runs.iter().find(|(other, _)| other == part).map_or(0, |&(_, run)| run)
    }

    /// The runs if the one in `part` is now `length` long.
    fn with(&self, part: &Option<Value>, length: usize) -> Vec<(Option<Value>, usize)> {
        let mut runs: Vec<_> = self.runs.iter().filter(|(other, _)| other != part).cloned().collect();
        if length > 0 {
            let at = runs.partition_point(|(other, _)| other < part);
            runs.insert(at, (part.clone(), length));
        }
        runs
    }
}

impl<P: Deref<Target: Model + Sized>> Graded<P> {
    /// Every step that costs anything at all or nothing.
    fn steps(
        &self,
        relaxation: Relaxation,
        state: &<P::Target as Model>::State,
        input: &<P::Target as Model>::Input,
        output: Option<&<P::Target as Model>::Output>,
    ) -> Vec<(<P::Target as Model>::State, Cost)> {
        if !self.model.is_relaxed(input) {
            return self
                .model
                .step(state, input, output)
                .into_iter()
                .map(|next| (next, Cost::Exempt))
                .collect();
        }
        match relaxation.measure {
            Measure::OutOfOrder => self.model.step_with_cost(state, input, output).into_iter().collect(),
            Measure::Stuttering => {
                let cost = |next: &_| if next == state { Cost::Exempt } else { Cost::Of(0) };
                let mut steps: Vec<_> = self
                    .model
                    .step(state, input, output)
                    .into_iter()
                    .map(|next| (cost(&next), next))
                    .collect();
                if steps.iter().any(|(cost, _)| *cost != Cost::Exempt) {
                    steps.push((Cost::Of(1), state.clone()));
                }
                steps.into_iter().map(|(cost, next)| (next, cost)).collect()
            }
        }
    }
}

/// The length of the run after an operation of this cost, if the order may go on with it.
fn follow(relaxation: Relaxation, run: usize, cost: Cost) -> Option<usize> {
    let Relaxation { path, k, .. } = relaxation;
    let (after, price) = match (path, cost) {
        (_, Cost::Exempt) => (run, 0),
        (PathCost::Max, Cost::Of(cost)) => (0, cost),
        (_, Cost::Of(0)) => (0, 0),
        (PathCost::Interval, Cost::Of(_)) => (run + 1, run + 1),
        (PathCost::IntervalMax, Cost::Of(cost)) => (run + 1, run.saturating_add(cost)),
    };
    (price <= k).then_some(after)
}

impl<P: Deref<Target: Model + Sized>> Model for Graded<P> {
    type State = Running<<P::Target as Model>::State>;
    type Input = <P::Target as Model>::Input;
    type Output = <P::Target as Model>::Output;

    fn init(&self) -> Self::State {
        Running { state: self.model.init(), runs: Vec::new() }
    }

    fn step(
        &self,
        from: &Self::State,
        input: &Self::Input,
        output: Option<&Self::Output>,
    ) -> impl IntoIterator<Item = Self::State> {
        let Some(relaxation) = self.relaxation else {
            let next = self.model.step(&from.state, input, output).into_iter();
            return next.map(|state| Running { state, runs: Vec::new() }).collect::<Vec<_>>();
        };
        let part = self.model.partition(input);
        let run = from.run(&part);
        let allowed = |(state, cost)| {
            follow(relaxation, run, cost).map(|run| Running { state, runs: from.with(&part, run) })
        };
        self.steps(relaxation, &from.state, input, output).into_iter().filter_map(allowed).collect()
    }

    fn partition(&self, input: &Self::Input) -> Option<Value> {
        self.model.partition(input)
    }

    fn is_read_only(&self, input: &Self::Input, output: Option<&Self::Output>) -> bool {
        // An operation that changes nothing may still begin or end a run.
        let has_runs = self.relaxation.is_some_and(|relaxation| relaxation.path != PathCost::Max);
        !has_runs && self.model.is_read_only(input, output)
    }

    fn is_relaxed(&self, input: &Self::Input) -> bool {
        self.model.is_relaxed(input)
    }

    fn domains(&self, input: &Self::Input, k: usize) -> Vec<super::quasi::Domain> {
        self.model.domains(input, k)
    }

    fn step_together(
        &self,
        from: &Self::State,
        operations: &[(&Self::Input, Option<&Self::Output>)],
    ) -> impl IntoIterator<Item = Self::State> {
        let next = self.model.step_together(&from.state, operations).into_iter();
        next.map(|state| Running { state, runs: Vec::new() }).collect::<Vec<_>>()
    }

    fn step_interval(
        &self,
        from: &Self::State,
        begun: &[&Self::Input],
        ended: &[(&Self::Input, Option<&Self::Output>)],
    ) -> impl IntoIterator<Item = Self::State> {
        let next = self.model.step_interval(&from.state, begun, ended).into_iter();
        next.map(|state| Running { state, runs: Vec::new() }).collect::<Vec<_>>()
    }

    fn results(&self, from: &Self::State, input: &Self::Input) -> Vec<Self::Output> {
        self.model.results(&from.state, input)
    }

    fn describe(&self, input: &Self::Input, output: Option<&Self::Output>) -> String {
        self.model.describe(input, output)
    }

    fn describe_state(&self, state: &Self::State) -> String {
        let mut words = self.model.describe_state(&state.state);
        for (part, run) in &state.runs {
            let part = part.as_ref().map_or(String::new(), |part| format!(" on {part}"));
            words += &format!(", {run} out of order in a row{part}");
        }
        words
    }

    fn state_bytes(&self, state: &Self::State) -> usize {
        self.model.state_bytes(&state.state) + state.runs.len() * size_of::<(Option<Value>, usize)>()
    }
}
