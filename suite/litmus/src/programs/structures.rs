//! Data structures without locks. Nodes are indices, and never used again.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::machine::{Atomic, Machine, Test};

const NONE: u32 = u32::MAX;

/// Treiber's stack; each thread pushes and pops so many times.
pub fn treiber<M: Machine>(threads: usize, times: usize) -> Test {
    let next: Vec<_> = (0..=threads * times).map(|_| M::Atomic::new(0)).collect();
    Test::alike(threads, (M::Atomic::new(0), next), move |(head, next), index| {
        let push = |node: u32| {
            let mut top = head.load(SeqCst);
            loop {
                next[node as usize].store(top, Relaxed);
                match head.compare_exchange(top, node, SeqCst, SeqCst) {
                    Ok(_) => return,
                    Err(found) => top = found,
                }
            }
        };
        let pop = || {
            let mut top = head.load(SeqCst);
            while top != 0 {
                let below = next[top as usize].load(Relaxed);
                match head.compare_exchange(top, below, SeqCst, SeqCst) {
                    Ok(_) => break,
                    Err(found) => top = found,
                }
            }
            top
        };
        let push_and_pop = |time| {
            push((1 + index * times + time) as u32);
            pop()
        };
        (0..times).map(push_and_pop).collect()
    })
}

/// Treiber's stack in one word, which has a digit for each node, the topmost last; each thread pushes and pops once. As the links of nodes
/// are part of the word, a failed attempt has no effect: it only remembers what it found.
pub fn treiber_in_a_word<M: Machine>(threads: usize) -> Test {
    push_and_pop(threads, |head: &M::Atomic, change| {
        let mut top = head.load(SeqCst);
        while let Some(new) = change(top) {
            match head.compare_exchange(top, new, SeqCst, SeqCst) {
                Ok(_) => break,
                Err(found) => top = found,
            }
        }
        top
    })
}

/// [`treiber_in_a_word`] for the oracle, without rounds: a thread that finds what it first tried to replace is where it began, and waits for
/// something else instead.
pub fn treiber_in_a_word_without_rounds<M: Machine>(threads: usize) -> Test {
    push_and_pop(threads, |head: &M::Atomic, change| {
        let first = head.load(SeqCst);
        let mut top = first;
        while let Some(new) = change(top) {
            match head.compare_exchange(top, new, SeqCst, SeqCst) {
                Ok(_) => break,
                Err(found) => {
                    M::wait_until(|| found != first);
                    top = found;
                }
            }
        }
        top
    })
}

/// Threads that push and pop one node each, by `update`, which returns what it replaced.
fn push_and_pop<A: Atomic>(
    threads: usize,
    update: impl Fn(&A, &dyn Fn(u32) -> Option<u32>) -> u32 + Copy + Send + Sync + 'static,
) -> Test {
    const NODES: u32 = 8;
    Test::alike(threads, A::new(0), move |head, index| {
        let node = index as u32 + 1;
        update(head, &|top| Some(top * NODES + node));
        vec![update(head, &|top| (top != 0).then_some(top / NODES)) % NODES]
    })
}

/// Treiber's stack; some threads push once, others pop once. Each attempt begins anew.
pub fn treiber_ends<M: Machine>(pops: usize, pushes: usize) -> Test {
    let next: Vec<_> = (0..=pushes).map(|_| M::Atomic::new(0)).collect();
    Test::alike(pops + pushes, (M::Atomic::new(0), next), move |(head, next), index| {
        if index < pushes {
            let node = index as u32 + 1;
            loop {
                let top = head.load(Acquire);
                next[node as usize].store(top, Relaxed);
                if head.compare_exchange(top, node, Release, Relaxed).is_ok() {
                    return Vec::new();
                }
            }
        }
        loop {
            let top = head.load(Acquire);
            if top == 0 {
                return vec![0];
            }
            let below = next[top as usize].load(Relaxed);
            if head.compare_exchange(top, below, Release, Relaxed).is_ok() {
                return vec![top];
            }
        }
    })
}

