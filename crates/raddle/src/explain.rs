//! The translation of a recorded execution into a [`Failure`]: addresses become source lines, functions and names.

use std::collections::HashMap;

use raddle_engine::exploration::Found;
use raddle_engine::op::{Order, ThreadId};
use raddle_engine::platform::unwind::CallFrame;
use raddle_engine::thread::ThreadStatus;
use raddle_engine::trace::{Action, SwitchReason, Trace};
use raddle_engine::{Outcome, trace};
use raddle_reflect::{Program, Site};
use raddle_report::failure::{
    self, Certainty, Failure, FoundBy, Frame, Kind, Location, Primitive, Schedule, StackNode, ThreadEnd,
    Value, WaitingFor,
};
use raddle_report::graph::linearise;

use crate::build;
use crate::fault;
use crate::holders::Holders;
use crate::links::{Links, links};
use crate::scenario;

/// The failure of an execution, with source lines, functions and names from debug information.
pub(crate) fn explain(found: &Found, trace: &Trace, program: Option<&Program>, test: String) -> Failure {
    let mut explainer = Explainer::new(program);
    let mut events = Vec::with_capacity(trace.events.len());
    for (event, links) in trace.events.iter().zip(links(trace)) {
        events.push(explainer.event(event, links));
    }
    let holders = Holders::of(trace);
    let threads = explainer.threads(found, trace, &holders);
    let fault = explainer.fault(&found.outcome, trace);
    let place = fault.as_ref().and_then(|fault| fault.place.as_ref());
    let message = message(found, &threads, place);
    let mut failure = Failure {
        format: failure::FORMAT,
        test,
        kind: kind(&found.outcome).expect("only failures of the code under test are explained"),
        message,
        certainty: certainty(found),
        thread: thread(&found.outcome).map(Into::into),
        build: build::identity(program),
        found_by: FoundBy::default(),
        schedule: Schedule(found.schedule.threads.clone()),
        look_back: Schedule(found.schedule.mo_offsets.clone()),
        counts: Schedule(found.schedule.counts.clone()),
        fair_since: found.schedule.fair_since,
        random: found.schedule.random,
        threads,
        scenario: scenario::of(trace),
        reasons: Vec::new(),
        fault,
        trace: failure::Trace {
            events,
            stacks: explainer.stacks,
            frames: explainer.frames,
            omitted: trace.omitted,
        },
        file: None,
    };
    linearise(&mut failure);
    failure
}

/// The class of an outcome; none if the outcome is no failure of the code under test.
pub(crate) fn kind(outcome: &Outcome) -> Option<Kind> {
    Some(match outcome {
        Outcome::Passed
        | Outcome::Discarded(_)
        | Outcome::Diverged { .. }
        | Outcome::Asymmetric { .. }
        | Outcome::Unsupported { .. } => return None,
        Outcome::Panic { .. } => Kind::Panic,
        Outcome::Deadlock => Kind::Deadlock,
        Outcome::Livelock => Kind::Livelock,
        Outcome::Endless => Kind::Livelock,
        Outcome::TimeLimit => Kind::TimeLimit,
        Outcome::ThreadLeak => Kind::ThreadLeak,
        Outcome::Crash { .. } => Kind::Crash,
        Outcome::StackOverflow { .. } => Kind::StackOverflow,
        Outcome::Exit { .. } => Kind::Exit,
        Outcome::Rejected => Kind::IncorrectResults,
        Outcome::Fault(fault) => fault::kind(fault),
    })
}

