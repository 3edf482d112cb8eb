//! Small programs whose outcomes are known: exactly these are found, by exactly as many executions as there are
//! interleavings.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use raddle::{Explorer, Report, Strategy};
use support::sampling;

/// Explores everything: no bound on preemptions.
#[track_caller]
fn everything<T: Ord + Clone>(body: impl Fn() -> T) -> Report<T> {
    let report = Explorer::new()
        .strategy(Strategy::Bounded(usize::MAX))
        .executions(10_000_000)
        .max_steps(1_000)
        .run(body);
    assert!(report.complete, "{} executions were not enough", report.executions);
    report
}

#[track_caller]
fn check<T: Ord + Clone + Debug>(body: impl Fn() -> T, expected: impl IntoIterator<Item = T>) {
    let report = everything(body);
    let found: BTreeSet<T> = report.outcomes.keys().cloned().collect();
    assert_eq!(found, expected.into_iter().collect());
    assert_eq!(report.outcomes.values().sum::<u64>(), report.executions);
}

/// One step of a program on a few variables, and what it does with them.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Reads a variable into the thread's next register.
    Read(usize),
    /// Writes a value to a variable.
    Write(usize, u32),
    /// Writes the last register plus one to a variable.
    WriteNext(usize),
    /// Adds one to a variable, in one step, and keeps what was there in the thread's next register.
    Add(usize),
}
use Step::*;

