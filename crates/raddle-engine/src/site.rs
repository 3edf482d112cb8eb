//! Classification of code addresses, once per address, from debug information.
//!
//! Most atomic accesses of a Rust program are not the user's: the bookkeeping of `std::thread` and the reference counts
//! of `Arc` are inlined into user code and instrumented with it. A [`Site`] tells them apart; an [`Entry`] of the table
//! is one load on the path of an event.

use std::sync::{Mutex, PoisonError};

use crate::platform::global::GLOBAL;
use crate::platform::{elf, processes};

/// The class of an access, by its code address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Site {
    /// Not classified yet.
    Unknown = 0,
    /// An event like any other.
    User = 1,
    /// In a function that only passes the access on (`AtomicUsize::load` in a debug build): its caller determines the
    /// class.
    Plumbing = 2,
    /// Bookkeeping of `std::thread`: spawn, join, scopes. Ordered by the spawn and join events themselves.
    ThreadBookkeeping = 3,
    /// The increment of a reference count, which commutes with everything that can happen while the incrementer holds
    /// its own reference.
    RefCountUp = 4,
    /// The decrement of a reference count. The last one drops the value.
    RefCountDown = 5,
    /// Part of a load/compare-exchange loop into which the compiler expanded one read-modify-write.
    ExpandedRmw = 6,
    /// The compare-exchange that locks a `std::sync::Mutex`: repeated until it succeeds, so a thread that would fail waits.
    MutexLock = 7,
    /// Another access of the standard library's own synchronisation: an event like any other, but trusted to be right.
    Std = 8,
    /// Bookkeeping of `std::thread`, too: a scope checks whether its threads have ended.
    ScopeEnd = 9,
    /// The decrement of a weak reference count. The last one frees the memory.
    WeakCountDown = 10,
    /// Part of locking a `std::sync::RwLock` by a thread that waits until it can.
    RwLockWait = 11,
    /// Part of an attempt to lock a `std::sync::RwLock`.
    RwLockTry = 12,
    /// In code that the user marked as counting references: the class depends on the operation.
    MarkedCount = 13,
    /// The load of `JoinHandle::is_finished`.
    IsFinished = 14,
    /// An event like any other, in code that the compiler merged from several sources: `is_finished` may be one of
    /// them.
    Merged = 15,
}

impl Site {
    /// Whether the access changes or reads a reference count.
    #[inline(always)]
    pub(crate) fn counts_references(self) -> bool {
        matches!(self, Site::RefCountUp | Site::RefCountDown | Site::WeakCountDown)
    }

    /// Whether the access is no scheduling point.
    #[inline(always)]
    pub fn is_trusted(self) -> bool {
        matches!(self, Site::ThreadBookkeeping | Site::ScopeEnd | Site::RefCountUp)
    }
}

/// The strength of a compare-exchange at some code address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Exchange {
    /// It fails only if the location does not hold the expected value.
    #[default]
    Strong = 0,
    /// It may fail although the location holds the expected value.
    Weak = 1,
    /// It may fail spuriously, and the standard library then tries again.
    Repeated = 2,
}

impl Exchange {
    /// The bits of a table entry for an exchange that is weak and not repeated.
    pub(crate) const WEAK: u8 = (Exchange::Weak as u8) << 4;
}

/// The classification of a code address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The class of an access.
    pub site: Site,
    /// The strength of a compare-exchange.
    pub exchange: Exchange,
}

impl From<Site> for Code {
    fn from(site: Site) -> Code {
        Code { site, exchange: Exchange::Strong }
    }
}

impl Code {
    const SITE: u8 = 0xf;

    /// The classification as a byte of the table.
    fn bits(self) -> u8 {
        self.site as u8 | (self.exchange as u8) << 4
    }
}

/// The classifier of return addresses: slow, called once per address. It is made when memory is already the engine's,
/// so that its caches are not rolled back.
pub type Classify = Box<dyn FnMut(usize) -> Code>;

/// The table's byte for a return address. The table has one byte per byte of the program's code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry(*mut u8);

impl Entry {
    /// The entry of a return address. None for code outside of the program.
    #[inline(always)]
    pub(crate) fn of(pc: usize) -> Option<Entry> {
        let offset = pc.wrapping_sub(GLOBAL.text_start.get());
        // SAFETY: the table has one byte per byte of code.
        (offset < GLOBAL.text_len.get()).then(|| Entry(unsafe { GLOBAL.sites.get().add(offset) }))
    }

    /// The site, and the kind of exchange in the bits of [`Exchange::WEAK`]. [`Site::Unknown`] before [`Entry::set`].
    #[inline(always)]
    pub(crate) fn get(self) -> (Site, u8) {
        // SAFETY: within the table, which holds nothing but what `Code::bits` makes.
        unsafe {
            let bits = self.0.read();
            (std::mem::transmute::<u8, Site>(bits & Code::SITE), bits & !Code::SITE)
        }
    }

