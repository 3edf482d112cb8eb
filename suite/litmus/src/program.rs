//! The interpreter of litmus programs, which are written in the [`notation`].
//!
//! ```
//! use litmus::program::Interpret;
//!
//! let program: litmus::Program = "Wr(x,1); Ra y || Wr(y,1); Ra x".parse().unwrap();
//! assert!(litmus::Real::run(program.on::<litmus::Real>()).len() == 3);
//! ```
//!
//! A thread that ends by `assume` counts in [`Executions::as_assumed`](crate::oracle::Executions::as_assumed).

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use notation::registers_of;
pub use notation::{Comparison, Location, Program, Register, Retry, Statement, Value};

use crate::machine::{Atomic, Body, GAVE_UP, Machine, Test};

/// Programs that run on a machine.
pub trait Interpret {
    /// The test that a machine runs: each thread sees its registers; in the end, all memory is read.
    fn on<M: Machine>(&self) -> Test;
}

impl Interpret for Program {
    fn on<M: Machine>(&self) -> Test {
        let cell = |location| (location, M::Atomic::new(self.initial_value(location)));
        let cells = self.locations().into_iter().map(cell);
        // Leaked: counting references would add atomic accesses that are not the program's.
        let cells: &'static Memory<M> = Box::leak(Box::new(Memory(cells.collect())));
        let threads = self.threads.iter().cloned().map(|statements| {
            Box::new(move || {
                let registers = Registers::default();
                let gave_up = run(&statements, cells, &registers).is_break().then_some(GAVE_UP);
                registers_of(&statements).map(|name| registers.get(name)).chain(gave_up).collect()
            }) as Body
        });
        let threads = threads.collect();
        let finally = Box::new(|| cells.0.iter().map(|(_, cell)| cell.load(Relaxed)).collect());
        Test { threads, finally }
    }
}

/// Plain data, so that looking a cell up is no event.
struct Memory<M: Machine>(Vec<(Location, M::Atomic)>);

impl<M: Machine> Memory<M> {
    fn at(&self, location: Location) -> &M::Atomic {
        let cell = self.0.iter().find(|cell| cell.0 == location);
        &cell.expect("all locations that occur are in memory").1
    }
}

/// One for each letter. Not on the stack, which is for what the interpreter itself has to remember.
#[derive(Clone, Default)]
struct Registers(Box<[Cell<u32>; 26]>);

impl Registers {
    fn at(&self, name: Register) -> &Cell<u32> {
        &self.0[name as usize - 'a' as usize]
    }

    fn get(&self, name: Register) -> u32 {
        self.at(name).get()
    }

    fn set(&self, name: Register, value: u32) {
        self.at(name).set(value);
    }

    fn sum(&self, value: &Value) -> u32 {
        value.sum(|register| self.get(register))
    }

    /// Makes them like others.
    fn copy(&self, from: &Registers) {
        self.0.iter().zip(&from.0[..]).for_each(|(to, from)| to.set(from.get()));
    }
}

/// Breaks if an assumption does not hold.
fn run<M: Machine>(statements: &[Statement], memory: &Memory<M>, registers: &Registers) -> ControlFlow<()> {
    for statement in statements {
        match *statement {
            Statement::Load(to, from, order) => registers.set(to, memory.at(from).load(order)),
            Statement::Store(to, ref value, order) => {
                let value = registers.sum(value);
                memory.at(to).store(value, order);
            }
            Statement::FetchAdd(to, at, ref value, order) => {
                let value = registers.sum(value);
                registers.set(to, memory.at(at).fetch_add(value, order));
            }
            Statement::Swap(to, at, ref value, order) => {
                let value = registers.sum(value);
                registers.set(to, memory.at(at).swap(value, order));
            }
            Statement::CompareExchange(to, at, ref current, ref new, success, failure) => {
                let (current, new) = (registers.sum(current), registers.sum(new));
                let found = memory.at(at).compare_exchange(current, new, success, failure);
                registers.set(to, found.unwrap_or_else(|found| found));
            }
            Statement::Fence(order) => M::fence(order),
            Statement::Lock(at) => {
                M::retry(|| memory.at(at).compare_exchange(0, 1, Acquire, Relaxed).ok());
            }
            Statement::Unlock(at) => _ = memory.at(at).swap(0, Release),
            Statement::Drop(at, ref body) => {
                if memory.at(at).fetch_add(u32::MAX, AcqRel) == 1 {
                    run(body, memory, registers)?;
                }
            }
            Statement::Operation(ref body) => run(body, memory, registers)?,
            Statement::If(register, comparison, constant, ref then, ref otherwise) => {
                let holds = comparison.holds(registers.get(register), constant);
                run(if holds { then } else { otherwise }, memory, registers)?;
            }
            Statement::Assume(register, comparison, constant) => {
                if !comparison.holds(registers.get(register), constant) {
                    return ControlFlow::Break(());
                }
            }
            Statement::Retry(ref retry) => run_loop(retry, memory, registers)?,
        }
    }
    ControlFlow::Continue(())
}

fn run_loop<M: Machine>(retry: &Retry, memory: &Memory<M>, registers: &Registers) -> ControlFlow<()> {
    let (register, comparison, ref value) = retry.until;
    // Whether the loop ends after a round, or the thread does.
    let round = || match run(&retry.body, memory, registers) {
        ControlFlow::Continue(()) => comparison
            .holds(registers.get(register), registers.sum(value))
            .then_some(ControlFlow::Continue(())),
        gave_up => Some(gave_up),
    };
    if let Some(times) = retry.times {
        return (0..times).find_map(|_| round()).unwrap_or(ControlFlow::Continue(()));
    }
    let before = registers.clone();
    M::retry(|| {
        registers.copy(&before);
        round()
    })
}
