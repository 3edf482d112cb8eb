//! The search against a literal reading of the definitions.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::program::{Op, Ops, members};
use super::*;
use crate::level::Level;
use crate::schema::{Invocation, Schema};

/// What the calls of the tests do: a map of two keys, a queue, a counter. Call numbers have these meanings.
#[derive(Clone, Copy, Debug)]
enum Object {
    Map,
    Queue,
    Counter,
}

const CALLS: usize = 6;

impl Object {
    fn readonly(self) -> Vec<bool> {
        match self {
            Object::Map => vec![false, false, false, true, true, true],
            Object::Queue => vec![false, false, false, false, true, true],
            Object::Counter => vec![false, false, false, true, true, true],
        }
    }

    fn replay(self, calls: &[usize]) -> Replay {
        let mut values = Vec::new();
        let mut state: Vec<usize> = Vec::new();
        for &call in calls {
            values.push(match self {
                Object::Map => {
                    // The state is the set of keys.
                    let old = state.len();
                    match call {
                        0 | 1 if !state.contains(&call) => state.push(call),
                        2 => state.retain(|key| *key != 0),
                        _ => {}
                    }
                    state.sort_unstable();
                    match call {
                        3 => state.len().to_string(),
                        4 => state.contains(&0).to_string(),
                        5 => state.contains(&1).to_string(),
                        _ => (old != state.len()).to_string(),
                    }
                }
                Object::Queue => match call {
                    0 | 1 => {
                        state.push(call);
                        "()".to_owned()
                    }
                    2 | 3 if state.is_empty() => "None".to_owned(),
                    2 | 3 => state.remove(0).to_string(),
                    4 => state.len().to_string(),
                    _ => format!("{:?}", state.first()),
                },
                Object::Counter => {
                    match call {
                        0 => state.push(0),
                        1 => drop(state.pop()),
                        2 => state.clear(),
                        _ => {}
                    }
                    state.len().to_string()
                }
            });
        }
        Replay { values, state: Some(format!("{state:?}")) }
    }
}

/// All outcomes, by trying each total order and each visibility of each operation.
fn brute_force(program: &Program, object: Object) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    linearizations(program, &mut Vec::new(), &mut |lin| {
        let mut visible = vec![0; program.ops.len()];
        let mut values = vec![String::new(); program.ops.len()];
        visibilities(program, object, lin, 0, &mut visible, &mut values, &mut found);
    });
    found
}

fn linearizations(program: &Program, lin: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
    if lin.len() == program.ops.len() {
        return visit(lin);
    }
    for op in 0..program.ops.len() {
        let placed = |other: usize| lin.contains(&other);
        if !placed(op) && members(program.ops[op].before).all(placed) {
            lin.push(op);
            linearizations(program, lin, visit);
            lin.pop();
        }
    }
}

fn visibilities(
    program: &Program,
    object: Object,
    lin: &[usize],
    next: usize,
    visible: &mut Vec<Ops>,
    values: &mut Vec<String>,
    found: &mut BTreeSet<Vec<String>>,
) {
    let Some(&op) = lin.get(next) else {
        found.insert(values.clone());
        return;
    };
    for subset in 0..1_u32 << next {
        let seen = lin[..next].iter().enumerate().filter(|(bit, _)| subset >> bit & 1 == 1);
        let seen: Vec<usize> = seen.map(|(_, &op)| op).collect();
        visible[op] = seen.iter().fold(1 << op, |set, other| set | 1 << other);
        if !admits(program, lin, next, visible) {
            continue;
        }
        let calls: Vec<usize> = seen.iter().chain([&op]).map(|&op| program.ops[op].call).collect();
        values[op] = object.replay(&calls).values.pop().unwrap();
        visibilities(program, object, lin, next + 1, visible, values, found);
    }
}

/// The formulas of POPL 2019, Fig. 6. As all sequences are in the order of the linearization, one is a subsequence of another if it is
/// a subset.
fn admits(program: &Program, lin: &[usize], next: usize, vis: &[Ops]) -> bool {
    let i = lin[next];
    let hb = |op: usize| program.ops[op].before | 1 << op;
    let within = |small: Ops, large: Ops| small & !large == 0;
    let basic = within(hb(i), vis[i]);
    let monotonic = members(hb(i)).all(|j| within(vis[j], vis[i]));
    match program.ops[i].level {
        Level::Weak => true,
        Level::Basic => basic,
        Level::Monotonic => monotonic,
        Level::Peer => members(vis[i]).all(|j| within(hb(j), vis[i])) && monotonic,
        Level::Causal => members(vis[i]).all(|j| within(vis[j], vis[i])) && basic,
        Level::Complete => vis[i] == lin[..=next].iter().fold(0, |set, op| set | 1 << op),
    }
}

fn object() -> impl Strategy<Value = Object> {
    prop_oneof![Just(Object::Map), Just(Object::Queue), Just(Object::Counter)]
}

