//! The log of the choices of an execution in a child process, in memory that the parent reads.
//!
//! The child logs each choice at once, because it may die at any time, and the result of its execution at the end. The
//! parent replays the choices to its own copy of the strategy, which so learns what the child's copy learnt.

use std::ptr;

use crate::left_out::LeftOut;
use crate::op::ThreadId;
use crate::platform::processes;
use crate::schedule::Schedule;
use crate::strategy::{Point, Steps, Strategy};

const SHARED: usize = 64 << 20;

/// In place of the current thread: the choice is an access's position in modification order.
const READS_FROM: ThreadId = ThreadId::MAX;

/// The result of an execution in a child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildResult {
    pub(crate) passed: bool,
    pub(crate) steps: u64,
    pub(crate) switches: u64,
    /// The length of its schedule.
    pub(crate) choices: usize,
    pub(crate) left_out: LeftOut,
    /// The event from which it was fair.
    pub(crate) fair_since: Option<u64>,
}

/// Shared memory with the scheduling points of a child's execution: for each, the current thread, the chosen thread,
/// the number of runnable threads, the number of active ones, then both lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChoiceLog {
    memory: *mut u16,
    len: usize,
}

/// The result of an execution, as the parent received it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildReport {
    pub(crate) passed: bool,
    pub(crate) steps: u64,
    pub(crate) switches: u64,
    pub(crate) left_out: LeftOut,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    finished: u64,
    passed: u64,
    steps: u64,
    switches: u64,
    choices: u64,
    points: u64,
    left_out: u64,
    /// One more than the event from which the execution was fair; 0 if it was not.
    fair_since: u64,
}

const HEADER: usize = size_of::<Header>() / size_of::<u16>();

impl ChoiceLog {
    pub(crate) fn map() -> ChoiceLog {
        ChoiceLog { memory: processes::map_shared(SHARED).cast(), len: 0 }
    }

    pub(crate) fn unmap(self) {
        // SAFETY: mapped above, not used any more.
        unsafe { processes::unmap_shared(self.memory.cast(), SHARED) };
    }

    /// In the child: logs the choice at a scheduling point. Choices beyond the end of the memory are lost; the parent
    /// notices.
    pub(crate) fn record_choice(
        &mut self,
        current: ThreadId,
        chosen: ThreadId,
        runnable: &[ThreadId],
        active: &[ThreadId],
    ) {
        let len = 4 + runnable.len() + active.len();
        let end = HEADER + self.len + len;
        if end * size_of::<u16>() > SHARED {
            return;
        }
        // SAFETY: within the mapping, as checked.
        unsafe {
            let at = self.memory.add(HEADER + self.len);
            at.write(current);
            at.add(1).write(chosen);
            at.add(2).write(runnable.len() as u16);
            at.add(3).write(active.len() as u16);
            ptr::copy_nonoverlapping(runnable.as_ptr(), at.add(4), runnable.len());
            ptr::copy_nonoverlapping(active.as_ptr(), at.add(4 + runnable.len()), active.len());
            self.len += len;
            // Published at once: a child may die at any time.
            (*self.memory.cast::<Header>()).points = self.len as u64;
        }
    }

    /// In the child: logs the position in modification order that an access chose among `alternatives`.
    pub(crate) fn record_reads_from(&mut self, choice: usize, alternatives: usize) {
        self.record_choice(READS_FROM, choice as u16, &[alternatives as u16], &[]);
    }

    /// In the child: publishes the result of the execution.
    pub(crate) fn report(&self, result: ChildResult) {
        let ChildResult { passed, steps, switches, choices, left_out, fair_since } = result;
        let header = Header {
            finished: 1,
            passed: passed.into(),
            steps,
            switches,
            choices: choices as u64,
            points: self.len as u64,
            left_out: left_out.bits().into(),
            fair_since: fair_since.map_or(0, |since| since + 1),
        };
        // SAFETY: the mapping begins with the header.
        unsafe { self.memory.cast::<Header>().write(header) };
    }

    /// In the parent: clears the log for the next child.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        // SAFETY: the mapping begins with the header.
        unsafe { self.memory.cast::<Header>().write(Header::default()) };
    }

    /// In the parent, when the child has ended: replays its choices to the strategy. A child that died without a result
    /// failed.
    pub(crate) fn receive(&self, strategy: &mut dyn Strategy) -> ChildReport {
        let header = self.header();
        if !strategy.is_indexed() {
            let (mut choice, mut reads) = (0, 0);
            for (current, _, runnable, active) in self.points() {
                if current == READS_FROM {
                    strategy.choose_reads_from(runnable[0].into(), reads);
                    reads += 1;
                } else {
                    strategy.choose(&Point { current, runnable, active, steps: Steps::Now(&[]), choice });
                    choice += 1;
                }
            }
        }
        strategy.end(header.choices as usize);
        ChildReport {
            passed: header.finished == 1 && header.passed == 1,
            steps: header.steps,
            switches: header.switches,
            left_out: LeftOut::from_bits(header.left_out as u32),
        }
    }
}

impl ChoiceLog {
    /// In the parent: the schedule of the child's execution.
    pub(crate) fn schedule(&self) -> Schedule {
        let chosen = |reads_from: bool| {
            let points = self.points().filter(move |&(current, ..)| (current == READS_FROM) == reads_from);
            points.map(|(_, chosen, ..)| chosen).collect()
        };
        let fair_since = self.header().fair_since.checked_sub(1);
        Schedule { threads: chosen(false), mo_offsets: chosen(true), fair_since, ..Schedule::default() }
    }

    fn header(&self) -> Header {
        // SAFETY: the mapping begins with the header.
        unsafe { self.memory.cast::<Header>().read() }
    }

    fn points(&self) -> impl Iterator<Item = (ThreadId, ThreadId, &[ThreadId], &[ThreadId])> {
        let end = HEADER + self.header().points as usize;
        let mut at = HEADER;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            // SAFETY: within the log of the child, which has ended.
            unsafe {
                let point = self.memory.add(at);
                let (can, would) = (usize::from(point.add(2).read()), usize::from(point.add(3).read()));
                let runnable = std::slice::from_raw_parts(point.add(4), can);
                let active = std::slice::from_raw_parts(point.add(4 + can), would);
                at += 4 + can + would;
                Some((point.read(), point.add(1).read(), runnable, active))
            }
        })
    }
}
