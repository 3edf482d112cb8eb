//! Coverage of an exploration: the code whose atomic accesses it made, and how threads met there.
//!
//! Three questions make a green run mean something. Was the access at this line of code ever made? By more than one thread? To
//! memory that more than one thread accesses? The answers are bits of a table with one byte per byte of code. A second table has
//! the latest access to each memory location: two threads that access a location one after the other make a *pair* of sites. New
//! sites, new bits and new pairs are *news*: a search that brings no news for long may end.
//!
//! Both tables are shared with worker processes. They hold facts of all executions, so nothing is copied into checkpoints or cleared
//! between executions. **Invariant:** coverage decides nothing in an execution.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

use crate::op::ThreadId;
use crate::platform::global::GLOBAL;
use crate::platform::processes;
use crate::site::Site;

/// The part of a site's byte that names the first thread that reached the site, counted from 1.
const FIRST: u8 = 0x1f;
/// The site belongs to a lock rather than to an atomic access of its own.
const LOCK: u8 = 0x20;
/// Several threads have reached the site.
const SHARED: u8 = 0x40;
/// The site has accessed a location that several threads access.
const CONTENDED: u8 = 0x80;

/// Number of expectations that are told apart.
const EXPECTATIONS: usize = 1 << 10;
/// Number of sites that are listed at most.
const SITES: usize = 1 << 14;
/// The base-2 logarithm of the number of locations that are told apart.
const LOCATIONS: u32 = 12;
/// The base-2 logarithm of the number of pairs that are told apart.
const PAIRS: u32 = 16;

/// The tables, in memory that forked processes share. Zero is the initial state of each.
struct Tables {
    /// Changes whenever something is covered for the first time.
    news: AtomicU64,
    /// The number of distinct pairs.
    pairs: AtomicU64,
    /// The largest number of threads of an execution.
    threads: AtomicU32,
    /// The number of listed sites.
    sites: AtomicUsize,
    /// The offsets of sites in the program's code, in the order of their discovery.
    listed: [AtomicU32; SITES],
    /// The latest access to each location; locations with the same hash share an entry.
    latest: [Latest; 1 << LOCATIONS],
    /// A bit for each pair, by its hash.
    seen: [AtomicU64; 1 << (PAIRS - 6)],
    /// The state of each expectation: [`EVALUATED`], [`HELD`].
    expectations: [AtomicU8; EXPECTATIONS],
}

const EVALUATED: u8 = 1;
const HELD: u8 = 2;

/// What is known of a condition that must hold in some execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// No execution evaluated it.
    Unknown,
    /// It held in no execution that evaluated it.
    Failed,
    /// It held.
    Met,
}

/// The latest access to a location.
struct Latest {
    address: AtomicUsize,
    /// Site, thread, number of the execution, and [`SEVERAL`].
    access: AtomicU64,
}

/// The bit of [`Latest::access`] that says that several threads have accessed the location.
const SEVERAL: u64 = 1 << 63;

/// The coverage of an exploration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The largest number of threads of an execution, the closure's own thread among them.
    pub threads: u32,
    /// The sites that were reached, in the order of their discovery.
    pub sites: Vec<CoveredSite>,
    /// The number of pairs of sites at which two threads accessed a location, one directly after the other.
    pub pairs: u64,
}

/// A site that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoveredSite {
    /// The return address of the access.
    pub address: usize,
    /// Whether it locks a mutex or a reader-writer lock.
    pub is_lock: bool,
    /// Whether several threads have reached it.
    pub is_shared: bool,
    /// Whether it has accessed a location that several threads access.
    pub is_contended: bool,
}

/// Maps the tables, before the first exploration of the process.
pub(crate) fn map_tables() {
    if GLOBAL.covered.get().is_null() {
        GLOBAL.covered.set(processes::map_shared(GLOBAL.text_len.get().max(1)).cast());
        GLOBAL.coverage.set(processes::map_shared(size_of::<Tables>()).cast());
    }
}

/// Forgets everything: an exploration begins.
pub fn begin() {
    let Some(tables) = tables() else { return };
    for listed in &tables.listed[..tables.sites.load(Relaxed).min(SITES)] {
        if let Some(bits) = bits(listed.load(Relaxed)) {
            bits.store(0, Relaxed);
        }
    }
    // SAFETY: zero is the initial state of each table; no other process runs yet.
    unsafe { processes::clear_shared(GLOBAL.coverage.get(), size_of::<Tables>()) };
}

/// The coverage so far.
pub fn current() -> Coverage {
    let Some(tables) = tables() else { return Coverage::default() };
    let listed = &tables.listed[..tables.sites.load(Relaxed).min(SITES)];
    let site = |offset: u32| {
        let bits = bits(offset)?.load(Relaxed);
        Some(CoveredSite {
            address: GLOBAL.text_start.get() + offset as usize,
            is_lock: bits & LOCK != 0,
            is_shared: bits & SHARED != 0,
            is_contended: bits & CONTENDED != 0,
        })
    };
    Coverage {
        threads: tables.threads.load(Relaxed),
        sites: listed.iter().filter_map(|offset| site(offset.load(Relaxed))).collect(),
        pairs: tables.pairs.load(Relaxed),
    }
}

