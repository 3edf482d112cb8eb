//! Random programs: the one generator of programs in this notation.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use proptest::prelude::*;
use proptest::sample::select;

use crate::{Comparison, Location, Program, Register, Retry, Statement, Value};

const LOCATIONS: [Location; 2] = ['x', 'y'];

/// Programs of this many threads, each of at most so many statements, with everything but spinning.
pub fn programs(
    threads: impl Into<prop::collection::SizeRange>,
    statements: usize,
) -> impl Strategy<Value = Program> {
    let thread = prop::collection::vec(statement(), 1..=statements).prop_map(name_registers);
    prop::collection::vec(thread, threads).prop_map(|threads| Program { threads, ..Program::default() })
}

/// Programs without branches, sums and additions: loads, stores, swaps, compare-exchanges and fences.
pub fn straight_line_programs(
    threads: impl Into<prop::collection::SizeRange>,
    statements: usize,
) -> impl Strategy<Value = Program> {
    let location = || select(&LOCATIONS);
    let all = || select(&[Relaxed, Acquire, Release, AcqRel, SeqCst]);
    let statement = prop_oneof![
        4 => (location(), load_order()).prop_map(|(location, order)| Statement::Load(NEW, location, order)),
        3 => (location(), store_order()).prop_map(|(location, order)| Statement::Store(location, constant(1), order)),
        1 => (location(), all()).prop_map(|(location, order)| Statement::Swap(NEW, location, constant(1), order)),
        1 => (location(), 0..4u32, all(), load_order()).prop_map(|(location, current, success, failure)| {
            Statement::CompareExchange(NEW, location, constant(current), constant(1), success, failure)
        }),
        1 => select(&[Acquire, Release, AcqRel, SeqCst]).prop_map(Statement::Fence),
    ];
    let thread = prop::collection::vec(statement, 1..=statements).prop_map(name_registers);
    prop::collection::vec(thread, threads).prop_map(|threads| Program { threads, ..Program::default() })
}

