//! Whether a replay shows the same failure, and the text for one that does not.

use raddle_engine::Schedule;
use raddle_engine::exploration::Found;
use raddle_engine::trace::{Action, Event, Trace};
use raddle_report::{Failure, Kind};

use crate::explain;

/// The identity of a failing execution: what a replay has to show again.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) kind: Kind,
    /// The thread that panicked, crashed, overflowed its stack or ended the process.
    pub(crate) thread: Option<u32>,
    pub(crate) schedule: Schedule,
    pub(crate) events: u64,
}

impl Identity {
    /// The identity of an execution that the engine made, which is a failure of this kind.
    pub(crate) fn of_found(kind: Kind, found: &Found) -> Identity {
        Identity {
            kind,
            thread: explain::thread(&found.outcome).map(Into::into),
            schedule: found.schedule.clone(),
            events: found.steps,
        }
    }

    /// The identity of the execution of a failure file.
    pub(crate) fn of_failure(failure: &Failure) -> Identity {
        Identity {
            kind: failure.kind,
            thread: failure.thread,
            schedule: schedule(failure),
            // Which plain writes are recorded may differ between executions.
            events: failure.trace.events.iter().filter(|event| !event.is_plain_write()).count() as u64
                + failure.trace.omitted,
        }
    }
}

/// The schedule of a failure file.
pub(crate) fn schedule(failure: &Failure) -> Schedule {
    Schedule {
        threads: failure.schedule.0.clone(),
        mo_offsets: failure.look_back.0.clone(),
        counts: failure.counts.0.clone(),
        fair_since: failure.fair_since,
        random: failure.random,
    }
}

/// Whether a replay shows the failure of the original execution.
///
/// A replay follows the schedule of the original. If the code under test depends on nothing but the schedule, the replay fails in the
/// same way, after the same choices and the same number of events. A replay that fails in the same way after other choices, or
/// more or fewer events, is another execution: something that is neither rolled back nor controlled has changed it, and
/// a report about it would not be about the failure that was found. So the rule is the strict one, and the same for replays of
/// closures, of scenarios, and of failure files.
///
/// Details that lie in the kind of failure are not compared: addresses of faults and exit codes differ from process to process, and
/// messages may contain them. Of [inexact](is_inexact) endings, only the kind and the thread are compared.
///
/// Files of older versions do not name the thread.
pub(crate) fn reproduces(original: &Identity, replay: &Identity) -> bool {
    let same_thread = original.thread.is_none() || original.thread == replay.thread;
    let same_execution = (&original.schedule, original.events) == (&replay.schedule, replay.events);
    original.kind == replay.kind && same_thread && (same_execution || is_inexact(original.kind))
}

/// Whether a replay of the same schedule may end at another event. A signal ends an execution at a moment, or at a depth of the
/// stack, and recording changes both. The iteration in which a livelock is recognised depends on unused parts of the stack.
fn is_inexact(kind: Kind) -> bool {
    matches!(kind, Kind::TimeLimit | Kind::StackOverflow | Kind::Livelock)
}

/// The message for a failure that two replays do not show.
pub(crate) fn explain_divergence(found: &Found, replays: [(&Found, &Trace); 2]) -> String {
    let [(second, second_trace), (third, third_trace)] = replays;
    let (second_steps, third_steps) = (steps(second_trace), steps(third_trace));
    let parted = second_steps.iter().zip(&third_steps).position(|(a, b)| a != b);
    let streams = match parted {
        Some(at) => format!(
            "two replays part at event {at}:\n{}\n  --- and ---\n{}",
            around(&second_steps, at),
            around(&third_steps, at)
        ),
        None => format!("the last events of the replay:\n{}", around(&second_steps, usize::MAX)),
    };
    format!(
        "raddle: this test is not deterministic, so nothing can be said about it: execution {} ended with {:?} after {} \
         events, and with {:?} after {} and {:?} after {} when it was repeated under the same schedule. \
         Something it depends on is neither rolled back nor controlled: files, the network, the environment, another OS \
         thread, or uninitialised memory. Try isolation `fork`.\n{streams}",
        found.execution + 1,
        found.outcome,
        found.steps,
        second.outcome,
        second.steps,
        third.outcome,
        third.steps,
    )
}

/// The events of a trace besides plain writes: which of those are recorded may differ between executions.
pub(crate) fn steps(trace: &Trace) -> Vec<&Event> {
    trace.events.iter().filter(|event| !matches!(event.action, Action::Write { .. })).collect()
}

/// The events around one of them, a line each.
pub(crate) fn around(events: &[&Event], at: usize) -> String {
    let at = at.min(events.len());
    let shown = &events[at.saturating_sub(3)..(at + 3).min(events.len())];
    shown.iter().map(|event| format!("  T{} {:?}", event.thread, event.action)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(kind: Kind) -> Identity {
        let schedule = Schedule { threads: vec![0, 1, 0], ..Schedule::default() };
        Identity { kind, thread: Some(1), schedule, events: 7 }
    }

    #[test]
    fn a_replay_ends_in_the_same_way_after_the_same_choices_and_events() {
        let original = identity(Kind::Panic);
        assert!(reproduces(&original, &original));
        let others = [
            Identity { kind: Kind::Deadlock, ..original.clone() },
            Identity { thread: Some(2), ..original.clone() },
            Identity { thread: None, ..original.clone() },
            Identity { schedule: Schedule::default(), ..original.clone() },
            Identity { events: 8, ..original.clone() },
        ];
        for other in others {
            assert!(!reproduces(&original, &other), "{other:?}");
        }
    }

    #[test]
    fn an_inexact_ending_may_come_earlier_or_later() {
        for kind in [Kind::TimeLimit, Kind::StackOverflow, Kind::Livelock] {
            let original = identity(kind);
            let later = Identity { events: 9, schedule: Schedule::default(), ..original.clone() };
            assert!(reproduces(&original, &later), "{kind:?}");
            assert!(!reproduces(&original, &Identity { thread: Some(2), ..later }), "{kind:?}");
        }
    }

    #[test]
    fn a_file_that_does_not_name_the_thread_is_reproduced_by_any() {
        let original = Identity { thread: None, ..identity(Kind::Panic) };
        assert!(reproduces(&original, &identity(Kind::Panic)));
    }
}
