//! Counts of references, whose order is only explored as far as somebody could notice it.
//!
//! Handles are made and given up in every program, and almost nobody looks at how many there are. Making one commutes with all
//! that others can do meanwhile, and giving one up does unless it is the last: then its thread also does what the end of the
//! value brings with it. So in three stages, each begun only when the one before is found to be too coarse (and then the search
//! begins anew):
//!
//! 1. No access to a count is an event. That is all there is to know if the end of no value has an effect: if, from
//!    the decrement that reaches zero to the release of the memory, its thread makes no event.
//! 2. Giving up an `Arc` is an event ([`Access::Drop`](crate::graph::event::Access::Drop)), and who gives up the last one of a value whose
//!    end has an effect is explored: each thread that can be, but not the orders of the others.
//! 3. A count that somebody looks at (`strong_count`, `get_mut`, `try_unwrap`, `Weak::upgrade`, ...) while others may change it
//!    is memory like any other: all accesses to it are events. Whoever holds the only handle is alone, and makes none.
//!
//! What users mark as counts is treated in the same way, as far as it does what `Arc` does (`interface::along_graph::count_marked`): every
//! other access to such a count is a look at it. It ends when its memory is freed. Whoever gives up the last handle must acquire what
//! the others released, or the count is memory like any other; that it does so is taken for a fence, be it a load of the count.
//!
//! The handles of a thread's result (its join handle, and the thread's own) are counted apart, and a scope's end waits for its threads
//! without counting them, until somebody can tell the difference: `is_finished` does, and so does the owner of a scope that parks,
//! because the last thread to leave the scope wakes it. Then each step that std takes there is an event.
//!
//! What the end of a value does is taken not to depend on the thread in which it comes, unless it makes events.

use std::ops::Range;

use super::ModelChecker;
use crate::graph::covers;
use crate::graph::event::{EventId, NONE};
use crate::graph::stored::Stored;
use crate::op::ThreadId;

/// The first entry of a schedule of counts if giving up handles of threads are events.
const HANDLES_OF_THREADS: u16 = u16::MAX;

/// How an access to a count is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// It is no event.
    Abstract,
    /// It is the end of a handle.
    Decrement,
    /// It is an event like any other.
    Precise,
}

/// Why a thread changes or reads a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It gives up an `Arc`.
    Drop,
    /// It makes a handle, or gives up a `Weak`.
    Count,
    /// It wants to know; and whether it holds the only handle, as far as memory says.
    Look { alone: bool },
}

/// A thread has given up the last handle of a value, which is being dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FinalDrop {
    /// Where the handles were counted.
    pub(crate) count: usize,
    /// The event with which the thread gave it up, if that is one.
    pub(crate) event: Option<EventId>,
    /// Whether the thread has made sure that it comes after all who gave up theirs before, as is known of `Arc`.
    pub(crate) acquired: bool,
    /// Whether the value belongs to a thread: its result.
    pub(crate) of_thread: bool,
}

impl FinalDrop {
    /// Of something that belongs to a thread.
    pub(crate) fn of_thread(count: usize) -> FinalDrop {
        FinalDrop { count, event: None, acquired: true, of_thread: true }
    }
}

/// What a search has to know of counts from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refinement {
    /// Ends of handles are events.
    Drops,
    /// All accesses to this count are.
    Exact(usize),
    /// The `RwLock` at this address is read by this thread.
    Reader(usize, ThreadId),
    /// The `RwLock` at this address is one place.
    WholeLock(usize),
    /// Giving up a handle of a thread, and the end of a scope, are steps of their own.
    HandlesOfThreads,
}

/// Addresses are below this bit. Above it are a thread and what else is needed.
const ADDRESS_BITS: u32 = 48;
const READER: u64 = 1 << 63;
const WHOLE_LOCK: u64 = 1 << 62;

impl Refinement {
    /// The lesson as a word, which is not 0.
    pub(crate) fn to_word(self) -> u64 {
        match self {
            Refinement::Drops => 1,
            Refinement::HandlesOfThreads => 2,
            Refinement::Exact(count) => count as u64,
            Refinement::Reader(lock, reader) => READER | u64::from(reader) << ADDRESS_BITS | lock as u64,
            Refinement::WholeLock(lock) => WHOLE_LOCK | lock as u64,
        }
    }

    /// The lesson that is written as this word.
    pub(crate) fn from_word(word: u64) -> Option<Refinement> {
        let address = (word & ((1 << ADDRESS_BITS) - 1)) as usize;
        Some(match word {
            0 => return None,
            1 => Refinement::Drops,
            2 => Refinement::HandlesOfThreads,
            _ if word & READER != 0 => {
                Refinement::Reader(address, ((word & !READER) >> ADDRESS_BITS) as ThreadId)
            }
            _ if word & WHOLE_LOCK != 0 => Refinement::WholeLock(address),
            _ => Refinement::Exact(address),
        })
    }
}

