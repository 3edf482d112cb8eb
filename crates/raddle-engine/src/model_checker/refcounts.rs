//! The abstraction of reference counts: their order is explored only as far as the program can observe it.
//!
//! Every program clones and drops references, and few programs look at their number. A clone commutes with everything that other
//! threads can do meanwhile. So does a drop, unless it is the final one: its thread then also drops the value. The abstraction
//! has three levels. The search restarts with the next level when an execution shows that the current one is too coarse
//! ([`Refinement`]):
//!
//! 1. No access to a count is an event. This is exact if no value's drop has an effect: if, from the decrement that reaches zero
//!    to the release of the memory, the thread makes no event.
//! 2. A drop of an `Arc` is an event ([`Access::Decrement`](crate::graph::event::Access::Decrement)). For each value whose drop has
//!    an effect, the search explores each thread that can make the final decrement, but not the orders of the other decrements.
//!    This level is not needed for the effects of a drop by the main thread after it has joined all others: no other thread can
//!    have made the final decrement.
//! 3. The accesses to a count are events like any others, if a thread inspects the count (`strong_count`, `get_mut`,
//!    `try_unwrap`, `Weak::upgrade`, ...) while other threads may change it. A thread that holds the only reference inspects
//!    without an event.
//!
//! Counts that the user marks are treated in the same way, as far as they are used as `Arc` uses its counts
//! (`semantics::graph_driven::refcounts::count_marked`); every other access inspects the count. Such a count ends when its memory is freed. The
//! thread of the final decrement must acquire what the other decrements released, or the count becomes precise. This acquire is
//! taken for a fence, even if it is a load of the count.
//!
//! The result of a thread has two references (those of the join handle and of the thread itself), and a scope counts its threads.
//! The steps of std on these counts are not events either, unless the program can observe them: `is_finished` does, and so does
//! the owner of a scope that parks, because the last thread to leave the scope wakes it. Then each of these steps is an event
//! ([`Refinement::ThreadHandles`]).
//!
//! **Assumption:** unless the drop of a value makes events, its effect does not depend on the thread that drops the value.

use std::ops::Range;

use super::abstraction_log::ABSTRACT;
use super::{ModelChecker, Refinement, Restart};
use crate::graph::covers;
use crate::graph::event::{Access, EventId};
use crate::graph::stored::Stored;
use crate::op::ThreadId;

/// The abstraction of an access to a reference count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// The access is no event.
    Abstract,
    /// The access is a decrement, whose order with other decrements is not explored.
    Decrement,
    /// The access is an event like any other.
    Precise,
}

impl Counting {
    fn to_entry(self) -> u16 {
        match self {
            Counting::Abstract => ABSTRACT,
            Counting::Decrement => 1,
            Counting::Precise => 2,
        }
    }

    fn from_entry(entry: u16) -> Counting {
        match entry {
            1 => Counting::Decrement,
            2 => Counting::Precise,
            _ => Counting::Abstract,
        }
    }
}

/// The purpose of an access to a reference count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The drop of an `Arc`.
    DropStrong,
    /// A clone, or the drop of a `Weak`.
    Adjust,
    /// An inspection of the count. `alone` tells whether memory shows no other reference.
    Inspect { alone: bool },
}

/// The drop of a value by the thread that dropped its last reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FinalDrop {
    /// The address of the reference count.
    pub(crate) count: usize,
    /// The decrement that reached zero, if it is an event.
    pub(crate) event: Option<EventId>,
    /// Whether the thread has acquired what the other decrements released. `Arc` always does.
    pub(crate) acquired: bool,
    /// Whether the value belongs to a thread: its result.
    pub(crate) of_thread: bool,
}

impl FinalDrop {
    /// The drop of a value that belongs to a thread.
    pub(crate) fn of_thread(count: usize) -> FinalDrop {
        FinalDrop { count, event: None, acquired: true, of_thread: true }
    }
}

/// The abstraction level of each reference count, and the marked counts of the current execution.
#[derive(Debug, Default)]
pub(super) struct RefCounts {
    /// Whether decrements are events.
    decrements: bool,
    /// The addresses of counts whose accesses are all events.
    precise: Vec<usize>,
    /// Whether the steps that drop handles of threads are events.
    thread_handles: bool,
    marked: Vec<MarkedCount>,
}

