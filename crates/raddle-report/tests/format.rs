//! `FORMAT.md` against the model: every field and every name that a failure file can have is documented.
//!
//! A new field or variant does not compile here until the sample has it; the test then fails until `FORMAT.md` has it too.

use std::collections::BTreeSet;
use std::fmt::Debug;

use raddle_report::Kind;
use raddle_report::failure::*;
use serde::Serialize;
use serde_json::Value as Json;

const DOCUMENTATION: &str = include_str!("../FORMAT.md");

#[test]
fn every_field_is_documented() {
    let file = serde_json::to_value(failure()).unwrap();
    let mut keys = BTreeSet::new();
    collect_keys(&file, &mut keys);
    for expected in ["counts", "reference_counts", "also", "fair_since", "random", "awaited", "newest"] {
        assert!(keys.contains(expected), "the sample lacks `{expected}`");
    }
    let documented = documented_words();
    let missing: Vec<&String> = keys.iter().filter(|key| !documented.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "FORMAT.md does not mention {missing:?} in backticks");
}

#[test]
fn every_name_is_documented() {
    fn names<T: Serialize + Debug>(values: impl IntoIterator<Item = T>) -> Vec<String> {
        let name = |value: T| match serde_json::to_value(&value).unwrap() {
            Json::String(name) => name,
            Json::Object(object) => object.keys().next().unwrap().clone(),
            other => panic!("{value:?} is written as {other}"),
        };
        values.into_iter().map(name).collect()
    }
    let mut all = names(kinds());
    all.extend(names(actions()));
    all.extend(names(orders()));
    all.extend(names(switches()));
    all.extend(names(steps()));
    all.extend(names(writes()));
    all.extend(names(certainties()));
    all.extend(names(ends()));
    all.extend(names(targets()));
    all.extend(names(primitives()));
    all.extend(names(data()));
    let documented = documented_words();
    let missing: Vec<&String> = all.iter().filter(|name| !documented.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "FORMAT.md does not mention {missing:?} in backticks");
}

#[test]
fn a_step_limit_of_an_older_version_is_a_livelock() {
    assert_eq!(Kind::of_name("step-limit"), Some(Kind::Livelock));
    assert_eq!(Kind::Livelock.name(), "livelock");
}

/// The words inside of inline code, outside of the example.
fn documented_words() -> BTreeSet<&'static str> {
    let prose = DOCUMENTATION.split("```").step_by(2);
    let code = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2));
    code.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')).collect()
}

fn collect_keys(json: &Json, keys: &mut BTreeSet<String>) {
    match json {
        Json::Object(object) => {
            for (key, value) in object {
                keys.insert(key.clone());
                collect_keys(value, keys);
            }
        }
        Json::Array(values) => values.iter().for_each(|value| collect_keys(value, keys)),
        _ => {}
    }
}

