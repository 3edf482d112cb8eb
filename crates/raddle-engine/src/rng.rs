//! The engine's random numbers: SplitMix64, because it is small, good enough, and every seed is as good as any other.

/// A seeded stream of random numbers.
#[derive(Clone, Debug, Default)]
pub struct Rng(u64);

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The stream that belongs to one execution of a seeded search: equal whatever ran before it.
    pub fn of_execution(seed: u64, execution: u64) -> Rng {
        let mut mix = Rng(seed ^ execution.wrapping_mul(0xd134_2543_de82_ef95));
        Rng(mix.next() ^ execution)
    }

    /// The next number.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "an endless stream, not an iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound` (by multiplication: the bias is below 2^-32 for the bounds used here).
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}