/// A reference count of the current execution that the user marked.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedCount {
    address: usize,
    /// Whether the final decrement was made.
    reached_zero: bool,
}

impl RefCounts {
    /// Begins an execution.
    pub(super) fn begin(&mut self) {
        self.marked.clear();
    }

    pub(super) fn thread_handles_are_events(&self) -> bool {
        self.thread_handles
    }

    pub(super) fn make_thread_handles_events(&mut self) {
        self.thread_handles = true;
    }

    pub(super) fn make_decrements_events(&mut self) {
        self.decrements = true;
    }

    pub(super) fn make_precise(&mut self, count: usize) {
        if !self.is_precise(count) {
            self.precise.push(count);
        }
    }

    fn is_precise(&self, count: usize) -> bool {
        self.precise.contains(&count)
    }

    /// Copies the marked counts, for a checkpoint.
    pub(super) fn snapshot(&self, marked: &mut Vec<MarkedCount>) {
        marked.clone_from(&self.marked);
    }

    pub(super) fn restore(&mut self, marked: &Vec<MarkedCount>) {
        self.marked.clone_from(marked);
    }

    pub(super) fn put(&self, words: &mut Vec<u64>) {
        self.decrements.put(words);
        self.precise.put(words);
        self.thread_handles.put(words);
    }

    pub(super) fn take(&mut self, words: &mut std::slice::Iter<'_, u64>) -> Option<()> {
        self.decrements = Stored::take(words)?;
        self.precise = Stored::take(words)?;
        self.thread_handles = Stored::take(words)?;
        Some(())
    }
}

impl ModelChecker {
    /// The abstraction of a thread's next access to a reference count. `decrements` is the address of the synthetic location of
    /// its decrements.
    pub(crate) fn counting(
        &mut self,
        thread: ThreadId,
        count: usize,
        decrements: usize,
        purpose: Purpose,
    ) -> Result<Counting, Restart> {
        let inspected = match purpose {
            Purpose::Inspect { .. } => None,
            _ => self.locations.mark_refcount(count),
        };
        let counting = match &self.replay {
            Some(replay) => {
                self.abstractions.next_in(replay).map_or(Counting::Abstract, Counting::from_entry)
            }
            None if self.refcounts.is_precise(count) => Counting::Precise,
            None => {
                let is_exclusive = match purpose {
                    // Whether the decrements of other threads came before is known only if they are events.
                    Purpose::Inspect { .. } if !self.refcounts.decrements => {
                        return Err(self.refine(Refinement::Decrements));
                    }
                    Purpose::Inspect { alone } => {
                        let decrements = self.locations.synthetic(decrements);
                        alone
                            && decrements.is_none_or(|decrements| {
                                self.is_after(thread, self.graph().decrements(decrements))
                            })
                    }
                    _ => inspected.is_none_or(|inspected| {
                        let graph = self.graph();
                        self.is_after(thread, graph.co(inspected))
                            && self.is_after(thread, graph.reads(inspected))
                    }),
                };
                if !is_exclusive {
                    return Err(self.refine(Refinement::PreciseCount(count)));
                }
                match purpose {
                    Purpose::DropStrong if self.refcounts.decrements => Counting::Decrement,
                    _ => Counting::Abstract,
                }
            }
        };
        self.abstractions.push(counting.to_entry());
        Ok(counting)
    }

    /// Whether the next event of the thread depends on all of these events that the execution has made.
    fn is_after(&self, thread: ThreadId, events: &[EventId]) -> bool {
        let graph = self.graph();
        let last = self.last_made_by(thread);
        let is_known =
            |id: EventId| last.is_some_and(|last| covers(graph.prefix.row(last as usize), graph.event(id)));
        events.iter().filter(|&&id| (id as usize) < self.made).all(|&id| is_known(id))
    }

