//! Algorithms that are wrong: what people come to Raddle with.
#![allow(clippy::missing_spin_loop, reason = "programs under test spin in every way there is")]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use broken::{EXECUTIONS, all, finds, finds_with, functions, searching};
use raddle::{Explorer, Failure, Kind};
use raddle_report::failure::Action;

/// The events of the trace that touch memory, in order: thread, and `r` or `w`.
fn accesses(failure: &Failure, function: &str) -> String {
    let events = failure.trace.events.iter();
    let own = events.filter(|event| functions(failure, event.at).iter().any(|name| name.ends_with(function)));
    own.filter_map(|event| match event.action {
        Action::Load { .. } => Some(format!("{}r", event.thread)),
        Action::Store { .. } => Some(format!("{}w", event.thread)),
        _ => None,
    })
    .collect::<Vec<_>>()
    .join(" ")
}

#[test]
fn lost_update() {
    fn increment(counter: &AtomicU32) {
        let value = counter.load(SeqCst);
        counter.store(value + 1, SeqCst);
    }
    finds(
        &all(),
        Kind::Panic,
        || {
            let counter = AtomicU32::new(0);
            thread::scope(|scope| {
                scope.spawn(|| increment(&counter));
                scope.spawn(|| increment(&counter));
            });
            assert_eq!(counter.into_inner(), 2);
        },
        |failure| {
            // Both read before either wrote.
            let accesses = accesses(failure, "increment");
            let lost = ["1r 2r 1w 2w", "1r 2r 2w 1w", "2r 1r 1w 2w", "2r 1r 2w 1w"];
            assert!(lost.contains(&accesses.as_str()), "{accesses}");
        },
    );
}

/// Treiber's stack on indices into a fixed array: a node that is popped and pushed again is taken for the old one.
struct Stack {
    head: AtomicUsize,
    next: [AtomicUsize; 3],
}

const NONE: usize = usize::MAX;

impl Stack {
    fn full() -> Stack {
        Stack {
            head: AtomicUsize::new(0),
            next: [AtomicUsize::new(1), AtomicUsize::new(2), AtomicUsize::new(NONE)],
        }
    }

    fn push(&self, node: usize) {
        loop {
            let head = self.head.load(SeqCst);
            self.next[node].store(head, SeqCst);
            if self.head.compare_exchange(head, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let head = self.head.load(SeqCst);
            if head == NONE {
                return None;
            }
            // Between here and the exchange, `head` may be popped, its successor too, and `head` pushed again.
            let next = self.next[head].load(SeqCst);
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                return Some(head);
            }
        }
    }
}

#[test]
fn aba_on_a_stack_of_indices() {
    finds(
        &searching(),
        Kind::Panic,
        || {
            let stack = Stack::full();
            let (first, second) = thread::scope(|scope| {
                let other = scope.spawn(|| {
                    let (a, b) = (stack.pop(), stack.pop());
                    if let Some(a) = a {
                        stack.push(a);
                    }
                    b
                });
                (stack.pop(), other.join().unwrap())
            });
            let mut taken: Vec<usize> = first.into_iter().chain(second).collect();
            for _ in 0..3 {
                taken.extend(stack.pop());
            }
            taken.sort_unstable();
            assert_eq!(taken, [0, 1, 2], "each node is taken once");
        },
        |failure| assert!(failure.message.contains("each node is taken once")),
    );
}

/// Initialisation that is announced before it is done: wrong even if memory is sequentially consistent.
#[test]
fn double_checked_initialisation_that_announces_too_early() {
    #[derive(Default)]
    struct Lazy {
        announced: AtomicBool,
        lock: Mutex<()>,
        value: AtomicU32,
    }
    impl Lazy {
        fn get(&self) -> u32 {
            if !self.announced.load(SeqCst) {
                let _guard = self.lock.lock().unwrap();
                if !self.announced.swap(true, SeqCst) {
                    self.value.store(7, SeqCst);
                }
            }
            self.value.load(SeqCst)
        }
    }
    finds(
        &searching(),
        Kind::Panic,
        || {
            let lazy = Lazy::default();
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| assert_eq!(lazy.get(), 7));
                }
            });
        },
        |failure| {
            let events = failure.trace.events.iter().rev();
            let read = events.filter_map(|event| match &event.action {
                Action::Load { value, .. } => Some(value.0),
                _ => None,
            });
            assert!(read.take(3).any(|value| value == 0), "the value was read before it was there");
        },
    );
}

