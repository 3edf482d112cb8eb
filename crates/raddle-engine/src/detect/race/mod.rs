//! Data races: conflicting accesses that no happens-before order puts one before the other.
//!
//! FastTrack (Flanagan and Freund, PLDI 2009) with these differences: places are 8 bytes with a mask of the bytes that an
//! access touched; atomic accesses count, and conflict with plain ones only; all reads that are not ordered are kept, not
//! only where a vector is needed. What happened before what is asked of the caller, so that nothing here knows how
//! threads synchronise.
//!
//! For each place the accesses are kept that a later one may still race with (`Place`). An access is forgotten when a
//! later one stands for it: one that it happened before, that touches at least the same bytes, and that conflicts with
//! whatever it conflicts with. So every execution's first race is found, and nothing else is ever reported.

mod shadow;

use std::ops::Range;

use self::shadow::Shadow;
use crate::detect::fault::{Access, AccessKind};
use crate::op::ThreadId;

/// The accesses of one execution that later ones may race with.
#[derive(Debug, Default)]
pub struct Races {
    shadow: Shadow,
    /// What is added to all times of this execution. Times of earlier ones are not higher: that is how they are told
    /// apart, and why nothing has to be cleared.
    base: u32,
    /// The highest time of this execution, with the base added.
    latest: u32,
    /// The latest time at which each thread made an access that was noted, with the base added.
    noted: Vec<u32>,
    /// Where in the code the accesses were made that are noted: places hold numbers, to be small.
    calls: Vec<Calls>,
    /// Further accesses of places that have no room for them.
    more: Vec<Vec<Noted>>,
    /// The addresses of the places that hold accesses of this execution.
    used: Vec<usize>,
}

/// What is known of the accesses that an execution has made so far.
#[derive(Debug, Default)]
pub(crate) struct SoFar {
    base: u32,
    latest: u32,
    noted: Vec<u32>,
    calls: Vec<Calls>,
    more: Vec<Vec<Noted>>,
    places: Vec<(usize, Place)>,
}

/// An access at a moment, as the thread that makes it sees it.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The thread.
    pub thread: ThreadId,
    /// Its time. Two accesses of a thread have the same time if it handed nothing on between them.
    pub time: u32,
}

/// The earlier access of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// The access.
    pub access: Access,
    /// Where in the code it was made.
    pub calls: Calls,
}

/// The innermost return addresses of a call stack, as offsets from the beginning of the program's code; 0 where there are no
/// more.
pub type Calls = [u32; 4];

/// Times begin anew, and the shadow with them, beyond this.
const LAST_TIME: u32 = u32::MAX / 2;

impl Races {
    /// Begins an execution: nothing was accessed.
    pub fn begin(&mut self) {
        self.base = self.latest;
        self.calls.clear();
        self.more.clear();
        self.used.clear();
        if self.base > LAST_TIME {
            self.shadow = Shadow::default();
            self.base = 0;
            self.latest = 0;
            self.noted.clear();
        }
    }

    /// Says what is known now.
    pub(crate) fn so_far(&mut self, known: &mut SoFar) {
        let Races { shadow, base, latest, noted, calls, more, used } = self;
        (known.base, known.latest) = (*base, *latest);
        known.noted.clone_from(noted);
        known.calls.clone_from(calls);
        known.more.clone_from(more);
        known.places.clear();
        // SAFETY: places stay where they are as long as the shadow.
        known.places.extend(used.iter().map(|&at| (at, unsafe { *shadow.place(at) })));
    }

    /// Begins an execution that has made the accesses that are known.
    pub(crate) fn take_up(&mut self, known: &SoFar) {
        self.begin();
        let (old, new) = (known.base, self.base);
        let moved = |time: u32| if time > old { time - old + new } else { 0 };
        self.latest = moved(known.latest).max(new);
        self.noted.clear();
        self.noted.extend(known.noted.iter().map(|&time| moved(time)));
        self.calls.extend_from_slice(&known.calls);
        for more in &known.more {
            self.more
                .push(more.iter().map(|noted| Noted { epoch: noted.epoch.moved(moved), ..*noted }).collect());
        }
        for &(at, place) in &known.places {
            let epochs = place.epochs.map(|epoch| epoch.moved(moved));
            let more_of = if place.more_of == old + 1 { new + 1 } else { 0 };
            // SAFETY: as above.
            unsafe { *self.shadow.place(at) = Place { epochs, more_of, used_in: new + 1, ..place } };
            self.used.push(at);
        }
    }

