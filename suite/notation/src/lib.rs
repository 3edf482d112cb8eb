//! The notation of small concurrent programs: programs as data, written as text.
//!
//! ```
//! let program: notation::Program = "Wr(x,1); Ra y || Wr(y,1); Ra x".parse().unwrap();
//! assert_eq!(program.to_string(), "Wr(x,1); a=Ra y || Wr(y,1); a=Ra x");
//! ```
//!
//! | statement | meaning |
//! |---|---|
//! | `Ra x`, `a=Ra x` | loads `x` into a register; without one, into the first that the thread does not use |
//! | `Wr(x,1)`, `Wr(x,a+b+1)` | stores a constant, a register, or a sum |
//! | `FAAx(x,1)`, `SWPq(x,1)` | `fetch_add`, `swap`, with or without a register for the value that was read |
//! | `CASqa(x,0,1)` | `compare_exchange`; the second order is that of failure, by default the strongest possible |
//! | `Fs` | a fence |
//! | `lock m`, `unlock m` | takes a mutex, gives it back |
//! | `drop h`, `drop h { … }` | gives up a handle of a reference count; the thread with the last handle runs the block |
//! | `op { … }` | one operation of an object: a call that begins before the block and ends after it |
//! | `if a==1 { … } else { … }` | also `!=` and `>`; `else` may be left out |
//! | `assume a==1` | the thread ends here unless the condition holds |
//! | `retry { … } until a==1` | begins anew, with the registers as they were, until the condition holds; all but the last round must have no effect |
//! | `retry 3 { … } until a==1` | goes on in the same registers, and gives up after this many rounds |
//!
//! Orders are `x` relaxed, `a` acquire, `r` release, `q` both, `s` sequentially consistent. Threads are separated by `||`. Before
//! them, `x=1 y=2:` gives memory locations other initial values than 0. A reference count begins with one handle for each `drop`.
//!
//! This crate only has the notation. Each user interprets programs on a machine of its own.
#![forbid(unsafe_code)]

mod parse;
#[cfg(feature = "random")]
pub mod random;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Initial values of memory locations, if not 0.
    pub initial: BTreeMap<char, u32>,
    /// The statements of each thread.
    pub threads: Vec<Vec<Statement>>,
}

/// A register of a thread; 0 at first.
pub type Register = char;

/// A memory location.
pub type Location = char;

/// A step of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Loads.
    Load(Register, Location, Ordering),
    /// Stores.
    Store(Location, Value, Ordering),
    /// Adds.
    FetchAdd(Register, Location, Value, Ordering),
    /// Exchanges.
    Swap(Register, Location, Value, Ordering),
    /// Replaces the first value by the second; orders of success and of failure.
    CompareExchange(Register, Location, Value, Value, Ordering, Ordering),
    /// A fence.
    Fence(Ordering),
    /// Takes a mutex.
    Lock(Location),
    /// Gives a mutex back.
    Unlock(Location),
    /// Gives up a handle of a reference count. The thread with the last handle runs the block.
    Drop(Location, Vec<Statement>),
    /// An operation of an object.
    Operation(Vec<Statement>),
    /// A choice.
    If(Register, Comparison, u32, Vec<Statement>, Vec<Statement>),
    /// The thread ends unless the condition holds.
    Assume(Register, Comparison, u32),
    /// A loop.
    Retry(Retry),
}

/// A loop that ends when a register compares to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The most rounds; without a number, rounds before the last one leave nothing behind.
    pub times: Option<u32>,
    /// The statements of a round.
    pub body: Vec<Statement>,
    /// The condition at the end of the last round.
    pub until: (Register, Comparison, Value),
}

