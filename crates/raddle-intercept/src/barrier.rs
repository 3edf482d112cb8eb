//! The layout of a `std::sync::Barrier`. A barrier neither says how many threads it waits for nor lets others count
//! them, so the layout is found by inspecting one.

use std::sync::{Barrier, OnceLock};

use raddle_engine::interface::StdCall;

const WORDS: usize = size_of::<Barrier>() / size_of::<usize>();

/// Offsets, in words.
#[derive(Clone, Copy, Debug)]
struct Layout {
    threads: usize,
    /// A whole word that is zero in a new barrier and used by std only.
    zero: usize,
}

/// The call of `wait`, if the layout is known.
pub(crate) fn wait(barrier: *mut Barrier) -> Option<StdCall> {
    let layout = layout()?;
    let words = barrier.cast::<u64>();
    // SAFETY: the offsets were found by inspection, and are within the barrier.
    unsafe {
        let threads = words.add(layout.threads).read_volatile();
        Some(StdCall::Barrier { arrivals: words.add(layout.zero), threads })
    }
}

/// The layout, found before any exploration.
pub(crate) fn look() {
    layout();
}

fn layout() -> Option<Layout> {
    static LAYOUT: OnceLock<Option<Layout>> = OnceLock::new();
    *LAYOUT.get_or_init(find)
}

fn find() -> Option<Layout> {
    const THREADS: usize = 0x5eed_5eed;
    let words = |barrier: &Barrier| {
        let first = std::ptr::from_ref(barrier).cast::<usize>();
        // SAFETY: all words are within the barrier. Some bytes may be padding, whose value says nothing.
        std::array::from_fn::<usize, WORDS, _>(|word| unsafe { first.add(word).read_volatile() })
    };
    let threads = words(&Barrier::new(THREADS)).iter().position(|&word| word == THREADS)?;
    let zero = (0..WORDS).find(|&word| counts_generations(word) == Some(true))?;
    Some(Layout { threads, zero })
}

/// Whether a whole word is the number of the generation, which each `wait` of a barrier for one thread raises. The
/// condition variable counts, too, but in half a word, beside which there is padding. None if the word does not count.
fn counts_generations(word: usize) -> Option<bool> {
    let mut barrier = Barrier::new(1);
    // SAFETY: within the barrier, which nothing else uses.
    let counter = unsafe { (&raw mut barrier).cast::<usize>().add(word) };
    // SAFETY: as above, here and below.
    let before = unsafe { counter.read_volatile() } as u32;
    barrier.wait();
    // SAFETY: as above.
    let after = unsafe { counter.read_volatile() } as u32;
    if after != before.wrapping_add(1) {
        return None;
    }
    // SAFETY: as above; the next number is one that half a word does not hold.
    unsafe { counter.write_volatile(u32::MAX as usize) };
    barrier.wait();
    // SAFETY: as above.
    Some(unsafe { counter.read_volatile() } == 1 << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_say_how_many_threads_they_wait_for() {
        for expected in [1, 2, 77] {
            let mut barrier = Barrier::new(expected);
            let Some(StdCall::Barrier { threads, arrivals }) = wait(&raw mut barrier) else {
                panic!("the layout is known")
            };
            assert_eq!(threads, expected as u64);
            // SAFETY: a word of the barrier.
            assert_eq!(unsafe { *arrivals }, 0);
        }
    }
}
