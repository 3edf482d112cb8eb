//! Events, memory orders, values and threads in words.

use super::calls::Calls;
use super::locations::Naming;
use crate::failure::{Action, Did, Failure, Order, Switch, ThreadEnd, Value, WaitingFor};

/// The short name of a thread: `T1`.
pub(crate) fn tag(thread: u32) -> String {
    format!("T{thread}")
}

/// The spelling of events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// Among other events: `SeqCst` is left out, and stale reads name the newest value.
    Interleaved,
    /// By itself: every memory order is spelled out, and stale reads are explained elsewhere.
    Alone,
}

/// An event in words: the meaning of a step of std, or else the event as a line of code.
pub(crate) fn event(action: &Action, around: &Calls, naming: &Naming<'_>, spelling: Spelling) -> String {
    match action {
        Action::Panic { message } if matches!(spelling, Spelling::Interleaved) => {
            format!("panics: {}", one_line(without_line(message, around)))
        }
        _ => meaning(action, around, naming).unwrap_or_else(|| spell(action, naming, spelling)),
    }
}

/// The message of a panic without the line that it ends with, if that is the line of the event.
fn without_line<'m>(message: &'m str, around: &Calls) -> &'m str {
    match (message.rsplit_once("\n  at "), &around.line) {
        (Some((text, place)), Some(line)) if place.ends_with(line.as_str()) => text,
        _ => message,
    }
}

/// The meaning of an event inside a function of std: a step of a mutex, or of the end of a scope.
pub(crate) fn meaning(action: &Action, around: &Calls, naming: &Naming<'_>) -> Option<String> {
    match action {
        Action::Wait { blocks: true, .. } if around.ends_scope => Some(format!("waits for {SCOPE}")),
        Action::Woken { .. } if around.ends_scope => Some("leaves the scope".to_owned()),
        _ => locking(around.in_std()?, action, naming),
    }
}

/// The target of a thread that waits at the end of a scope.
const SCOPE: &str = "the threads of its scope";