/// The message of the report: one sentence.
fn message(found: &Found, threads: &[failure::Thread], place: Option<&Location>) -> String {
    let said =
        || found.panic.as_ref().map_or("a panic without a message", |(_, text)| text.as_str()).to_owned();
    let left = || threads.iter().filter(|thread| matches!(thread.end, ThreadEnd::Waiting { .. })).count();
    match &found.outcome {
        Outcome::Panic { .. } => said(),
        Outcome::Deadlock => match left() {
            1 => "a thread waits for ever".to_owned(),
            n => format!("{n} threads wait, and none of them can ever go on"),
        },
        Outcome::Livelock => "threads spin in loops whose condition no thread can change any more".to_owned(),
        Outcome::Endless => {
            let before = found.schedule.fair_since.map_or(0, |since| since - 1);
            format!(
                "the execution does not end: after {before} events it made {} more, in which every thread that could go on did, \
                 again and again; raise `max_steps` if it only needs longer",
                found.steps - 1 - before
            )
        }
        Outcome::TimeLimit => {
            "the execution did not end in time: it runs long between two events, or waits for something outside the \
             process; raise `time_limit` if it only needs longer"
                .to_owned()
        }
        Outcome::ThreadLeak => format!(
            "the closure returned, but {} still waits and can never go on; join it, or use `allow_leaked_threads`",
            match left() {
                1 => "a thread".to_owned(),
                n => format!("each of {n} threads"),
            }
        ),
        Outcome::Crash { signal, address, .. } => match signal_name(*signal) {
            "SIGABRT" => match &found.panic {
                Some((_, text)) => format!("the code under test aborted: {text}"),
                None => "the code under test aborted".to_owned(),
            },
            name @ ("SIGSEGV" | "SIGBUS") => format!("{name}: invalid memory access at {address:#x}"),
            name => format!("the code under test was stopped by {name}"),
        },
        Outcome::StackOverflow { .. } => {
            "a thread ran over the end of its stack; raise `stack_size` if it is not an endless recursion".to_owned()
        }
        Outcome::Rejected => "no order of the operations explains their results".to_owned(),
        Outcome::Fault(fault) => fault::message(fault, place),
        Outcome::Exit { code, .. } => format!("the code under test ended the process with exit code {code}"),
        // No failure: see `kind`.
        _ => String::new(),
    }
}

/// The signal of `abort`.
const SIGABRT: i32 = 6;

/// The size of a futex word in bytes.
const FUTEX_SIZE: u8 = 4;

/// The thread that panicked, crashed, overflowed its stack or ended the process.
fn thread(outcome: &Outcome) -> Option<ThreadId> {
    match outcome {
        Outcome::Panic { thread }
        | Outcome::Crash { thread, .. }
        | Outcome::StackOverflow { thread }
        | Outcome::Exit { thread, .. } => Some(*thread),
        _ => None,
    }
}

/// The strength of the evidence: a proof, or a limit that ended the execution.
fn certainty(found: &Found) -> Certainty {
    let reason = match &found.outcome {
        Outcome::Endless => {
            let since = found.schedule.fair_since.map_or(0, |since| since - 1);
            format!(
                "the execution was ended after {} events in which all threads took turns",
                found.steps.saturating_sub(1 + since)
            )
        }
        Outcome::TimeLimit => "the execution was ended when its time was over".to_owned(),
        _ => return Certainty::Proven,
    };
    Certainty::Limit { reason }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => "SIGILL",
        5 => "SIGTRAP",
        SIGABRT => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        11 => "SIGSEGV",
        _ => "a signal",
    }
}

/// The state of a translation: interned frames and stacks, and the names of locations.
pub(crate) struct Explainer<'a> {
    program: Option<&'a Program>,
    frames: Vec<Frame>,
    stacks: Vec<StackNode>,
    frame_ids: HashMap<Frame, u32>,
    stack_ids: HashMap<StackNode, u32>,
    /// The frames of each code address, innermost inlined one first.
    symbols: HashMap<usize, Vec<u32>>,
    /// The latest name of each address.
    names: HashMap<usize, String>,
}

