//! Loops that wait.
//!
//! A thread that reads, has no effect, and comes back to the same read in the same state as the last time *goes round*. The last
//! value that it read on the way was in vain: whenever the thread comes there with the same past, it waits until it can read
//! something else, as if it locked a mutex. So the search stays finite, and an execution is counted once no matter how often a
//! thread looked.
//!
//! Loops that give way to other threads (`yield_now`) are taken to wait, too, though they may count their rounds.

/// What a thread has read since it last had an effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    reads: Vec<Read>,
    /// How often it has given way.
    yields: u32,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    pc: usize,
    address: usize,
    /// The number of the event within its thread since which this read sees the same value.
    po: u32,
    /// The number of the event when the thread came here last.
    last: u32,
    value: u64,
    /// How often the thread had given way at that event.
    yields: u32,
    /// The state of the machine and of memory when it came here last, if that was looked at.
    state: Option<u64>,
}

/// What is known of a thread that is about to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// It does not go round, as far as one can see.
    None,
    /// It came by here before, at the event with this number; whether its state is the same has to be known from then on.
    Perhaps { po: u32 },
    /// It goes round since the event `last`, because its state is the same or, if that is not `proven`, because it gave way
    /// meanwhile. Since the event `po` it sees the same value here.
    Since { po: u32, last: u32, proven: bool },
}

impl Rounds {
    /// The thread begins, had an effect, or waited.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.reads.clear();
        self.yields = 0;
    }

    /// The thread has given way.
    pub(crate) fn yielded(&mut self) {
        self.yields += 1;
    }

    /// Whether the thread, which is about to read, goes round. `state` looks at the machine.
    pub(crate) fn look(&mut self, pc: usize, address: usize, state: impl FnOnce() -> u64) -> Round {
        let Some(read) = self.reads.iter_mut().find(|read| (read.pc, read.address) == (pc, address)) else {
            return Round::None;
        };
        if read.yields != self.yields {
            return Round::Since { po: read.po, last: read.last, proven: false };
        }
        match read.state {
            None => Round::Perhaps { po: read.po },
            Some(before) if state() == before => Round::Since { po: read.po, last: read.last, proven: true },
            // It counts its rounds.
            _ => Round::None,
        }
    }

    /// The thread has read without effect.
    pub(crate) fn has_read(
        &mut self,
        pc: usize,
        address: usize,
        value: u64,
        po: u32,
        state: impl FnOnce() -> Option<u64>,
    ) {
        let new = Read { pc, address, po, last: po, value, yields: self.yields, state: state() };
        match self.reads.iter_mut().find(|read| (read.pc, read.address) == (pc, address)) {
            Some(read) if read.value == value => (read.state, read.last) = (new.state, po),
            Some(read) => *read = new,
            None => self.reads.push(new),
        }
    }
}
