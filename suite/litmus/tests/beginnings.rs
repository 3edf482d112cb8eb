//! Executions of an exhaustive search begin where earlier ones were: whatever a program can remember is then as it was there.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::panic::{catch_unwind, panic_any};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use litmus::Model;
use litmus::check::explorer;

const THREADS: usize = 3;
const STEPS: usize = 2;
/// In how many orders the threads can take their steps.
const ORDERS: u64 = 90;

/// A static that each thread has a part of, so that nothing races.
struct Parts(UnsafeCell<[usize; THREADS]>);

// SAFETY: each thread accesses its own part, and one that has joined all of them the others.
unsafe impl Sync for Parts {}

impl Parts {
    fn add(&self, thread: usize) -> usize {
        // SAFETY: as above.
        unsafe {
            let part = self.0.get().cast::<usize>().add(thread);
            *part += 1;
            *part
        }
    }

    fn all(&self) -> [usize; THREADS] {
        // SAFETY: as above.
        unsafe { *self.0.get() }
    }
}

static TAKEN: Parts = Parts(UnsafeCell::new([0; THREADS]));
static ENDED: Parts = Parts(UnsafeCell::new([0; THREADS]));

/// What a thread remembers of its own, and that it did.
#[derive(Default)]
struct Own {
    thread: Cell<usize>,
    seen: RefCell<HashMap<usize, String>>,
}

impl Drop for Own {
    fn drop(&mut self) {
        assert_eq!(self.seen.borrow().len(), STEPS);
        ENDED.add(self.thread.get());
    }
}

thread_local! {
    static OWN: Own = Own::default();
}

/// A step of a thread: it remembers what it sees in every way that there is.
fn take_step(thread: usize, step: usize, shared: &AtomicUsize, log: &mut Vec<usize>) {
    let kept = Box::new((thread, step));
    let local = [thread; 32];
    assert_eq!(TAKEN.add(thread), step + 1);
    let seen = shared.fetch_add(1, SeqCst);
    assert_eq!((*kept, local), ((thread, step), [thread; 32]));
    assert_eq!(log.len(), step);
    log.push(seen);
    OWN.with(|own| {
        own.thread.set(thread);
        let name = thread::current().name().map(str::to_owned);
        own.seen.borrow_mut().insert(seen, name.expect("it has a name"));
        assert!(own.seen.borrow().values().all(|name| *name == format!("thread {thread}")));
        assert_eq!(own.seen.borrow().len(), step + 1);
    });
    let thrown = catch_unwind(|| panic_any(seen)).expect_err("it panics");
    assert_eq!(thrown.downcast_ref(), Some(&seen));
    assert!(!thread::panicking());
}

fn random() -> u64 {
    RandomState::new().hash_one(7)
}

#[test]
fn a_checkpoint_restores_all_that_a_program_remembers() {
    for model in Model::ALL {
        let called = Cell::new(0);
        let mut borrowed = Vec::with_capacity(8);
        borrowed.extend([1, 2, 3]);
        let borrowed = RefCell::new(&mut borrowed);
        let report = explorer(model).run(|| {
            called.set(called.get() + 1);
            borrowed.borrow_mut().push(4);
            assert_eq!((TAKEN.all(), ENDED.all()), ([0; THREADS], [0; THREADS]));
            let (begin, first) = (Instant::now(), random());
            let shared = AtomicUsize::new(0);
            let mut logs = vec![Vec::new(); THREADS];
            thread::scope(|scope| {
                let threads: Vec<_> = logs
                    .iter_mut()
                    .enumerate()
                    .map(|(thread, log)| {
                        let shared = &shared;
                        let named = thread::Builder::new().name(format!("thread {thread}"));
                        let work = move || (0..STEPS).for_each(|step| take_step(thread, step, shared, log));
                        named.spawn_scoped(scope, work).unwrap()
                    })
                    .collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            });
            assert_eq!((TAKEN.all(), ENDED.all()), ([STEPS; THREADS], [1; THREADS]));
            assert!(logs.iter().all(|log| log.is_sorted()));
            let mut all = logs.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..THREADS * STEPS));
            assert_eq!((called.get(), borrowed.borrow().len()), (1, 4));
            (logs, first, random(), begin.elapsed())
        });
        assert!(report.exhausted);
        assert_eq!((report.executions, report.outcomes.len() as u64), (ORDERS, ORDERS), "{model:?}");
        let orders: BTreeSet<_> = report.outcomes.keys().map(|outcome| &outcome.0).collect();
        assert_eq!(orders.len() as u64, ORDERS, "{model:?}");
        assert_eq!((called.get(), borrowed.borrow().len()), (0, 3));
    }
}

#[test]
fn a_checkpoint_restores_threads_that_wait_for_each_other_and_for_the_clock() {
    const WAITED_FOR: usize = 2;
    for model in Model::ALL {
        let report = explorer(model).run(|| {
            let (turns, woken) = (Mutex::new(Vec::new()), Condvar::new());
            thread::scope(|scope| {
                for thread in 0..WAITED_FOR {
                    let (turns, woken) = (&turns, &woken);
                    scope.spawn(move || {
                        turns.lock().unwrap().push(thread);
                        turns.lock().unwrap().push(thread);
                        woken.notify_all();
                    });
                }
                let all = |turns: &mut Vec<usize>| turns.len() < WAITED_FOR * STEPS;
                drop(woken.wait_while(turns.lock().unwrap(), all).unwrap());
                let begin = Instant::now();
                thread::sleep(Duration::from_secs(60));
                assert!(begin.elapsed() >= Duration::from_secs(60));
            });
            turns.into_inner().unwrap()
        });
        assert!(report.exhausted);
        assert_eq!(report.outcomes.len(), 6, "{model:?}");
    }
}

#[test]
fn a_failure_of_a_late_execution_is_made_again() {
    for model in Model::ALL {
        for last in 0..THREADS {
            let result = explorer(model).try_run(|| {
                let shared = AtomicUsize::new(0);
                let mut logs = vec![Vec::new(); THREADS];
                thread::scope(|scope| {
                    for log in &mut logs {
                        let shared = &shared;
                        scope.spawn(move || (0..STEPS).for_each(|_| log.push(shared.fetch_add(1, SeqCst))));
                    }
                });
                assert!(logs[last] != [1, 4], "thread {last} was second and fifth");
            });
            let failure = result.expect_err("one of the executions fails");
            let told = format!("{failure:?}");
            assert!(told.contains(&format!("thread {last} was second and fifth")), "{told}");
        }
    }
}
