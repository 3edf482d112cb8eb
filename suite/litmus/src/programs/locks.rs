//! Locks made of atomics. Each thread takes the lock once and increments a counter under it.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use super::attempts::GAVE_UP;
use crate::machine::{Atomic, Machine, Test};

fn increment<A: Atomic>(counter: &A) -> u32 {
    let value = counter.load(Relaxed);
    counter.store(value + 1, Relaxed);
    value
}

/// Spins on a compare-exchange.
pub fn cas_lock<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, (M::Atomic::new(0), M::Atomic::new(0)), |(lock, counter), _| {
        M::retry(|| lock.compare_exchange(0, 1, Acquire, Relaxed).ok());
        let value = increment(counter);
        lock.store(0, Release);
        vec![value]
    })
}

/// Reads until the lock is free, and only then tries to take it.
pub fn ttas_lock<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, (M::Atomic::new(0), M::Atomic::new(0)), |(lock, counter), _| {
        // A swap that finds the lock taken puts back what was there: no effect.
        M::retry(|| (lock.load(Acquire) == 0 && lock.swap(1, AcqRel) == 0).then_some(()));
        let value = increment(counter);
        lock.store(0, Release);
        vec![value]
    })
}

/// Threads take numbers and wait for their turn.
pub fn ticket_lock<M: Machine>(threads: usize) -> Test {
    let shared = (M::Atomic::new(0), M::Atomic::new(0), M::Atomic::new(0));
    Test::alike(threads, shared, |(next, serving, counter), _| {
        let ticket = next.fetch_add(1, Relaxed);
        M::wait_until(|| serving.load(Acquire) == ticket);
        let value = increment(counter);
        serving.store(ticket + 1, Release);
        vec![value]
    })
}

/// Threads form a queue, and each waits on a flag of its own (Mellor-Crummey and Scott, 1991).
pub fn mcs_lock<M: Machine>(threads: usize) -> Test {
    struct Node<M: Machine> {
        next: M::Atomic,
        waits: M::Atomic,
    }
    let node = |_| Node::<M> { next: M::Atomic::new(0), waits: M::Atomic::new(0) };
    let nodes: Vec<_> = (0..=threads).map(node).collect();
    Test::alike(threads, (M::Atomic::new(0), nodes, M::Atomic::new(0)), |(tail, nodes, counter), index| {
        let me = index as u32 + 1;
        let node = &nodes[me as usize];
        node.waits.store(1, Relaxed);
        let before = tail.swap(me, AcqRel);
        if before != 0 {
            nodes[before as usize].next.store(me, Release);
            M::wait_until(|| node.waits.load(Acquire) == 0);
        }
        let value = increment(counter);
        if node.next.load(Acquire) == 0 {
            if tail.compare_exchange(me, 0, AcqRel, Relaxed).is_ok() {
                return vec![value];
            }
            M::wait_until(|| node.next.load(Acquire) != 0);
        }
        let after = node.next.load(Relaxed);
        nodes[after as usize].waits.store(0, Release);
        vec![value]
    })
}

/// Flags and a turn of two threads.
struct Two<M: Machine> {
    flags: [M::Atomic; 2],
    turn: M::Atomic,
    counter: M::Atomic,
}

impl<M: Machine> Two<M> {
    fn new() -> Two<M> {
        let cell = || M::Atomic::new(0);
        Two { flags: [cell(), cell()], turn: cell(), counter: cell() }
    }
}

/// Peterson's lock for two threads (1981), with these orders for loads and stores.
pub fn peterson<M: Machine>(load: Ordering, store: Ordering) -> Test {
    Test::alike(2, Two::<M>::new(), move |shared, me| {
        let other = 1 - me;
        shared.flags[me].store(1, store);
        shared.turn.store(other as u32, store);
        M::wait_until(|| shared.flags[other].load(load) == 0 || shared.turn.load(load) == me as u32);
        let value = increment(&shared.counter);
        shared.flags[me].store(0, store);
        vec![value]
    })
}

/// Dekker's lock for two threads (1965), with these orders for loads and stores.
pub fn dekker<M: Machine>(load: Ordering, store: Ordering) -> Test {
    Test::alike(2, Two::<M>::new(), move |shared, me| {
        let other = 1 - me;
        shared.flags[me].store(1, store);
        let free = || {
            let free = shared.flags[other].load(load) == 0;
            (free || shared.turn.load(load) != me as u32).then_some(free)
        };
        while !M::retry(free) {
            shared.flags[me].store(0, store);
            M::wait_until(|| shared.turn.load(load) == me as u32);
            shared.flags[me].store(1, store);
        }
        let value = increment(&shared.counter);
        shared.turn.store(other as u32, store);
        shared.flags[me].store(0, store);
        vec![value]
    })
}

