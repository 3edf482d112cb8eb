//! Small loops that wait, and some that look like it.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crate::machine::{Atomic, Lock, Machine, Test};

/// One thread looks twice in each round, and goes on for different reasons; the other one counts.
pub fn two_looks<M: Machine>(most: u32) -> Test {
    Test::alike(2, M::Atomic::new(0), move |x, index| {
        if index == 1 {
            (1..=most).for_each(|value| x.store(value, Relaxed));
            return Vec::new();
        }
        vec![M::retry(|| match x.load(Acquire) {
            found if found == most => Some(1),
            _ => (x.load(Relaxed) == 0).then_some(0),
        })]
    })
}

/// A thread waits for two others, for both at once or one after the other.
pub fn two_places<M: Machine>(at_once: bool) -> Test {
    Test::alike(3, [M::Atomic::new(0), M::Atomic::new(0)], move |[x, y], index| {
        match index {
            0 if at_once => M::wait_until(|| x.load(Acquire) == 1 && y.load(Acquire) == 1),
            0 => {
                M::wait_until(|| x.load(Acquire) == 1);
                M::wait_until(|| y.load(Acquire) == 1);
            }
            1 => x.store(1, Release),
            _ => y.store(1, Release),
        }
        Vec::new()
    })
}

/// A thread waits for one of two values, and tells which it was.
pub fn either_value<M: Machine>() -> Test {
    Test::alike(3, M::Atomic::new(0), |x, index| {
        if index > 0 {
            x.store(index as u32, Release);
            return Vec::new();
        }
        let see = || Some(x.load(Acquire)).filter(|&value| value != 0);
        vec![M::retry(see)]
    })
}

/// A thread remembers whether it had to wait: the first round that it goes is not like the others.
pub fn remembers_waiting<M: Machine>() -> Test {
    Test::alike(2, M::Atomic::new(0), |flag, index| {
        if index == 1 {
            flag.store(1, Release);
            return Vec::new();
        }
        if flag.load(Acquire) == 1 {
            return vec![0];
        }
        M::wait_until(|| flag.load(Acquire) == 1);
        vec![1]
    })
}

/// A thread looks so many times, and then does without: such a loop does not wait.
pub fn looks_so_often<M: Machine>(times: u32) -> Test {
    Test::alike(2, M::Atomic::new(0), move |x, index| {
        if index == 1 {
            x.store(1, Release);
            return Vec::new();
        }
        vec![(0..times).find(|_| x.load(Acquire) == 1).unwrap_or(times)]
    })
}

/// A thread looks so many times, and then waits until it is woken.
pub fn looks_then_sleeps<M: Machine>(times: u32) -> Test {
    let shared = (M::Atomic::new(0), M::Atomic::new(0));
    Test::alike(2, shared, move |(flag, sleeps), index| {
        if index == 1 {
            flag.store(1, SeqCst);
            let woken = sleeps.swap(2, SeqCst);
            return vec![woken];
        }
        for time in 0..times {
            if flag.load(SeqCst) == 1 {
                return vec![time];
            }
        }
        if sleeps.compare_exchange(0, 1, SeqCst, SeqCst).is_ok() {
            M::wait_until(|| sleeps.load(SeqCst) == 2);
        }
        vec![times, flag.load(SeqCst)]
    })
}

/// Threads hand a token round, so many times each.
pub fn ping_pong<M: Machine>(threads: usize, times: u32) -> Test {
    Test::alike(threads, M::Atomic::new(0), move |token, index| {
        for time in 0..times {
            let mine = time * threads as u32 + index as u32;
            M::wait_until(|| token.load(Acquire) == mine);
            token.store(mine + 1, Release);
        }
        Vec::new()
    })
}

/// Each thread increments a counter by load and compare-exchange, without telling that it waits, as std's `fetch_update`.
pub fn fetch_update<M: Machine>(threads: usize) -> Test {
    Test::alike(threads, M::Atomic::new(0), |counter, _| {
        let mut value = counter.load(Relaxed);
        loop {
            match counter.compare_exchange(value, value + 1, SeqCst, Relaxed) {
                Ok(_) => return vec![value],
                Err(found) => value = found,
            }
        }
    })
}

/// One thread looks under a lock, so many times at most, whether others have written all of an array, each of them one half of
/// it, under the lock, too.
pub fn polls_under_lock<M: Machine>(halves: usize, times: u32) -> Test {
    let array: Vec<_> = (0..2 * halves).map(|_| M::Atomic::new(0)).collect();
    Test::alike(halves + 1, (M::Lock::new(), array), move |(lock, array), index| {
        if index == 0 {
            let is_full = || array.iter().all(|item| item.load(Relaxed) != 0);
            return vec![(0..times).find(|_| lock.with(is_full)).unwrap_or(times)];
        }
        for item in &array[2 * (index - 1)..2 * index] {
            lock.with(|| item.store(1, Relaxed));
        }
        Vec::new()
    })
}

/// Two locks, one after the other and the first one again (each time with an increment).
pub fn complex_lock<M: Machine>(threads: usize) -> Test {
    let shared = ([M::Lock::new(), M::Lock::new()], M::Atomic::new(0));
    Test::alike(threads, shared, |([outer, inner], counter), _| {
        let increment = || {
            let value = counter.load(Relaxed);
            counter.store(value + 1, Relaxed);
            value
        };
        let first = outer.with(increment);
        inner.with(|| ());
        vec![first, outer.with(increment)]
    })
}
