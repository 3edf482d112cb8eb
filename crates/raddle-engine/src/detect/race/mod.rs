//! Data races: conflicting accesses that happens-before does not order.
//!
//! FastTrack (Flanagan and Freund, PLDI 2009) with these differences: shadow cells cover 8 bytes, with a mask of the
//! bytes that an access touched; atomic accesses count, and conflict with plain ones only; all unordered reads are
//! kept, not only where a vector is needed. The caller decides happens-before, so that nothing here knows how threads
//! synchronise.
//!
//! A `ShadowCell` keeps the accesses that a later one may still race with. **Invariant:** an access is dropped only
//! when a later one subsumes it: it happened before that one, which touches at least the same bytes and conflicts with
//! everything it conflicts with. So the first race of every execution is found, and nothing else is ever reported.

mod cell;
mod shadow;

use std::ops::Range;

use self::cell::{ACCESSES, RecordedAccess, ShadowAccess, ShadowCell, bytes};
use self::shadow::Shadow;
use crate::detect::fault::{Access, AccessKind};
use crate::op::ThreadId;

/// The accesses of one execution that later ones may race with.
#[derive(Debug, Default)]
pub struct Races {
    shadow: Shadow,
    /// Offset of all times of this execution. Times of earlier executions are not higher, which tells them apart, so
    /// nothing has to be cleared.
    base: u32,
    /// The highest time of this execution, with the base added.
    latest: u32,
    /// The time of each thread's last recorded access, with the base added.
    last_accesses: Vec<u32>,
    /// The calls of the recorded accesses. Shadow cells hold indices, to be small.
    calls: Vec<Calls>,
    /// Accesses of cells that have no room for more.
    overflow: Vec<Vec<RecordedAccess>>,
    /// The addresses of the cells with accesses of this execution.
    used: Vec<usize>,
}

/// A copy of the accesses of an execution, for a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    base: u32,
    latest: u32,
    last_accesses: Vec<u32>,
    calls: Vec<Calls>,
    overflow: Vec<Vec<RecordedAccess>>,
    /// The cells with accesses, and their addresses.
    cells: Vec<ShadowCell>,
    addresses: Vec<usize>,
}

/// An epoch: a thread and its time.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// The thread.
    pub thread: ThreadId,
    /// The time. Two accesses of a thread have the same time if it released nothing between them.
    pub time: u32,
}

/// The earlier access of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// The access.
    pub access: Access,
    /// The calls of the access.
    pub calls: Calls,
}

/// The innermost return addresses of a call stack, as offsets from the beginning of the program's code; 0 where there are no
/// more.
pub type Calls = [u32; 4];

/// Times start again, with a new shadow, beyond this.
const LAST_TIME: u32 = u32::MAX / 2;

impl Races {
    /// Begins an execution, without accesses.
    pub fn begin(&mut self) {
        self.base = self.latest;
        self.calls.clear();
        self.overflow.clear();
        self.used.clear();
        if self.base > LAST_TIME {
            self.shadow = Shadow::default();
            self.base = 0;
            self.latest = 0;
            self.last_accesses.clear();
        }
    }

    /// Copies the accesses of the execution into a snapshot.
    pub(crate) fn snapshot(&mut self, snapshot: &mut Snapshot) {
        let Races { shadow, base, latest, last_accesses, calls, overflow, used } = self;
        (snapshot.base, snapshot.latest) = (*base, *latest);
        snapshot.last_accesses.clone_from(last_accesses);
        snapshot.calls.clone_from(calls);
        snapshot.overflow.clone_from(overflow);
        snapshot.addresses.clone_from(used);
        snapshot.cells.clear();
        // SAFETY: cells stay where they are as long as the shadow.
        snapshot.cells.extend(used.iter().map(|&at| unsafe { *shadow.cell(at) }));
    }