/// A failure in which every optional field is set and every variant occurs.
fn failure() -> Failure {
    let operation = Operation {
        call: "push(1)".into(),
        result: Some("()".into()),
        recipe: Some(Recipe {
            operation: "push".into(),
            numbers: vec![1],
            given: Some(0),
            cancel: Some("woken".into()),
        }),
    };
    let event = |action: Action| Event {
        thread: 0,
        action,
        at: Some(0),
        switch: Some(Switch::Preempted),
        reads_from: Some(Write::Event(0)),
        overwrites: Some(Write::Initial),
        synchronises_with: vec![0],
        changes: data().map(|value| Change { object: 0, path: vec![0], value }).to_vec(),
    };
    let step = |did: Did| FaultStep { thread: 0, did, address: 8, size: 8, at: Some(0) };
    let threads = ends().into_iter().map(|end| Thread { name: Some("worker".into()), end }).collect();
    Failure {
        format: FORMAT,
        test: "test".into(),
        kind: Kind::DataRace,
        message: "message".into(),
        certainty: Certainty::Limit { reason: "a limit".into() },
        thread: Some(0),
        build: Build {
            binary: "test".into(),
            id: "0".into(),
            package: Some("package".into()),
            cargo_args: vec!["--release".into()],
        },
        found_by: FoundBy {
            strategy: "random".into(),
            memory: Some("rc11".into()),
            seed: 1,
            execution: 1,
            exploration: 1,
            allocation: Some("reuse".into()),
            reference_counts: Some("Count".into()),
            also: Some("spurious".into()),
        },
        schedule: Schedule(vec![0]),
        look_back: Schedule(vec![1]),
        counts: Schedule(vec![2]),
        fair_since: Some(10),
        random: Some(7),
        threads,
        scenario: Some(Scenario {
            init: vec![operation.clone()],
            parallel: vec![vec![operation.clone()]],
            post: vec![operation],
            code: Some("Scenario::new()".into()),
        }),
        reasons: vec!["a reason".into()],
        fault: Some(Fault {
            place: Some(place()),
            blocks: vec![Block { address: 8, size: 8, holds: Some("Box<u64>".into()) }],
            steps: steps().map(step).to_vec(),
        }),
        trace: Trace {
            events: actions().into_iter().map(event).collect(),
            stacks: vec![StackNode { frame: 0, caller: Some(0) }],
            frames: vec![Frame {
                function: "main".into(),
                file: Some("main.rs".into()),
                line: Some(1),
                internal: true,
                dependency: false,
            }],
            omitted: 1,
        },
        objects: Some(Objects {
            roots: vec![Root { name: "queue".into(), object: 0 }],
            list: vec![Object {
                name: "Node#1".into(),
                of: "Node<i32>".into(),
                in_crate: Some("my_crate".into()),
                address: 8,
                size: 8,
                since: Some(0),
                freed: Some(1),
            }],
            initial: vec![Change { object: 0, path: Vec::new(), value: Datum::Unknown("unmapped".into()) }],
            until: Some(1),
        }),
        point_of_no_return: Some(PointOfNoReturn { event: 0, executions: 1, exhaustive: true }),
        nearest_pass: Some(Box::new(NearestPass {
            common: 1,
            common_of_pass: 1,
            failing_thread: 0,
            passing_thread: 1,
            schedule: Schedule(vec![0]),
            look_back: Schedule(vec![1]),
            scenario: None,
            trace: Trace::default(),
        })),
        file: None,
    }
}

fn place() -> Location {
    Location { name: Some("x".into()), address: 8, size: 8 }
}

/// Lists all variants of an enum; one that is missing does not compile.
macro_rules! every {
    ($($pattern:pat => $value:expr),+ $(,)?) => {{
        let check = |value: &_| match value {
            $($pattern => {})+
        };
        let all = [$($value),+];
        all.iter().for_each(check);
        all
    }};
}

fn data() -> [Datum; 7] {
    use Datum::*;
    let one = || Scalar("1".into());
    every! {
        Scalar(_) => one(),
        Pointer(_) => Pointer(raddle_report::failure::Pointer {
            object: Some(0), address: 8, tag: 1, dangling: true,
        }),
        Fields { .. } => Fields {
            name: "Node".into(), fields: vec![Field { name: "value".into(), value: one() }],
        },
        List { .. } => List { items: vec![one()], length: 1 },
        Map { .. } => Map { entries: vec![(one(), one())], length: 1 },
        Lock { .. } => Lock { kind: "Mutex".into(), state: "unlocked".into(), value: vec![one()] },
        Unknown(_) => Unknown("unmapped".into()),
    }
}

fn kinds() -> [Kind; 18] {
    use Kind::*;
    every! {
        Panic => Panic, Deadlock => Deadlock, Livelock => Livelock, TimeLimit => TimeLimit,
        ThreadLeak => ThreadLeak, Crash => Crash, StackOverflow => StackOverflow, Exit => Exit,
        IncorrectResults => IncorrectResults, Validation => Validation, LostWakeUp => LostWakeUp,
        NotObstructionFree => NotObstructionFree, NotLockFree => NotLockFree, DataRace => DataRace,
        UseAfterFree => UseAfterFree, DoubleFree => DoubleFree, InvalidFree => InvalidFree, MemoryLeak => MemoryLeak,
    }
}

