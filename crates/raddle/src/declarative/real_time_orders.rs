//! The number of real-time orders of operations, which bounds the number of executions of a scenario from below.

/// The number of real-time orders of the operations of two threads, which make `one` and `other` operations. Under sequential
/// consistency, an exhaustive search makes at least one execution for each of them.
pub(crate) fn real_time_orders(one: usize, other: usize) -> u64 {
    // Real time orders the end of an operation and the beginning of one of the other thread, and nothing else: sequences of
    // beginnings and ends that differ only in the order of two beginnings or two ends are equivalent. The representative of each
    // class is the sequence in which the first thread's event precedes the second thread's wherever the two commute. `before` and
    // `now` count the representatives that lead to each position, by the thread of their last event.
    let mut before = vec![[0u64; 2]; 2 * other + 1];
    for first in 0..=2 * one {
        let mut now = vec![[0u64; 2]; 2 * other + 1];
        for second in 0..=2 * other {
            let ordered = first % 2 != second % 2 && second > 0;
            let by_first = match (first, ordered) {
                (0, _) => u64::from(second == 0),
                (_, true) => before[second][0].saturating_add(before[second][1]),
                (_, false) => before[second][0],
            };
            let by_second =
                if second == 0 { 0 } else { now[second - 1][0].saturating_add(now[second - 1][1]) };
            now[second] = [by_first, by_second];
        }
        before = now;
    }
    let [by_first, by_second] = before[2 * other];
    by_first.saturating_add(by_second)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::real_time_orders;

    /// The set of orders in all interleavings of the beginnings and ends of two threads.
    fn brute_force(one: usize, other: usize) -> u64 {
        fn go(
            left: [usize; 2],
            made: [usize; 2],
            order: &BTreeSet<[usize; 3]>,
            all: &mut BTreeSet<BTreeSet<[usize; 3]>>,
        ) {
            if made == left {
                all.insert(order.clone());
            }
            for thread in (0..2).filter(|&thread| made[thread] < left[thread]) {
                let (mut made, mut order) = (made, order.clone());
                if made[thread] % 2 == 0 {
                    let ended = made[1 - thread] / 2;
                    order.extend((0..ended).map(|ended| [thread, made[thread] / 2, ended]));
                }
                made[thread] += 1;
                go(left, made, &order, all);
            }
        }
        let mut all = BTreeSet::new();
        go([2 * one, 2 * other], [0, 0], &BTreeSet::new(), &mut all);
        all.len() as u64
    }

    #[test]
    fn orders_are_counted() {
        for (one, other) in [(1, 1), (2, 1), (1, 3), (2, 2), (3, 2), (3, 3)] {
            assert_eq!(real_time_orders(one, other), brute_force(one, other), "{one} {other}");
        }
        assert_eq!(real_time_orders(5, 0), 1);
    }
}
