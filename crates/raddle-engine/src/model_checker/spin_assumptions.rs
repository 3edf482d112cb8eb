//! What the search knows of loops that wait: which reads were in vain, and what threads that wait in loops can still do. What a
//! round is, [`rounds`](crate::spinloop::rounds) finds out.

use super::ModelChecker;
use crate::graph::consistency::preemption_bound::Waits;
use crate::graph::event::{Access, Event, EventId, NONE};
use crate::graph::stored::stored;
use crate::op::ThreadId;
use crate::spinloop::liveness;

/// A read that made a thread go round, when it comes after this past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SpinRead {
    thread: ThreadId,
    past: u64,
    value: u64,
}

/// How a thread went round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loop {
    /// How many events before the read the loop began.
    length: u32,
    /// Whether the thread will go round for ever unless it reads something else.
    proven: bool,
}

stored!(SpinRead { thread, past, value });
stored!(Loop { length, proven });

/// How threads stand that wait in loops, when nobody can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopsAtRest {
    /// No thread waits in a loop.
    None,
    /// One would read something else if it went round again: another execution shows what.
    Moving,
    /// Those that wait would go round for ever.
    Stuck,
}

impl ModelChecker {
    /// Whether a loop was taken to wait because it gives way, though it may count its rounds.
    pub(crate) fn has_unproven_spins(&self) -> bool {
        self.assumed
    }

    /// Whether threads were seen to go round here.
    pub(crate) fn is_loop(&self, pc: usize) -> bool {
        self.loops.contains(&pc)
    }

    /// A thread may go round here since its event `po`. True if that is news, and the execution has to be made again.
    pub(crate) fn learns_loop(&mut self, pc: usize, thread: ThreadId, po: u32) -> bool {
        let news = !self.is_loop(pc);
        if news {
            self.loops.push(pc);
            self.forget_kept();
            self.again = true;
            let first = self.graph().threads[usize::from(thread)][po as usize] as usize;
            self.take_back(first.max(self.begun_with));
        }
        news
    }

    /// Whether the event, which its thread makes next, can go on with a value.
    pub(crate) fn accepts(&self, event: &Event, value: u64) -> bool {
        event.access.accepts(value)
            && (self.vain.is_empty() || self.is_free(event.thread) || self.vain_loop(event, value).is_none())
    }

    /// Whether the event, which its thread makes next and has waited for since `wait`, can go on with the newest value.
    pub(crate) fn accepts_newest(&self, event: &Event, wait: Option<EventId>) -> bool {
        let graph = self.graph();
        let newest = graph.newest(event.place);
        self.accepts(event, graph.value(event.place, newest))
            && wait.is_none_or(|wait| graph.may_take(wait, newest))
    }

    pub(crate) fn vain_loop(&self, event: &Event, value: u64) -> Option<Loop> {
        let (thread, past) = (event.thread, self.graph().past_of(event.thread));
        self.vain.get(&SpinRead { thread, past, value }).copied()
    }

    /// Lets a thread that waits in a loop go on, because nobody else can: one whose loop may have a bound, if there is one.
    pub(crate) fn set_free(&mut self) -> Option<ThreadId> {
        let graph = self.graph();
        let may_go_on = |event: &&Event| {
            let value = graph.newest_value(event.place);
            event.access.accepts(value) && self.vain_loop(event, value).is_some_and(|vain| !vain.proven)
        };
        let thread = self.waiting.iter().flatten().find(may_go_on)?.thread;
        self.free.push(thread);
        Some(thread)
    }

    /// Whether the thread is not held back in loops.
    pub(crate) fn is_free(&self, thread: ThreadId) -> bool {
        self.free.contains(&thread)
    }

