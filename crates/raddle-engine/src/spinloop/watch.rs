//! Threads that wait in loops.
//!
//! A thread *spins* if it makes nothing but reads and comes round to the same reads of the same values. It is then left
//! out of the schedule until one of those places changes. That is a matter of scheduling only: when nobody else can run,
//! spinners run on, because a loop may be bounded by something that the engine does not see.
//!
//! A *livelock* is proven, not guessed: only spinners are left, and after a round of all of them the memory of the execution
//! is what it was and each has come back to the very same machine state (the registers and the stack of its loop). Nothing
//! will ever change then. A long honest loop differs in its counter and is never taken for one.

/// The address that stands for the clock.
pub const CLOCK: usize = 0;

/// The address that stands for giving way: a thread that does nothing else waits, too.
pub const GIVING_WAY: usize = 1;

/// How many reads in a row, without a write of the same thread, make it worth looking for a loop.
const PATIENCE: u32 = 24;

/// Longest loop, in reads, that is recognised.
const LONGEST: usize = 8;

const RING: usize = 32;

/// What one thread has read since it last wrote.
#[derive(Clone, Debug, Default)]
pub struct SpinWatch {
    reads: u32,
    ring: [Read; RING],
    /// The loop: a run of reads that repeats, ending in the latest.
    period: usize,
    /// The read at which the loop was recognised first; later rounds are compared at the same one.
    anchor: Option<Read>,
    /// The machine state at the anchor, one round ago.
    state: Option<u64>,
    /// Whether the last round ended in the state it began in.
    pub(crate) stuck: bool,
    /// How often the state was compared.
    compared: u8,
    /// Whether the round has writes that changed nothing.
    wrote: bool,
}

/// So many rounds are compared until one ends in the state in which it began.
const ENOUGH_ROUNDS: u8 = 3;

/// One read: where in the code, of which place, seeing what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The return address of the call that read.
    pub pc: usize,
    /// The place.
    pub address: usize,
    /// The value seen (its low half, for 128 bits).
    pub value: u64,
}

impl SpinWatch {
    /// The thread wrote, or did something else that is not waiting.
    #[inline]
    pub fn reset(&mut self) {
        self.reads = 0;
        self.anchor = None;
        self.state = None;
        self.stuck = false;
        self.compared = 0;
        self.wrote = false;
    }

    /// The thread wrote what was there already.
    #[inline]
    pub(crate) fn wrote_the_same(&mut self) {
        self.wrote = true;
    }

    /// Whether each round is like the one before, so that nothing is lost if it is not made.
    pub(crate) fn is_proven(&self) -> bool {
        self.stuck && !self.wrote
    }

    /// Whether a further round may show that.
    pub(crate) fn may_be_proven(&self) -> bool {
        self.compared < ENOUGH_ROUNDS && !self.wrote
    }

    /// The thread has read. True if it now spins.
    #[inline]
    pub fn read(&mut self, read: Read) -> bool {
        self.ring[self.reads as usize % RING] = read;
        self.reads += 1;
        // Looking at every read would cost more than reading; the same phase of a loop comes round often enough.
        self.reads >= PATIENCE && self.reads.is_multiple_of(LONGEST as u32) && self.repeats(read)
    }

    /// The places whose values the loop depends on.
    pub fn watched(&self) -> impl Iterator<Item = Read> {
        let end = self.reads as usize;
        (end - self.period..end).map(|index| self.ring[index % RING])
    }

    /// Begins another round of a loop that was let go on because nobody else could run.
    pub(crate) fn next_round(&mut self) {
        self.reads = 0;
    }

    /// Notes the machine state in which the loop came round. One that asks for the time is not stuck: time passes.
    pub(crate) fn round_ended(&mut self, state: Option<u64>) {
        self.stuck =
            state.is_some() && self.state == state && self.watched().all(|read| read.address != CLOCK);
        self.state = state;
        self.compared = self.compared.saturating_add(1);
    }

    #[cold]
    fn repeats(&mut self, latest: Read) -> bool {
        // Values may differ from round to round: the clock moves.
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
        assert_eq!(spun.next(), Some(first + 24), "the next look at the same phase");
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