/// Szymanski's lock (1988) for two threads.
pub fn szymanski<M: Machine>() -> Test {
    Test::alike(2, Two::<M>::new(), |shared, me| {
        let mine = |value| shared.flags[me].store(value, SeqCst);
        let other = || shared.flags[1 - me].load(SeqCst);
        mine(1);
        M::wait_until(|| other() < 3);
        mine(3);
        if other() == 1 {
            mine(2);
            M::wait_until(|| other() == 4);
        }
        mine(4);
        M::wait_until(|| me == 0 || other() < 2);
        let value = increment(&shared.counter);
        M::wait_until(|| me == 1 || !(2..=3).contains(&other()));
        mine(0);
        vec![value]
    })
}

/// Lamport's fast lock (1987) for two threads.
pub fn lamport<M: Machine>() -> Test {
    let shared = (Two::<M>::new(), M::Atomic::new(0), M::Atomic::new(0));
    Test::alike(2, shared, |(Two { flags, counter, .. }, x, y), index| {
        let me = index as u32 + 1;
        loop {
            flags[index].store(1, SeqCst);
            x.store(me, SeqCst);
            if y.load(SeqCst) != 0 {
                flags[index].store(0, SeqCst);
                M::wait_until(|| y.load(SeqCst) == 0);
                continue;
            }
            y.store(me, SeqCst);
            if x.load(SeqCst) == me {
                break;
            }
            flags[index].store(0, SeqCst);
            M::wait_until(|| flags[1 - index].load(SeqCst) == 0);
            if y.load(SeqCst) == me {
                break;
            }
            M::wait_until(|| y.load(SeqCst) == 0);
        }
        let value = increment(counter);
        y.store(0, SeqCst);
        flags[index].store(0, SeqCst);
        vec![value]
    })
}

/// Threads meet: the last one to come lets the others go.
pub fn barrier<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, (M::Atomic::new(0), M::Atomic::new(0)), move |(arrived, open), _| {
        let before = arrived.fetch_add(1, AcqRel);
        if before as usize == threads - 1 {
            open.store(1, Release);
        } else {
            M::wait_until(|| open.load(Acquire) == 1);
        }
        vec![before]
    })
}

/// Threads meet twice.
pub fn two_barriers<M: Machine>(threads: usize) -> Test {
    let cell = || M::Atomic::new(0);
    Test::alike(threads, [(cell(), cell()), (cell(), cell())], move |barriers, _| {
        let wait = |(arrived, open): &(M::Atomic, M::Atomic)| {
            let before = arrived.fetch_add(1, AcqRel);
            if before as usize == threads - 1 {
                open.store(1, Release);
            } else {
                M::wait_until(|| open.load(Acquire) == 1);
            }
            before
        };
        barriers.iter().map(wait).collect()
    })
}

/// Threads meet twice at a barrier that is used again: its sense is reversed each time.
pub fn sense_reversing_barrier<M: Machine>(threads: usize) -> Test {
    let shared = (M::Atomic::new(0), M::Atomic::new(0));
    Test::alike(threads, shared, move |(arrived, sense), _| {
        let wait = |mine: u32| {
            let before = arrived.fetch_add(1, AcqRel);
            if before as usize == threads - 1 {
                arrived.store(0, Relaxed);
                sense.store(mine, Release);
            } else {
                M::wait_until(|| sense.load(Acquire) == mine);
            }
            before
        };
        vec![wait(1), wait(0)]
    })
}

/// A ticket lock whose waiters that are not next wait elsewhere, in an array (Dice and Kogan, 2019).
pub fn twa_lock<M: Machine>(threads: usize) -> Test {
    const NEAR: u32 = 1;
    let array: Vec<_> = (0..threads + 3).map(|_| M::Atomic::new(0)).collect();
    let shared = (M::Atomic::new(0), M::Atomic::new(0), array, M::Atomic::new(0));
    Test::alike(threads, shared, |(next, serving, array, counter), _| {
        let ticket = next.fetch_add(1, Relaxed);
        let ahead = |served: u32| ticket - served;
        let distance = ahead(serving.load(Acquire));
        if distance > NEAR {
            let mut seen = array[ticket as usize].load(Acquire);
            while ahead(serving.load(Relaxed)) > NEAR {
                let changed = || Some(array[ticket as usize].load(Acquire)).filter(|&now| now != seen);
                seen = M::retry(changed);
            }
        }
        if distance != 0 {
            M::wait_until(|| serving.load(Acquire) == ticket);
        }
        let value = increment(counter);
        let served = serving.load(Relaxed) + 1;
        serving.store(served, Release);
        array[(served + NEAR) as usize].fetch_add(1, Release);
        vec![value]
    })
}