/// A comparison of a register with a value.
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
    /// The locations that occur, in order.
    pub fn locations(&self) -> Vec<Location> {
        let statements = self.threads.iter().flat_map(|thread| flat(thread));
        let mut locations: Vec<Location> = statements.filter_map(Statement::location).collect();
        locations.sort_unstable();
        locations.dedup();
        locations
    }

    /// The initial value of a location: the one that the program gives, or the number of handles, or 0.
    pub fn initial_value(&self, location: Location) -> u32 {
        let is_drop = |statement: &&Statement| matches!(statement, Statement::Drop(at, _) if *at == location);
        let handles = || {
            self.threads.iter().map(|thread| flat(thread).into_iter().filter(is_drop).count()).sum::<usize>()
        };
        self.initial.get(&location).copied().unwrap_or_else(|| handles() as u32)
    }
}

impl Value {
    /// The sum, given the values of registers.
    pub fn sum(&self, register: impl Fn(Register) -> u32) -> u32 {
        self.registers.iter().fold(self.constant, |sum, &name| sum.wrapping_add(register(name)))
    }
}

impl From<u32> for Value {
    fn from(constant: u32) -> Value {
        Value { registers: Vec::new(), constant }
    }
}

impl Comparison {
    /// Whether the comparison holds.
    #[inline]
    pub fn holds(self, left: u32, right: u32) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::Unequal => left != right,
            Comparison::Greater => left > right,
        }
    }
}

impl Statement {
    /// The memory location of the access, mutex or reference count.
    pub fn location(&self) -> Option<Location> {
        match *self {
            Statement::Load(_, location, _)
            | Statement::Store(location, ..)
            | Statement::FetchAdd(_, location, ..)
            | Statement::Swap(_, location, ..)
            | Statement::CompareExchange(_, location, ..)
            | Statement::Lock(location)
            | Statement::Unlock(location)
            | Statement::Drop(location, _) => Some(location),
            Statement::Fence(_)
            | Statement::Operation(_)
            | Statement::If(..)
            | Statement::Assume(..)
            | Statement::Retry(_) => None,
        }
    }

    /// The register that receives the value that was read.
    pub fn target(&self) -> Option<Register> {
        match *self {
            Statement::Load(register, ..)
            | Statement::FetchAdd(register, ..)
            | Statement::Swap(register, ..)
            | Statement::CompareExchange(register, ..) => Some(register),
            _ => None,
        }
    }

    /// The registers that the statement reads or writes.
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
            Statement::Fence(_)
            | Statement::Lock(_)
            | Statement::Unlock(_)
            | Statement::Drop(..)
            | Statement::Operation(_) => Vec::new(),
        }
    }
}

/// The statements, with those inside of blocks.
pub fn flat(statements: &[Statement]) -> Vec<&Statement> {
    let mut all = Vec::new();
    for statement in statements {
        all.push(statement);
        match statement {
            Statement::If(_, _, _, then, otherwise) => {
                all.extend(flat(then));
                all.extend(flat(otherwise));
            }
            Statement::Retry(retry) => all.extend(flat(&retry.body)),
            Statement::Drop(_, body) | Statement::Operation(body) => all.extend(flat(body)),
            _ => {}
        }
    }
    all
}

/// The registers that occur, in order.
pub fn registers_of(statements: &[Statement]) -> impl Iterator<Item = Register> + use<> {
    let mut registers: Vec<Register> = flat(statements).into_iter().flat_map(Statement::registers).collect();
    registers.sort_unstable();
    registers.dedup();
    registers.into_iter()
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Program, String> {
        parse::program(text)
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
        let initial: Vec<_> =
            self.initial.iter().map(|(location, value)| format!("{location}={value}")).collect();
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
            Statement::Lock(location) => write!(f, "lock {location}"),
            Statement::Unlock(location) => write!(f, "unlock {location}"),
            Statement::Drop(location, body) if body.is_empty() => write!(f, "drop {location}"),
            Statement::Drop(location, body) => write!(f, "drop {location} {{ {} }}", block(body)),
            Statement::Operation(body) if body.is_empty() => f.write_str("op {}"),
            Statement::Operation(body) => write!(f, "op {{ {} }}", block(body)),
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
