//! Locks and rings of operating systems and C libraries, as GenMC's tests have them. Each thread takes the lock once.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use super::locks::sleep_while;
use crate::machine::{Atomic, GAVE_UP, Machine, Test};

/// A ticket lock whose waiters that are far from their turn wait elsewhere (TWA, Dice and Kogan, 2019). With so few threads as
/// here, nobody is far.
pub fn twa_lock<M: Machine>(threads: usize) -> Test {
    let cell = || M::Atomic::new(0);
    let elsewhere: Vec<_> = (0..8).map(|_| cell()).collect();
    Test::alike(threads, (cell(), cell(), elsewhere), |(next, serving, elsewhere), _| {
        let ticket = next.fetch_add(1, Relaxed);
        if serving.load(Acquire) != ticket {
            M::wait_until(|| serving.load(Acquire) == ticket);
        }
        let after = serving.load(Relaxed) + 1;
        serving.store(after, Release);
        elsewhere[(after + 1) as usize % elsewhere.len()].fetch_add(1, Release);
        vec![ticket]
    })
}

/// A futex: who waits looks for a signal, whoever it is for.
struct Futex<M: Machine> {
    word: M::Atomic,
    signal: M::Atomic,
    waiters: M::Atomic,
}

impl<M: Machine> Futex<M> {
    fn new() -> Futex<M> {
        let cell = || M::Atomic::new(0);
        Futex { word: cell(), signal: cell(), waiters: cell() }
    }

    fn wait(&self, expected: u32) {
        sleep_while::<M>(&self.word, expected, &self.signal);
    }

    fn wake(&self) {
        self.signal.fetch_add(1, Release);
    }

    fn exchange(&self, expected: u32, new: u32) -> bool {
        self.word.compare_exchange(expected, new, Acquire, Acquire).is_ok()
    }
}

/// The mutex of "Futexes are tricky" (Drepper, 2011).
pub fn futex_mutex<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, Futex::<M>::new(), |futex, _| {
        let mut rounds = 0;
        if !futex.exchange(0, 1) {
            loop {
                rounds += 1;
                let _ = futex.word.compare_exchange(1, 2, Relaxed, Relaxed);
                futex.wait(2);
                if futex.exchange(0, 2) {
                    break;
                }
            }
        }
        if futex.word.compare_exchange(1, 0, Release, Relaxed).is_err() {
            futex.word.store(0, Release);
            futex.wake();
        }
        vec![rounds]
    })
}

/// The mutex of musl, which counts those who wait.
pub fn musl_mutex<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, Futex::<M>::new(), |futex, _| {
        let mut rounds = 0;
        if !futex.exchange(0, 1) {
            while !futex.exchange(0, 1) {
                rounds += 1;
                futex.waiters.fetch_add(1, Relaxed);
                let _ = futex.word.compare_exchange(1, 2, Relaxed, Relaxed);
                futex.wait(2);
                futex.waiters.fetch_add(u32::MAX, Relaxed);
            }
        }
        let before = futex.word.swap(0, Release);
        if futex.waiters.load(Relaxed) > 0 || before != 1 {
            futex.wake();
        }
        vec![rounds]
    })
}

/// The read-write lock of Linux before queues: those who come subtract, and add again if that was too much. Each thread reads and
/// then writes. Whoever does not get the lock after so many rounds gives up.
pub fn linux_rwlock<M: Machine>(threads: usize, rounds: usize) -> Test {
    const ALL: u32 = 0x0010_0000;
    fn lock<M: Machine>(word: &M::Atomic, share: u32, rounds: usize) -> bool {
        let is_free = |value: u32| if share == ALL { value == ALL } else { value.cast_signed() > 0 };
        let take = || word.fetch_add(share.wrapping_neg(), Acquire);
        let mut before = take();
        for _ in 0..rounds {
            if is_free(before) {
                return true;
            }
            word.fetch_add(share, Relaxed);
            M::wait_until(|| is_free(word.load(Relaxed)));
            before = take();
        }
        is_free(before)
    }
    Test::alike(threads, (M::Atomic::new(ALL), M::Atomic::new(0)), move |(word, data), index| {
        let mut seen = Vec::new();
        for share in [1, ALL] {
            if !lock::<M>(word, share, rounds) {
                seen.push(GAVE_UP);
                return seen;
            }
            match share {
                1 => seen.push(data.load(Relaxed)),
                _ => data.store(index as u32 + 1, Relaxed),
            }
            word.fetch_add(share, Release);
        }
        seen
    })
}

/// The ring of FreeBSD: each thread puts something in and takes something out. Whoever loses a race for a place gives up.
pub fn ring<M: Machine>(threads: usize) -> Test {
    struct Ring<M: Machine> {
        items: Vec<M::Atomic>,
        producers: [M::Atomic; 2],
        consumers: [M::Atomic; 2],
    }
    impl<M: Machine> Ring<M> {
        /// Where in the ring something is to be done, if there is such a place and nobody else takes it.
        fn reserve(&self, mine: &M::Atomic, others: &M::Atomic, ahead: u32) -> Result<u32, u32> {
            let at = mine.load(Relaxed);
            let limit = others.load(Relaxed);
            if self.after(at + ahead) == limit {
                return Err(EMPTY);
            }
            let next = self.after(at + 1);
            mine.compare_exchange(at, next, AcqRel, Acquire).map_err(|_| GAVE_UP)
        }

        fn after(&self, at: u32) -> u32 {
            at % self.items.len() as u32
        }

        fn enqueue(&self, item: u32) -> Result<u32, u32> {
            let [head, tail] = &self.producers;
            let at = self.reserve(head, &self.consumers[1], 1)?;
            M::fence(SeqCst);
            self.items[at as usize].store(item, Relaxed);
            M::wait_until(|| tail.load(Relaxed) == at);
            tail.store(self.after(at + 1), Relaxed);
            Ok(at)
        }

        fn dequeue(&self) -> Result<u32, u32> {
            let [head, tail] = &self.consumers;
            let at = self.reserve(head, &self.producers[1], 0)?;
            let item = self.items[at as usize].load(Relaxed);
            M::wait_until(|| tail.load(Relaxed) == at);
            M::fence(SeqCst);
            tail.store(self.after(at + 1), Relaxed);
            Ok(item)
        }
    }
    const EMPTY: u32 = 99;
    let cell = || M::Atomic::new(0);
    let items = (0..8).map(|_| cell()).collect();
    let ring = Ring::<M> { items, producers: [cell(), cell()], consumers: [cell(), cell()] };
    Test::alike(threads, ring, |ring, index| {
        let put = ring.enqueue(index as u32 + 1).unwrap_or_else(|failed| failed);
        if put == GAVE_UP {
            return vec![put];
        }
        vec![put, ring.dequeue().unwrap_or_else(|failed| failed)]
    })
}