/// A number that changes whenever something is covered for the first time.
pub fn news() -> u64 {
    tables().map_or(0, |tables| tables.news.load(Relaxed))
}

/// Notes that the condition with this number was evaluated. Those beyond the table are taken for met.
pub fn expect(number: usize, held: bool) {
    let Some(state) = tables().and_then(|tables| tables.expectations.get(number)) else { return };
    let bits = EVALUATED | if held { HELD } else { 0 };
    if state.load(Relaxed) & bits != bits {
        state.fetch_or(bits, Relaxed);
    }
}

/// What is known of the condition with this number.
pub fn expectation(number: usize) -> Expectation {
    let state = tables().and_then(|tables| tables.expectations.get(number));
    match state.map_or(HELD, |state| state.load(Relaxed)) {
        0 => Expectation::Unknown,
        EVALUATED => Expectation::Failed,
        _ => Expectation::Met,
    }
}

/// Notes the number of threads of an execution.
pub(crate) fn count_threads(threads: usize) {
    if let Some(tables) = tables() {
        tables.threads.fetch_max(threads as u32, Relaxed);
    }
}

/// Notes an access that a thread has made.
#[inline(always)]
pub(crate) fn access(site: Site, offset: u32, thread: ThreadId, address: usize, execution: u16) {
    let is_lock = matches!(site, Site::MutexLock | Site::RwLockWait | Site::RwLockTry);
    if !is_lock && !matches!(site, Site::User | Site::Merged | Site::MarkedCount | Site::ExpandedRmw) {
        return;
    }
    let (Some(tables), Some(bits)) = (tables(), bits(offset)) else { return };
    let mine = (thread as u8).min(FIRST - 1) + 1;
    let mut known = bits.load(Relaxed);
    if known & FIRST != mine && known & SHARED == 0 {
        known = meet(tables, bits, offset, mine | if is_lock { LOCK } else { 0 });
    }
    let latest = &tables.latest[hash(address, LOCATIONS)];
    let now = u64::from(offset) | u64::from(thread) << 32 | u64::from(execution & 0x7fff) << 48;
    let before = latest.access.load(Relaxed);
    if latest.address.load(Relaxed) != address {
        latest.address.store(address, Relaxed);
        latest.access.store(now, Relaxed);
        return;
    }
    latest.access.store(now | before & SEVERAL, Relaxed);
    let is_of_other = (before >> 32) as u16 != (now >> 32) as u16;
    if is_of_other || (before & SEVERAL != 0 && known & CONTENDED == 0) {
        contend(tables, latest, before, now);
    }
}

/// A thread reaches a site that it has not reached before, as far as is known. Returns the site's byte.
#[cold]
#[inline(never)]
fn meet(tables: &Tables, bits: &AtomicU8, offset: u32, first: u8) -> u8 {
    if bits.compare_exchange(0, first, Relaxed, Relaxed).is_ok() {
        let at = tables.sites.fetch_add(1, Relaxed);
        if let Some(listed) = tables.listed.get(at) {
            listed.store(offset, Relaxed);
        }
    } else {
        bits.fetch_or(SHARED, Relaxed);
    }
    tables.news.fetch_add(1, Relaxed);
    bits.load(Relaxed)
}

/// An access meets a location that several threads access.
#[inline(never)]
fn contend(tables: &Tables, latest: &Latest, before: u64, now: u64) {
    latest.access.fetch_or(SEVERAL, Relaxed);
    for site in [before as u32, now as u32] {
        if let Some(bits) = bits(site)
            && bits.load(Relaxed) & CONTENDED == 0
        {
            bits.fetch_or(CONTENDED, Relaxed);
            tables.news.fetch_add(1, Relaxed);
        }
    }
    let thread_and_execution = |access: u64| ((access >> 32) as u16, (access & !SEVERAL) >> 48);
    let ((thread, execution), (other, other_execution)) =
        (thread_and_execution(now), thread_and_execution(before));
    if thread != other && execution == other_execution {
        let pair = hash((before as u32 as usize) << 32 | now as u32 as usize, PAIRS);
        let (word, bit) = (&tables.seen[pair >> 6], 1 << (pair & 63));
        if word.load(Relaxed) & bit == 0 && word.fetch_or(bit, Relaxed) & bit == 0 {
            tables.pairs.fetch_add(1, Relaxed);
            tables.news.fetch_add(1, Relaxed);
        }
    }
}

#[inline(always)]
fn tables() -> Option<&'static Tables> {
    // SAFETY: null, or mapped for good; all that changes is atomic.
    unsafe { GLOBAL.coverage.get().cast::<Tables>().as_ref() }
}

/// The byte of the site at an offset of the program's code.
#[inline(always)]
fn bits(offset: u32) -> Option<&'static AtomicU8> {
    let is_code = (offset as usize) < GLOBAL.text_len.get();
    // SAFETY: the table has one byte per byte of code, is mapped for good, and is only accessed atomically.
    is_code.then(|| unsafe { &*GLOBAL.covered.get().add(offset as usize).cast::<AtomicU8>() })
}

/// The upper bits of a multiplicative hash.
#[inline(always)]
fn hash(key: usize, bits: u32) -> usize {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)
}
