//! Events in the terms of the report.

use raddle_engine::op::{Order, ThreadId};
use raddle_engine::platform::unwind::CallFrame;
use raddle_engine::trace::{self, Action, MonitorAct, StepEnd, SwitchReason};
use raddle_reflect::Site;
use raddle_report::failure::{self, Location, Value};

use super::links::Links;
use super::outcome::{SIGABRT, signal_name};
use super::{Explainer, FUTEX_SIZE, fault};

impl Explainer<'_> {
    pub(super) fn event(&mut self, event: &trace::Event, links: Links) -> failure::Event {
        let at = self.stack(&event.stack);
        failure::Event {
            thread: event.thread.into(),
            action: self.action(event),
            at,
            switch: event.switch.map(switch),
            reads_from: links.reads_from,
            overwrites: links.overwrites,
            synchronises_with: links.synchronises_with,
            changes: Vec::new(),
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
            &Action::Write { address, size, value } => failure::Action::Write {
                place: self.accessed(event, address, size.min(255) as u8),
                length: size as u64,
                value: value.map(Value),
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
            Action::Step { name, ended } => failure::Action::Note {
                text: match ended {
                    None => name.clone(),
                    Some(StepEnd(None)) => format!("{name}: done"),
                    Some(StepEnd(Some(result))) => format!("{name} -> {result}"),
                },
            },
            Action::Monitor { act, .. } => failure::Action::Note { text: monitor(act) },
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
    pub(super) fn location(&self, address: usize, size: u8) -> Location {
        let name = self.in_objects.get(&address).or_else(|| self.names.get(&address)).cloned();
        Location { name, address: address as u64, size }
    }
}

/// What a thread does at a monitor, in Muscat's words.
fn monitor(act: &MonitorAct) -> String {
    match act {
        MonitorAct::Blocks => "synchronized -> waits to enter".to_owned(),
        MonitorAct::Enters => "synchronized -> enter".to_owned(),
        MonitorAct::Exits => "synchronized -> exit".to_owned(),
        MonitorAct::Waits => "wait".to_owned(),
        MonitorAct::Resumes => "wait -> enter".to_owned(),
        MonitorAct::Notifies(Some(thread)) => format!("notify -> thread {thread}"),
        MonitorAct::Notifies(None) => "notify -> nobody".to_owned(),
        MonitorAct::NotifiesAll(threads) if threads.is_empty() => "notify_all -> nobody".to_owned(),
        MonitorAct::NotifiesAll(threads) => {
            let threads: Vec<String> = threads.iter().map(ToString::to_string).collect();
            format!("notify_all -> threads {}", threads.join(", "))
        }
    }
}

/// The failure ordering of a compare-exchange that failed.
fn failure_order(event: &trace::Event) -> Option<Order> {
    event.links.touched.filter(|touched| touched.made.is_none()).map(|touched| touched.order)
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