impl<'a> Explainer<'a> {
    fn new(program: Option<&'a Program>) -> Explainer<'a> {
        Explainer {
            program,
            frames: Vec::new(),
            stacks: Vec::new(),
            frame_ids: HashMap::new(),
            stack_ids: HashMap::new(),
            symbols: HashMap::new(),
            names: HashMap::new(),
        }
    }

    fn event(&mut self, event: &trace::Event, links: Links) -> failure::Event {
        let at = self.stack(&event.stack);
        failure::Event {
            thread: event.thread.into(),
            action: self.action(event),
            at,
            switch: event.switch.map(switch),
            reads_from: links.reads_from,
            overwrites: links.overwrites,
            synchronises_with: links.synchronises_with,
        }
    }

    fn action(&mut self, event: &trace::Event) -> failure::Action {
        let widen = |threads: &[ThreadId]| threads.iter().map(|&thread| thread.into()).collect();
        let another = |newest: u128, value: u128| (newest != value).then_some(Value(newest));
        match &event.action {
            &Action::Load { address, size, order: by, value, newest } => failure::Action::Load {
                place: self.accessed(event, address, size),
                order: order(by),
                value: Value(value),
                newest: another(newest, value),
            },
            &Action::Store { address, size, order: by, value, newest } => failure::Action::Store {
                place: self.accessed(event, address, size),
                order: order(by),
                value: Value(value),
                newest: another(newest, value),
            },
            &Action::Rmw { address, size, order: by, op, read, written } => failure::Action::Rmw {
                place: self.accessed(event, address, size),
                order: order(by),
                op: op.name().to_owned(),
                read: Value(read),
                written: Value(written),
            },
            &Action::Cas { address, size, order: by, expected, new, read, newest } => {
                let place = self.accessed(event, address, size);
                // The compiler may have expanded a read-modify-write such as `fetch_max` to a loop around a compare-exchange.
                match self.expanded(&event.stack) {
                    Some(op) => failure::Action::Rmw {
                        place,
                        order: order(by),
                        op: op.to_owned(),
                        read: Value(read),
                        written: Value(new),
                    },
                    None => failure::Action::Cas {
                        place,
                        order: order(by),
                        failure: failure_order(event).filter(|&failure| failure != by).map(order),
                        expected: Value(expected),
                        new: Value(new),
                        read: Value(read),
                        newest: another(newest, read),
                    },
                }
            }
            &Action::Fence { order: by } => failure::Action::Fence { order: order(by) },
            &Action::Wait { address, expected, blocks, timeout } => failure::Action::Wait {
                place: self.accessed(event, address, FUTEX_SIZE),
                expected: Value(expected.into()),
                blocks,
                timeout_ns: timeout,
            },
            &Action::Woken { address, timed_out } => {
                failure::Action::Woken { place: self.accessed(event, address, FUTEX_SIZE), timed_out }
            }
            Action::Wake { address, woken } => failure::Action::Wake {
                place: self.accessed(event, *address, FUTEX_SIZE),
                woken: widen(woken),
            },
            &Action::Access { address, size, kind } => failure::Action::Access {
                place: self.accessed(event, address, size.min(255) as u8),
                kind: fault::did(kind),
            },
            &Action::Allocate { address, size } => {
                failure::Action::Allocate { address: address as u64, size: size as u64 }
            }
            &Action::Free { address } => failure::Action::Free { address: address as u64 },
            &Action::Signal { signal: SIGABRT } => failure::Action::Note { text: "aborts".to_owned() },
            &Action::Signal { signal } => {
                failure::Action::Note { text: format!("receives {}", signal_name(signal)) }
            }
            &Action::Exit { code } => {
                failure::Action::Note { text: format!("ends the process with exit code {code}") }
            }
            Action::FailsSpuriously => {
                failure::Action::Note { text: "`compare_exchange_weak` fails spuriously".to_owned() }
            }
            Action::Overflow => failure::Action::Note { text: "runs over the end of its stack".to_owned() },
            &Action::Spawn { thread } => failure::Action::Spawn { thread: thread.into() },
            &Action::Join { thread } => failure::Action::Join { thread: thread.into() },
            Action::Begin => failure::Action::Begin,
            Action::End => failure::Action::End,
            Action::Yield => failure::Action::Yield,
            &Action::Sleep { ns } => failure::Action::Sleep { ns },
            Action::Panic { message } => failure::Action::Panic { message: message.clone() },
            Action::Call { call } => failure::Action::Call { call: call.clone() },
            Action::Return { call, result } => {
                failure::Action::Return { call: call.clone(), result: result.clone() }
            }
        }
    }

    /// The read-modify-write that a compare-exchange with this stack was expanded from.
    fn expanded(&self, stack: &[CallFrame]) -> Option<&'static str> {
        let program = self.program?;
        stack.iter().take(8).find_map(|frame| match program.classify(frame.return_address as u64) {
            Site::ExpandedRmw(op) => Some(op),
            _ => None,
        })
    }

