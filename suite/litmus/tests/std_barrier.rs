//! `std::sync::Barrier`: the order in which threads come is explored, and nothing else.

use std::cell::UnsafeCell;
use std::sync::Barrier;
use std::thread;

use litmus::Model;
use litmus::check::explorer;

/// Threads that wait so often; each says when it was the one that let the others go.
fn meet(barrier: &Barrier, threads: usize, times: usize) -> Vec<Vec<bool>> {
    thread::scope(|scope| {
        let wait = || (0..times).map(|_| barrier.wait().is_leader()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(wait)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

mod barrier {
    use super::*;

    /// GenMC has as many where it does not know barriers.
    #[test]
    fn threads_come_in_any_order() {
        for (threads, times, expected) in [(1, 1, 1), (2, 1, 2), (3, 1, 6), (4, 1, 24), (2, 3, 8), (3, 2, 36)]
        {
            for model in Model::ALL {
                let report = explorer(model).run(|| meet(&Barrier::new(threads), threads, times));
                assert_eq!(
                    (report.complete, report.executions, report.blocked),
                    (true, expected, 0),
                    "{model:?}"
                );
                // Each may be the last, each time.
                assert_eq!(report.outcomes.len(), threads.pow(times as u32), "{model:?}");
                let one_leads = |outcome: &Vec<Vec<bool>>| {
                    (0..times).all(|time| outcome.iter().filter(|thread| thread[time]).count() == 1)
                };
                assert!(report.outcomes.keys().all(one_leads), "{model:?}");
            }
        }
    }

    /// More threads than it waits for: the next generation comes before this one has gone. Each order in which they come, and which of two
    /// leaders goes on first, is nobody's concern.
    #[test]
    fn generations_overlap() {
        for (size, threads, expected) in [(2, 4, 24), (1, 3, 6), (0, 3, 6), (3, 6, 720)] {
            for model in Model::ALL {
                let report = explorer(model).run(|| meet(&Barrier::new(size), threads, 1));
                assert_eq!(
                    (report.complete, report.executions),
                    (true, expected),
                    "{model:?} {size} {threads}"
                );
                let leaders = |outcome: &Vec<Vec<bool>>| outcome.iter().filter(|thread| thread[0]).count();
                let generations = threads / size.max(1);
                assert!(report.outcomes.keys().all(|outcome| leaders(outcome) == generations), "{model:?}");
            }
        }
    }

    /// Another barrier at the same address knows nothing of the one before, wherever that stood.
    #[test]
    fn barriers_one_after_another() {
        for model in Model::ALL {
            let report = explorer(model).run(|| {
                for threads in [2, 3, 1] {
                    meet(&Barrier::new(threads), threads, 1);
                }
            });
            assert_eq!((report.complete, report.executions), (true, 2 * 6), "{model:?}");
        }
    }

    struct Cells([UnsafeCell<u32>; 3]);

    // SAFETY: the barrier orders all accesses.
    unsafe impl Sync for Cells {}

    /// Whoever has passed sees what all others did before they came.
    #[test]
    fn all_are_seen_by_all() {
        for model in Model::ALL {
            let report = explorer(model).run(|| {
                let (barrier, cells) = (&Barrier::new(3), &Cells([0; 3].map(UnsafeCell::new)));
                thread::scope(|scope| {
                    let threads = [0, 1, 2].map(|index| {
                        scope.spawn(move || {
                            // SAFETY: each has a cell of its own before the barrier, and none writes after it.
                            unsafe {
                                *cells.0[index].get() = 1;
                                barrier.wait();
                                cells.0.iter().map(|cell| *cell.get()).sum::<u32>()
                            }
                        })
                    });
                    threads.map(|thread| thread.join().unwrap())
                })
            });
            assert!(report.outcomes.keys().eq(&[[3, 3, 3]]), "{model:?}");
        }
    }

    #[test]
    fn too_few_wait_for_ever() {
        for model in Model::ALL {
            let failure = explorer(model).try_run(|| meet(&Barrier::new(3), 2, 1)).unwrap_err();
            assert!(failure.message.contains("wait"), "{model:?}: {}", failure.message);
        }
    }

    /// Also strategies that interleave see each thread come last.
    #[test]
    fn has_each_thread_last_in_random_schedules_too() {
        let report = raddle::Explorer::new()
            .strategy(raddle::Strategy::Random)
            .executions(200)
            .run(|| meet(&Barrier::new(3), 3, 1));
        assert_eq!(report.outcomes.len(), 3);
    }
}
