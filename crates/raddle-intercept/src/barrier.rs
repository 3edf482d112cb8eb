//! Where the parts of a `std::sync::Barrier` are. It says neither how many threads it waits for nor lets others count them, so
//! its layout is found by looking at one.

use std::mem::MaybeUninit;
use std::sync::{Barrier, OnceLock};

use raddle_engine::hooks::StdCall;

const WORDS: usize = size_of::<Barrier>() / size_of::<usize>();

/// Offsets, in words.
#[derive(Clone, Copy, Debug)]
struct Layout {
    threads: usize,
    /// A word that is zero in a new barrier, and that nobody but std uses.
    zero: usize,
}

/// The call of `wait`, if the layout is known.
pub(crate) fn wait(barrier: *mut Barrier) -> Option<StdCall> {
    let layout = layout()?;
    let words = barrier.cast::<u64>();
    // SAFETY: the offsets were found by looking, and are within the barrier.
    unsafe {
        let threads = words.add(layout.threads).read_volatile();
        Some(StdCall::Barrier { arrivals: words.add(layout.zero), threads })
    }
}

/// The layout, looked at before any exploration.
pub(crate) fn look() {
    layout();
}

fn layout() -> Option<Layout> {
    static LAYOUT: OnceLock<Option<Layout>> = OnceLock::new();
    *LAYOUT.get_or_init(find)
}

fn find() -> Option<Layout> {
    const THREADS: usize = 0x5eed_5eed;
    // What is padding keeps the one or the other.
    let [one, other] = [0x00, 0xff].map(|padding| {
        let mut barrier = MaybeUninit::<Barrier>::uninit();
        // SAFETY: all words are within the barrier, and all bytes have been written.
        unsafe {
            std::ptr::write_bytes(barrier.as_mut_ptr().cast::<u8>(), padding, size_of::<Barrier>());
            barrier.write(Barrier::new(THREADS));
            let words = barrier.as_ptr().cast::<usize>();
            let read = std::array::from_fn::<usize, WORDS, _>(|word| words.add(word).read_volatile());
            barrier.assume_init_drop();
            read
        }
    });
    let threads = one.iter().position(|&word| word == THREADS)?;
    let zero = (0..WORDS).find(|&word| one[word] == 0 && other[word] == 0)?;
    Some(Layout { threads, zero })
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
