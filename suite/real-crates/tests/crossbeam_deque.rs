//! crossbeam-deque: a work-stealing deque and its injector.

use std::thread;

use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use real_crates::{passes, repeats};

fn steal_one(stealer: &Stealer<u32>) -> Option<u32> {
    loop {
        match stealer.steal() {
            Steal::Success(task) => return Some(task),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

#[track_caller]
fn every_task_is_taken_once(worker: fn() -> Worker<u32>) {
    passes(1500, || {
        let worker = worker();
        let mut taken: Vec<u32> = thread::scope(|scope| {
            worker.push(1);
            worker.push(2);
            let thieves =
                [worker.stealer(), worker.stealer()].map(|stealer| scope.spawn(move || steal_one(&stealer)));
            let own = worker.pop();
            thieves.into_iter().filter_map(|thief| thief.join().unwrap()).chain(own).collect()
        });
        taken.extend(std::iter::from_fn(|| worker.pop()));
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}

#[test]
fn lifo_worker_and_thieves_take_every_task_once() {
    every_task_is_taken_once(Worker::new_lifo);
}

#[test]
fn fifo_worker_and_thieves_take_every_task_once() {
    every_task_is_taken_once(Worker::new_fifo);
}

#[test]
fn injector_gives_out_every_task_once() {
    passes(1000, || {
        let injector = Injector::new();
        let mut taken: Vec<u32> = thread::scope(|scope| {
            scope.spawn(|| injector.push(1));
            scope.spawn(|| injector.push(2));
            injector.steal().success().into_iter().collect()
        });
        let worker = Worker::new_fifo();
        // A batch is half of what is there.
        while !injector.is_empty() {
            taken.extend(injector.steal_batch_and_pop(&worker).success());
        }
        taken.extend(std::iter::from_fn(|| worker.pop()));
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}

#[test]
fn crossbeam_deque_failures_repeat() {
    repeats(5000, || {
        let worker = Worker::new_fifo();
        worker.push(1);
        let stealer = worker.stealer();
        let stolen = thread::scope(|scope| {
            let thief = scope.spawn(|| steal_one(&stealer));
            worker.push(2);
            worker.pop();
            thief.join().unwrap()
        });
        assert_ne!(stolen, Some(2), "the thief came after the owner");
    });
}
