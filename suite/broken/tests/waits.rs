//! Loops that wait, in code that is not optimised: each execution once, and nothing that a thread remembers is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;

use raddle::{Explorer, Memory, Report, Strategy};

fn explore<T: Ord + Clone + Send + 'static>(memory: Memory, body: impl Fn() -> T) -> Report<T> {
    Explorer::new().strategy(Strategy::Exhaustive).memory(memory).run(body)
}

/// So many threads increment a counter, each between `lock` and `unlock`, which know its number.
fn critical_sections<L: Send + Sync + 'static>(
    executions: u64,
    threads: usize,
    new: impl Fn() -> L,
    lock: fn(&L, usize) -> usize,
    unlock: fn(&L, usize),
) {
    for memory in [Memory::Sc, Memory::Rc11] {
        let report = explore(memory, || {
            let shared = Arc::new((new(), AtomicUsize::new(0)));
            let increment = |number: usize| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let ticket = lock(&shared.0, number);
                    shared.1.store(shared.1.load(Relaxed) + 1, Relaxed);
                    unlock(&shared.0, ticket);
                })
            };
            let threads: Vec<_> = (0..threads).map(increment).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            shared.1.load(Relaxed)
        });
        // Weak exchanges are not tried to fail without a cause.
        assert!(report.exhausted);
        assert_eq!(report.outcomes, BTreeMap::from([(threads, executions)]), "{memory:?}");
    }
}

mod spinloop {
    use super::*;

    #[test]
    fn compare_exchange() {
        let lock = |locked: &AtomicBool, number| {
            while locked.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
                std::hint::spin_loop();
            }
            number
        };
        for (threads, orders) in [(2, 2), (3, 6)] {
            critical_sections(
                orders,
                threads,
                || AtomicBool::new(false),
                lock,
                |locked, _| {
                    locked.store(false, Release);
                },
            );
        }
    }

    #[test]
    fn tickets() {
        let lock = |(next, serving): &(AtomicUsize, AtomicUsize), _| {
            let ticket = next.fetch_add(1, Relaxed);
            while serving.load(Acquire) != ticket {
                std::hint::spin_loop();
            }
            ticket
        };
        for (threads, orders) in [(2, 2), (3, 6)] {
            critical_sections(orders, threads, Default::default, lock, |(_, serving), ticket| {
                serving.store(ticket + 1, Release);
            });
        }
    }

    type Flags = ([AtomicBool; 2], AtomicUsize);

    #[test]
    fn peterson() {
        let lock = |(wants, turn): &Flags, me: usize| {
            let other = 1 - me;
            wants[me].store(true, SeqCst);
            turn.store(other, SeqCst);
            while wants[other].load(SeqCst) && turn.load(SeqCst) == other {
                std::hint::spin_loop();
            }
            me
        };
        critical_sections(4, 2, Flags::default, lock, |(wants, _), me| wants[me].store(false, SeqCst));
    }

    #[test]
    fn dekker() {
        let lock = |(wants, turn): &Flags, me: usize| {
            wants[me].store(true, SeqCst);
            while wants[1 - me].load(SeqCst) {
                if turn.load(SeqCst) != me {
                    wants[me].store(false, SeqCst);
                    while turn.load(SeqCst) != me {
                        std::hint::spin_loop();
                    }
                    wants[me].store(true, SeqCst);
                }
            }
            me
        };
        critical_sections(4, 2, Flags::default, lock, |(wants, turn), me| {
            turn.store(1 - me, SeqCst);
            wants[me].store(false, SeqCst);
        });
    }

    /// A thread waits for another, and returns what it made of it.
    fn waiting<T: Send + 'static>(wait: fn(&AtomicBool) -> T) -> T {
        let ready = Arc::new(AtomicBool::new(false));
        let waits = Arc::clone(&ready);
        let thread = thread::spawn(move || wait(&waits));
        ready.store(true, Release);
        thread.join().unwrap()
    }

    #[test]
    fn whether_it_waited() {
        let report = explore(Memory::Sc, || {
            waiting(|ready| {
                let mut waited = false;
                while !ready.load(Acquire) {
                    waited = true;
                }
                waited
            })
        });
        assert!(report.complete);
        assert_eq!(report.outcomes, BTreeMap::from([(false, 1), (true, 1)]));
    }

    /// A thread that yields is taken to wait, and then nobody says that everything was explored.
    #[test]
    fn how_often_it_yielded() {
        let report = explore(Memory::Sc, || {
            waiting(|ready| {
                let mut rounds = 0;
                while !ready.load(Acquire) && rounds < 3 {
                    rounds += 1;
                    thread::yield_now();
                }
                rounds
            })
        });
        assert!(!report.complete || report.outcomes.len() == 4, "{:?}", report.outcomes);
    }
}
