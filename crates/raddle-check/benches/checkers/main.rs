//! How fast histories are decided, beside todc-utils and stateright, in one table.
//!
//! `cargo bench -p raddle-check [-- GROUP…]`. `cpu` is the time on a processor, which other work on the machine does not
//! change; `heap` is the most memory allocated during a row, `history` what the history itself takes of it.

mod heap;
mod others;
mod workload;

use std::collections::{BinaryHeap, VecDeque};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use raddle_check::format::{Format, read_history};
use raddle_check::model::kv::Kv;
use raddle_check::model::priority_queue::{PriorityQueue, PriorityQueueOp};
use raddle_check::model::queue::{Queue, QueueOp};
use raddle_check::model::register::{Register, RegisterOp};
use raddle_check::model::stack::{Stack, StackOp};
use raddle_check::{Checker, Contract, History, Limits, Model, Relaxation, Report, Value, Verifier};
use workload::{Random, key_values, simulate, simulate_with, spoil_one};

fn main() {
    if others::is_child() {
        return others::run_child();
    }
    println!(
        "{:<46} {:>8} {:>10} {:>12} {:>12} {:>8} {:>8}",
        "history", "ops", "verdict", "cpu", "wall", "heap", "history"
    );
    let groups: [(&str, fn()); 6] = [
        ("etcd", etcd),
        ("kv-files", key_value_files),
        ("kv-simulated", key_value_simulated),
        ("register", registers),
        ("collections", collections),
        ("verifier", verifiers),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    for (name, run) in groups {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            run();
        }
    }
}

/// What a row took.
struct Cost {
    cpu: Option<Duration>,
    wall: Duration,
    heap: usize,
    held_before: usize,
}

/// Runs `work` and says what it took. What was held before, the history above all, counts towards the heap.
fn measure<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let held_before = heap::held();
    heap::reset_peak();
    let (cpu, start) = (cpu_time(), Instant::now());
    let result = work();
    let wall = start.elapsed();
    let cpu = cpu_time().zip(cpu).map(|(after, before)| after - before);
    (result, Cost { cpu, wall, heap: heap::peak(), held_before })
}

/// How long this thread has been on a processor, where the system tells.
fn cpu_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn row(name: &str, operations: usize, verdict: &str, cost: &Cost) {
    let ms = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
    let mb = |bytes: usize| format!("{:.1} MB", bytes as f64 / 1e6);
    let cpu = cost.cpu.map_or("-".into(), ms);
    let (wall, heap, held) = (ms(cost.wall), mb(cost.heap), mb(cost.held_before));
    println!("{name:<46} {operations:>8} {verdict:>10} {cpu:>12} {wall:>12} {heap:>8} {held:>8}");
}

fn verdict(report: &Report) -> &'static str {
    match () {
        () if report.is_accepted() => "accepted",
        () if report.is_violation() => "violation",
        () => "unknown",
    }
}

fn check<M: Model>(name: &str, checker: &Checker, history: &History<M::Input, M::Output>, model: &M) {
    let (report, cost) = measure(|| checker.check(history, model));
    row(name, history.operations().len(), verdict(&report), &cost);
}

fn histories(kind: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories").join(kind);
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).expect("histories").map(|entry| entry.expect("file").path()).collect();
    files.sort();
    files
}

fn etcd() {
    let files = histories("etcd");
    let model = Register::default();
    let read = |file: &PathBuf| {
        let reader = BufReader::new(File::open(file).expect("file"));
        read_history(reader, Format::JepsenLog, &model, false).expect("history").history
    };
    let loaded: Vec<_> = files.iter().map(read).collect();
    let operations = loaded.iter().map(|history| history.operations().len()).sum();
    let (reports, cost) = measure(|| {
        loaded.iter().map(|history| Checker::new().check(history, &model)).collect::<Vec<Report>>()
    });
    let accepted = reports.iter().filter(|report| report.is_accepted()).count();
    let steps: u64 = reports.iter().flat_map(|report| &report.parts).map(|part| part.steps).sum();
    let name = format!("etcd half set ({} files, {steps} steps)", files.len());
    row(&name, operations, &format!("{accepted} ok"), &cost);
    others::etcd(&files, operations);
}

fn key_value_files() {
    let model = Kv::default();
    for file in histories("kv") {
        let reader = BufReader::new(File::open(&file).expect("file"));
        let history = read_history(reader, Format::Edn, &model, true).expect("history").history;
        let name = format!("kv {}", file.file_name().expect("name").to_string_lossy());
        check(&name, &Checker::new(), &history, &model);
    }
}

