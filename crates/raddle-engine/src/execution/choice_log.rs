//! The choices of an execution in a process of its own, in memory that the process which waits for it reads.
//!
//! The child notes each choice at once, because it may die at any time, and the result of its execution at the end. The parent
//! shows the choices to its own copy of the strategy, which so learns what the child's copy learnt.

use std::ptr;

use crate::left_out::LeftOut;
use crate::op::ThreadId;
use crate::platform::processes;
use crate::schedule::Schedule;
use crate::strategy::{Point, Strategy};

const SHARED: usize = 64 << 20;

/// In place of the current thread: the point is an access that chose how far back it goes.
const READS_FROM: ThreadId = ThreadId::MAX;

/// The execution of a child, as far as the parent wants to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildResult {
    pub(crate) passed: bool,
    pub(crate) steps: u64,
    pub(crate) switches: u64,
    /// The length of its schedule.
    pub(crate) choices: usize,
    pub(crate) left_out: LeftOut,
    /// Since which event it went on fairly.
    pub(crate) fair_since: Option<u64>,
}

/// Shared memory in which a child leaves the points of its execution: for each, the current thread, the chosen one, how many
/// could go on, how many of them would rather than later, which could, and which would.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChoiceLog {
    memory: *mut u16,
    len: usize,
}

/// What a child says of its execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
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
    /// One more than the event since which the execution went on fairly, if it did.
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

    /// In the child: notes a point. Beyond the memory's end, points are forgotten; the parent notices.
    pub(crate) fn note(
        &mut self,
        current: ThreadId,
        chosen: ThreadId,
        runnable: &[ThreadId],
        eager: &[ThreadId],
    ) {
        let len = 4 + runnable.len() + eager.len();
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
            at.add(3).write(eager.len() as u16);
            ptr::copy_nonoverlapping(runnable.as_ptr(), at.add(4), runnable.len());
            ptr::copy_nonoverlapping(eager.as_ptr(), at.add(4 + runnable.len()), eager.len());
            self.len += len;
            // Said at once: a child may die at any time.
            (*self.memory.cast::<Header>()).points = self.len as u64;
        }
    }

    /// In the child: notes how far back an access went, of so many ways.
    pub(crate) fn note_reads_from(&mut self, choice: usize, ways: usize) {
        self.note(READS_FROM, choice as u16, &[ways as u16], &[]);
    }

    /// In the child: says how the execution went.
    pub(crate) fn say(&self, result: ChildResult) {
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

    /// In the parent: forgets what the last child said.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        // SAFETY: the mapping begins with the header.
        unsafe { self.memory.cast::<Header>().write(Header::default()) };
    }

    /// In the parent, when the child has ended: shows its points to the strategy. A child that died without a word failed.
    pub(crate) fn hear(&self, strategy: &mut dyn Strategy) -> Said {
        let header = self.header();
        if !strategy.is_indexed() {
            let (mut choice, mut reads) = (0, 0);
            for (current, _, runnable, eager) in self.points() {
                if current == READS_FROM {
                    strategy.choose_reads_from(runnable[0].into(), reads);
                    reads += 1;
                } else {
                    strategy.choose(&Point { current, runnable, eager, threads: &[], choice });
                    choice += 1;
                }
            }
        }
        strategy.end(header.choices as usize);
        Said {
            passed: header.finished == 1 && header.passed == 1,
            steps: header.steps,
            switches: header.switches,
            left_out: LeftOut::from_bits(header.left_out as u32),
        }
    }
}

impl ChoiceLog {
    /// In the parent: what the child chose.
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
            // SAFETY: within what the child noted; it is gone.
            unsafe {
                let point = self.memory.add(at);
                let (can, would) = (usize::from(point.add(2).read()), usize::from(point.add(3).read()));
                let runnable = std::slice::from_raw_parts(point.add(4), can);
                let eager = std::slice::from_raw_parts(point.add(4 + can), would);
                at += 4 + can + would;
                Some((point.read(), point.add(1).read(), runnable, eager))
            }
        })
    }
}