    /// Begins an execution with the accesses of a snapshot.
    pub(crate) fn restore(&mut self, snapshot: &Snapshot) {
        self.begin();
        let (old, new) = (snapshot.base, self.base);
        let rebased = |time: u32| if time > old { time - old + new } else { 0 };
        self.latest = rebased(snapshot.latest).max(new);
        self.last_accesses.clear();
        self.last_accesses.extend(snapshot.last_accesses.iter().map(|&time| rebased(time)));
        self.calls.extend_from_slice(&snapshot.calls);
        for overflow in &snapshot.overflow {
            self.overflow.push(
                overflow
                    .iter()
                    .map(|recorded| RecordedAccess { access: recorded.access.rebased(old, new), ..*recorded })
                    .collect(),
            );
        }
        self.used.extend_from_slice(&snapshot.addresses);
        for (&at, cell) in snapshot.addresses.iter().zip(&snapshot.cells) {
            let accesses = cell.accesses.map(|access| access.rebased(old, new));
            let overflow_of = if cell.overflow_of == old + 1 { new + 1 } else { 0 };
            // SAFETY: as above.
            unsafe {
                *self.shadow.cell(at) = ShadowCell { accesses, overflow_of, used_in: new + 1, ..*cell }
            };
        }
    }

    /// Records an access. `knows(thread, time)` says whether an epoch happened before, `calls` returns the calls of the
    /// access.
    ///
    /// # Errors
    /// The earlier access that it races with; then the access is not recorded.
    #[inline]
    pub fn access(
        &mut self,
        address: usize,
        size: usize,
        kind: AccessKind,
        epoch: Epoch,
        knows: impl Fn(ThreadId, u32) -> bool,
        calls: impl Fn() -> Calls,
    ) -> Result<(), Earlier> {
        let time = self.base + epoch.time;
        self.latest = self.latest.max(time);
        let offset = address & 7;
        if offset + size <= 8 {
            let access = ShadowAccess::new(epoch.thread, time, bytes(offset, size), kind);
            return self.cell(address, access, &knows, &calls);
        }
        let end = address + size;
        let mut at = address;
        while at < end {
            let next = (at & !7) + 8;
            let mask = bytes(at & 7, next.min(end) - at);
            self.cell(at, ShadowAccess::new(epoch.thread, time, mask, kind), &knows, &calls)?;
            at = next;
        }
        Ok(())
    }

    /// Removes an access that turned out to be none.
    pub fn forget(&mut self, earlier: &Earlier) {
        let (base, calls) = (self.base, &self.calls);
        let is_it = |access: ShadowAccess, number: u32| {
            let same =
                |access: Access| access.thread == earlier.access.thread && access.kind == earlier.access.kind;
            access.time() > base
                && calls[number as usize] == earlier.calls
                && same(access.earlier(0, earlier.calls).access)
        };
        // SAFETY: cells stay where they are as long as the shadow.
        let cell = unsafe { &mut *self.shadow.cell(earlier.access.address) };
        for index in 0..ACCESSES {
            if is_it(cell.accesses[index], cell.calls[index]) {
                cell.accesses[index] = ShadowAccess::NONE;
            }
        }
        if cell.overflow_of == base + 1 {
            self.overflow[cell.overflow as usize].retain(|recorded| !is_it(recorded.access, recorded.calls));
        }
    }

    /// Checks a free, without recording it: no access to the block can follow. `used_by` says which threads may have
    /// accessed the block.
    ///
    /// # Errors
    /// As for [`Races::access`].
    pub fn free(
        &self,
        block: Range<usize>,
        thread: ThreadId,
        used_by: impl Fn(ThreadId) -> bool,
        knows: impl Fn(ThreadId, u32) -> bool,
    ) -> Result<(), Earlier> {
        // Most often all their accesses happened before, wherever they were.
        let ordered = self.last_accesses.iter().enumerate().all(|(other, &time)| {
            let other = other as ThreadId;
            time <= self.base || other == thread || !used_by(other) || knows(other, time - self.base)
        });
        if ordered {
            return Ok(());
        }
        let access = ShadowAccess::new(thread, self.latest, 0xff, AccessKind::Free);
        let mut at = block.start & !7;
        while at < block.end {
            match self.shadow.find(at) {
                Some(cell) => self.check(cell, at, access, &knows)?,
                None => at = shadow::end_of_page(at) - 8,
            }
            at += 8;
        }
        Ok(())
    }

