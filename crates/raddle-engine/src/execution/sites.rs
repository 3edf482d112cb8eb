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
    unsafe { code_of(pc, fp) }.0
}

/// [`of`], and whether a compare-exchange there is weak: it may fail although the location holds the expected value.
///
/// # Safety
/// As for [`of`].
#[inline(always)]
pub(crate) unsafe fn of_exchange(pc: usize, fp: usize) -> (Site, bool) {
    // SAFETY: the caller's promise.
    let (site, exchanges) = unsafe { code_of(pc, fp) };
    (site, exchanges == Exchange::WEAK)
}

/// The site, and the union of the exchange kinds of the functions around it.
#[inline(always)]
unsafe fn code_of(mut pc: usize, mut fp: usize) -> (Site, u8) {
    let mut exchanges = 0;
    // A chain of plumbing is three or four functions long; the bound only guards against broken frames.
    for _ in 0..16 {
        let Some(entry) = Entry::of(pc) else { return (Site::User, exchanges) };
        let (mut site, mut exchange) = entry.get();
        if site == Site::Unknown {
            entry.set(look_up(pc));
            (site, exchange) = entry.get();
        }
        exchanges |= exchange;
        if site != Site::Plumbing {
            return (site, exchanges);
        }
        // SAFETY: the caller's promise: the frame holds the caller's frame pointer and the return address.
        unsafe {
            pc = *((fp + 8) as *const usize);
            fp = *(fp as *const usize);
        }
    }
    (Site::User, exchanges)
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