    /// The location that an event accesses. The name recorded with the event becomes the latest one of the address.
    fn accessed(&mut self, event: &trace::Event, address: usize, size: u8) -> Location {
        if let Some(name) = &event.name {
            self.names.insert(address, name.clone());
        }
        self.location(address, size)
    }

    /// A location with its latest name.
    fn location(&self, address: usize, size: u8) -> Location {
        Location { name: self.names.get(&address).cloned(), address: address as u64, size }
    }

    /// The interned stack, without Raddle's own frames at either end.
    pub(crate) fn stack(&mut self, stack: &[CallFrame]) -> Option<u32> {
        let mut lines: Vec<u32> = Vec::new();
        for frame in stack {
            lines.extend(self.symbols(frame.return_address));
        }
        let ours = |&id: &u32| is_ours(&self.frames[id as usize]);
        let first = lines.iter().take_while(|id| ours(id)).count();
        let last = lines[first..].iter().position(ours).map_or(lines.len(), |at| first + at);
        let mut caller = None;
        for &frame in lines[first..last].iter().rev() {
            let node = StackNode { frame, caller };
            let next = self.stacks.len() as u32;
            let id = *self.stack_ids.entry(node).or_insert(next);
            if id == next {
                self.stacks.push(node);
            }
            caller = Some(id);
        }
        caller
    }

    fn symbols(&mut self, return_address: usize) -> Vec<u32> {
        if let Some(known) = self.symbols.get(&return_address) {
            return known.clone();
        }
        let frames = self.program.map_or_else(Vec::new, |program| program.frames(return_address as u64));
        let ids: Vec<u32> = frames
            .into_iter()
            .map(|frame| {
                let next = self.frames.len() as u32;
                let id = *self.frame_ids.entry(frame.clone()).or_insert(next);
                if id == next {
                    self.frames.push(frame);
                }
                id
            })
            .collect();
        self.symbols.insert(return_address, ids.clone());
        ids
    }

    fn threads(&mut self, found: &Found, trace: &Trace, holders: &Holders) -> Vec<failure::Thread> {
        let mut threads = Vec::new();
        for (index, thread) in found.threads.iter().enumerate() {
            let id = index as ThreadId;
            let last = trace.events.iter().rev().find(|event| event.thread == id);
            let at = self.stack(&thread.paused_at);
            let end = match thread.state {
                _ if thread.panicked => ThreadEnd::Panicked,
                ThreadStatus::Finished => ThreadEnd::Finished,
                ThreadStatus::Runnable => ThreadEnd::Runnable,
                ThreadStatus::Join(other) => {
                    ThreadEnd::waiting(WaitingFor::Thread(other.into()), Some(other.into()), at)
                }
                ThreadStatus::JoinScope => ThreadEnd::waiting(WaitingFor::Scope, None, at),
                ThreadStatus::Sleeping => ThreadEnd::waiting(WaitingFor::Clock, None, at),
                ThreadStatus::Spinning => {
                    let place = last.and_then(|event| self.spun_on(event));
                    ThreadEnd::waiting(WaitingFor::SpinLoop { place }, None, at)
                }
                ThreadStatus::Lock { address } | ThreadStatus::Futex { address, .. } => {
                    let kind = self.primitive(at);
                    let place = self.location(address, FUTEX_SIZE);
                    let holder = holders.holder(address).filter(|_| kind.has_holder());
                    ThreadEnd::waiting(WaitingFor::Primitive { kind, place }, holder.map(Into::into), at)
                }
            };
            threads.push(failure::Thread { name: thread.name.clone(), end });
        }
        threads
    }