/// Programs of sequentially consistent accesses and locks. A thread takes no lock that it holds, and may keep a lock at its end.
pub fn locking_programs(threads: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Program> {
    const LOCKS: [Location; 2] = ['l', 'm'];
    let thread = |statements: usize| {
        let choices = (0..3u8, sc_access(), 0..LOCKS.len(), any::<prop::sample::Index>());
        (prop::collection::vec(choices, 1..=statements), 0..4u8).prop_map(|(choices, keeps)| {
            let (mut held, mut statements) = (Vec::new(), Vec::new());
            for (kind, access, lock, index) in choices {
                statements.push(match kind {
                    0 if !held.contains(&LOCKS[lock]) => {
                        held.push(LOCKS[lock]);
                        Statement::Lock(LOCKS[lock])
                    }
                    0 | 1 if !held.is_empty() => Statement::Unlock(held.remove(index.index(held.len()))),
                    _ => access,
                });
            }
            if keeps > 0 {
                statements.extend(held.into_iter().map(Statement::Unlock));
            }
            name_registers(statements)
        })
    };
    // The more threads, the fewer statements: all interleavings are enumerated.
    threads
        .prop_flat_map(move |threads| {
            let statements = [5, 3, 2][threads - 2];
            prop::collection::vec(thread(statements), threads)
        })
        .prop_map(|threads| Program { threads, ..Program::default() })
}

/// Programs of sequentially consistent accesses, in which each thread may give up one handle of each of two reference counts.
pub fn dropping_programs() -> impl Strategy<Value = Program> {
    const COUNTS: [Location; 2] = ['g', 'h'];
    (2..=3usize, prop::array::uniform2(prop::bool::weighted(0.75)))
        .prop_flat_map(|(threads, visible)| {
            let statements = if threads == 3 { 3 } else { 5 };
            let body = prop::collection::vec(sc_access(), 1..=2);
            let choices = (0..5u8, sc_access(), any::<prop::sample::Index>(), body);
            let thread = prop::collection::vec(choices, 1..=statements).prop_map(move |choices| {
                let mut handles = vec![0, 1];
                let statements = choices.into_iter().map(|(kind, access, index, body)| {
                    if kind > 1 || handles.is_empty() {
                        return access;
                    }
                    let handle = handles.remove(index.index(handles.len()));
                    // The end of a value is visible in all threads or in none.
                    Statement::Drop(COUNTS[handle], if visible[handle] { body } else { Vec::new() })
                });
                name_registers(statements.collect())
            });
            prop::collection::vec(thread, threads)
        })
        .prop_map(|threads| Program { threads, ..Program::default() })
}

/// Programs of this many threads, each of this many operations, each of this many sequentially consistent accesses.
pub fn operation_programs(
    threads: usize,
    operations: usize,
    accesses: usize,
) -> impl Strategy<Value = Program> {
    let operation = prop::collection::vec(sc_access(), accesses).prop_map(Statement::Operation);
    let thread = prop::collection::vec(operation, operations).prop_map(name_registers);
    prop::collection::vec(thread, threads).prop_map(|threads| Program { threads, ..Program::default() })
}

/// A sequentially consistent access.
fn sc_access() -> impl Strategy<Value = Statement> + Clone {
    let (location, value) = (|| select(&LOCATIONS), || (1..3u32).prop_map(constant));
    prop_oneof![
        2 => location().prop_map(|location| Statement::Load(NEW, location, SeqCst)),
        2 => (location(), value()).prop_map(|(location, value)| Statement::Store(location, value, SeqCst)),
        1 => (location(), value()).prop_map(|(location, value)| Statement::FetchAdd(NEW, location, value, SeqCst)),
        1 => (location(), 0..2u32, value()).prop_map(|(location, current, new)| {
            Statement::CompareExchange(NEW, location, constant(current), new, SeqCst, SeqCst)
        }),
    ]
}

/// Programs of three threads with loops, all of which end: the second thread waits for the first, and the third for one of
/// the two or for both; anyone may look a few times, or insist on a change that others may prevent meanwhile.
pub fn looping_programs(statements: usize) -> impl Strategy<Value = Program> {
    let thread =
        || prop::collection::vec(prop_oneof![3 => statement(), 1 => harmless_loop()], 0..=statements);
    let waits = (wait_for('v'), prop_oneof![wait_for('v'), wait_for('w'), wait_for_both()]);
    let positions = prop::array::uniform6(any::<prop::sample::Index>());
    let threads = prop::array::uniform3(thread());
    (threads, waits, store_order(), any::<bool>(), positions).prop_map(
        |(threads, waits, order, twice, positions)| {
            let [mut first, mut second, mut third] = threads;
            let position = |thread: &[Statement], begin: usize, index: usize| {
                begin + positions[index].index(thread.len() + 1 - begin)
            };
            let mut at = 0;
            // Whatever comes in between, in the end the location holds 2.
            for value in if twice { 1..=2 } else { 2..=2 } {
                at = position(&first, at, value as usize - 1);
                first.insert(at, Statement::Store('v', constant(value), order));
                at += 1;
            }
            let waits_at = position(&second, 0, 2);
            second.insert(waits_at, waits.0);
            second.insert(position(&second, waits_at + 1, 3), Statement::Store('w', constant(2), order));
            third.insert(position(&third, 0, 4), waits.1);
            let threads = [first, second, third].into_iter().map(name_registers).collect();
            Program { threads, ..Program::default() }
        },
    )
}

/// A loop that waits until a location holds 2, or at least something else than 0.
fn wait_for(location: Location) -> impl Strategy<Value = Statement> {
    (load_order(), condition()).prop_map(move |(order, (comparison, value))| {
        retry(None, vec![Statement::Load(NEW, location, order)], comparison, constant(value))
    })
}

/// A loop that waits for two locations at once: looks at the second if the first is as wanted.
fn wait_for_both() -> impl Strategy<Value = Statement> {
    (load_order(), condition(), condition()).prop_map(|(order, first, second)| {
        let body = vec![
            Statement::Load(NEW, 'v', order),
            Statement::If(LAST, first.0, first.1, vec![Statement::Load(NEW, 'w', order)], Vec::new()),
        ];
        retry(None, body, second.0, constant(second.1))
    })
}

/// Holds of 2 and not of 0.
fn condition() -> impl Strategy<Value = (Comparison, u32)> {
    select(&[
        (Comparison::Equal, 2),
        (Comparison::Unequal, 0),
        (Comparison::Greater, 0),
        (Comparison::Greater, 1),
    ])
}

/// A loop that ends whatever others do.
fn harmless_loop() -> impl Strategy<Value = Statement> {
    let location = || select(&LOCATIONS);
    let both = || (load_order(), select(&[Relaxed, AcqRel, SeqCst]));
    prop_oneof![
        // Looks a few times.
        (location(), load_order(), 2..=3u32, 0..3u32).prop_map(|(location, order, times, value)| {
            retry(
                Some(times),
                vec![Statement::Load(NEW, location, order)],
                Comparison::Equal,
                constant(value),
            )
        }),
        // Adds by load and compare-exchange.
        (location(), both()).prop_map(|(location, (load, success))| insist(
            location,
            vec![Statement::Load(NEW, location, load)],
            success
        )),
        // Looks at another location in between.
        (location(), both()).prop_map(|(location, (load, success))| {
            let other = if location == LOCATIONS[0] { LOCATIONS[1] } else { LOCATIONS[0] };
            insist(
                other,
                vec![Statement::Load(NEW, location, load), Statement::Load(NEW, other, load)],
                success,
            )
        }),
    ]
}

/// Reads, and increments what was read last, until nobody has changed it meanwhile.
fn insist(location: Location, mut body: Vec<Statement>, success: Ordering) -> Statement {
    let (read, incremented) = (register(LAST, 0), register(LAST, 1));
    body.push(Statement::CompareExchange(NEW, location, read, incremented, success, Relaxed));
    retry(None, body, Comparison::Equal, register(BEFORE, 0))
}

fn retry(times: Option<u32>, body: Vec<Statement>, comparison: Comparison, value: Value) -> Statement {
    Statement::Retry(Retry { times, body, until: (LAST, comparison, value) })
}

fn statement() -> impl Strategy<Value = Statement> {
    prop_oneof![
        12 => access(),
        1 => (any::<bool>(), 0..3u32, access(), prop::option::of(access())).prop_map(|(equal, constant, then, otherwise)| {
            let comparison = if equal { Comparison::Equal } else { Comparison::Unequal };
            Statement::If(LAST, comparison, constant, vec![then], otherwise.into_iter().collect())
        }),
    ]
}

fn load_order() -> impl Strategy<Value = Ordering> + Clone {
    select(&[Relaxed, Acquire, SeqCst])
}

fn store_order() -> impl Strategy<Value = Ordering> {
    select(&[Relaxed, Release, SeqCst])
}

fn access() -> impl Strategy<Value = Statement> {
    let location = || select(&LOCATIONS);
    let (loads, stores) = (load_order(), store_order());
    let fences = select(&[Acquire, Release, AcqRel, SeqCst]);
    let all = || select(&[Relaxed, Acquire, Release, AcqRel, SeqCst]);
    prop_oneof![
        5 => (location(), loads.clone()).prop_map(|(location, order)| Statement::Load(NEW, location, order)),
        5 => (location(), value(), stores).prop_map(|(location, value, order)| Statement::Store(location, value, order)),
        1 => (location(), value(), all()).prop_map(|(location, value, order)| Statement::FetchAdd(NEW, location, value, order)),
        1 => (location(), value(), all()).prop_map(|(location, value, order)| Statement::Swap(NEW, location, value, order)),
        2 => (location(), 0..3u32, value(), all(), loads).prop_map(|(location, current, new, success, failure)| {
            Statement::CompareExchange(NEW, location, constant(current), new, success, failure)
        }),
        2 => fences.prop_map(Statement::Fence),
    ]
}

/// Few values, so that comparisons may hold.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (1..3u32).prop_map(constant),
        1 => (0..2u32).prop_map(|constant| Value { registers: vec![LAST], constant }),
    ]
}