/// Michael and Scott's queue; each thread enqueues and dequeues so many times.
pub fn michael_scott<M: Machine>(threads: usize, times: usize) -> Test {
    let next: Vec<_> = (0..=threads * times).map(|_| M::Atomic::new(NONE)).collect();
    Test::alike(threads, (M::Atomic::new(0), M::Atomic::new(0), next), move |(head, tail, next), index| {
        let enqueue = |node: u32| {
            loop {
                let last = tail.load(SeqCst);
                let after = next[last as usize].load(SeqCst);
                if after != NONE {
                    let _ = tail.compare_exchange(last, after, SeqCst, SeqCst);
                } else if next[last as usize].compare_exchange(NONE, node, SeqCst, SeqCst).is_ok() {
                    let _ = tail.compare_exchange(last, node, SeqCst, SeqCst);
                    return;
                }
            }
        };
        let dequeue = || {
            loop {
                let (first, last) = (head.load(SeqCst), tail.load(SeqCst));
                let after = next[first as usize].load(SeqCst);
                if after == NONE {
                    return NONE;
                }
                if first == last {
                    let _ = tail.compare_exchange(last, after, SeqCst, SeqCst);
                } else if head.compare_exchange(first, after, SeqCst, SeqCst).is_ok() {
                    return after;
                }
            }
        };
        let both = |time| {
            enqueue((1 + index * times + time) as u32);
            dequeue()
        };
        (0..times).map(both).collect()
    })
}

/// A sequence lock of one writer and readers that try again until they see both values of one version.
pub fn seqlock<M: Machine>(readers: usize) -> Test {
    let shared = (M::Atomic::new(0), [M::Atomic::new(0), M::Atomic::new(0)]);
    Test::alike(readers + 1, shared, |(sequence, data), index| {
        if index == 0 {
            sequence.store(1, Relaxed);
            M::fence(Release);
            data.iter().for_each(|cell| cell.store(1, Relaxed));
            sequence.store(2, Release);
            return Vec::new();
        }
        let values = M::retry(|| {
            let before = sequence.load(Acquire);
            if before % 2 == 1 {
                return None;
            }
            let values = [data[0].load(Relaxed), data[1].load(Relaxed)];
            M::fence(Acquire);
            (sequence.load(Relaxed) == before).then_some(values)
        });
        values.to_vec()
    })
}

/// A pointer that is replaced and whose old target is retired, unless a hazard pointer protects it (Michael, 2004).
pub fn hazard_pointer<M: Machine>(readers: usize) -> Test {
    struct Shared<M: Machine> {
        pointer: M::Atomic,
        hazards: Vec<M::Atomic>,
        freed: [M::Atomic; 2],
    }
    let cell = || M::Atomic::new(0);
    let shared = Shared::<M> {
        pointer: cell(),
        hazards: (0..readers).map(|_| cell()).collect(),
        freed: [cell(), cell()],
    };
    Test::alike(readers + 1, shared, |Shared { pointer, hazards, freed }, index| {
        if index == 0 {
            let old = pointer.swap(1, AcqRel);
            M::fence(SeqCst);
            if hazards.iter().all(|hazard| hazard.load(Acquire) != old + 1) {
                freed[old as usize].store(1, Relaxed);
            }
            return Vec::new();
        }
        let hazard = &hazards[index - 1];
        let protected = loop {
            let target = pointer.load(Relaxed);
            hazard.store(target + 1, Relaxed);
            M::fence(SeqCst);
            if pointer.load(Acquire) == target {
                break target;
            }
        };
        let is_freed = freed[protected as usize].load(Relaxed);
        hazard.store(0, Release);
        vec![protected, is_freed]
    })
}

/// The deque of Chase and Lev, for weak memory (Lê, Pop, Cohen and Zappa Nardelli, 2013): the owner pushes two items and takes
/// one; thieves steal one each.
pub fn chase_lev<M: Machine>(thieves: usize) -> Test {
    struct Deque<M: Machine> {
        top: M::Atomic,
        bottom: M::Atomic,
        items: [M::Atomic; 2],
    }
    let cell = || M::Atomic::new(0);
    let deque = Deque::<M> { top: cell(), bottom: cell(), items: [cell(), cell()] };
    Test::alike(thieves + 1, deque, |Deque { top, bottom, items }, index| {
        if index > 0 {
            let first = top.load(Acquire);
            M::fence(SeqCst);
            if first >= bottom.load(Acquire) {
                return vec![0];
            }
            let item = items[first as usize % 2].load(Relaxed);
            let taken = top.compare_exchange(first, first + 1, SeqCst, Relaxed);
            return vec![taken.map_or(0, |_| item)];
        }
        for item in 1..=2 {
            let last = bottom.load(Relaxed);
            let _ = top.load(Acquire);
            items[last as usize % 2].store(item, Relaxed);
            M::fence(Release);
            bottom.store(last + 1, Relaxed);
        }
        let last = bottom.load(Relaxed) - 1;
        bottom.store(last, Relaxed);
        M::fence(SeqCst);
        let first = top.load(Relaxed);
        if first > last {
            bottom.store(last + 1, Relaxed);
            return vec![0];
        }
        let item = items[last as usize % 2].load(Relaxed);
        if first < last {
            return vec![item];
        }
        let taken = top.compare_exchange(first, first + 1, SeqCst, Relaxed);
        bottom.store(last + 1, Relaxed);
        vec![taken.map_or(0, |_| item)]
    })
}

