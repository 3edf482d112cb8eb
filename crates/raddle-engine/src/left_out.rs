//! Possible behaviour that a search leaves out.
//!
//! A search that ends has tried everything within its means. It is *complete* only if no execution could have shown
//! behaviour that is listed here.

/// A kind of behaviour that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// Timeouts that expire while other threads could go on.
    Timeouts,
    /// Other results of `JoinHandle::is_finished`.
    IsFinished,
    /// Spurious wake-ups of `park` and `Condvar::wait`.
    SpuriousWakeUps,
    /// Spurious failures of `compare_exchange_weak`.
    SpuriousFailures,
    /// Other random bytes.
    RandomBytes,
    /// Other times of the clock.
    Time,
    /// Longer executions, or endless ones.
    LongExecutions,
    /// Further iterations of loops that yield, which may count them.
    YieldingLoops,
    /// Other orders in which threads get their identifiers.
    ThreadIds,
    /// Wake-ups of other threads than the one that has waited longest.
    WakeOrders,
}

/// All reasons, in the order of reports.
pub const REASONS: [Reason; 10] = [
    Reason::LongExecutions,
    Reason::Timeouts,
    Reason::IsFinished,
    Reason::SpuriousWakeUps,
    Reason::SpuriousFailures,
    Reason::RandomBytes,
    Reason::Time,
    Reason::YieldingLoops,
    Reason::ThreadIds,
    Reason::WakeOrders,
];

impl Reason {
    /// The behaviour that was left out, as the subject of a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Reason::Timeouts => "timeouts that end while other threads could go on",
            Reason::IsFinished => "other answers of `is_finished`",
            Reason::SpuriousWakeUps => "spurious wake-ups of `park` and `Condvar::wait`",
            Reason::SpuriousFailures => "spurious failures of `compare_exchange_weak`",
            Reason::RandomBytes => "other random bytes, which hash maps use too",
            Reason::Time => "other times that the clock may show",
            Reason::LongExecutions => "executions that make more events",
            Reason::YieldingLoops => "more rounds of loops that yield",
            Reason::ThreadIds => "other orders of thread ids",
            Reason::WakeOrders => "wake-ups of other threads than the one that has waited longest",
        }
    }
}

/// A set of reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut(u32);

impl LeftOut {
    /// Adds a reason.
    #[inline]
    pub fn add(&mut self, reason: Reason) {
        self.0 |= 1 << reason as u8;
    }

    /// Adds the reasons of another set.
    pub fn join(&mut self, other: LeftOut) {
        self.0 |= other.0;
    }

    /// Whether nothing is left out.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether another strategy may try some of the behaviour.
    pub fn is_for_others(self) -> bool {
        use Reason::{IsFinished, LongExecutions, ThreadIds, Timeouts, YieldingLoops};
        self.iter().any(|reason| {
            matches!(reason, IsFinished | LongExecutions | ThreadIds | Timeouts | YieldingLoops)
        })
    }

    /// The reasons.
    pub fn iter(self) -> impl Iterator<Item = Reason> {
        REASONS.into_iter().filter(move |&reason| self.0 & 1 << reason as u8 != 0)
    }

    /// The set as a number, for other processes.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> LeftOut {
        LeftOut(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_listed_once() {
        let mut all = LeftOut::default();
        REASONS.into_iter().for_each(|reason| all.add(reason));
        assert_eq!(all.bits().count_ones() as usize, REASONS.len());
        assert_eq!(LeftOut::from_bits(all.bits()).iter().count(), REASONS.len());
    }
}