fn constant(constant: u32) -> Value {
    constant.into()
}

fn register(register: Register, constant: u32) -> Value {
    Value { registers: vec![register], constant }
}

/// Stand for a register that nothing else writes, for the one that was written last in program text, and for the one before.
const NEW: Register = '?';
const LAST: Register = '!';
const BEFORE: Register = '<';

/// Gives each read a register of its own, so that outcomes tell everything that was read.
fn name_registers(mut statements: Vec<Statement>) -> Vec<Statement> {
    name(&mut statements, &mut 'a');
    statements
}

fn name(statements: &mut [Statement], next: &mut char) {
    for statement in statements {
        // Before the first read, a register that stays 0.
        let back = |from: char, by: u8| char::from((from as u8).saturating_sub(by).max(b'a'));
        let name_value = |value: &mut Value, next: char| {
            for register in &mut value.registers {
                *register = back(next, if *register == BEFORE { 2 } else { 1 });
            }
        };
        match statement {
            Statement::Store(_, stored, _) => name_value(stored, *next),
            Statement::FetchAdd(_, _, operand, _) | Statement::Swap(_, _, operand, _) => {
                name_value(operand, *next)
            }
            Statement::CompareExchange(_, _, current, new, _, _) => {
                name_value(current, *next);
                name_value(new, *next);
            }
            _ => {}
        }
        match statement {
            Statement::Load(register, ..)
            | Statement::FetchAdd(register, ..)
            | Statement::Swap(register, ..)
            | Statement::CompareExchange(register, ..) => {
                *register = *next;
                *next = char::from(*next as u8 + 1);
            }
            Statement::If(register, _, _, then, otherwise) => {
                *register = back(*next, 1);
                name(then, next);
                name(otherwise, next);
            }
            Statement::Assume(register, ..) => *register = back(*next, 1),
            Statement::Retry(Retry { body, until: (register, _, value), .. }) => {
                name(body, next);
                *register = back(*next, 1);
                name_value(value, *next);
            }
            Statement::Drop(_, body) | Statement::Operation(body) => name(body, next),
            Statement::Store(..) | Statement::Fence(_) | Statement::Lock(_) | Statement::Unlock(_) => {}
        }
    }
}