fn key_value_simulated() {
    let model = Kv::default();
    for (name, wrong) in [("kv simulated, 50 clients", 0), ("kv simulated, 50 clients, stale gets", 3)] {
        let history = key_values(2000, wrong);
        let limits = Limits { time: Some(Duration::from_secs(60)), memory: None };
        let (report, cost) = measure(|| Checker::new().limits(limits).check(&history, &model));
        row(name, history.operations().len(), verdict(&report), &cost);
        let slowest = report.parts.iter().max_by_key(|part| part.time).expect("there are parts");
        let one = Report { parts: vec![slowest.clone()], partitioning: String::new() };
        let cost = Cost { cpu: None, wall: slowest.time, heap: 0, held_before: 0 };
        row("  its slowest key", slowest.operations.len(), verdict(&one), &cost);
    }
}

fn registers() {
    let model = Register { initial: Value::Int(0), ..Register::default() };
    let generate = |operations, processes| {
        simulate(
            operations,
            processes,
            Value::Int(0),
            |random, _| match random.below(2) {
                0 => RegisterOp::Read,
                _ => RegisterOp::Write(Value::Int(random.below(5) as i64)),
            },
            |held, op| {
                if let RegisterOp::Write(value) = op {
                    *held = value.clone();
                    return Value::Nil;
                }
                held.clone()
            },
        )
    };
    for (operations, processes) in
        [(1000, 4), (10_000, 4), (100_000, 4), (1_000_000, 4), (1000, 16), (10_000, 16)]
    {
        let history = generate(operations, processes);
        check(&format!("register, 5 values, {processes} processes"), &Checker::new(), &history, &model);
        if operations <= 10_000 && processes == 4 {
            others::register(&history);
        }
        if operations == 1000 {
            let bad = spoil_one::<Register>(&history, |op| *op == RegisterOp::Read, Value::Int(9));
            check(&format!("register, one wrong read, {processes} processes"), &Checker::new(), &bad, &model);
        }
    }
}

fn collections() {
    collection("queue", &Queue::new(), queue);
    collection("stack", &Stack::new(), || Collection {
        held: Vec::new(),
        add: |count| StackOp::Push(Value::Int(count)),
        remove: StackOp::Pop,
        effect: |stack, op| match op {
            StackOp::Push(value) => push_to(stack, Vec::push, value),
            _ => stack.pop().unwrap_or_default(),
        },
    });
    collection("priority queue", &PriorityQueue::new(), || Collection {
        held: BinaryHeap::new(),
        add: |count| PriorityQueueOp::Insert(Value::Int(count.wrapping_mul(7919) % 1_000_003)),
        remove: PriorityQueueOp::Remove,
        effect: |heap, op| match op {
            PriorityQueueOp::Insert(value) => push_to(heap, BinaryHeap::push, value),
            _ => heap.pop().unwrap_or_default(),
        },
    });
}

/// A collection to which operations add unique values, and from which they remove one.
struct Collection<I, S> {
    held: S,
    add: fn(i64) -> I,
    remove: I,
    effect: fn(&mut S, &I) -> Value,
}

impl<I: Clone, S> Collection<I, S> {
    fn simulate(self, random: Random, operations: usize, processes: usize) -> History<I, Value> {
        let Collection { held, add, remove, effect } = self;
        let input = |random: &mut Random, count| match random.below(2) {
            0 => add(count as i64),
            _ => remove.clone(),
        };
        simulate_with(random, operations, processes, held, input, effect)
    }
}

fn queue() -> Collection<QueueOp, VecDeque<Value>> {
    Collection {
        held: VecDeque::new(),
        add: |count| QueueOp::Enqueue(Value::Int(count)),
        remove: QueueOp::Dequeue,
        effect: |queue, op| match op {
            QueueOp::Enqueue(value) => push_to(queue, VecDeque::push_back, value),
            _ => queue.pop_front().unwrap_or_default(),
        },
    }
}

fn push_to<S>(held: &mut S, push: fn(&mut S, Value), value: &Value) -> Value {
    push(held, value.clone());
    Value::Nil
}

fn collection<M, S>(name: &str, model: &M, begin: impl Fn() -> Collection<M::Input, S>)
where
    M: Model<Output = Value>,
    M::Input: Clone,
{
    for operations in [1000, 100_000, 1_000_000] {
        let history = begin().simulate(Random::new(operations as u64 + 16), operations, 16);
        check(&format!("{name}, unique values, 16 processes"), &Checker::new(), &history, model);
    }
}

/// A great many histories of six operations on a queue. Here the first number is that of the histories.
fn verifiers() {
    const HISTORIES: u64 = 100_000;
    let histories: Vec<_> = (1..=HISTORIES).map(|seed| queue().simulate(Random::new(seed), 6, 2)).collect();
    let verdict = |accepted: usize| format!("{accepted} ok");
    let contracts =
        [Contract::Linearizable, Contract::Sequential, Contract::Relaxed(Relaxation::lateness(1))];
    for contract in contracts {
        let mut verifier = Verifier::new(Queue::new(), contract);
        let (accepted, cost) =
            measure(|| histories.iter().filter(|history| verifier.verify(history) == Ok(true)).count());
        let name = format!("6 on a queue, {contract} ({} known)", verifier.remembered());
        row(&name, histories.len(), &verdict(accepted), &cost);
    }
}