/// Up to five operations, in sequences and phases, each at a level of its own.
fn program() -> impl Strategy<Value = Program> {
    let op = (0..CALLS, prop::sample::select(Level::ALL.to_vec()), 0..3_usize, 0..5_usize);
    prop::collection::vec(op, 1..=5).prop_map(|mut ops| {
        // Mostly one parallel phase, sometimes an initial or a final one.
        let phase = |choice: usize| match choice {
            0 => 0,
            4 => 2,
            _ => 1,
        };
        ops.sort_by_key(|&(_, _, sequence, choice)| (phase(choice), sequence));
        let mut program = Program { ops: Vec::new(), sequences: 9 };
        for (number, &(call, level, sequence, choice)) in ops.iter().enumerate() {
            let before = ops[..number].iter().enumerate().filter(|(_, (_, _, other, other_choice))| {
                phase(*other_choice) < phase(choice) || *other == sequence
            });
            let before = before.fold(0, |set, (other, _)| set | 1 << other);
            program.ops.push(Op { call, level, before, sequence: 3 * phase(choice) + sequence });
        }
        program
    })
}

/// The same with one level for all operations but some, as specifications have it.
fn uniform() -> impl Strategy<Value = Program> {
    (program(), prop::sample::select(Level::ALL.to_vec()), any::<u8>()).prop_map(
        |(mut program, level, mask)| {
            for (number, op) in program.ops.iter_mut().enumerate() {
                op.level = if mask >> number & 1 == 1 { level } else { Level::Complete };
            }
            program
        },
    )
}

fn agree(program: &Program, object: Object, forgetful: bool) {
    let oracle = |calls: &[usize]| {
        let replay = object.replay(calls);
        Replay { state: replay.state.filter(|_| !forgetful), ..replay }
    };
    let found = expected(program, &mut Machine::new(oracle, object.readonly())).unwrap();
    let all = found.outcomes(usize::MAX).unwrap();
    assert_eq!(all, brute_force(program, object));
    assert!(all.iter().all(|outcome| found.contains(outcome)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 250 } else { 5000 }))]

    #[test]
    fn mixed_levels_are_as_defined(program in program(), object in object(), forgetful: bool) {
        agree(&program, object, forgetful);
    }

    #[test]
    fn one_weak_level_is_as_defined(program in uniform(), object in object(), forgetful: bool) {
        agree(&program, object, forgetful);
    }
}

fn schema(text: &str, level: impl Fn(&str) -> Level) -> (Program, Vec<Invocation>) {
    let schema: Schema = text.parse().unwrap();
    let mut calls: Vec<Invocation> = Vec::new();
    let number = |invocation: &Invocation| {
        calls.iter().position(|call| call == invocation).unwrap_or_else(|| {
            calls.push(invocation.clone());
            calls.len() - 1
        })
    };
    let program = Program::new(&schema, number, |invocation| level(&invocation.method));
    (program, calls)
}

/// A map whose operations return what Java's do.
fn map(calls: &[Invocation]) -> impl Oracle {
    move |run: &[usize]| {
        let mut map = std::collections::BTreeMap::new();
        let show = |value: Option<crate::Literal>| value.map_or("null".to_owned(), |value| value.to_string());
        let values = run.iter().map(|&call| {
            let Invocation { method, arguments } = &calls[call];
            match method.as_str() {
                "put" => show(map.insert(arguments[0].clone(), arguments[1].clone())),
                "get" => show(map.get(&arguments[0]).cloned()),
                "containsValue" => map.values().any(|value| *value == arguments[0]).to_string(),
                _ => map.len().to_string(),
            }
        });
        Replay { values: values.collect(), state: Some(format!("{map:?}")) }
    }
}

/// The figure of the paper: ten shuffles, four outcomes; the fifth needs a weaker `containsValue`.
#[test]
fn the_example_of_the_paper_has_four_outcomes() {
    let text = "{ get(1); containsValue(1) } || { put(1,1); put(0,1); put(1,0) }";
    let outcomes = |level: Level| {
        let (program, calls) =
            schema(text, |method| if method == "containsValue" { level } else { Level::Complete });
        let readonly = calls.iter().map(|call| call.method != "put").collect();
        let mut machine = Machine::new(map(&calls), readonly);
        expected(&program, &mut machine).unwrap().outcomes(100).unwrap()
    };
    let row = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let four =
        ["0,true,null,null,1", "1,true,null,null,1", "null,false,null,null,1", "null,true,null,null,1"];
    assert_eq!(outcomes(Level::Complete), four.into_iter().map(row).collect());
    assert!(outcomes(Level::Monotonic).contains(&row("1,false,null,null,1")));
}

#[test]
fn large_schemas_are_quick() {
    let began = std::time::Instant::now();
    let sequence =
        |length: usize| format!("{{ {} }}", vec!["put(0,1); size(); put(1,0); get(1)"; length].join("; "));
    let four_by_four = vec![sequence(1); 4].join(" || ");
    let (program, calls) = schema(&four_by_four, |_| Level::Complete);
    let readonly: Vec<bool> = calls.iter().map(|call| call.method != "put").collect();
    let found = expected(&program, &mut Machine::new(map(&calls), readonly)).unwrap();
    assert!(found.positions() < 100_000);
    let first = began.elapsed();

    let three_by_six = ["{ put(0,1); put(1,1); size(); put(0,0); get(1); put(1,0) }"; 3].join(" || ");
    let (program, calls) = schema(&three_by_six, |_| Level::Complete);
    let readonly: Vec<bool> = calls.iter().map(|call| call.method != "put").collect();
    expected(&program, &mut Machine::new(map(&calls), readonly)).unwrap();
    println!("4x4 in {first:?}, 3x6 in {:?}", began.elapsed() - first);
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}
