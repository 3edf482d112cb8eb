//! Loops that wait.
//!
//! A thread that reads, has no effect, and comes back to the same read in the same state *goes round*: it waits for one of the
//! values it read to change. What it read meanwhile is of no consequence, so it is taken back, and the thread goes on when there
//! is something new to read. The search stays finite, and an execution is counted once no matter how often a thread looked.
//!
//! Loops that give way to other threads (`yield_now`) are taken to wait, too, though they may count their rounds.

/// What a thread has read since it last had an effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    reads: Vec<Read>,
    /// How often it has given way.
    yields: u32,
    /// Nobody else can go on: what it reads stays.
    pub(crate) last: bool,
    /// It will never go on.
    pub(crate) stuck: bool,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    pc: usize,
    address: usize,
    /// The number of the event within its thread.
    po: u32,
    yields: u32,
    /// The state of the machine and of memory before it, if that was looked at.
    state: Option<u64>,
}

/// What is known of a thread that is about to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// It does not go round, as far as one can see.
    None,
    /// It goes round since the event with this number.
    Since(u32),
    /// It came by here before; whether its state is the same should be known from the first time on.
    Perhaps,
}

impl Rounds {
    /// The thread begins.
    pub(crate) fn begin(&mut self) {
        self.reads.clear();
        self.yields = 0;
        self.last = false;
        self.stuck = false;
    }

    /// The thread had an effect, or waited.
    #[inline]
    pub(crate) fn reset(&mut self) {
        if !self.reads.is_empty() {
            self.reads.clear();
        }
        self.yields = 0;
    }

    /// The thread has given way.
    pub(crate) fn yielded(&mut self) {
        self.yields += 1;
    }

    /// Whether the thread, which is about to read, goes round. `state` looks at the machine.
    pub(crate) fn look(&mut self, pc: usize, address: usize, state: impl FnOnce() -> Option<u64>) -> Round {
        let (yields, last) = (self.yields, self.last);
        let Some(read) = self.reads.iter_mut().find(|read| (read.pc, read.address) == (pc, address)) else {
            return Round::None;
        };
        if read.yields != yields && !last {
            return Round::Since(read.po);
        }
        let state = state();
        match read.state {
            Some(before) if state == Some(before) => Round::Since(read.po),
            Some(_) => {
                // Counts its rounds.
                read.state = state;
                Round::None
            }
            None => {
                read.state = state;
                Round::Perhaps
            }
        }
    }

    /// The thread has read without effect.
    pub(crate) fn has_read(
        &mut self,
        pc: usize,
        address: usize,
        po: u32,
        state: impl FnOnce() -> Option<u64>,
    ) {
        if !self.reads.iter().any(|read| (read.pc, read.address) == (pc, address)) {
            self.reads.push(Read { pc, address, po, yields: self.yields, state: state() });
        }
    }
}