    /// How the threads stand that wait in loops, when nobody can go on.
    pub(crate) fn loops_at_rest(&self) -> LoopsAtRest {
        let graph = self.graph();
        let mut loops = LoopsAtRest::None;
        for event in self.waiting.iter().flatten() {
            let value = graph.newest_value(event.place);
            if !event.access.accepts(value) {
                continue;
            }
            // If it is not in vain, it is for another execution to read this.
            let Some(vain) = self.vain_loop(event, value) else { return LoopsAtRest::Moving };
            let own = &graph.threads[usize::from(event.thread)];
            let begin = own.len().saturating_sub(vain.length as usize);
            let is_news = |&id: &EventId| {
                let read = graph.event(id);
                read.place != NONE && read.reads() && read.rf != graph.newest(read.place)
            };
            if own[begin..].iter().any(is_news) {
                return LoopsAtRest::Moving;
            }
            loops = LoopsAtRest::Stuck;
        }
        loops
    }

    /// The thread goes round since its event `po`, and its read `vain` was in vain. If that was the one to begin with, the
    /// execution has to be made again, knowing that; if it was one of several that the thread could make, it is left to the
    /// others.
    ///
    /// False if the round is worth keeping: an optimistic attempt that failed, unless the loop, whose `code` may be looked at,
    /// says that it waits.
    pub(crate) fn assume_spin(
        &mut self,
        thread: ThreadId,
        [po, vain]: [u32; 2],
        proven: bool,
        code: impl FnOnce() -> liveness::Loop,
    ) -> bool {
        let graph = self.graph();
        let own = &graph.threads[usize::from(thread)];
        let reads = || own[po as usize..].iter().map(|&id| graph.event(id)).filter(|event| event.reads());
        let one_place = reads().all(|event| reads().all(|other| other.place == event.place));
        let tries = reads().any(|event| event.access != Access::Load);
        let all_new = || reads().all(|event| event.rf == graph.newest(event.place));
        if !one_place && !all_new() {
            let code = code();
            if (tries || code.tries) && !code.pauses {
                return false;
            }
        }
        let last = own[vain as usize];
        let mut read = *graph.event(last);
        let length = vain - po;
        self.take_back(last as usize);
        let begun_with = self.begun_with;
        let frame = self.frames.last_mut().expect("an execution has a graph");
        let past = frame.graph.past_of(thread);
        self.vain.insert(SpinRead { thread, past, value: read.read }, Loop { length, proven });
        self.assumed |= !proven;
        self.again = last as usize >= begun_with || (last as usize) < frame.given;
        if (last as usize) < frame.given {
            // What it reads was given to it by a revisit, and that has to stay known.
            read.waits = true;
            frame.graph.push(read, 0);
            frame.given = frame.graph.len();
        }
        true
    }

    /// Whether the thread, which has made its event `po` in a loop, is known to have an effect before long. What is known of its
    /// rounds then depends on what comes later in the graph, and is not the same in other executions.
    pub(crate) fn will_not_wait(&mut self, thread: ThreadId, po: u32) -> bool {
        let effect = self.next_effect(thread, po);
        self.foreseen = self.foreseen.max(effect);
        effect.is_some()
    }

    /// The first event with which the thread changes something after its event `po`, as far as the graph that the execution
    /// follows says.
    pub(crate) fn next_effect(&self, thread: ThreadId, po: u32) -> Option<EventId> {
        let graph = self.graph();
        let later = graph.threads.get(usize::from(thread))?.get(po as usize + 1..)?;
        let effect =
            |&id: &EventId| graph.event(id).written.is_some_and(|value| value != graph.event(id).read);
        later.iter().copied().find(effect)
    }
}

impl Waits for ModelChecker {
    fn waits(&self, event: &Event, value: u64) -> bool {
        let past = self.graph().past_before(event);
        let in_vain = || self.vain.contains_key(&SpinRead { thread: event.thread, past, value });
        !event.access.accepts(value) || (!self.is_free(event.thread) && in_vain())
    }

    fn may_go_round(&self, event: &Event) -> bool {
        let past = self.graph().past_before(event);
        self.vain.keys().any(|vain| (vain.thread, vain.past) == (event.thread, past))
    }

    fn wanted(&self, thread: ThreadId) -> Option<Event> {
        match self.waiting.get(usize::from(thread)) {
            Some(&Some(event)) => Some(Event { po: self.graph().events_of(thread), ..event }),
            // The same as its leader, which is where it is.
            _ => self.wanted(self.leader_awaited(thread)?),
        }
    }
}
