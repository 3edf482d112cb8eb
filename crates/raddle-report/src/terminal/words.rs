//! Events, orders, values and thread names in words.

use super::places::Places;
use crate::failure::{Action, Did, Failure, Order, Switch, ThreadEnd, Value};

/// How a thread is named everywhere: `T1`.
pub(crate) fn tag(thread: u32) -> String {
    format!("T{thread}")
}

/// What an event did, as a line of code where it has one.
pub(crate) fn event(action: &Action, places: &Places) -> String {
    spell(action, places, Spelling::Interleaved)
}

/// What an event did and nothing else, every order spelled out.
pub(crate) fn event_alone(action: &Action, places: &Places) -> String {
    spell(action, places, Spelling::Alone)
}

/// How events are spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Among others: what is usual goes without saying, what an access missed is said.
    Interleaved,
    /// Where orders matter, and what was missed is said elsewhere.
    Alone,
}

fn spell(action: &Action, places: &Places, spelling: Spelling) -> String {
    let number = |value: Value, size: u8| places.pointer(value, size).unwrap_or_else(|| number(value, size));
    let alone = spelling == Spelling::Alone;
    let only = |order: Order| if alone { name(order) } else { only(order) };
    let also = |order: Order| if alone { format!(", {}", name(order)) } else { also(order) };
    let older = |newest: &Option<Value>, size: u8| match newest.filter(|_| !alone).as_ref() {
        Some(newest) => format!(", an older value: the newest is {}", number(*newest, size)),
        None => String::new(),
    };
    match action {
        Action::Load { place, order, value, newest } => {
            let (value, older) = (number(*value, place.size), older(newest, place.size));
            format!("{}.load({}) -> {value}{older}", places.name(place), only(*order))
        }
        Action::Store { place, order, value, newest } => {
            let overtaken = match newest.filter(|_| !alone) {
                Some(newest) => {
                    format!(", overtaken by an earlier store: it stays {}", number(newest, place.size))
                }
                None => String::new(),
            };
            format!("{}.store({}{}){overtaken}", places.name(place), number(*value, place.size), also(*order))
        }
        Action::Rmw { place, order, op, read, written } => {
            let name = places.name(place);
            let (before, after) = (number(*read, place.size), number(*written, place.size));
            match operand(op, *read, *written, place.size) {
                Some(operand) => {
                    format!("{name}.{op}({}{}) -> {before}", number(operand, place.size), also(*order))
                }
                None => format!("{name}.{op}({}) -> {before}, now {after}", only(*order)),
            }
        }
        Action::Cas { place, order, failure, expected, new, read, newest } => {
            let size = place.size;
            let result = if read == expected { "Ok" } else { "Err" };
            let order = failure.filter(|_| alone).unwrap_or(*order);
            format!(
                "{}.compare_exchange({}, {}{}) -> {result}({}){}",
                places.name(place),
                number(*expected, size),
                number(*new, size),
                also(order),
                number(*read, size),
                older(newest, size)
            )
        }
        Action::Fence { order } => format!("fence({})", name(*order)),
        Action::Wait { place, expected, blocks, timeout_ns } => {
            let (place, expected) = (places.name(place), number(*expected, place.size));
            let limit = timeout_ns.map(|ns| format!(", for {} at most", duration(ns))).unwrap_or_default();
            if *blocks {
                format!("waits while {place} is {expected}{limit}")
            } else {
                format!("does not wait: {place} is no longer {expected}")
            }
        }
        Action::Woken { place, timed_out: true } => format!("times out waiting on {}", places.name(place)),
        Action::Woken { place, timed_out: false } => format!("wakes up ({})", places.name(place)),
        Action::Wake { place, woken } if woken.is_empty() => format!("wakes nobody ({})", places.name(place)),
        Action::Wake { place, woken } => {
            let woken: Vec<_> = woken.iter().map(|&thread| tag(thread)).collect();
            format!("wakes {} ({})", woken.join(", "), places.name(place))
        }
        Action::Access { place, kind } => format!("{} {}", does(*kind), places.name(place)),
        Action::Allocate { size, .. } => format!("allocates {}", counted(*size, "byte")),
        Action::Free { .. } => "frees it".to_owned(),
        Action::Spawn { thread } => format!("spawns {}", tag(*thread)),
        Action::Join { thread } => format!("joins {}", tag(*thread)),
        Action::Begin => "begins".to_owned(),
        Action::End => "ends".to_owned(),
        Action::Yield => "yields".to_owned(),
        Action::Sleep { ns } => format!("sleeps {}", duration(*ns)),
        Action::Panic { message } if alone => {
            format!("panics: {}", message.lines().next().unwrap_or_default())
        }
        Action::Panic { message } => format!("panics: {}", one_line(message)),
        Action::Call { call } => call.clone(),
        Action::Return { call, result } => format!("{call} -> {result}"),
        Action::Note { text } => text.clone(),
    }
}

/// What a thread does to memory.
pub(crate) fn does(what: Did) -> &'static str {
    match what {
        Did::Allocate => "allocates",
        Did::Free => "frees",
        Did::Read => "reads",
        Did::Write => "writes",
        Did::AtomicRead => "atomically reads",
        Did::AtomicWrite => "atomically writes",
    }
}