    /// Handles the end of a drop that had no effect. Without an acquire, plain accesses of the drop may race in another
    /// execution.
    pub(crate) fn drop_ended(&mut self, dropping: FinalDrop) -> Result<(), Restart> {
        match dropping.acquired || self.replay.is_some() {
            true => Ok(()),
            false => Err(self.refine(Refinement::PreciseCount(dropping.count))),
        }
    }

    /// Handles an event by a thread that is dropping a value.
    pub(crate) fn drop_has_effect(&mut self, thread: ThreadId, dropping: FinalDrop) -> Result<(), Restart> {
        match dropping.event {
            _ if self.replay.is_some() => Ok(()),
            _ if dropping.of_thread => self.require_thread_handle_events(),
            _ if !dropping.acquired => Err(self.refine(Refinement::PreciseCount(dropping.count))),
            None if self.has_joined_all_others(thread) => Ok(()),
            None => Err(self.refine(Refinement::Decrements)),
            Some(event) if self.make_final_decrement(event) => Ok(()),
            // The graph was explored with another final decrement, whose drop had no effect.
            Some(_) => Err(self.refine(Refinement::PreciseCount(dropping.count))),
        }
    }

    /// Whether all other threads of the execution so far have ended and were joined before. Whatever they dropped, they dropped before
    /// the thread's next step, in every execution of this graph.
    fn has_joined_all_others(&self, thread: ThreadId) -> bool {
        let made = &self.graph().events[..self.made];
        let count = |is_one: fn(&Access) -> bool| made.iter().filter(|event| is_one(&event.access)).count();
        // The main thread is never joined, and a thread is joined once. The joins of other threads come before their ends.
        thread == 0
            && count(|access| matches!(access, Access::Spawn(_)))
                == count(|access| matches!(access, Access::Join(_)))
    }

    /// Marks a count that the user declared, before a thread changes it. A count that is used after it reached zero is no
    /// reference count.
    pub(crate) fn mark_user_refcount(&mut self, count: usize) -> Result<(), Restart> {
        match self.refcounts.marked.iter().find(|marked| marked.address == count) {
            Some(marked)
                if marked.reached_zero && self.replay.is_none() && !self.refcounts.is_precise(count) =>
            {
                Err(self.refine(Refinement::PreciseCount(count)))
            }
            Some(_) => Ok(()),
            None => {
                self.refcounts.marked.push(MarkedCount { address: count, reached_zero: false });
                Ok(())
            }
        }
    }

    /// Whether the address is a reference count that the user declared.
    pub(crate) fn is_user_refcount(&self, count: usize) -> bool {
        self.refcounts.marked.iter().any(|marked| marked.address == count)
    }

    /// Notes the final decrement of a count that the user declared.
    pub(crate) fn user_refcount_reached_zero(&mut self, count: usize) {
        let marked = self.refcounts.marked.iter_mut().filter(|marked| marked.address == count);
        marked.for_each(|marked| marked.reached_zero = true);
    }

    /// Removes and returns a count in this memory that the user declared.
    pub(crate) fn take_user_refcount(&mut self, memory: &Range<usize>) -> Option<usize> {
        let marked = &mut self.refcounts.marked;
        let at = marked.iter().position(|marked| memory.contains(&marked.address))?;
        Some(marked.swap_remove(at).address)
    }

    /// Whether the address is a reference count.
    pub(crate) fn is_refcount(&self, address: usize) -> bool {
        self.locations.is_refcount(address)
    }

    /// Ends the reference counts at these addresses. `decrements` is the address of the synthetic location of their decrements.
    pub(crate) fn end_refcounts(&mut self, counts: [usize; 2], decrements: usize) {
        counts.iter().for_each(|&count| self.locations.unmark_refcount(count));
        self.locations.begin_generation(decrements);
    }

    /// Whether the steps that drop handles of threads are events in this execution.
    #[inline]
    pub(crate) fn thread_handles_are_events(&self) -> bool {
        self.abstractions.thread_handles_are_events()
    }

    /// Refines the abstraction unless the steps that drop handles of threads are events.
    pub(crate) fn require_thread_handle_events(&mut self) -> Result<(), Restart> {
        match self.thread_handles_are_events() || self.replay.is_some() {
            true => Ok(()),
            false => Err(self.refine(Refinement::ThreadHandles)),
        }
    }
}
