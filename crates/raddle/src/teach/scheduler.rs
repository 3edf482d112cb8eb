//! One execution of a test: its threads, their results, and what is asked of them.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;
use std::panic::resume_unwind;

use super::verdict::Verdict;
use crate::monitor::{self, Calls};
use crate::step;

/// The threads of an execution, and the validator of their results. Each execution of a test gets a fresh one.
#[derive(Default)]
pub struct Scheduler {
    threads: RefCell<Vec<Work>>,
    validator: RefCell<Option<Validator>>,
}

type Work = Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>;
type Validator = Box<dyn FnOnce(&Results) -> Option<String>>;

impl Scheduler {
    /// Adds a thread; the first is thread 1. Threads begin when the test has said everything.
    pub fn thread<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Handle<T> {
        let mut threads = self.threads.borrow_mut();
        threads.push(Box::new(move || Box::new(work())));
        Handle { index: threads.len() - 1, result: PhantomData }
    }

    /// Sets what is asked of the results, when all threads have ended.
    pub fn validate<V: Verdict>(&self, check: impl FnOnce(&Results) -> V + 'static) {
        *self.validator.borrow_mut() = Some(Box::new(move |results| check(results).failure()));
    }

    /// An object that the threads and the validator share. It lives as long as the execution, and is not dropped.
    pub fn share<T>(&self, object: T) -> &'static T {
        Box::leak(Box::new(object))
    }

    /// Adds a line to the log of the execution.
    pub fn log(&self, text: impl fmt::Display) {
        step(text, || ());
    }

    /// Runs the threads, and validates their results. What is wrong with them, if anything.
    pub(super) fn finish(self, threads: usize) -> Option<String> {
        let works = self.threads.into_inner();
        assert!(
            works.len() == threads,
            "the test has {} threads, but is said to have {threads}; call `Scheduler::thread` once for each",
            works.len()
        );
        let spawned: Vec<_> = works.into_iter().map(std::thread::spawn).collect();
        let results = spawned.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            // The panic is that of the thread.
            Err(payload) => resume_unwind(payload),
        });
        let results = Results { results: results.collect() };
        self.validator.into_inner().and_then(|validate| validate(&results))
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("threads", &self.threads.borrow().len()).finish_non_exhaustive()
    }
}

/// A thread of a test, by which its result is found.
#[derive(Debug)]
pub struct Handle<T> {
    index: usize,
    result: PhantomData<fn() -> T>,
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Handle<T> {
        *self
    }
}

impl<T> Copy for Handle<T> {}

/// The results of all threads of an execution.
#[derive(Debug)]
pub struct Results {
    results: Vec<Box<dyn Any + Send>>,
}

impl Results {
    /// The result of a thread.
    ///
    /// # Panics
    /// If the handle is that of another test.
    pub fn get<T: 'static>(&self, thread: Handle<T>) -> &T {
        let result = self.results.get(thread.index).and_then(|result| result.downcast_ref());
        result.expect("the handle is that of a thread of another test")
    }

    /// The results of this type, of all threads in their order.
    pub fn all<T: 'static>(&self) -> impl Iterator<Item = &T> {
        self.results.iter().filter_map(|result| result.downcast_ref())
    }

    /// How often monitors were used in this execution.
    pub fn calls(&self) -> Calls {
        monitor::calls()
    }
}

impl<T: 'static> Index<Handle<T>> for Results {
    type Output = T;

    fn index(&self, thread: Handle<T>) -> &T {
        self.get(thread)
    }
}