/// An action as a line of code, where it has one.
fn spell(action: &Action, naming: &Naming<'_>, spelling: Spelling) -> String {
    let number = |value: Value, size: u8| naming.pointer(value, size).unwrap_or_else(|| number(value, size));
    let alone = spelling == Spelling::Alone;
    let goes_without_saying = |order: Order| !alone && order == Order::SeqCst;
    // A memory order as the only argument, and as a further one.
    let only = |by: Order| if goes_without_saying(by) { "" } else { order(by) };
    let also = |by: Order| if goes_without_saying(by) { String::new() } else { format!(", {}", order(by)) };
    let older = |newest: &Option<Value>, size: u8| match newest.filter(|_| !alone).as_ref() {
        Some(newest) => format!(", an older value: the newest is {}", number(*newest, size)),
        None => String::new(),
    };
    match action {
        Action::Load { place, order: by, value, newest } => {
            let (value, older) = (number(*value, place.size), older(newest, place.size));
            format!("{}.load({}) -> {value}{older}", naming.name(place), only(*by))
        }
        Action::Store { place, order: by, value, newest } => {
            let overtaken = match newest.filter(|_| !alone) {
                Some(newest) => {
                    format!(", overtaken by an earlier store: it stays {}", number(newest, place.size))
                }
                None => String::new(),
            };
            format!("{}.store({}{}){overtaken}", naming.name(place), number(*value, place.size), also(*by))
        }
        Action::Rmw { place, order: by, op, read, written } => {
            let name = naming.name(place);
            let (before, after) = (number(*read, place.size), number(*written, place.size));
            match operand(op, *read, *written, place.size) {
                Some(operand) => {
                    format!("{name}.{op}({}{}) -> {before}", number(operand, place.size), also(*by))
                }
                None => format!("{name}.{op}({}) -> {before}, now {after}", only(*by)),
            }
        }
        Action::Cas { place, order: by, failure, expected, new, read, newest } => {
            let size = place.size;
            let result = if read == expected { "Ok" } else { "Err" };
            let by = failure.filter(|_| alone).unwrap_or(*by);
            format!(
                "{}.compare_exchange({}, {}{}) -> {result}({}){}",
                naming.name(place),
                number(*expected, size),
                number(*new, size),
                also(by),
                number(*read, size),
                older(newest, size)
            )
        }
        Action::Fence { order: by } => format!("fence({})", order(*by)),
        Action::Wait { place, expected, blocks, timeout_ns } => {
            let (place, expected) = (naming.name(place), number(*expected, place.size));
            let limit = timeout_ns.map(|ns| format!(", for {} at most", duration(ns))).unwrap_or_default();
            if *blocks {
                format!("waits while {place} is {expected}{limit}")
            } else {
                format!("does not wait: {place} is no longer {expected}")
            }
        }
        Action::Woken { place, timed_out: true } => format!("times out waiting on {}", naming.name(place)),
        Action::Woken { place, timed_out: false } => format!("wakes up ({})", naming.name(place)),
        Action::Wake { place, woken } if woken.is_empty() => {
            format!("wakes nobody ({})", naming.name(place))
        }
        Action::Wake { place, woken } => {
            let woken: Vec<_> = woken.iter().map(|&thread| tag(thread)).collect();
            format!("wakes {} ({})", woken.join(", "), naming.name(place))
        }
        Action::Access { place, kind } => format!("{} {}", does(*kind), naming.name(place)),
        Action::Write { place, value: Some(value), .. } => {
            format!("{} = {}", naming.name(place), number(*value, place.size))
        }
        Action::Write { place, length, .. } => {
            format!("writes {} at {}", counted(*length, "byte"), naming.name(place))
        }
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

/// The verb for a kind of memory access, allocation or free.
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

/// The meaning of an event inside a function of std's mutex, whose values are private to the implementation.
fn locking(function: &str, action: &Action, naming: &Naming<'_>) -> Option<String> {
    let locks = matches!(function, "Mutex::lock" | "Mutex::try_lock");
    let unlocks = function == "MutexGuard::drop";
    Some(match action {
        Action::Cas { place, expected, read, .. } if locks && read == expected => {
            format!("locks {}", naming.name(place))
        }
        Action::Cas { place, .. } if locks => format!("finds {} locked", naming.name(place)),
        Action::Rmw { place, op, read, .. } if locks && op == "swap" => match read.0 {
            0 => format!("locks {}", naming.name(place)),
            _ => format!("finds {} locked", naming.name(place)),
        },
        Action::Rmw { place, op, written: Value(0), .. } if unlocks && op == "swap" => {
            format!("unlocks {}", naming.name(place))
        }
        Action::Wait { place, blocks: true, timeout_ns: None, .. } if locks => {
            format!("waits for {}", naming.name(place))
        }
        _ => return None,
    })
}

/// The context switch before an event, and its reason. `around` are the calls around the event before that.
pub(crate) fn switch(failure: &Failure, at: usize, around: &Calls, naming: &Naming<'_>) -> String {
    let events = &failure.trace.events;
    let (before, event) = (&events[at - 1], &events[at]);
    let (from, to) = (tag(before.thread), tag(event.thread));
    let to = match event.action {
        Action::Begin => begins(event.thread),
        _ => format!("switch to {to}"),
    };
    let Some(reason) = event.switch else { return to };
    // A thread that waits to the end has its target recorded there.
    let last = events[at..].iter().all(|event| event.thread != before.thread);
    let end = failure.threads.get(before.thread as usize).map(|thread| &thread.end);
    let awaited = match (end, reason, &before.action) {
        (Some(ThreadEnd::Waiting { on, awaited, .. }), _, _) if last => {
            Some(target(on, awaited.as_ref(), naming))
        }
        (_, Switch::Blocked, Action::Wait { .. }) if around.ends_scope => Some(SCOPE.to_owned()),
        (_, Switch::Blocked, Action::Wait { place, .. }) => Some(naming.name(place)),
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
    format!("{to}{REASON}{from} {why}")
}

/// What stands between the target of a context switch and its reason.
pub(super) const REASON: &str = ": ";

/// A context switch to a thread that begins.
pub(super) fn begins(thread: u32) -> String {
    format!("{} begins", tag(thread))
}

/// The target of a wait in words; a thread by its short name, and one of several locations of the same name with its number.
pub(crate) fn target(on: &str, awaited: Option<&WaitingFor>, naming: &Naming<'_>) -> String {
    if let Some(WaitingFor::Thread(thread)) = awaited {
        return tag(*thread);
    }
    let name = awaited.and_then(WaitingFor::place).map(|place| naming.name(place));
    let number = name.as_deref().and_then(|name| name.rsplit_once('\'')).map(|(_, number)| number);
    match (number.filter(|number| number.parse::<usize>().is_ok()), on.strip_suffix('`')) {
        (Some(number), Some(on)) => format!("{on}'{number}`"),
        _ => on.to_owned(),
    }
}

/// The full name of a thread: `T1 worker`. The thread that runs the closure is `main`.
pub(crate) fn full_name(failure: &Failure, thread: u32) -> String {
    match failure.threads.get(thread as usize).and_then(|thread| thread.name.as_deref()) {
        Some(name) => format!("{} {name}", tag(thread)),
        None if thread == 0 => "T0 main".to_owned(),
        None => tag(thread),
    }
}

/// A text with every run of white space, newlines included, as one space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A number with its noun: `1 event`, `1,234 events`.
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

/// The operand of a read-modify-write, where the values before and after determine it.
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

/// A value in decimal; pointers, tagged words and all ones in hexadecimal.
pub(crate) fn number(value: Value, size: u8) -> String {
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

/// A memory order as the source spells it.
pub(crate) fn order(order: Order) -> &'static str {
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
