//! Detection of spinning threads in executions that are interleavings.
//!
//! A thread *spins* if it makes nothing but reads and repeats the same reads of the same values. It is then not scheduled until
//! one of the locations that it reads changes. This concerns scheduling only: when no other thread can run, spinning threads run
//! on, because their loops may be bounded by something that the engine does not see.
//!
//! A *livelock* is proven, not guessed: only spinning threads are left, and after an iteration of each of them, memory is unchanged
//! and each thread is in the same machine state (the registers and the stack of its loop). Then nothing will ever change. A long
//! loop that ends differs in its counter.

/// The address that stands for the clock.
pub const CLOCK: usize = 0;

/// The address that stands for yields: a thread that does nothing but yield waits too.
pub const YIELD: usize = 1;

/// The number of consecutive reads without a write after which the thread is checked for a loop.
const PATIENCE: u32 = 24;

/// The greatest number of reads in an iteration of a recognised loop.
const LONGEST: usize = 8;

/// The number of reads that are remembered: three iterations of the longest loop must fit.
const RING: usize = 32;

/// The number of iterations that are compared with the one before. After that, a loop is taken for one that cannot be proven.
const MAX_COMPARED: u8 = 3;

/// The reads of a thread since its last write.
#[derive(Clone, Debug, Default)]
pub struct SpinWatch {
    /// The number of reads.
    reads: u32,
    /// The latest reads; read `i` is at index `i % RING`.
    ring: [Read; RING],
    /// The number of reads in an iteration. The latest iteration ends with the latest read.
    period: usize,
    /// The read at which the loop was recognised. Iterations are compared at this read.
    anchor: Option<Read>,
    /// The machine state at the anchor, one iteration ago.
    state: Option<u64>,
    /// Whether the last iteration ended in the machine state in which it began.
    pub(crate) stuck: bool,
    /// The number of iterations that were compared.
    compared: u8,
    /// Whether the iteration has writes, all of which wrote the value that was there.
    wrote: bool,
}

/// A read: its code address, its location and its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The return address of the call that read.
    pub pc: usize,
    /// The address read.
    pub address: usize,
    /// The value read (the low half of 128 bits).
    pub value: u64,
}

impl SpinWatch {
    /// Forgets all reads: the thread wrote, or did something else than wait.
    #[inline]
    pub fn reset(&mut self) {
        self.reads = 0;
        self.anchor = None;
        self.state = None;
        self.stuck = false;
        self.compared = 0;
        self.wrote = false;
    }

    /// Becomes a copy of another, without the reads that count no more.
    pub(crate) fn copy_from(&mut self, other: &SpinWatch) {
        let SpinWatch { reads, ring, period, anchor, state, stuck, compared, wrote } = other;
        let kept = (*reads as usize).min(RING);
        self.ring[..kept].copy_from_slice(&ring[..kept]);
        (self.reads, self.period, self.anchor) = (*reads, *period, *anchor);
        (self.state, self.stuck, self.compared, self.wrote) = (*state, *stuck, *compared, *wrote);
    }

    /// Records a write of the value that was there.
    #[inline]
    pub(crate) fn wrote_the_same(&mut self) {
        self.wrote = true;
    }

    /// Whether further iterations are proven to be like the last one, so that nothing is lost without them.
    pub(crate) fn is_proven(&self) -> bool {
        self.stuck && !self.wrote
    }

    /// Whether another iteration may prove that.
    pub(crate) fn may_be_proven(&self) -> bool {
        self.compared < MAX_COMPARED && !self.wrote
    }

    /// Records a read. True if the thread spins.
    #[inline(always)]
    pub fn read(&mut self, Read { pc, address, value }: Read) -> bool {
        // Field by field: a copy of the whole waits for the parts, which were stored just before.
        let latest = &mut self.ring[self.reads as usize % RING];
        latest.pc = pc;
        latest.address = address;
        latest.value = value;
        self.reads += 1;
        // A check at each read would cost more than the read. The same read of a loop is checked often enough.
        self.reads >= PATIENCE && self.reads.is_multiple_of(LONGEST as u32) && self.repeats()
    }

    /// The reads of the loop.
    pub fn watched(&self) -> impl Iterator<Item = Read> {
        let end = self.reads as usize;
        (end - self.period..end).map(|index| self.ring[index % RING])
    }

    /// Begins another iteration of a spinning thread that runs on because no other thread can run.
    pub(crate) fn next_iteration(&mut self) {
        self.reads = 0;
    }

    /// Records the machine state at the end of an iteration. A loop that reads the clock is not stuck, because time passes.
    pub(crate) fn iteration_ended(&mut self, state: Option<u64>) {
        self.stuck =
            state.is_some() && self.state == state && self.watched().all(|read| read.address != CLOCK);
        self.state = state;
        self.compared = self.compared.saturating_add(1);
    }

    #[cold]
    fn repeats(&mut self) -> bool {
        let latest = self.ring[(self.reads as usize - 1) % RING];
        // The value at the anchor may differ between iterations: the clock moves.
        if self.anchor.is_some_and(|anchor| (anchor.pc, anchor.address) != (latest.pc, latest.address)) {
            return false;
        }
        let end = self.reads as usize;
        let at = |index: usize| self.ring[index % RING];
        let Some(period) =
            (1..=LONGEST).find(|&period| (1..=2 * period).all(|i| at(end - i) == at(end - i - period)))
        else {
            return false;
        };
        self.period = period;
        self.anchor = Some(latest);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pc: usize, value: u64) -> Read {
        Read { pc, address: 64, value }
    }

    #[test]
    fn a_loop_of_three_reads_is_recognised_and_anchored() {
        let mut watch = SpinWatch::default();
        let mut spun = (0..200).filter(|i| watch.read(read(i % 3, 7)));
        let first = spun.next().unwrap();
        assert_eq!(spun.next(), Some(first + 24), "the next check at the same read of the loop");
    }

    #[test]
    fn values_that_differ_are_no_loop() {
        let mut watch = SpinWatch::default();
        assert!((0..1000).all(|i| !watch.read(read(1, i))));
    }

    #[test]
    fn a_write_starts_over() {
        let mut watch = SpinWatch::default();
        for _ in 0..100 {
            for _ in 0..PATIENCE - 1 {
                assert!(!watch.read(read(1, 1)));
            }
            watch.reset();
        }
    }
}