/// More has to be known of counts: the search has begun anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restart;

/// What is known of counts.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Whether the ends of handles are events.
    drops: bool,
    /// The counts that are looked at.
    exact: Vec<usize>,
    /// Whether giving up handles of threads are events.
    of_threads: bool,
    /// What was learned since somebody last asked.
    lesson: Option<Refinement>,
    /// What the execution has done so far.
    pub(crate) so_far: SoFar,
}

/// What an execution has done to counts.
#[derive(Debug, Default)]
pub(crate) struct SoFar {
    /// How its accesses to counts, and to locks of `RwLock`, were made.
    pub(crate) made: Vec<u16>,
    /// The counts that the user marked, and whether the last handle was given up.
    marked: Vec<(usize, bool)>,
}

impl Clone for SoFar {
    fn clone(&self) -> SoFar {
        SoFar { made: self.made.clone(), marked: self.marked.clone() }
    }

    /// Keeps the memory.
    fn clone_from(&mut self, other: &SoFar) {
        let SoFar { made, marked } = other;
        self.made.clone_from(made);
        self.marked.clone_from(marked);
    }
}

impl Counts {
    /// An execution begins, which may follow a schedule.
    pub(crate) fn begin(&mut self, schedule: Option<&[u16]>) {
        self.so_far.made.clear();
        self.so_far.marked.clear();
        let of_threads =
            schedule.map_or(self.of_threads, |schedule| schedule.first() == Some(&HANDLES_OF_THREADS));
        self.so_far.made.extend(of_threads.then_some(HANDLES_OF_THREADS));
    }

    pub(crate) fn save(&self, words: &mut Vec<u64>) {
        self.drops.put(words);
        self.exact.put(words);
        self.of_threads.put(words);
    }

    pub(crate) fn restore(&mut self, words: &mut std::slice::Iter<'_, u64>) -> Option<()> {
        (self.drops, self.exact, self.of_threads) =
            (Stored::take(words)?, Stored::take(words)?, Stored::take(words)?);
        Some(())
    }

    /// How the accesses of the execution were made, up to the last that was an event.
    pub(crate) fn schedule(&self) -> Vec<u16> {
        let made = &self.so_far.made;
        let last = made.iter().rposition(|&made| made != Counting::Abstract as u16);
        made[..last.map_or(0, |last| last + 1)].to_vec()
    }
}

impl ModelChecker {
    /// A thread is about to access a count: says how. `drops` is where ends of handles are noted.
    pub(crate) fn counting(
        &mut self,
        thread: ThreadId,
        count: usize,
        drops: usize,
        purpose: Purpose,
    ) -> Result<Counting, Restart> {
        let looked_at = match purpose {
            Purpose::Look { .. } => None,
            _ => self.places.mark_count(count),
        };
        let counting = match &self.script {
            Some(script) => match script.schedule.counts.get(self.references.so_far.made.len()) {
                Some(1) => Counting::Decrement,
                Some(2) => Counting::Precise,
                _ => Counting::Abstract,
            },
            None if self.references.exact.contains(&count) => Counting::Precise,
            None => {
                let is_alone = match purpose {
                    // Without events it cannot be told whether others gave up theirs before.
                    Purpose::Look { .. } if !self.references.drops => {
                        return Err(self.learn(Refinement::Drops));
                    }
                    Purpose::Look { alone } => {
                        let drops = self.places.place(drops);
                        alone && drops.is_none_or(|drops| self.knows(thread, self.graph().drops(drops)))
                    }
                    _ => looked_at.is_none_or(|looked_at| {
                        let graph = self.graph();
                        self.knows(thread, graph.co(looked_at)) && self.knows(thread, graph.reads(looked_at))
                    }),
                };
                if !is_alone {
                    return Err(self.learn(Refinement::Exact(count)));
                }
                match purpose {
                    Purpose::Drop if self.references.drops => Counting::Decrement,
                    _ => Counting::Abstract,
                }
            }
        };
        self.references.so_far.made.push(counting as u16);
        Ok(counting)
    }

    /// A value was dropped without anything that others can notice. If that was not in order, plain accesses may race in another.
    pub(crate) fn drop_ends(&mut self, dropping: FinalDrop) -> Result<(), Restart> {
        match dropping.acquired || self.script.is_some() {
            true => Ok(()),
            false => Err(self.learn(Refinement::Exact(dropping.count))),
        }
    }