    #[inline(always)]
    fn cell(
        &mut self,
        address: usize,
        access: ShadowAccess,
        knows: &impl Fn(ThreadId, u32) -> bool,
        calls: &impl Fn() -> Calls,
    ) -> Result<(), Earlier> {
        let cell = self.shadow.cell(address);
        // SAFETY: cells stay where they are as long as the shadow.
        let cell = unsafe { &mut *cell };
        if cell.accesses.contains(&access) {
            return Ok(());
        }
        self.record(cell, address & !7, access, knows, calls)
    }

    #[inline(never)]
    fn record(
        &mut self,
        cell: &mut ShadowCell,
        address: usize,
        access: ShadowAccess,
        knows: &impl Fn(ThreadId, u32) -> bool,
        calls: &impl Fn() -> Calls,
    ) -> Result<(), Earlier> {
        let base = self.base;
        let mut room = None;
        // The index of the calls of a subsumed access, which is free for reuse.
        let mut number = None;
        for index in 0..ACCESSES {
            let old = cell.accesses[index];
            if old.time() <= base {
                room = room.or(Some(index));
            } else if old.thread() == access.thread() || knows(old.thread(), old.time() - base) {
                if old.same_epoch(access) && old.subsumes(access) {
                    return Ok(());
                }
                if access.subsumes(old) {
                    cell.accesses[index] = ShadowAccess::NONE;
                    room = room.or(Some(index));
                    number = Some(cell.calls[index]);
                }
            } else if old.conflicts(access) {
                return Err(old.earlier(address, self.calls[cell.calls[index] as usize]));
            }
        }
        if cell.overflow_of == base + 1 {
            let overflow = &mut self.overflow[cell.overflow as usize];
            let race = |recorded: &&RecordedAccess| {
                recorded.access.conflicts(access)
                    && recorded.access.thread() != access.thread()
                    && !knows(recorded.access.thread(), recorded.access.time() - base)
            };
            if let Some(recorded) = overflow.iter().find(race) {
                return Err(recorded.access.earlier(address, self.calls[recorded.calls as usize]));
            }
        }
        let number = match number {
            Some(number) => {
                self.calls[number as usize] = calls();
                number
            }
            None => {
                self.calls.push(calls());
                self.calls.len() as u32 - 1
            }
        };
        match room {
            Some(index) => {
                cell.accesses[index] = access;
                cell.calls[index] = number;
            }
            None => self.record_overflow(cell, RecordedAccess { access, calls: number }, knows),
        }
        if cell.used_in != base + 1 {
            cell.used_in = base + 1;
            self.used.push(address);
        }
        let thread = usize::from(access.thread());
        if self.last_accesses.len() <= thread {
            self.last_accesses.resize(thread + 1, 0);
        }
        self.last_accesses[thread] = access.time();
        Ok(())
    }

    #[cold]
    fn record_overflow(
        &mut self,
        cell: &mut ShadowCell,
        new: RecordedAccess,
        knows: &impl Fn(ThreadId, u32) -> bool,
    ) {
        let base = self.base;
        if cell.overflow_of != base + 1 {
            cell.overflow_of = base + 1;
            cell.overflow = self.overflow.len() as u32;
            self.overflow.push(Vec::new());
        }
        let overflow = &mut self.overflow[cell.overflow as usize];
        overflow.retain(|old| {
            let before = old.access.thread() == new.access.thread()
                || knows(old.access.thread(), old.access.time() - base);
            !(before && new.access.subsumes(old.access))
        });
        overflow.push(new);
    }

    fn check(
        &self,
        cell: &ShadowCell,
        address: usize,
        access: ShadowAccess,
        knows: &impl Fn(ThreadId, u32) -> bool,
    ) -> Result<(), Earlier> {
        let recorded = (0..ACCESSES)
            .map(|index| RecordedAccess { access: cell.accesses[index], calls: cell.calls[index] });
        let overflow = (cell.overflow_of == self.base + 1).then(|| &self.overflow[cell.overflow as usize]);
        for old in recorded.chain(overflow.into_iter().flatten().copied()) {
            if old.access.time() > self.base
                && old.access.conflicts(access)
                && old.access.thread() != access.thread()
                && !knows(old.access.thread(), old.access.time() - self.base)
            {
                return Err(old.access.earlier(address, self.calls[old.calls as usize]));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
