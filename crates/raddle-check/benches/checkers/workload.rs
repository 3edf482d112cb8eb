//! Histories of simulated runs: processes that call, take effect and return, interleaved at random.

use raddle_check::model::keyed::At;
use raddle_check::model::kv::TextOp;
use raddle_check::{History, Model, Operation, Outcome, Value};

/// A small generator of random numbers (xorshift), so that every run has the same histories.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// A history of `operations` by `processes` that is linearizable: each takes effect once between call and return.
/// `input` gives the next operation, `effect` applies one to the state, in the order of the effects.
pub(crate) fn simulate<I: Clone, S>(
    operations: usize,
    processes: usize,
    state: S,
    input: impl FnMut(&mut Random, usize) -> I,
    effect: impl FnMut(&mut S, &I) -> Value,
) -> History<I, Value> {
    let random = Random::new(operations as u64 + processes as u64);
    simulate_with(random, operations, processes, state, input, effect)
}

/// [`simulate`] with a generator of its own, for many histories of one kind.
pub(crate) fn simulate_with<I: Clone, S>(
    mut random: Random,
    operations: usize,
    processes: usize,
    mut state: S,
    mut input: impl FnMut(&mut Random, usize) -> I,
    mut effect: impl FnMut(&mut S, &I) -> Value,
) -> History<I, Value> {
    enum Process {
        Idle,
        Called(usize),
        Done(usize, Value),
    }
    let mut history = History::new();
    let mut all: Vec<Process> = (0..processes).map(|_| Process::Idle).collect();
    let (mut called, mut returned) = (0, 0);
    while returned < operations {
        let process = random.below(processes);
        all[process] = match std::mem::replace(&mut all[process], Process::Idle) {
            Process::Idle if called < operations => {
                called += 1;
                Process::Called(history.invoke(process as u64, input(&mut random, called)))
            }
            Process::Idle => Process::Idle,
            Process::Called(op) => {
                let input = history.operations()[op].input.clone();
                Process::Done(op, effect(&mut state, &input))
            }
            Process::Done(op, output) => {
                history.respond(op, output);
                returned += 1;
                Process::Idle
            }
        };
    }
    history
}

/// A key-value store of ten keys under fifty clients; `wrong` of a hundred gets miss the last append they should see.
pub(crate) fn key_values(operations: usize, wrong: usize) -> History<At<TextOp>, Value> {
    let mut random = Random::new(operations as u64 + 7);
    let history = simulate(
        operations,
        50,
        vec![String::new(); 10],
        |random, count| {
            let text = || std::sync::Arc::new(format!("x {count} y"));
            let op = match random.below(20) {
                0 => TextOp::Put(text()),
                1..10 => TextOp::Append(text()),
                _ => TextOp::Get,
            };
            At { key: Value::Int(random.below(10) as i64), op }
        },
        |texts, at| {
            let text = &mut texts[at.key.as_int().expect("keys are integers") as usize];
            match &at.op {
                TextOp::Get => return Value::from(text.as_str()),
                TextOp::Put(new) => text.clone_from(new),
                TextOp::Append(tail) => text.push_str(tail),
            }
            Value::Nil
        },
    );
    let spoil = |op: &Operation<At<TextOp>, Value>, random: &mut Random| {
        let mut op = op.clone();
        if let (TextOp::Get, Outcome::Returned { output, .. }) = (&op.input.op, &mut op.outcome)
            && random.below(100) < wrong
            && let Some(at) = output.as_text().and_then(|text| text.rfind('x'))
        {
            *output = Value::from(&output.as_text().expect("it is text")[..at]);
        }
        op
    };
    history.operations().iter().map(|op| spoil(op, &mut random)).collect()
}

/// The history with the output of one read in the last tenth replaced.
pub(crate) fn spoil_one<M: Model<Output = Value>>(
    history: &History<M::Input, Value>,
    is_read: impl Fn(&M::Input) -> bool,
    output: Value,
) -> History<M::Input, Value> {
    let mut operations = history.operations().to_vec();
    let from = operations.len() * 9 / 10;
    if let Some(read) = operations[from..].iter_mut().find(|op| is_read(&op.input))
        && let Outcome::Returned { output: seen, .. } = &mut read.outcome
    {
        *seen = output;
    }
    operations.into_iter().collect()
}
