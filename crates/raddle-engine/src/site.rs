//! What the code at an address is, decided once per address from debug information.
//!
//! Most atomic accesses of a Rust program are not the user's: `std::thread`'s bookkeeping and `Arc`'s counting are inlined
//! into user code and instrumented with it. [`Site`] tells them apart; an [`Entry`] of the table is one load on the path of an event.

use std::sync::{Mutex, PoisonError};

use crate::platform::global::GLOBAL;
use crate::platform::{elf, processes};

/// What an access at some code address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Site {
    /// Not looked at yet.
    Unknown = 0,
    /// An event like any other.
    User = 1,
    /// The address lies in a function that only passes the access on (`AtomicUsize::load` in a debug build): its caller
    /// tells what the access is.
    Plumbing = 2,
    /// Bookkeeping of `std::thread`: spawn, join, scopes. Ordered by the spawn and join events themselves.
    ThreadBookkeeping = 3,
    /// The increment of a reference count, which commutes with everything that can happen while the incrementer holds
    /// its own reference.
    RefCountUp = 4,
    /// The decrement of a reference count: with the last reference goes the value.
    RefCountDown = 5,
    /// Part of a load/compare-exchange loop into which the compiler expanded one read-modify-write.
    ExpandedRmw = 6,
    /// The compare-exchange that locks a `std::sync::Mutex`: repeated until it succeeds, so a thread that would fail waits.
    MutexLock = 7,
    /// Another access of the standard library's own synchronisation: an event like any other, but trusted to be right.
    Std = 8,
    /// Bookkeeping of `std::thread`, too: a scope looks whether its threads have ended.
    ScopeEnd = 9,
    /// The decrement of the count of weak references: with the last one goes the memory.
    WeakCountDown = 10,
    /// Part of how a `std::sync::RwLock` is locked by a thread that waits until it can.
    RwLockWait = 11,
    /// Part of an attempt to lock a `std::sync::RwLock`.
    RwLockTry = 12,
    /// In code that the user says counts references: what an access there is depends on what it does.
    MarkedCount = 13,
    /// `JoinHandle::is_finished` looks at a thread.
    IsFinished = 14,
    /// An event like any other, at code that the compiler made of several places: `is_finished` may be one of them.
    Merged = 15,
}

impl Site {
    /// Whether an access there counts references.
    #[inline(always)]
    pub(crate) fn counts_references(self) -> bool {
        matches!(self, Site::RefCountUp | Site::RefCountDown | Site::WeakCountDown)
    }

    /// Whether an access there is no point at which threads may change.
    #[inline(always)]
    pub fn is_trusted(self) -> bool {
        matches!(self, Site::ThreadBookkeeping | Site::ScopeEnd | Site::RefCountUp)
    }
}

/// What may become of a compare-exchange at some code address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Exchange {
    /// It fails only if the place does not hold what is expected.
    #[default]
    Strong = 0,
    /// It may fail although the place does.
    Weak = 1,
    /// Then the standard library tries again.
    Repeated = 2,
}

impl Exchange {
    /// The bits of a table entry for an exchange that is nothing but weak.
    pub(crate) const WEAK: u8 = (Exchange::Weak as u8) << 4;
}

/// What is known of the code at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// What an access there is.
    pub site: Site,
    /// What a compare-exchange there is.
    pub exchange: Exchange,
}

impl From<Site> for Code {
    fn from(site: Site) -> Code {
        Code { site, exchange: Exchange::Strong }
    }
}

impl Code {
    const SITE: u8 = 0xf;

    /// As the table has it.
    fn bits(self) -> u8 {
        self.site as u8 | (self.exchange as u8) << 4
    }
}

/// A way to find out what the code at a return address is: slow, called once per address. It is made when memory is
/// already the engine's, so that what it remembers is not rolled back.
pub type Classify = Box<dyn FnMut(usize) -> Code>;

/// The code of the call that returns to an address, as the table has it. The table has one byte per byte of the program's code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry(*mut u8);

impl Entry {
    /// None for code outside of the program.
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

/// Maps the tables, before the first exploration of the process. They are shared: what a forked process finds out, all know.
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

/// Empties the table of sites if they were found out when other code was marked as counting references.
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

/// How often plain accesses were looked at, by the return address of their announcement: one byte per byte of code.
///
/// What `std::thread` does to its own data is ordered by the spawn and join events, and is most of what small programs do.
/// Finding out that code is no more than that takes longer than to look at a few accesses, so it is asked when there were many.
#[derive(Clone, Copy, Debug)]
pub struct PlainAccessCounter;

impl PlainAccessCounter {
    /// The accesses there are bookkeeping, and need not be looked at.
    pub const NO_CONCERN: u8 = u8::MAX;
    /// So many looks are cheaper than the question what the code is.
    const ENOUGH: u8 = 100;

    /// Whether the accesses announced by the call that returns to `pc` need not be looked at.
    #[inline(always)]
    pub fn is_no_concern(pc: usize) -> bool {
        let offset = pc.wrapping_sub(GLOBAL.text_start.get());
        // SAFETY: the table has one byte per byte of code.
        offset < GLOBAL.text_len.get()
            && unsafe { *GLOBAL.looks.get().add(offset) } == PlainAccessCounter::NO_CONCERN
    }

    /// Counts a look at an access announced by the call that returns to `pc`. True if it is time to ask what the code is.
    #[inline(always)]
    pub(crate) fn count(pc: usize) -> bool {
        let offset = pc.wrapping_sub(GLOBAL.text_start.get());
        if offset >= GLOBAL.text_len.get() {
            return false;
        }
        // SAFETY: the table has one byte per byte of code.
        let looks = unsafe { &mut *GLOBAL.looks.get().add(offset) };
        let counts = *looks < PlainAccessCounter::ENOUGH;
        *looks += u8::from(counts);
        counts && *looks == PlainAccessCounter::ENOUGH
    }

    /// Notes that the call that returns to `pc` announces bookkeeping.
    pub(crate) fn set_no_concern(pc: usize) {
        // SAFETY: as above; it was counted before.
        unsafe { *GLOBAL.looks.get().add(pc - GLOBAL.text_start.get()) = PlainAccessCounter::NO_CONCERN };
    }
}