fn actions() -> [Action; 22] {
    use Action::*;
    let (place, order, value) = (place(), Order::SeqCst, Value(1));
    let newest = Some(value);
    every! {
        Load { .. } => Load { place: place.clone(), order, value, newest },
        Store { .. } => Store { place: place.clone(), order, value, newest },
        Rmw { .. } => Rmw { place: place.clone(), order, op: "swap".into(), read: value, written: value },
        Cas { .. } => Cas {
            place: place.clone(), order, failure: Some(order), expected: value, new: value, read: value, newest,
        },
        Fence { .. } => Fence { order },
        Wait { .. } => Wait { place: place.clone(), expected: value, blocks: true, timeout_ns: Some(1) },
        Woken { .. } => Woken { place: place.clone(), timed_out: true },
        Wake { .. } => Wake { place: place.clone(), woken: vec![1] },
        Access { .. } => Access { place: place.clone(), kind: Did::Read },
        Write { .. } => Write { place, length: 8, value: newest },
        Allocate { .. } => Allocate { address: 8, size: 8 },
        Free { .. } => Free { address: 8 },
        Spawn { .. } => Spawn { thread: 1 },
        Join { .. } => Join { thread: 1 },
        Begin => Begin,
        End => End,
        Yield => Yield,
        Sleep { .. } => Sleep { ns: 1 },
        Panic { .. } => Panic { message: "message".into() },
        Call { .. } => Call { call: "push(1)".into() },
        Return { .. } => Return { call: "push(1)".into(), result: "()".into() },
        Note { .. } => Note { text: "text".into() },
    }
}

fn orders() -> [Order; 5] {
    use Order::*;
    every! { Relaxed => Relaxed, Acquire => Acquire, Release => Release, AcqRel => AcqRel, SeqCst => SeqCst }
}

fn switches() -> [Switch; 7] {
    use Switch::*;
    every! {
        Preempted => Preempted, Blocked => Blocked, Joining => Joining, Sleeping => Sleeping, Yielded => Yielded,
        Spinning => Spinning, Finished => Finished,
    }
}

fn steps() -> [Did; 6] {
    use Did::*;
    every! {
        Allocate => Allocate, Free => Free, Read => Read, Write => Write, AtomicRead => AtomicRead,
        AtomicWrite => AtomicWrite,
    }
}

fn writes() -> [Write; 3] {
    use Write::*;
    every! { Initial => Initial, Unseen => Unseen, Event(_) => Event(0) }
}

fn certainties() -> [Certainty; 2] {
    use Certainty::*;
    every! { Proven => Proven, Limit { .. } => Limit { reason: "a limit".into() } }
}

fn ends() -> Vec<ThreadEnd> {
    use ThreadEnd::*;
    let [_, targets @ ..] = targets();
    let waits = targets.map(|target| ThreadEnd::waiting(target, Some(0), Some(0)));
    let mut ends = every! {
        Finished => Finished,
        Panicked => Panicked,
        Runnable => Runnable,
        Waiting { .. } => ThreadEnd::Waiting {
            on: "thread 1".into(), awaited: Some(WaitingFor::Thread(1)), held_by: Some(1), at: Some(0),
        },
    }
    .to_vec();
    ends.extend(waits);
    ends
}

fn targets() -> [WaitingFor; 5] {
    use WaitingFor::*;
    every! {
        Thread(_) => Thread(1),
        Scope => Scope,
        Clock => Clock,
        Primitive { .. } => Primitive { kind: raddle_report::failure::Primitive::Mutex, place: place() },
        SpinLoop { .. } => SpinLoop { place: Some(place()) },
    }
}

fn primitives() -> [Primitive; 9] {
    use Primitive::*;
    every! {
        Mutex => Mutex, RwLock => RwLock, Condvar => Condvar, Once => Once, Barrier => Barrier, Channel => Channel,
        Park => Park, Futex => Futex, Monitor => Monitor,
    }
}
