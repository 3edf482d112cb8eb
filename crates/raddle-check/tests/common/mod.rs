//! Random histories, and contracts by their definitions: slow, short and obviously right.
#![allow(dead_code, reason = "each test program uses its own share")]

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use raddle_check::{History, Model, Operation, Outcome, Ties, Value};

/// The raw material of one operation, small so that histories are full of coincidences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw {
    pub(crate) process: u8,
    pub(crate) kind: u8,
    pub(crate) value: u8,
    pub(crate) call: u8,
    pub(crate) duration: u8,
    /// At which point of its time the operation takes effect in the run that decides its output.
    pub(crate) effect: u8,
    /// Under 20: the outcome is unknown. Over 215: the output is made up.
    pub(crate) luck: u8,
}

/// Up to `most` raw operations within `span` time.
pub(crate) fn raw(most: usize, span: u8) -> impl Strategy<Value = Vec<Raw>> {
    let one = (0..4u8, any::<u8>(), any::<u8>(), 0..span, 0..span / 2, any::<u8>(), any::<u8>());
    let one = one.prop_map(|(process, kind, value, call, duration, effect, luck)| Raw {
        process,
        kind,
        value,
        call,
        duration,
        effect,
        luck,
    });
    prop::collection::vec(one, 1..=most)
}

/// A history whose outputs are those of a run in which each operation takes effect somewhere in its time, but for the
/// made-up ones.
pub(crate) fn history<M: Model<Output = Value>>(
    model: &M,
    raw: &[Raw],
    input: impl Fn(usize, Raw) -> M::Input,
    outputs: &[Value],
) -> History<M::Input, Value> {
    let mut order: Vec<usize> = (0..raw.len()).collect();
    order.sort_by_key(|&i| {
        let r = raw[i];
        (u32::from(r.call) * 256 + u32::from(r.duration) * u32::from(r.effect), i)
    });
    let mut state = model.init();
    let mut results = vec![Value::Nil; raw.len()];
    for i in order {
        let input = input(i, raw[i]);
        for output in outputs {
            let next = model.step(&state, &input, Some(output)).into_iter().next();
            if let Some(next) = next {
                (state, results[i]) = (next, output.clone());
                break;
            }
        }
    }
    raw.iter()
        .enumerate()
        .map(|(i, r)| {
            let made_up = outputs[r.effect as usize % outputs.len()].clone();
            let output = if r.luck > 215 { made_up } else { results[i].clone() };
            let at = u64::from(r.call + r.duration);
            let outcome = if r.luck < 20 { Outcome::Unknown } else { Outcome::Returned { output, at } };
            Operation { process: r.process.into(), call: r.call.into(), input: input(i, *r), outcome }
        })
        .collect()
}

/// Outputs to draw from: nil, the truth values, and the first integers.
pub(crate) fn some_outputs(integers: i64) -> Vec<Value> {
    let plain = [Value::Nil, Value::Bool(true), Value::Bool(false)];
    plain.into_iter().chain((0..integers).map(Value::Int)).collect()
}

/// Whether `a` is over before `b` begins.
pub(crate) fn precedes<I, O>(a: &Operation<I, O>, b: &Operation<I, O>, ties: Ties) -> bool {
    let Some(returned) = a.returned_at() else { return false };
    let both_instant = a.call == returned && b.call == returned && b.returned_at() == Some(returned);
    match ties {
        Ties::Concurrent => returned < b.call,
        Ties::Ordered => returned <= b.call && !both_instant,
    }
}

/// Whether some order of the `required` operations and any others, in which those that `before` puts in order are in
/// that order, is one the model allows.
pub(crate) fn orderable<M: Model>(
    model: &M,
    operations: &[Operation<M::Input, M::Output>],
    required: impl Fn(usize) -> bool,
    before: impl Fn(usize, usize) -> bool,
) -> bool {
    struct Search<'a, M: Model> {
        model: &'a M,
        operations: &'a [Operation<M::Input, M::Output>],
        required: &'a dyn Fn(usize) -> bool,
        before: &'a dyn Fn(usize, usize) -> bool,
        dead: HashSet<(u32, M::State)>,
    }
    impl<M: Model> Search<'_, M> {
        fn go(&mut self, left: u32, state: &M::State) -> bool {
            let left_over: Vec<usize> = (0..self.operations.len()).filter(|i| left >> i & 1 == 1).collect();
            if !left_over.iter().any(|&i| (self.required)(i)) {
                return true;
            }
            if !self.dead.insert((left, state.clone())) {
                return false;
            }
            left_over.iter().any(|&i| {
                // One that is not required and comes no more has been left out.
                let waits = left_over.iter().any(|&j| (self.required)(j) && (self.before)(j, i));
                let operation = &self.operations[i];
                let next: Vec<M::State> =
                    self.model.step(state, &operation.input, operation.output()).into_iter().collect();
                !waits && next.iter().any(|next| self.go(left & !(1 << i), next))
            })
        }
    }
    let everything = ((1u64 << operations.len()) - 1) as u32;
    let dead = HashSet::new();
    Search { model, operations, required: &required, before: &before, dead }.go(everything, &model.init())
}

/// Linearizability by its definition.
pub(crate) fn linearizable<M: Model>(model: &M, history: &History<M::Input, M::Output>, ties: Ties) -> bool {
    let operations = history.operations();
    let returned = |i: usize| operations[i].output().is_some();
    orderable(model, operations, returned, |i, j| precedes(&operations[i], &operations[j], ties))
}

/// All orders of `items`.
pub(crate) fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (i, &first) in items.iter().enumerate() {
        let rest: Vec<usize> = [&items[..i], &items[i + 1..]].concat();
        all.extend(permutations(&rest).into_iter().map(|tail| [vec![first], tail].concat()));
    }
    all
}

/// The operations that have returned.
pub(crate) fn returned<I, O>(operations: &[Operation<I, O>]) -> impl Fn(usize) -> bool + '_ {
    |i| operations[i].output().is_some()
}

/// How often a property held and did not, so that a test can show that it saw enough of both.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) yes: std::cell::Cell<u32>,
    pub(crate) no: std::cell::Cell<u32>,
}

impl Tally {
    pub(crate) fn count(&self, yes: bool) {
        let side = if yes { &self.yes } else { &self.no };
        side.set(side.get() + 1);
    }

    /// Panics unless both happened in at least one of thirty cases.
    #[track_caller]
    pub(crate) fn is_balanced(&self) {
        let (yes, no) = (self.yes.get(), self.no.get());
        assert!(yes * 29 >= no && no * 29 >= yes, "{yes} yes and {no} no: the histories are too much alike");
    }
}

/// Runs `test` on `cases` random lists of up to `most` operations. They are the same in every run, unless
/// `RADDLE_SEED` is set to another number.
#[track_caller]
pub(crate) fn for_random_histories(
    cases: u32,
    most: usize,
    span: u8,
    test: impl Fn(Vec<Raw>) -> Result<(), TestCaseError>,
) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let seed: u64 = std::env::var("RADDLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let seed = [seed.to_le_bytes(); 4].concat();
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    if let Err(error) = runner.run(&raw(most, span), test) {
        panic!("{error}");
    }
}