/// Waits for a signal while a word holds a value, as a futex does; any signal wakes.
pub(super) fn sleep_while<M: Machine>(word: &M::Atomic, value: u32, signals: &M::Atomic) {
    let before = signals.load(Acquire);
    if word.load(Acquire) == value {
        M::wait_until(|| signals.load(Acquire) != before);
    }
}

/// A mutex of three states: free, taken, and taken with others asleep (Drepper, 2005).
pub fn futex_lock<M: Machine>(threads: usize) -> Test {
    let shared = (M::Atomic::new(0), M::Atomic::new(0), M::Atomic::new(0));
    Test::alike(threads, shared, |(word, signals, counter), _| {
        if word.compare_exchange(0, 1, Acquire, Acquire).is_err() {
            loop {
                let _ = word.compare_exchange(1, 2, Relaxed, Relaxed);
                sleep_while::<M>(word, 2, signals);
                if word.compare_exchange(0, 2, Acquire, Acquire).is_ok() {
                    break;
                }
            }
        }
        let value = increment(counter);
        if word.compare_exchange(1, 0, Release, Relaxed).is_err() {
            word.store(0, Release);
            signals.fetch_add(1, Release);
        }
        vec![value]
    })
}

/// A mutex that counts those who sleep in a word of its own.
pub fn counting_futex_lock<M: Machine>(threads: usize) -> Test {
    let shared = [M::Atomic::new(0), M::Atomic::new(0), M::Atomic::new(0), M::Atomic::new(0)];
    Test::alike(threads, shared, |[word, asleep, signals, counter], _| {
        let take = || word.compare_exchange(0, 1, Acquire, Acquire).is_ok();
        if !take() {
            while !take() {
                asleep.fetch_add(1, Relaxed);
                let _ = word.compare_exchange(1, 2, Relaxed, Relaxed);
                sleep_while::<M>(word, 2, signals);
                asleep.fetch_add(u32::MAX, Relaxed);
            }
        }
        let value = increment(counter);
        let before = word.swap(0, Release);
        if asleep.load(Relaxed) > 0 || before != 1 {
            signals.fetch_add(1, Release);
        }
        vec![value]
    })
}

/// A mutex that looks a few times before it sleeps. One word holds whether it is taken and how many are asleep.
pub fn spinning_futex_lock<M: Machine>(threads: usize, looks: u32) -> Test {
    const TAKEN: u32 = 1;
    const ASLEEP: u32 = 2;
    let shared = (M::Atomic::new(0), M::Atomic::new(0), M::Atomic::new(0));
    Test::alike(threads, shared, move |(word, signals, counter), _| {
        let is_taken = |state: u32| state & TAKEN != 0;
        // Takes the lock, or sees that it stays taken.
        let look = || {
            let state = word.load(Relaxed);
            match is_taken(state) {
                true => (0..looks).all(|_| is_taken(word.load(Relaxed))).then_some(Some(state)),
                false => word.compare_exchange(state, state | TAKEN, Acquire, Relaxed).ok().map(|_| None),
            }
        };
        while let Some(state) = M::retry(look) {
            word.fetch_add(ASLEEP, Relaxed);
            let mut state = state + ASLEEP;
            while is_taken(state) {
                sleep_while::<M>(word, state, signals);
                state = word.load(Relaxed);
            }
            word.fetch_add(ASLEEP.wrapping_neg(), Relaxed);
        }
        let value = increment(counter);
        let mut state = word.load(Relaxed);
        while let Err(found) = word.compare_exchange(state, state & !TAKEN, Release, Relaxed) {
            state = found;
        }
        if state & !TAKEN != 0 {
            signals.fetch_add(1, Release);
        }
        vec![value]
    })
}

const BIAS: u32 = 0x100;

/// A lock for readers and writers that counts down from a bias, as Linux had it. Who fails puts back what it took, waits, and
/// tries once more.
pub fn biased_rwlock<M: Machine>(readers: usize, writers: usize) -> Test {
    Test::alike(readers + writers, (M::Atomic::new(BIAS), M::Atomic::new(0)), move |(lock, data), index| {
        let reads = index < readers;
        let takes = if reads { 1 } else { BIAS };
        let is_free = |value: u32| if reads { value as i32 > 0 } else { value == BIAS };
        let try_lock = || {
            let won = is_free(lock.fetch_add(takes.wrapping_neg(), Acquire));
            if !won {
                lock.fetch_add(takes, Relaxed);
            }
            won
        };
        if !try_lock() {
            M::wait_until(|| is_free(lock.load(Relaxed)));
            if !try_lock() {
                return vec![GAVE_UP];
            }
        }
        let seen = if reads { data.load(Relaxed) } else { increment(data) };
        lock.fetch_add(takes, Release);
        vec![seen]
    })
}