    pub(crate) fn set(self, code: Code) {
        // SAFETY: within the table.
        unsafe { self.0.write(code.bits()) };
    }
}

/// Maps the tables, before the first exploration of the process. They are shared, so that forked processes classify
/// each address once.
pub(crate) fn map_tables() {
    if !GLOBAL.sites.get().is_null() {
        return;
    }
    let code = elf::code_of_program();
    let table = || processes::map_shared(code.len().max(1)).cast();
    GLOBAL.sites.set(table());
    GLOBAL.looks.set(table());
    GLOBAL.text_start.set(code.start);
    GLOBAL.text_len.set(code.len());
}

/// Clears the table of sites if another set of functions was marked as counting references when it was filled.
pub(crate) fn forget_sites_unless(counts: &[String]) {
    static KNOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if *known != counts {
        known.clear();
        known.extend_from_slice(counts);
        // SAFETY: the table has one byte per byte of code, and 0 says that nothing is known.
        unsafe { GLOBAL.sites.get().write_bytes(0, GLOBAL.text_len.get()) };
    }
}

/// Counts of checked plain accesses, by the return address of their instrumentation callback: one byte per byte of
/// code. 0 if nobody has looked at the code; otherwise 1 and more, with [`PlainAccessCounter::LONG_VECTORS`] if its function uses long vectors.
///
/// Accesses of `std::thread` to its own data are ordered by the spawn and join events, and are most of those of small
/// programs. Classifying an address takes longer than checking a few accesses, so it is done only after many.
#[derive(Clone, Copy, Debug)]
pub struct PlainAccessCounter;

impl PlainAccessCounter {
    /// The accesses are bookkeeping, and need no check.
    pub const NO_CONCERN: u8 = u8::MAX;
    /// The function around the access uses vector registers other than the lower halves of the first 16.
    pub const LONG_VECTORS: u8 = 1 << 7;
    /// Number of checks that cost less than a classification.
    const ENOUGH: u8 = 100;

    /// Whether plain accesses whose callback returns to `pc` need no check.
    #[inline(always)]
    pub fn is_no_concern(pc: usize) -> bool {
        let offset = pc.wrapping_sub(GLOBAL.text_start.get());
        // SAFETY: the table has one byte per byte of code.
        offset < GLOBAL.text_len.get()
            && unsafe { *GLOBAL.looks.get().add(offset) } == PlainAccessCounter::NO_CONCERN
    }

    /// Counts a check of a plain access whose callback returns to `pc`. True if it is time to classify the code: after many checks, or
    /// `at_once`.
    #[inline(always)]
    pub(crate) fn count(pc: usize, at_once: bool) -> bool {
        let offset = pc.wrapping_sub(GLOBAL.text_start.get());
        if offset >= GLOBAL.text_len.get() {
            return false;
        }
        // SAFETY: the table has one byte per byte of code.
        let looks = unsafe { &mut *GLOBAL.looks.get().add(offset) };
        let long = *looks & PlainAccessCounter::LONG_VECTORS;
        let count = *looks - long;
        let counts = count < PlainAccessCounter::ENOUGH;
        let count = if at_once { PlainAccessCounter::ENOUGH } else { count + 1 };
        if counts {
            *looks = count | long;
        }
        counts && count == PlainAccessCounter::ENOUGH
    }

    /// Whether nobody has asked yet which vector registers the code before `pc` uses.
    #[inline(always)]
    pub(crate) fn is_new(pc: usize) -> bool {
        let offset = pc.wrapping_sub(GLOBAL.text_start.get());
        // SAFETY: the table has one byte per byte of code.
        offset < GLOBAL.text_len.get() && unsafe { *GLOBAL.looks.get().add(offset) } == 0
    }

    /// Notes whether the function around a call that returns to `pc` uses long vectors, if that was not done before.
    pub(crate) fn set_long_vectors(pc: usize, uses: bool) {
        if PlainAccessCounter::is_new(pc) {
            let looks = if uses { 1 | PlainAccessCounter::LONG_VECTORS } else { 1 };
            // SAFETY: as above.
            unsafe { *GLOBAL.looks.get().add(pc - GLOBAL.text_start.get()) = looks };
        }
    }

    /// Marks plain accesses whose callback returns to `pc` as bookkeeping.
    pub(crate) fn set_no_concern(pc: usize) {
        // SAFETY: as above; the address was counted before, so it lies within the table.
        unsafe { *GLOBAL.looks.get().add(pc - GLOBAL.text_start.get()) = PlainAccessCounter::NO_CONCERN };
    }
}
