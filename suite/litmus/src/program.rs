//! A language for litmus tests: programs as data, written as text.
//!
//! ```
//! let program: litmus::Program = "Wr(x,1); Ra y || Wr(y,1); Ra x".parse().unwrap();
//! assert_eq!(program.to_string(), "Wr(x,1); a=Ra y || Wr(y,1); a=Ra x");
//! ```
//!
//! | statement | meaning |
//! |---|---|
//! | `Ra x`, `a=Ra x` | loads `x` into a register; without one, into the first that the thread does not use |
//! | `Wr(x,1)`, `Wr(x,a+b+1)` | stores a constant, a register, or a sum |
//! | `FAAx(x,1)`, `SWPq(x,1)` | `fetch_add`, `swap`, with or without a register for what was read |
//! | `CASqa(x,0,1)` | `compare_exchange`; the second order is that of failure, by default the strongest possible |
//! | `Fs` | a fence |
//! | `if a==1 { … } else { … }` | also `!=` and `>`; `else` may be left out |
//! | `assume a==1` | the thread ends here unless that holds; see [`Executions::as_assumed`](crate::oracle::Executions::as_assumed) |
//! | `retry { … } until a==1` | begins anew, with the registers as they were, until that holds; all but the last round must have no effect |
//! | `retry 3 { … } until a==1` | goes on in the same registers, and gives up after so many rounds |
//!
//! Orders are `x` relaxed, `a` acquire, `r` release, `q` both, `s` sequentially consistent. Threads are separated by `||`. Before
//! them, `x=1 y=2:` gives locations other initial values than 0.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::machine::{Atomic, Body, GAVE_UP, Machine, Test};

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Initial values of locations, if not 0.
    pub initial: BTreeMap<char, u32>,
    /// What each thread does.
    pub threads: Vec<Vec<Statement>>,
}

/// A register of a thread; 0 at first.
pub type Register = char;

/// A place in memory.
pub type Place = char;

/// Part of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Loads.
    Load(Register, Place, Ordering),
    /// Stores.
    Store(Place, Value, Ordering),
    /// Adds.
    FetchAdd(Register, Place, Value, Ordering),
    /// Exchanges.
    Swap(Register, Place, Value, Ordering),
    /// Replaces the first value by the second; orders of success and of failure.
    CompareExchange(Register, Place, Value, Value, Ordering, Ordering),
    /// A fence.
    Fence(Ordering),
    /// A choice.
    If(Register, Comparison, u32, Vec<Statement>, Vec<Statement>),
    /// The thread gives up unless this holds.
    Assume(Register, Comparison, u32),
    /// A loop.
    Retry(Retry),
}

/// A loop: what it does until a register compares to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How many rounds there are at most; without a number, rounds that are not the last one leave nothing behind.
    pub times: Option<u32>,
    /// What each round does.
    pub body: Vec<Statement>,
    /// When it ends.
    pub until: (Register, Comparison, Value),
}

/// How a register is compared to a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `>`
    Greater,
}

/// A sum of registers and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// The registers.
    pub registers: Vec<Register>,
    /// The constant.
    pub constant: u32,
}

