//! Programs that end under every fair schedule, though not under every schedule: threads that poll.
//!
//! Each thread waits for threads before it only, in one of many ways, and says in the end that it is done. So every execution ends in which
//! no thread is kept from going on for ever, and no strategy may report one as a failure.

use std::hint::spin_loop;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Duration;

use raddle::{Explorer, Failure, Memory};

use crate::random::Random;

/// What the threads do, one list for each.
pub type Program = Vec<Vec<Step>>;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Waits until an earlier thread is done.
    Wait(usize, Look, Pause),
    /// Takes the ticket lock and gives it back.
    Ticket(Pause),
    /// Takes a lock made of a compare-exchange and gives it back.
    CompareExchange(Pause),
    /// Increments what the mutex holds.
    Increment,
}

/// How a thread finds out whether another one is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// By an atomic.
    Atomic,
    /// By a mutex.
    Mutex,
    /// By a mutex that it only tries to take.
    TryLock,
    /// By an `RwLock`.
    RwLock,
    /// By an `RwLock` that it only tries to take.
    TryRead,
}

/// What a thread does before it looks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Nothing.
    Nothing,
    /// `spin_loop`
    SpinLoop,
    /// `yield_now`
    Yield,
    /// Takes a mutex that nobody waits for.
    Lock,
    /// Counts its rounds where everybody sees them.
    Count,
    /// Sleeps for so many microseconds.
    Sleep(u64),
    /// Parks for so many microseconds.
    Park(u64),
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let count = 2 + random.below(2);
    (0..count)
        .map(|me| {
            let steps = 1 + random.below(2);
            let mut thread: Vec<_> = (0..steps).map(|_| step(&mut random)).collect();
            if me > 0 {
                let looks = [Look::Atomic, Look::Mutex, Look::TryLock, Look::RwLock, Look::TryRead];
                let wait = Step::Wait(random.below(me), random.pick(&looks), pause(&mut random));
                thread.insert(random.below(thread.len() + 1), wait);
            }
            thread
        })
        .collect()
}

fn step(random: &mut Random) -> Step {
    match random.below(3) {
        0 => Step::Ticket(pause(random)),
        1 => Step::CompareExchange(pause(random)),
        _ => Step::Increment,
    }
}

fn pause(random: &mut Random) -> Pause {
    random.pick(&[
        Pause::Nothing,
        Pause::SpinLoop,
        Pause::Yield,
        Pause::Lock,
        Pause::Count,
        Pause::Sleep(20),
        Pause::Sleep(5_000),
        Pause::Park(50),
    ])
}

/// What the threads share.
#[derive(Debug, Default)]
struct World {
    done: [AtomicUsize; 3],
    mutex: Mutex<[usize; 4]>,
    rwlock: RwLock<[usize; 3]>,
    other: Mutex<usize>,
    rounds: AtomicUsize,
    tickets: AtomicUsize,
    serving: AtomicUsize,
    taken: AtomicUsize,
}

/// Runs a program once.
pub fn run(program: &Program) {
    let world = World::default();
    thread::scope(|scope| {
        for (me, steps) in program.iter().enumerate() {
            let world = &world;
            scope.spawn(move || {
                steps.iter().for_each(|step| world.step(*step));
                world.say_done(me);
            });
        }
    });
}

impl World {
    fn say_done(&self, me: usize) {
        self.done[me].store(1, Release);
        self.mutex.lock().expect("no thread panics")[me] = 1;
        self.rwlock.write().expect("no thread panics")[me] = 1;
    }

    fn step(&self, step: Step) {
        match step {
            Step::Wait(other, look, pause) => {
                while !self.is_done(other, look) {
                    self.pause(pause);
                }
            }
            Step::Ticket(pause) => {
                let ticket = self.tickets.fetch_add(1, Relaxed);
                while self.serving.load(Acquire) != ticket {
                    self.pause(pause);
                }
                self.serving.store(ticket + 1, Release);
            }
            Step::CompareExchange(pause) => {
                while self.taken.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                    self.pause(pause);
                }
                self.taken.store(0, Release);
            }
            Step::Increment => self.mutex.lock().expect("no thread panics")[3] += 1,
        }
    }

    fn is_done(&self, other: usize, look: Look) -> bool {
        match look {
            Look::Atomic => self.done[other].load(Acquire) == 1,
            Look::Mutex => self.mutex.lock().expect("no thread panics")[other] == 1,
            Look::TryLock => self.mutex.try_lock().is_ok_and(|done| done[other] == 1),
            Look::RwLock => self.rwlock.read().expect("no thread panics")[other] == 1,
            Look::TryRead => self.rwlock.try_read().is_ok_and(|done| done[other] == 1),
        }
    }

    fn pause(&self, pause: Pause) {
        match pause {
            Pause::Nothing => {}
            Pause::SpinLoop => spin_loop(),
            Pause::Yield => thread::yield_now(),
            Pause::Lock => *self.other.lock().expect("no thread panics") += 1,
            Pause::Count => _ = self.rounds.fetch_add(1, SeqCst),
            Pause::Sleep(time) => thread::sleep(Duration::from_micros(time)),
            Pause::Park(time) => thread::park_timeout(Duration::from_micros(time)),
        }
    }
}

/// Explores a program with every strategy, each for at most this long.
///
/// # Errors
/// The name of the strategy that reports a failure, and that.
pub fn check(program: &Program, executions: u64, time: Duration) -> Result<(), (String, Box<Failure>)> {
    for strategy in strategies::list().into_iter().map(|entry| entry.strategy) {
        for memory in [Memory::Sc, Memory::Rc11] {
            let explorer = Explorer::new().allow_one_thread(true).strategy(strategy.clone()).memory(memory);
            let explorer = explorer.executions(executions).budget(time);
            if let Err(failure) = explorer.try_run(|| run(program)) {
                return Err((format!("{strategy}, {memory}"), failure));
            }
        }
    }
    Ok(())
}
