//! The site of calling code: looked up in a table, and in debug information the first time.

use super::engine;
use crate::platform::global::GLOBAL;
use crate::site::{Code, Entry, Exchange, Site};

/// The site of an access, from the return address `pc` of its instrumentation callback and the frame at `fp`.
///
/// # Safety
/// `fp` must be the frame pointer of the calling function, compiled with frame pointers.
#[inline(always)]
pub(crate) unsafe fn of(pc: usize, fp: usize) -> Site {
    // SAFETY: the caller's promise.
    unsafe { called(pc, fp) }.site
}

/// The code that makes an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    pub(crate) site: Site,
    /// The offset of its return address in the program's code.
    pub(crate) offset: u32,
    /// The union of the exchange kinds of the functions around it.
    exchanges: u8,
}

impl Called {
    /// Whether a compare-exchange there is weak: it may fail although the location holds the expected value.
    #[inline(always)]
    pub(crate) fn is_weak(self) -> bool {
        self.exchanges == Exchange::WEAK
    }
}

/// [`of`], with more about the code.
///
/// # Safety
/// As for [`of`].
#[inline(always)]
pub(crate) unsafe fn called(mut pc: usize, mut fp: usize) -> Called {
    let mut exchanges = 0;
    // A chain of plumbing is three or four functions long; the bound only guards against broken frames.
    for _ in 0..16 {
        let Some(entry) = Entry::of(pc) else { break };
        let (mut site, mut exchange) = entry.get();
        if site == Site::Unknown {
            entry.set(look_up(pc));
            (site, exchange) = entry.get();
        }
        exchanges |= exchange;
        if site != Site::Plumbing {
            return Called { site, offset: offset(pc), exchanges };
        }
        // SAFETY: the caller's promise: the frame holds the caller's frame pointer and the return address.
        unsafe {
            pc = *((fp + 8) as *const usize);
            fp = *(fp as *const usize);
        }
    }
    Called { site: Site::User, offset: offset(pc), exchanges }
}

#[inline(always)]
fn offset(pc: usize) -> u32 {
    pc.wrapping_sub(GLOBAL.text_start.get()) as u32
}

#[cold]
#[inline(never)]
fn look_up(pc: usize) -> Code {
    GLOBAL.in_engine.set(true);
    // SAFETY: only virtual threads come here, while the engine runs; the reference ends with the call.
    let code = unsafe { (*engine()).classify(pc) };
    GLOBAL.in_engine.set(false);
    code
}