    /// Notes an access. `knows(thread, time)` says whether what a thread did at a time happened before it, `calls` where in
    /// the code it is made.
    ///
    /// # Errors
    /// The earlier access that it races with, if there is one; then the access is not noted.
    #[inline]
    pub fn access(
        &mut self,
        address: usize,
        size: usize,
        kind: AccessKind,
        moment: Moment,
        knows: impl Fn(ThreadId, u32) -> bool,
        calls: impl Fn() -> Calls,
    ) -> Result<(), Earlier> {
        let time = self.base + moment.time;
        self.latest = self.latest.max(time);
        let offset = address & 7;
        if offset + size <= 8 {
            let epoch = Epoch::new(moment.thread, time, bytes(offset, size), kind);
            return self.place(address, epoch, &knows, &calls);
        }
        let end = address + size;
        let mut at = address;
        while at < end {
            let next = (at & !7) + 8;
            let mask = bytes(at & 7, next.min(end) - at);
            self.place(at, Epoch::new(moment.thread, time, mask, kind), &knows, &calls)?;
            at = next;
        }
        Ok(())
    }

    /// Forgets an access, which turned out to be none.
    pub fn forget(&mut self, earlier: &Earlier) {
        let (base, calls) = (self.base, &self.calls);
        let is_it = |epoch: Epoch, number: u32| {
            let same =
                |access: Access| access.thread == earlier.access.thread && access.kind == earlier.access.kind;
            epoch.time() > base
                && calls[number as usize] == earlier.calls
                && same(epoch.earlier(0, earlier.calls).access)
        };
        // SAFETY: places stay where they are as long as the shadow.
        let place = unsafe { &mut *self.shadow.place(earlier.access.address) };
        for index in 0..PLACE {
            if is_it(place.epochs[index], place.calls[index]) {
                place.epochs[index] = Epoch::NONE;
            }
        }
        if place.more_of == base + 1 {
            self.more[place.more as usize].retain(|noted| !is_it(noted.epoch, noted.calls));
        }
    }

    /// Checks a free, without noting it: no access to the block can follow. `used_by` says which threads may have accessed it.
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
        // Most often all that they ever did is known, and it does not matter where.
        let ordered = self.noted.iter().enumerate().all(|(other, &time)| {
            let other = other as ThreadId;
            time <= self.base || other == thread || !used_by(other) || knows(other, time - self.base)
        });
        if ordered {
            return Ok(());
        }
        let epoch = Epoch::new(thread, self.latest, 0xff, AccessKind::Free);
        let mut at = block.start & !7;
        while at < block.end {
            match self.shadow.find(at) {
                Some(place) => self.check(place, at, epoch, &knows)?,
                None => at = shadow::end_of_page(at) - 8,
            }
            at += 8;
        }
        Ok(())
    }

    #[inline(always)]
    fn place(
        &mut self,
        address: usize,
        epoch: Epoch,
        knows: &impl Fn(ThreadId, u32) -> bool,
        calls: &impl Fn() -> Calls,
    ) -> Result<(), Earlier> {
        let place = self.shadow.place(address);
        // SAFETY: places stay where they are as long as the shadow.
        let place = unsafe { &mut *place };
        if place.epochs.contains(&epoch) {
            return Ok(());
        }
        self.note(place, address & !7, epoch, knows, calls)
    }

    #[inline(never)]
    fn note(
        &mut self,
        place: &mut Place,
        address: usize,
        epoch: Epoch,
        knows: &impl Fn(ThreadId, u32) -> bool,
        calls: &impl Fn() -> Calls,
    ) -> Result<(), Earlier> {
        let base = self.base;
        let mut room = None;
        // The number of an access that this one stands for, which is not needed any more.
        let mut number = None;
        for index in 0..PLACE {
            let old = place.epochs[index];
            if old.time() <= base {
                room = room.or(Some(index));
            } else if old.thread() == epoch.thread() || knows(old.thread(), old.time() - base) {
                if old.same_moment(epoch) && old.stands_for(epoch) {
                    return Ok(());
                }
                if epoch.stands_for(old) {
                    place.epochs[index] = Epoch::NONE;
                    room = room.or(Some(index));
                    number = Some(place.calls[index]);
                }
            } else if old.conflicts(epoch) {
                return Err(old.earlier(address, self.calls[place.calls[index] as usize]));
            }
        }
        if place.more_of == base + 1 {
            let more = &mut self.more[place.more as usize];
            let race = |noted: &&Noted| {
                noted.epoch.conflicts(epoch)
                    && noted.epoch.thread() != epoch.thread()
                    && !knows(noted.epoch.thread(), noted.epoch.time() - base)
            };
            if let Some(noted) = more.iter().find(race) {
                return Err(noted.epoch.earlier(address, self.calls[noted.calls as usize]));
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
                place.epochs[index] = epoch;
                place.calls[index] = number;
            }
            None => self.note_more(place, Noted { epoch, calls: number }, knows),
        }
        if place.used_in != base + 1 {
            place.used_in = base + 1;
            self.used.push(address);
        }
        let thread = usize::from(epoch.thread());
        if self.noted.len() <= thread {
            self.noted.resize(thread + 1, 0);
        }
        self.noted[thread] = epoch.time();
        Ok(())
    }

    #[cold]
    fn note_more(&mut self, place: &mut Place, new: Noted, knows: &impl Fn(ThreadId, u32) -> bool) {
        let base = self.base;
        if place.more_of != base + 1 {
            place.more_of = base + 1;
            place.more = self.more.len() as u32;
            self.more.push(Vec::new());
        }
        let more = &mut self.more[place.more as usize];
        more.retain(|old| {
            let before = old.epoch.thread() == new.epoch.thread()
                || knows(old.epoch.thread(), old.epoch.time() - base);
            !(before && new.epoch.stands_for(old.epoch))
        });
        more.push(new);
    }

    fn check(
        &self,
        place: &Place,
        address: usize,
        epoch: Epoch,
        knows: &impl Fn(ThreadId, u32) -> bool,
    ) -> Result<(), Earlier> {
        let noted = (0..PLACE).map(|index| Noted { epoch: place.epochs[index], calls: place.calls[index] });
        let more = (place.more_of == self.base + 1).then(|| &self.more[place.more as usize]);
        for old in noted.chain(more.into_iter().flatten().copied()) {
            if old.epoch.time() > self.base
                && old.epoch.conflicts(epoch)
                && old.epoch.thread() != epoch.thread()
                && !knows(old.epoch.thread(), old.epoch.time() - self.base)
            {
                return Err(old.epoch.earlier(address, self.calls[old.calls as usize]));
            }
        }
        Ok(())
    }
}