/// Threads set a word to 42 and another one to 0, each trying until its compare-exchange succeeds.
pub fn confirmation_loops<M: Machine>(setters: usize) -> Test {
    Test::alike(setters + 2, M::Atomic::new(0), move |word, index| {
        if index == 0 {
            return vec![u32::from(word.compare_exchange(42, 0, SeqCst, SeqCst).is_ok())];
        }
        let new = if index <= setters { 42 } else { 0 };
        vec![M::retry(|| {
            let found = word.load(SeqCst);
            word.compare_exchange(found, new, SeqCst, SeqCst).ok()
        })]
    })
}

/// A ring of many producers and consumers, as FreeBSD has it: each thread enqueues once and dequeues once.
pub fn ring<M: Machine>(threads: usize) -> Test {
    const SIZE: u32 = 8;
    struct Ends<M: Machine> {
        head: M::Atomic,
        tail: M::Atomic,
    }
    let ends = || Ends::<M> { head: M::Atomic::new(0), tail: M::Atomic::new(0) };
    let slots: Vec<_> = (0..SIZE).map(|_| M::Atomic::new(0)).collect();
    Test::alike(threads, (ends(), ends(), slots), |(producers, consumers, slots), index| {
        let after = |at: u32| (at + 1) % SIZE;
        let free = M::retry(|| {
            let at = producers.head.load(Relaxed);
            // Who sees an old head may take the ring to be full.
            if after(at) == consumers.tail.load(Relaxed) {
                return Some(None);
            }
            producers.head.compare_exchange(at, after(at), AcqRel, Acquire).ok().map(Some)
        });
        if let Some(at) = free {
            M::fence(SeqCst);
            slots[at as usize].store(index as u32 + 1, Relaxed);
            M::wait_until(|| producers.tail.load(Relaxed) == at);
            producers.tail.store(after(at), Relaxed);
        }

        let taken = M::retry(|| {
            let at = consumers.head.load(Relaxed);
            if at == producers.tail.load(Relaxed) {
                return Some(None);
            }
            consumers.head.compare_exchange(at, after(at), AcqRel, Acquire).ok().map(Some)
        });
        let Some(at) = taken else { return vec![0] };
        let value = slots[at as usize].load(Relaxed);
        M::wait_until(|| consumers.tail.load(Relaxed) == at);
        M::fence(SeqCst);
        consumers.tail.store(after(at), Relaxed);
        vec![value]
    })
}

/// A queue of one producer and one consumer, each of which waits for the other: so many items through so few slots.
pub fn channel<M: Machine>(items: u32, slots: u32) -> Test {
    let cells: Vec<_> = (0..slots).map(|_| M::Atomic::new(0)).collect();
    Test::alike(2, (M::Atomic::new(0), M::Atomic::new(0), cells), move |(sent, received, cells), index| {
        let cell = |item: u32| &cells[(item % slots) as usize];
        let send = |item: u32| {
            M::wait_until(|| item - received.load(Acquire) < slots);
            cell(item).store(item + 1, Relaxed);
            sent.store(item + 1, Release);
        };
        let receive = |item: u32| {
            M::wait_until(|| sent.load(Acquire) > item);
            let value = cell(item).load(Relaxed);
            received.store(item + 1, Release);
            value
        };
        if index == 0 {
            (0..items).for_each(send);
            return Vec::new();
        }
        (0..items).map(receive).collect()
    })
}