type Program = [&'static [Step]];

/// What was read, by thread, and the variables at the end.
type Outcome = (Vec<Vec<u32>>, Vec<u32>);

impl Step {
    fn take(self, variables: &[AtomicU32; 2], registers: &mut Vec<u32>) {
        match self {
            Read(variable) => registers.push(variables[variable].load(SeqCst)),
            Write(variable, value) => variables[variable].store(value, SeqCst),
            WriteNext(variable) => variables[variable].store(registers.last().unwrap() + 1, SeqCst),
            Add(variable) => registers.push(variables[variable].fetch_add(1, SeqCst)),
        }
    }
}

/// Runs the program under Raddle, its last thread in the closure itself; returns what was read, by thread, and the
/// variables at the end.
fn run(program: &'static Program) -> Outcome {
    // Leaked, because giving back a shared reference would be one more step of each thread.
    let variables: &'static [AtomicU32; 2] = Box::leak(Box::default());
    let run = |steps: &[Step]| {
        let mut registers = Vec::new();
        steps.iter().for_each(|step| step.take(variables, &mut registers));
        registers
    };
    let (own, others) = program.split_last().expect("a program has threads");
    let threads: Vec<_> = others.iter().map(|steps| thread::spawn(move || run(steps))).collect();
    let own = run(own);
    let mut registers: Vec<Vec<u32>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    registers.push(own);
    (registers, variables.iter().map(|variable| variable.load(SeqCst)).collect())
}

/// All interleavings by brute force, independently of Raddle: the outcome of each.
fn enumerate(program: &Program) -> Vec<Outcome> {
    fn go(
        program: &Program,
        at: &mut Vec<usize>,
        registers: &mut Vec<Vec<u32>>,
        variables: &mut Vec<u32>,
        outcomes: &mut Vec<Outcome>,
    ) {
        let mut ended = true;
        for thread in 0..program.len() {
            let Some(&step) = program[thread].get(at[thread]) else { continue };
            ended = false;
            let (saved_registers, saved_variables) = (registers.clone(), variables.clone());
            match step {
                Read(variable) => registers[thread].push(variables[variable]),
                Write(variable, value) => variables[variable] = value,
                WriteNext(variable) => variables[variable] = registers[thread].last().unwrap() + 1,
                Add(variable) => {
                    registers[thread].push(variables[variable]);
                    variables[variable] += 1;
                }
            }
            at[thread] += 1;
            go(program, at, registers, variables, outcomes);
            at[thread] -= 1;
            (*registers, *variables) = (saved_registers, saved_variables);
        }
        if ended {
            outcomes.push((registers.clone(), variables.clone()));
        }
    }
    let mut outcomes = Vec::new();
    let threads = program.len();
    go(program, &mut vec![0; threads], &mut vec![Vec::new(); threads], &mut vec![0; 2], &mut outcomes);
    outcomes
}

/// How the threads of [`run`] stand, as far as it matters to who can go on. Each thread is a sequence of stretches that
/// nothing interrupts: from its beginning to its first step, and from each step to the next or to the end. The closure's
/// begins with one stretch from each spawn to the next, and ends with joins.
#[derive(Clone, Debug)]
struct Progress {
    /// Stretches left of the closure before it joins.
    closure: usize,
    /// Threads that are not spawned yet.
    unspawned: usize,
    /// Stretches left of each thread.
    left: Vec<usize>,
    /// How many threads the closure has joined.
    joined: usize,
}

impl Progress {
    /// Executions from here on.
    fn count(&self) -> u64 {
        let spawned = self.left.len() - self.unspawned;
        let mut executions = 0;
        let mut ended = true;
        for thread in (0..spawned).filter(|&thread| self.left[thread] > 0) {
            ended = false;
            let mut next = self.clone();
            next.left[thread] -= 1;
            executions += next.count();
        }
        let waits = self.closure == 0 && self.left.get(self.joined).is_none_or(|&left| left > 0);
        if !waits {
            ended = false;
            let mut next = self.clone();
            if next.closure > 0 {
                next.closure -= 1;
                next.unspawned = next.unspawned.saturating_sub(1);
            }
            if next.closure == 0 {
                while next.left.get(next.joined) == Some(&0) {
                    next.joined += 1;
                }
            }
            executions += next.count();
        }
        if ended { 1 } else { executions }
    }
}

/// The number of executions of [`run`], by brute force.
fn count(program: &Program) -> u64 {
    let (own, others) = program.split_last().expect("a program has threads");
    let progress = Progress {
        closure: others.len() + own.len(),
        unspawned: others.len() - 1,
        left: others.iter().map(|steps| steps.len() + 1).collect(),
        joined: 0,
    };
    progress.count()
}

/// The outcomes that Raddle finds are those of all interleavings, and it makes as many executions as there are.
#[track_caller]
fn agrees_with_brute_force(program: &'static Program) {
    let report = everything(|| run(program));
    let found: BTreeSet<_> = report.outcomes.keys().cloned().collect();
    assert_eq!(found, enumerate(program).into_iter().collect());
    assert_eq!(report.executions, count(program));
}

const X: usize = 0;
const Y: usize = 1;

mod outcomes_of {
    use super::*;

    #[test]
    fn store_buffering() {
        agrees_with_brute_force(&[&[Write(X, 1), Read(Y)], &[Write(Y, 1), Read(X)]]);
        // Spelt out once, so that a mistake in the enumerator shows: never both zero.
        check(
            || {
                let (registers, _) = run(&[&[Write(X, 1), Read(Y)], &[Write(Y, 1), Read(X)]]);
                (registers[0][0], registers[1][0])
            },
            [(0, 1), (1, 0), (1, 1)],
        );
    }

    #[test]
    fn message_passing() {
        agrees_with_brute_force(&[&[Write(X, 1), Write(Y, 1)], &[Read(Y), Read(X)]]);
        check(
            || run(&[&[Write(X, 1), Write(Y, 1)], &[Read(Y), Read(X)]]).0[1].clone(),
            [vec![0, 0], vec![0, 1], vec![1, 1]],
        );
    }

    #[test]
    fn load_buffering() {
        agrees_with_brute_force(&[&[Read(X), Write(Y, 1)], &[Read(Y), Write(X, 1)]]);
    }

    #[test]
    fn coherence_of_reads() {
        agrees_with_brute_force(&[&[Write(X, 1)], &[Write(X, 2)], &[Read(X), Read(X)]]);
    }

    #[test]
    fn coherence_of_writes() {
        agrees_with_brute_force(&[&[Write(X, 1), Write(Y, 2)], &[Write(Y, 1), Write(X, 2)]]);
    }

    #[test]
    fn independent_reads_of_independent_writes() {
        agrees_with_brute_force(&[&[Write(X, 1)], &[Write(Y, 1)], &[Read(X), Read(Y)], &[Read(Y), Read(X)]]);
    }

    #[test]
    fn write_to_read_causality() {
        agrees_with_brute_force(&[&[Write(X, 1)], &[Read(X), Write(Y, 1)], &[Read(Y), Read(X)]]);
    }

    #[test]
    fn increments_in_two_steps() {
        agrees_with_brute_force(&[&[Read(X), WriteNext(X)], &[Read(X), WriteNext(X)]]);
        agrees_with_brute_force(&[
            &[Read(X), WriteNext(X)],
            &[Read(X), WriteNext(X)],
            &[Read(X), WriteNext(X)],
        ]);
    }

    #[test]
    fn increments_in_one_step() {
        agrees_with_brute_force(&[&[Add(X), Add(X)], &[Add(X)], &[Add(Y), Read(X)]]);
    }
}

/// Two threads that only read: what they read says nothing about the order, so only the number tells that all of them were
/// made. With two sequences there is a formula.
#[test]
fn executions_are_counted_as_interleavings() {
    /// Merges of two sequences of the given lengths, step by step.
    fn merges(a: usize, b: usize) -> u64 {
        if a == 0 || b == 0 { 1 } else { merges(a - 1, b) + merges(a, b - 1) }
    }
    for own in 0..6 {
        for other in 0..6 {
            let report = everything(|| {
                let x: &'static AtomicU32 = Box::leak(Box::default());
                thread::spawn(move || (0..other).for_each(|_| _ = x.load(SeqCst)));
                (0..own).for_each(|_| _ = x.load(SeqCst));
            });
            // The stretch from the spawn, or from the beginning, to the first load comes on top.
            assert_eq!((own, other, report.executions), (own, other, merges(own + 1, other + 1)));
        }
    }
}

/// What happened in an execution, noted by machine instructions that no instrumentation sees: looking must not add steps.
#[derive(Default)]
struct Log {
    len: u64,
    bytes: [u8; 32],
}

#[derive(Clone, Copy)]
struct LogPointer(*mut Log);

// SAFETY: the log is only touched by whole instructions while threads run.
unsafe impl Send for LogPointer {}

impl LogPointer {
    #[cfg(target_arch = "x86_64")]
    fn note(self, who: u8) {
        // SAFETY: the log has room for every stretch of the program below; the exchange and the store of a byte are whole.
        unsafe {
            std::arch::asm!(
                "lock xadd [{len}], {index}",
                "mov byte ptr [{bytes} + {index}], {who}",
                len = in(reg) &raw mut (*self.0).len,
                bytes = in(reg) &raw mut (*self.0).bytes,
                index = inout(reg) 1u64 => _,
                who = in(reg_byte) who,
            );
        }
    }
}

/// No execution is made twice: where every stretch leaves its mark, there are as many outcomes as executions.
#[test]
#[cfg(target_arch = "x86_64")]
fn no_interleaving_is_repeated() {
    let report = everything(|| {
        let log = LogPointer(Box::leak(Box::default()));
        let x: &'static AtomicU32 = Box::leak(Box::default());
        let threads = [1, 2].map(|who| {
            let thread = thread::spawn(move || {
                log.note(who);
                for _ in 0..2 {
                    x.load(SeqCst);
                    log.note(who);
                }
            });
            log.note(3);
            thread
        });
        x.load(SeqCst);
        log.note(3);
        for thread in threads {
            thread.join().unwrap();
            log.note(3);
        }
        // SAFETY: all threads that write there have ended.
        unsafe { (*log.0).bytes }
    });
    let repeated = report.outcomes.iter().find(|(_, times)| **times != 1);
    assert!(repeated.is_none(), "{repeated:?}");
    assert_eq!(report.outcomes.len() as u64, report.executions);
    assert_eq!(report.executions, count(&[&[Read(X), Read(X)], &[Read(X), Read(X)], &[Read(X)]]));
}

/// Fewer preemptions mean fewer executions, all of them among those of the next bound; the search only claims to be
/// complete when there is nothing beyond the bound.
#[test]
fn bounds_grow_to_everything() {
    let explore = |bound| {
        Explorer::new()
            .strategy(Strategy::Bounded(bound))
            .executions(1_000_000)
            .run(|| run(&[&[Read(X), WriteNext(X)], &[Read(X), WriteNext(X)], &[Read(X), WriteNext(X)]]))
    };
    let all =
        everything(|| run(&[&[Read(X), WriteNext(X)], &[Read(X), WriteNext(X)], &[Read(X), WriteNext(X)]]));
    let mut before: Option<Report<Outcome>> = None;
    for bound in 0.. {
        let report = explore(bound);
        if let Some(before) = &before {
            assert!(report.executions > before.executions, "bound {bound}");
            assert!(
                before.outcomes.keys().all(|outcome| report.outcomes.contains_key(outcome)),
                "bound {bound}"
            );
        }
        assert_eq!(report.complete, report.executions == all.executions, "bound {bound}");
        if report.complete {
            assert_eq!(report.outcomes, all.outcomes);
            return;
        }
        before = Some(report);
    }
}

/// Sampling finds nothing that does not exist, and with luck all that does.
#[test]
fn sampling_finds_what_exhaustive_search_finds() {
    let body = || run(&[&[Write(X, 1), Read(Y)], &[Write(Y, 1), Read(X)]]);
    let all: Vec<_> = everything(body).outcomes.into_keys().collect();
    for strategy in sampling() {
        let report = Explorer::new().strategy(strategy.clone()).executions(2_000).run(body);
        assert!(report.outcomes.into_keys().eq(all.iter().cloned()), "{strategy}");
    }
}