/// How many accesses a place has room for. More are rarely unordered.
const PLACE: usize = 4;

/// The accesses to eight bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Place {
    epochs: [Epoch; PLACE],
    /// Where further accesses are, if the next field says that there are any.
    more: u32,
    /// The base of the execution that `more` belongs to, plus one.
    more_of: u32,
    /// Where each access was made: numbers in [`Races::calls`].
    calls: [u32; PLACE],
    /// The base of the execution that last noted an access, plus one.
    used_in: u32,
}

// All of it is read at once.
const _: () = assert!(size_of::<Place>() == 64);

#[derive(Clone, Copy, Debug)]
struct Noted {
    epoch: Epoch,
    calls: u32,
}

/// An access: time in the lowest 32 bits, then thread (16), bytes (8), whether it writes, whether it is atomic, whether it
/// frees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Epoch(u64);

const WRITES: u64 = 1 << 56;
const ATOMIC: u64 = 1 << 57;
const FREES: u64 = 1 << 58;

impl Epoch {
    const NONE: Epoch = Epoch(0);

    #[inline(always)]
    fn new(thread: ThreadId, time: u32, mask: u8, kind: AccessKind) -> Epoch {
        let writes = if kind.writes() { WRITES } else { 0 };
        let atomic = if kind.is_atomic() { ATOMIC } else { 0 };
        let frees = if kind == AccessKind::Free { FREES } else { 0 };
        Epoch(u64::from(time) | u64::from(thread) << 32 | u64::from(mask) << 48 | writes | atomic | frees)
    }

    #[inline(always)]
    fn time(self) -> u32 {
        self.0 as u32
    }

    /// The same access at the time that `moved` makes of its own; none, if that is 0.
    fn moved(self, moved: impl Fn(u32) -> u32) -> Epoch {
        match moved(self.time()) {
            0 => Epoch::NONE,
            time => Epoch(self.0 & !u64::from(u32::MAX) | u64::from(time)),
        }
    }

    #[inline(always)]
    fn thread(self) -> ThreadId {
        (self.0 >> 32) as ThreadId
    }

    #[inline(always)]
    fn mask(self) -> u8 {
        (self.0 >> 48) as u8
    }

    #[inline(always)]
    fn same_moment(self, other: Epoch) -> bool {
        (self.0 ^ other.0) << 16 == 0
    }

    /// Whether two accesses that are not ordered are a race.
    #[inline(always)]
    fn conflicts(self, other: Epoch) -> bool {
        self.mask() & other.mask() != 0 && (self.0 | other.0) & WRITES != 0 && self.0 & other.0 & ATOMIC == 0
    }

    /// Whether whatever conflicts with the other conflicts with this one too.
    #[inline(always)]
    fn stands_for(self, other: Epoch) -> bool {
        other.mask() & !self.mask() == 0
            && (self.0 & WRITES != 0 || other.0 & WRITES == 0)
            && (self.0 & ATOMIC == 0 || other.0 & ATOMIC != 0)
    }

    fn earlier(self, place: usize, calls: Calls) -> Earlier {
        let kind = match (self.0 & WRITES != 0, self.0 & ATOMIC != 0) {
            _ if self.0 & FREES != 0 => AccessKind::Free,
            (false, false) => AccessKind::Read,
            (true, false) => AccessKind::Write,
            (false, true) => AccessKind::AtomicRead,
            (true, true) => AccessKind::AtomicWrite,
        };
        let first = self.mask().trailing_zeros() as usize;
        let size = (self.mask() >> first).trailing_ones() as usize;
        Earlier { access: Access { thread: self.thread(), address: place + first, size, kind }, calls }
    }
}

/// A mask of `size` bytes from `offset` on.
#[inline(always)]
fn bytes(offset: usize, size: usize) -> u8 {
    (((1u32 << size) - 1) << offset) as u8
}

#[cfg(test)]
mod tests;