/// What an event inside a function of the standard library's mutex means: the numbers that it keeps there are its own
/// affair.
pub(crate) fn locking(function: &str, action: &Action, places: &Places) -> Option<String> {
    let locks = matches!(function, "Mutex::lock" | "Mutex::try_lock");
    let unlocks = function == "MutexGuard::drop";
    Some(match action {
        Action::Cas { place, expected, read, .. } if locks && read == expected => {
            format!("locks {}", places.name(place))
        }
        Action::Cas { place, .. } if locks => format!("finds {} locked", places.name(place)),
        Action::Rmw { place, op, read, .. } if locks && op == "swap" => match read.0 {
            0 => format!("locks {}", places.name(place)),
            _ => format!("finds {} locked", places.name(place)),
        },
        Action::Rmw { place, op, written: Value(0), .. } if unlocks && op == "swap" => {
            format!("unlocks {}", places.name(place))
        }
        Action::Wait { place, blocks: true, timeout_ns: None, .. } if locks => {
            format!("waits for {}", places.name(place))
        }
        _ => return None,
    })
}

/// The change of threads before an event, and why the thread before was left.
pub(crate) fn switch(failure: &Failure, at: usize, places: &Places) -> String {
    let events = &failure.trace.events;
    let (before, event) = (&events[at - 1], &events[at]);
    let (from, to) = (tag(before.thread), tag(event.thread));
    let to = match event.action {
        Action::Begin => format!("{to} begins"),
        _ => format!("switch to {to}"),
    };
    let Some(reason) = event.switch else { return to };
    // What it waits for is told best by the end, if it waited until then.
    let last = events[at..].iter().all(|event| event.thread != before.thread);
    let end = failure.threads.get(before.thread as usize).map(|thread| &thread.end);
    let awaited = match (end, reason, &before.action) {
        (Some(ThreadEnd::Waiting { on, .. }), _, _) if last => Some(named(on)),
        (_, Switch::Blocked, Action::Wait { place, .. }) => Some(places.name(place)),
        (_, Switch::Joining, _) => events[at..].iter().find_map(|event| match event.action {
            Action::Join { thread } if event.thread == before.thread => Some(tag(thread)),
            _ => None,
        }),
        _ => None,
    };
    let why = match (reason, awaited) {
        (Switch::Preempted, _) => "is preempted".to_owned(),
        (Switch::Blocked | Switch::Joining, Some(what)) => format!("waits for {what}"),
        (Switch::Blocked, None) => "waits".to_owned(),
        (Switch::Joining, None) => "waits for a thread to end".to_owned(),
        (Switch::Sleeping, _) => "sleeps".to_owned(),
        (Switch::Yielded, _) => "yields".to_owned(),
        (Switch::Spinning, _) => "spins until something changes".to_owned(),
        (Switch::Finished, _) => "has ended".to_owned(),
    };
    format!("{to}: {from} {why}")
}

/// What a thread waits for, as people say it: `thread 1` is `T1`.
pub(crate) fn named(on: &str) -> String {
    match on.strip_prefix("thread ") {
        Some(thread) => format!("T{thread}"),
        None => on.to_owned(),
    }
}

/// A thread with its own name, where it has one: `T1 worker`. The thread that runs the closure is `main`.
pub(crate) fn full_name(failure: &Failure, thread: u32) -> String {
    match failure.threads.get(thread as usize).and_then(|thread| thread.name.as_deref()) {
        Some(name) => format!("{} {name}", tag(thread)),
        None if thread == 0 => "T0 main".to_owned(),
        None => tag(thread),
    }
}

/// A long text in one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `1 event`, `1,234 events`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped} {noun}{}", if n == 1 { "" } else { "s" })
}

/// What was added, exchanged or so, where the value before and after tell.
fn operand(op: &str, read: Value, written: Value, size: u8) -> Option<Value> {
    let mask = mask(size);
    match op {
        "swap" => Some(written),
        "fetch_add" => Some(Value(written.0.wrapping_sub(read.0) & mask)),
        "fetch_sub" => Some(Value(read.0.wrapping_sub(written.0) & mask)),
        "fetch_xor" => Some(Value(read.0 ^ written.0)),
        _ => None,
    }
}

/// A value; large ones (pointers, tagged words, all ones) in hexadecimal, as nobody counts that far.
fn number(value: Value, size: u8) -> String {
    let pointer_like = size >= 8 && value.0 >= 1 << 20;
    if pointer_like || (size > 1 && value.0 == mask(size)) {
        format!("{:#x}", value.0)
    } else {
        value.0.to_string()
    }
}

fn mask(size: u8) -> u128 {
    if size >= 16 { u128::MAX } else { (1 << (8 * u32::from(size))) - 1 }
}

/// An order as the only argument. `SeqCst` goes without saying.
fn only(order: Order) -> &'static str {
    if order == Order::SeqCst { "" } else { name(order) }
}

/// An order as a further argument.
fn also(order: Order) -> String {
    if order == Order::SeqCst { String::new() } else { format!(", {}", name(order)) }
}

/// How the source spells an order.
pub(crate) fn name(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "Relaxed",
        Order::Acquire => "Acquire",
        Order::Release => "Release",
        Order::AcqRel => "AcqRel",
        Order::SeqCst => "SeqCst",
    }
}

fn duration(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", tenths(ns, 1_000)),
        1_000_000..1_000_000_000 => format!("{} ms", tenths(ns, 1_000_000)),
        _ => format!("{} s", tenths(ns, 1_000_000_000)),
    }
}

fn tenths(n: u64, unit: u64) -> String {
    match n % unit * 10 / unit {
        0 => (n / unit).to_string(),
        tenth => format!("{}.{tenth}", n / unit),
    }
}
