//! The order of a history's events, with equal times decided by an explicit rule.

use crate::history::Operation;

/// What it means that one operation returns at the very time another is called.
///
/// Tools differ here, and verdicts with them: Porcupine takes them as concurrent, others as ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// The two overlap: intervals are closed, calls come before returns.
    #[default]
    Concurrent,
    /// The one that returns precedes the one that is called. Two operations that both begin and end at one and the
    /// same time overlap: neither can come first.
    Ordered,
}

/// One end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Call(usize),
    Return(usize),
}

/// An event in four bytes: the operation's index and, in the lowest bit, whether it is the return.
#[derive(Clone, Copy)]
struct Packed(u32);

impl Packed {
    const VACANT: Packed = Packed(u32::MAX);

    fn new(op: usize, is_return: bool) -> Packed {
        Packed((op as u32) << 1 | u32::from(is_return))
    }

    fn unpack(self) -> Event {
        let op = (self.0 >> 1) as usize;
        if self.0 & 1 == 1 { Event::Return(op) } else { Event::Call(op) }
    }
}

/// The events of some operations of a history, first to last.
///
/// Positions in it are *ranks*: all distinct, so that the algorithms never meet a tie.
pub(crate) struct Timeline {
    events: Vec<Packed>,
    /// For each crash in time order, how many events come before it.
    pub(crate) crashes: Vec<usize>,
}

/// The ranks of an operation's call and return; `u32::MAX` is the return of an operation that never returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) call: u32,
    pub(crate) ret: u32,
}

/// The return rank of an operation whose outcome is unknown.
pub(crate) const NEVER: u32 = u32::MAX;

/// Operations beyond this do not fit the packed events; a history this long needs the streaming checker.
const MOST_OPERATIONS: usize = (u32::MAX >> 1) as usize - 1;

impl Timeline {
    /// Orders the events of `operations`; indices in the timeline are positions in that slice.
    pub(crate) fn new<I, O>(operations: &[&Operation<I, O>], crashes: &[u64], ties: Ties) -> Timeline {
        assert!(
            operations.len() <= MOST_OPERATIONS,
            "a history of over two billion operations: stream it instead"
        );
        let events = by_distinct_times(operations).unwrap_or_else(|| by_sorting(operations, ties));
        let mut crashes = crashes.to_vec();
        crashes.sort_unstable();
        let time = |event: &Packed| match event.unpack() {
            Event::Call(op) => operations[op].call,
            Event::Return(op) => operations[op].returned_at().unwrap_or(u64::MAX),
        };
        // An event at the time of a crash comes before it: it was seen.
        let crashes =
            crashes.into_iter().map(|at| events.partition_point(|event| time(event) <= at)).collect();
        Timeline { events, crashes }
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn events(&self) -> impl DoubleEndedIterator<Item = Event> + ExactSizeIterator + '_ {
        self.events.iter().map(|event| event.unpack())
    }

    /// The events of the `chosen` ones of the `operations` operations, which get the numbers of their positions there.
    pub(crate) fn restricted_to(&self, chosen: &[usize], operations: usize) -> Timeline {
        let mut positions = vec![None; operations];
        chosen.iter().enumerate().for_each(|(position, &op)| positions[op] = Some(position));
        let events = self.events().filter_map(|event| match event {
            Event::Call(op) => positions[op].map(|position| Packed::new(position, false)),
            Event::Return(op) => positions[op].map(|position| Packed::new(position, true)),
        });
        Timeline { events: events.collect(), crashes: Vec::new() }
    }

    /// The rank of the return of each of the `operations` operations, or [`NEVER`].
    pub(crate) fn returns(&self, operations: usize) -> Vec<u32> {
        let mut returns = vec![NEVER; operations];
        for (rank, event) in self.events().enumerate() {
            if let Event::Return(op) = event {
                returns[op] = rank as u32;
            }
        }
        returns
    }

    /// The ranks of each of the `operations` operations.
    pub(crate) fn spans(&self, operations: usize) -> Vec<Span> {
        let mut spans = vec![Span { call: 0, ret: NEVER }; operations];
        for (rank, event) in self.events().enumerate() {
            match event {
                Event::Call(op) => spans[op].call = rank as u32,
                Event::Return(op) => spans[op].ret = rank as u32,
            }
        }
        spans
    }
}

impl Timeline {
    /// Like [`spans`](Timeline::spans), with ranks that count only how often a call follows a return: histories that agree
    /// in these agree in which operation is over before which is called.
    pub(crate) fn coarse_spans(&self, operations: usize) -> Vec<Span> {
        let mut spans = vec![Span { call: 0, ret: NEVER }; operations];
        let (mut rank, mut after_return) = (0, false);
        for event in self.events() {
            match event {
                Event::Call(op) => {
                    rank += u32::from(std::mem::take(&mut after_return));
                    spans[op].call = rank;
                }
                Event::Return(op) => {
                    after_return = true;
                    spans[op].ret = rank;
                }
            }
        }
        spans
    }
}

/// Places events by their times, when those are distinct and dense, as a recorder's are: no sorting, no tie.
fn by_distinct_times<I, O>(operations: &[&Operation<I, O>]) -> Option<Vec<Packed>> {
    let room = operations.len() * 4 + 64;
    let first = operations.iter().map(|op| op.call).min()?;
    let mut slots = Vec::new();
    for (index, op) in operations.iter().enumerate() {
        for (time, is_return) in [(Some(op.call), false), (op.returned_at(), true)] {
            let Some(time) = time else { continue };
            let at = usize::try_from(time - first).ok().filter(|&at| at < room)?;
            if at >= slots.len() {
                slots.resize(at + 1, Packed::VACANT);
            }
            if slots[at].0 != Packed::VACANT.0 {
                return None;
            }
            slots[at] = Packed::new(index, is_return);
        }
    }
    slots.retain(|event| event.0 != Packed::VACANT.0);
    Some(slots)
}

fn by_sorting<I, O>(operations: &[&Operation<I, O>], ties: Ties) -> Vec<Packed> {
    let mut keyed: Vec<(u64, u8, u32)> = Vec::with_capacity(operations.len() * 2);
    for (index, op) in operations.iter().enumerate() {
        let instant = op.returned_at() == Some(op.call);
        let (call_phase, return_phase) = match ties {
            Ties::Concurrent => (0, 1),
            // Returns of earlier calls, then whole instantaneous operations, then calls.
            Ties::Ordered if instant => (1, 2),
            Ties::Ordered => (3, 0),
        };
        keyed.push((op.call, call_phase, Packed::new(index, false).0));
        if let Some(at) = op.returned_at() {
            keyed.push((at, return_phase, Packed::new(index, true).0));
        }
    }
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, _, event)| Packed(event)).collect()
}