    /// The location that a spinning thread reads, by its last event.
    fn spun_on(&self, last: &trace::Event) -> Option<Location> {
        match last.action {
            Action::Load { address, size, .. } | Action::Cas { address, size, .. } => {
                Some(self.location(address, size))
            }
            _ => None,
        }
    }

    /// The synchronisation primitive that a thread waits for, by the functions on its stack.
    fn primitive(&self, mut stack: Option<u32>) -> Primitive {
        let mut best: Option<Primitive> = None;
        while let Some(id) = stack {
            let node = self.stacks[id as usize];
            let kind = primitive_of(&self.frames[node.frame as usize].function);
            // The innermost function decides; but a channel or a lock may be made of parking.
            if best.is_none() || (best == Some(Primitive::Park) && kind.is_some()) {
                best = kind;
            }
            stack = node.caller;
        }
        best.unwrap_or(Primitive::Futex)
    }
}

/// The synchronisation primitive that a function belongs to, by the names in its path.
fn primitive_of(function: &str) -> Option<Primitive> {
    let mut names = function.split(|c: char| !c.is_alphanumeric() && c != '_');
    names.find_map(|name| {
        Some(match name {
            "Condvar" | "condvar" => Primitive::Condvar,
            "RwLock" | "RawRwLock" | "rwlock" => Primitive::RwLock,
            "Once" | "OnceLock" | "OnceCell" | "LazyLock" | "once" => Primitive::Once,
            "Barrier" => Primitive::Barrier,
            "Mutex" | "RawMutex" | "mutex" => Primitive::Mutex,
            "mpmc" | "mpsc" | "Receiver" | "Sender" => Primitive::Channel,
            "park" | "park_timeout" | "Parker" => Primitive::Park,
            _ => return None,
        })
    })
}

/// The failure ordering of a compare-exchange that failed.
fn failure_order(event: &trace::Event) -> Option<Order> {
    event.links.touched.filter(|touched| touched.made.is_none()).map(|touched| touched.order)
}

/// Whether a frame is Raddle's own: the engine below the code under test, or the caller of the closure. Intercepted symbols such as
/// `syscall` have no path and are recognised by their files.
fn is_ours(frame: &Frame) -> bool {
    let function = frame.function.trim_start_matches('<');
    let file = frame.file.as_deref().unwrap_or("");
    ["raddle_engine::", "raddle_intercept::", "raddle::"].iter().any(|own| function.starts_with(own))
        || file.contains("raddle-intercept") && file.ends_with(".rs")
}

fn order(order: Order) -> failure::Order {
    match order {
        Order::Relaxed => failure::Order::Relaxed,
        Order::Acquire => failure::Order::Acquire,
        Order::Release => failure::Order::Release,
        Order::AcqRel => failure::Order::AcqRel,
        Order::SeqCst => failure::Order::SeqCst,
    }
}

fn switch(reason: SwitchReason) -> failure::Switch {
    match reason {
        SwitchReason::Preempted => failure::Switch::Preempted,
        SwitchReason::Blocked => failure::Switch::Blocked,
        SwitchReason::Joining => failure::Switch::Joining,
        SwitchReason::Sleeping => failure::Switch::Sleeping,
        SwitchReason::Yielded => failure::Switch::Yielded,
        SwitchReason::Spinning => failure::Switch::Spinning,
        SwitchReason::Finished => failure::Switch::Finished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primitives_are_told_by_whole_words() {
        let check = |function: &str, kind| assert_eq!(primitive_of(function), kind, "{function}");
        check("std::sync::poison::mutex::Mutex<T>::lock", Some(Primitive::Mutex));
        check("std::sys::sync::once::futex::Once::call", Some(Primitive::Once));
        check("core::ops::function::FnOnce::call_once", None);
        check("std::thread::park", Some(Primitive::Park));
        check("my_crate::sparks", None);
    }
}