/// One condition for producers and consumers, and `notify_one`: it may wake one of the wrong kind.
#[test]
fn bounded_buffer_that_wakes_the_wrong_thread() {
    #[derive(Default)]
    struct Buffer {
        item: Mutex<Option<u32>>,
        changed: Condvar,
    }
    impl Buffer {
        fn put(&self, item: u32) {
            let mut slot = self.changed.wait_while(self.item.lock().unwrap(), |slot| slot.is_some()).unwrap();
            *slot = Some(item);
            self.changed.notify_one();
        }

        fn take(&self) -> u32 {
            let mut slot = self.changed.wait_while(self.item.lock().unwrap(), |slot| slot.is_none()).unwrap();
            self.changed.notify_one();
            slot.take().expect("waited for it")
        }
    }
    finds(
        &searching(),
        Kind::Deadlock,
        || {
            let buffer = Arc::new(Buffer::default());
            let mut threads = Vec::new();
            for i in 0..2 {
                let (putting, taking) = (Arc::clone(&buffer), Arc::clone(&buffer));
                threads.push(thread::spawn(move || {
                    putting.put(i);
                    putting.put(i);
                }));
                threads.push(thread::spawn(move || {
                    taking.take();
                    taking.take();
                }));
            }
            for thread in threads {
                thread.join().unwrap();
            }
        },
        |failure| {
            let waiting = (1..5).filter(|&thread| {
                broken::wait(failure, thread).is_some_and(|(on, _)| on.contains("condition"))
            });
            assert!(waiting.count() >= 2, "{:?}", failure.threads);
        },
    );
}

/// The writer looks whether there are readers and takes the lock in two steps.
#[test]
fn readers_and_a_writer_at_once() {
    #[derive(Default)]
    struct Lock {
        readers: AtomicU32,
        writing: AtomicBool,
        data: UnsafeCell<(u32, u32)>,
    }
    // SAFETY: none: that it is not is the bug.
    unsafe impl Sync for Lock {}
    impl Lock {
        fn try_read<T>(&self, read: impl FnOnce(&(u32, u32)) -> T) -> Option<T> {
            self.readers.fetch_add(1, SeqCst);
            let seen = (!self.writing.load(SeqCst)).then(|| {
                // SAFETY: see above.
                read(unsafe { &*self.data.get() })
            });
            self.readers.fetch_sub(1, SeqCst);
            seen
        }

        fn try_write(&self, write: impl FnOnce(&mut (u32, u32))) -> bool {
            if self.readers.load(SeqCst) != 0 {
                return false;
            }
            // A reader may come here.
            self.writing.store(true, SeqCst);
            // SAFETY: see above.
            write(unsafe { &mut *self.data.get() });
            self.writing.store(false, SeqCst);
            true
        }
    }
    // That nothing orders reader and writer is a race already; here it is what the reader sees that is looked for.
    finds_with(
        &Explorer::new().executions(EXECUTIONS).races(false),
        &searching(),
        Kind::Panic,
        || {
            let lock = Lock::default();
            let step = AtomicU32::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    lock.try_write(|data| {
                        data.0 += 1;
                        step.store(1, SeqCst);
                        data.1 += 1;
                    })
                });
                scope.spawn(|| {
                    lock.try_read(|data| {
                        let first = data.0;
                        step.load(SeqCst);
                        assert_eq!(first, data.1, "a reader saw half a write");
                    })
                });
            });
        },
        |failure| {
            assert!(failure.trace.events.iter().any(|event| {
                matches!(&event.action, Action::Panic { message } if message.contains("half a write"))
            }))
        },
    );
}

/// Peterson's lock with the turn given before the flag is raised: both can enter.
#[test]
fn petersons_lock_in_the_wrong_order() {
    finds(
        &searching(),
        Kind::Panic,
        || {
            let (flags, turn) = ([AtomicBool::new(false), AtomicBool::new(false)], AtomicUsize::new(0));
            let inside = AtomicU32::new(0);
            thread::scope(|scope| {
                for me in 0..2 {
                    let (flags, turn, inside) = (&flags, &turn, &inside);
                    scope.spawn(move || {
                        let other = 1 - me;
                        turn.store(other, SeqCst);
                        flags[me].store(true, SeqCst);
                        while flags[other].load(SeqCst) && turn.load(SeqCst) == other {}
                        assert_eq!(inside.fetch_add(1, SeqCst), 0, "both are inside");
                        inside.fetch_sub(1, SeqCst);
                        flags[me].store(false, SeqCst);
                    });
                }
            });
        },
        |failure| {
            assert!(failure.trace.events.iter().any(|event| {
                matches!(&event.action, Action::Panic { message } if message.contains("both are inside"))
            }))
        },
    );
}

/// The same lock in the right order passes: what was found above is the order and nothing else.
#[test]
fn petersons_lock_in_the_right_order() {
    broken::passes(|| {
        let (flags, turn) = ([AtomicBool::new(false), AtomicBool::new(false)], AtomicUsize::new(0));
        let inside = AtomicU32::new(0);
        thread::scope(|scope| {
            for me in 0..2 {
                let (flags, turn, inside) = (&flags, &turn, &inside);
                scope.spawn(move || {
                    let other = 1 - me;
                    flags[me].store(true, SeqCst);
                    turn.store(other, SeqCst);
                    while flags[other].load(SeqCst) && turn.load(SeqCst) == other {}
                    assert_eq!(inside.fetch_add(1, SeqCst), 0);
                    inside.fetch_sub(1, SeqCst);
                    flags[me].store(false, SeqCst);
                });
            }
        });
    });
}