/// A lock for readers and writers: a count of readers, or all ones.
pub fn rwlock<M: Machine>(readers: usize, writers: usize) -> Test {
    const WRITER: u32 = u32::MAX;
    Test::alike(readers + writers, (M::Atomic::new(0), M::Atomic::new(0)), move |(lock, data), index| {
        if index >= readers {
            M::retry(|| lock.compare_exchange(0, WRITER, Acquire, Relaxed).ok());
            let value = increment(data);
            lock.store(0, Release);
            return vec![value];
        }
        M::retry(|| {
            let count = lock.load(Relaxed);
            (count != WRITER && lock.compare_exchange(count, count + 1, Acquire, Relaxed).is_ok())
                .then_some(())
        });
        let value = data.load(Relaxed);
        lock.fetch_add(u32::MAX, Release);
        vec![value]
    })
}

/// Craig, Landin and Hagersten's lock: each thread waits for the one before it in an implicit queue.
pub fn clh_lock<M: Machine>(threads: usize) -> Test {
    let cells = |count: usize| (0..count).map(|_| M::Atomic::new(0)).collect::<Vec<_>>();
    Test::alike(threads, (M::Atomic::new(0), cells(threads + 1), M::Atomic::new(0)), |shared, index| {
        let (tail, taken, counter) = shared;
        let me = index as u32 + 1;
        taken[me as usize].store(1, Relaxed);
        let before = tail.swap(me, AcqRel);
        M::wait_until(|| taken[before as usize].load(Acquire) == 0);
        let value = increment(counter);
        taken[me as usize].store(0, Release);
        vec![value]
    })
}

/// Anderson's lock: threads wait at slots of an array, one after the other.
pub fn array_lock<M: Machine>(threads: usize) -> Test {
    let slots: Vec<_> = (0..threads + 1).map(|slot| M::Atomic::new(u32::from(slot == 0))).collect();
    Test::alike(threads, (M::Atomic::new(0), slots, M::Atomic::new(0)), |(next, slots, counter), _| {
        let slot = next.fetch_add(1, Relaxed) as usize;
        M::wait_until(|| slots[slot].load(Acquire) == 1);
        let value = increment(counter);
        slots[slot + 1].store(1, Release);
        vec![value]
    })
}

/// Lamport's bakery (1974) for two threads.
pub fn bakery<M: Machine>(order: Ordering) -> Test {
    let (load, store) = match order {
        SeqCst => (SeqCst, SeqCst),
        _ => (Acquire, Release),
    };
    let cell = || M::Atomic::new(0);
    let shared = ([cell(), cell()], [cell(), cell()], cell());
    Test::alike(2, shared, move |(chooses, numbers, counter), me| {
        let other = 1 - me;
        chooses[me].store(1, store);
        let mine = 1 + numbers[other].load(load);
        numbers[me].store(mine, store);
        chooses[me].store(0, store);
        M::wait_until(|| chooses[other].load(load) == 0);
        M::wait_until(|| {
            let theirs = numbers[other].load(load);
            theirs == 0 || (theirs, other) > (mine, me)
        });
        let value = increment(counter);
        numbers[me].store(0, store);
        vec![value]
    })
}

/// One thread initialises something, whoever comes first; the others wait until it is done.
pub fn once<M: Machine>(threads: usize) -> Test {
    const RUNNING: u32 = 1;
    const DONE: u32 = 2;
    Test::alike(threads, (M::Atomic::new(0), M::Atomic::new(0)), |(state, value), index| {
        if state.load(Acquire) != DONE {
            if state.compare_exchange(0, RUNNING, Acquire, Acquire).is_ok() {
                value.store(index as u32 + 1, Relaxed);
                state.store(DONE, Release);
            } else {
                M::wait_until(|| state.load(Acquire) == DONE);
            }
        }
        vec![value.load(Relaxed)]
    })
}

/// A semaphore: at most so many at a time.
pub fn semaphore<M: Machine>(threads: usize, permits: u32) -> Test {
    Test::alike(threads, M::Atomic::new(permits), |left, _| {
        let taken = M::retry(|| {
            let left_now = left.load(Relaxed);
            (left_now > 0).then(|| left.compare_exchange(left_now, left_now - 1, Acquire, Relaxed).ok())?
        });
        left.fetch_add(1, Release);
        vec![taken]
    })
}