    /// A thread is about to change a count that the user marked. Counts that go on after the last handle was given up are none.
    pub(crate) fn mark_count(&mut self, count: usize) -> Result<(), Restart> {
        match self.references.so_far.marked.iter().find(|marked| marked.0 == count) {
            Some((_, true)) if self.script.is_none() && !self.references.exact.contains(&count) => {
                Err(self.learn(Refinement::Exact(count)))
            }
            Some(_) => Ok(()),
            None => {
                self.references.so_far.marked.push((count, false));
                Ok(())
            }
        }
    }

    /// Whether it is a count that the user marked.
    pub(crate) fn is_marked_count(&self, count: usize) -> bool {
        self.references.so_far.marked.iter().any(|marked| marked.0 == count)
    }

    /// The last handle of a count that the user marked is given up.
    pub(crate) fn note_last_of_marked(&mut self, count: usize) {
        self.references
            .so_far
            .marked
            .iter_mut()
            .filter(|marked| marked.0 == count)
            .for_each(|marked| marked.1 = true);
    }

    /// Takes out a count in this memory that the user marked.
    pub(crate) fn take_marked_count(&mut self, memory: &Range<usize>) -> Option<usize> {
        let at = self.references.so_far.marked.iter().position(|(count, _)| memory.contains(count))?;
        Some(self.references.so_far.marked.swap_remove(at).0)
    }

    /// Whether accesses to the address are counted.
    pub(crate) fn is_count(&self, address: usize) -> bool {
        self.places.is_count(address)
    }

    /// What was counted at these addresses is gone: whatever is counted there next is something else.
    pub(crate) fn end_counts(&mut self, counts: [usize; 2], drops: usize) {
        counts.iter().for_each(|&count| self.places.forget_count(count));
        self.places.begin_generation(drops);
    }

    /// A thread that is dropping a value does something that others can notice.
    pub(crate) fn drop_acts(&mut self, dropping: FinalDrop) -> Result<(), Restart> {
        match dropping.event {
            _ if self.script.is_some() => Ok(()),
            _ if dropping.of_thread => self.need_handles_of_threads(),
            _ if !dropping.acquired => Err(self.learn(Refinement::Exact(dropping.count))),
            None => Err(self.learn(Refinement::Drops)),
            Some(event) if self.is_last_drop(event) => Ok(()),
            // The end of the value had no effect in another thread.
            Some(_) => Err(self.learn(Refinement::Exact(dropping.count))),
        }
    }

    /// Begins anew, knowing more.
    pub(crate) fn learn(&mut self, lesson: Refinement) -> Restart {
        match lesson {
            Refinement::Drops => self.references.drops = true,
            Refinement::Exact(count) if self.references.exact.contains(&count) => {}
            Refinement::Exact(count) => self.references.exact.push(count),
            Refinement::Reader(lock, reader) => self.rwlocks.add_reader(lock, reader),
            Refinement::WholeLock(lock) => self.rwlocks.make_whole(lock),
            Refinement::HandlesOfThreads => self.references.of_threads = true,
        }
        self.references.lesson = Some(lesson);
        self.begin_anew();
        Restart
    }

    /// Whether giving up a handle of a thread, and the end of a scope, are events in this execution.
    #[inline]
    pub(crate) fn counts_handles_of_threads(&self) -> bool {
        self.references.so_far.made.first() == Some(&HANDLES_OF_THREADS)
    }

    /// They have to be.
    pub(crate) fn need_handles_of_threads(&mut self) -> Result<(), Restart> {
        match self.counts_handles_of_threads() || self.script.is_some() {
            true => Ok(()),
            false => Err(self.learn(Refinement::HandlesOfThreads)),
        }
    }

    /// What was learned since this was last asked.
    pub(crate) fn take_lesson(&mut self) -> Option<Refinement> {
        self.references.lesson.take()
    }

    /// Whether the thread comes after those of the events that were made so far.
    fn knows(&self, thread: ThreadId, events: &[EventId]) -> bool {
        let graph = self.graph();
        let made = |id: &EventId| (*id as usize) < self.made;
        let own = graph.threads.get(usize::from(thread)).map_or(&[][..], |own| own);
        let last = own.iter().copied().rfind(made).unwrap_or(NONE);
        events
            .iter()
            .filter(|id| made(id))
            .all(|&id| last != NONE && covers(graph.prefix.row(last as usize), graph.event(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lessons_are_words() {
        let address = 0x7fff_ffff_fffd;
        let all = [
            Refinement::Drops,
            Refinement::Exact(address),
            Refinement::Reader(address, 0),
            Refinement::Reader(address, 255),
            Refinement::WholeLock(address),
            Refinement::HandlesOfThreads,
        ];
        assert!(all.iter().all(|&lesson| Refinement::from_word(lesson.to_word()) == Some(lesson)));
        assert_eq!(Refinement::from_word(0), None);
    }
}