impl Program {
    /// The test that a machine runs: each thread sees its registers; in the end, all memory is read.
    pub fn on<M: Machine>(&self) -> Test {
        let cells = self.places().into_iter().map(|place| (place, M::Atomic::new(self.initial_value(place))));
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

    /// The places that occur, in order.
    fn places(&self) -> Vec<Place> {
        let statements = self.threads.iter().flat_map(|thread| flat(thread));
        let mut places: Vec<Place> = statements.filter_map(Statement::place).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    fn initial_value(&self, place: Place) -> u32 {
        self.initial.get(&place).copied().unwrap_or(0)
    }
}

/// Plain data, so that looking a cell up is no event.
struct Memory<M: Machine>(Vec<(Place, M::Atomic)>);

impl<M: Machine> Memory<M> {
    fn at(&self, place: Place) -> &M::Atomic {
        let cell = self.0.iter().find(|cell| cell.0 == place);
        &cell.expect("all places that occur are in memory").1
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
        value.registers.iter().fold(value.constant, |sum, &register| sum.wrapping_add(self.get(register)))
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

impl Comparison {
    fn holds(self, left: u32, right: u32) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::Unequal => left != right,
            Comparison::Greater => left > right,
        }
    }
}

impl Statement {
    fn place(&self) -> Option<Place> {
        match *self {
            Statement::Load(_, place, _)
            | Statement::Store(place, ..)
            | Statement::FetchAdd(_, place, ..)
            | Statement::Swap(_, place, ..)
            | Statement::CompareExchange(_, place, ..) => Some(place),
            Statement::Fence(_) | Statement::If(..) | Statement::Assume(..) | Statement::Retry(_) => None,
        }
    }

    /// The registers that it reads or writes.
    fn registers(&self) -> Vec<Register> {
        match self {
            Statement::Load(register, ..) | Statement::If(register, ..) | Statement::Assume(register, ..) => {
                vec![*register]
            }
            Statement::Retry(Retry { until: (register, _, value), .. }) => {
                [&[*register], &value.registers[..]].concat()
            }
            Statement::FetchAdd(register, _, value, _) | Statement::Swap(register, _, value, _) => {
                [&[*register], &value.registers[..]].concat()
            }
            Statement::CompareExchange(register, _, current, new, _, _) => {
                [&[*register], &current.registers[..], &new.registers[..]].concat()
            }
            Statement::Store(_, value, _) => value.registers.clone(),
            Statement::Fence(_) => Vec::new(),
        }
    }
}

/// The statements, with those inside of choices and loops.
fn flat(statements: &[Statement]) -> Vec<&Statement> {
    let mut all = Vec::new();
    for statement in statements {
        all.push(statement);
        match statement {
            Statement::If(_, _, _, then, otherwise) => {
                all.extend(flat(then));
                all.extend(flat(otherwise));
            }
            Statement::Retry(retry) => all.extend(flat(&retry.body)),
            _ => {}
        }
    }
    all
}

/// The registers that occur, in order.
pub(crate) fn registers_of(statements: &[Statement]) -> impl Iterator<Item = Register> + use<> {
    let mut registers: Vec<Register> = flat(statements).into_iter().flat_map(Statement::registers).collect();
    registers.sort_unstable();
    registers.dedup();
    registers.into_iter()
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Program, String> {
        crate::parse::program(text)
    }
}

/// Orders and how they are written.
pub(crate) const ORDERS: [(Ordering, char); 5] =
    [(Relaxed, 'x'), (Acquire, 'a'), (Release, 'r'), (AcqRel, 'q'), (SeqCst, 's')];

fn letter(order: Ordering) -> char {
    let known = ORDERS.iter().find(|known| known.0 == order);
    known.expect("there are five orders").1
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let initial: Vec<_> = self.initial.iter().map(|(place, value)| format!("{place}={value}")).collect();
        if !initial.is_empty() {
            write!(f, "{}: ", initial.join(" "))?;
        }
        let threads: Vec<_> = self.threads.iter().map(|statements| block(statements)).collect();
        write!(f, "{}", threads.join(" || "))
    }
}

fn block(statements: &[Statement]) -> String {
    statements.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Load(to, from, order) => write!(f, "{to}=R{} {from}", letter(*order)),
            Statement::Store(to, value, order) => write!(f, "W{}({to},{value})", letter(*order)),
            Statement::FetchAdd(to, at, value, order) => {
                write!(f, "{to}=FAA{}({at},{value})", letter(*order))
            }
            Statement::Swap(to, at, value, order) => write!(f, "{to}=SWP{}({at},{value})", letter(*order)),
            Statement::CompareExchange(to, at, current, new, success, failure) => {
                write!(f, "{to}=CAS{}{}({at},{current},{new})", letter(*success), letter(*failure))
            }
            Statement::Fence(order) => write!(f, "F{}", letter(*order)),
            Statement::If(register, comparison, constant, then, otherwise) => {
                write!(f, "if {register}{comparison}{constant} {{ {} }}", block(then))?;
                if otherwise.is_empty() { Ok(()) } else { write!(f, " else {{ {} }}", block(otherwise)) }
            }
            Statement::Assume(register, comparison, constant) => {
                write!(f, "assume {register}{comparison}{constant}")
            }
            Statement::Retry(Retry { times, body, until: (register, comparison, value) }) => {
                let times = times.map_or(String::new(), |times| format!("{times} "));
                write!(f, "retry {times}{{ {} }} until {register}{comparison}{value}", block(body))
            }
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Equal => "==",
            Comparison::Unequal => "!=",
            Comparison::Greater => ">",
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registers = self.registers.iter().map(ToString::to_string);
        let constant = (self.constant != 0 || self.registers.is_empty()).then(|| self.constant.to_string());
        write!(f, "{}", registers.chain(constant).collect::<Vec<_>>().join("+"))
    }
}
