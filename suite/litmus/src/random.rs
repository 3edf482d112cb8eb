//! Small programs by chance.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use proptest::prelude::*;
use proptest::sample::select;

use crate::program::{Comparison, Place, Program, Register, Statement, Value};

const PLACES: [Place; 2] = ['x', 'y'];

/// Programs of this many threads, each of at most so many statements, with everything but spinning.
pub fn programs(
    threads: impl Into<prop::collection::SizeRange>,
    statements: usize,
) -> impl Strategy<Value = Program> {
    let thread = prop::collection::vec(statement(), 1..=statements).prop_map(name_registers);
    prop::collection::vec(thread, threads).prop_map(|threads| Program { threads, ..Program::default() })
}

/// Programs of three threads in which the second waits for the first and the third for the second, somewhere: all end.
pub fn waiting_programs(statements: usize) -> impl Strategy<Value = Program> {
    let orders = (select(&[Relaxed, Release, SeqCst]), select(&[Relaxed, Acquire, SeqCst]));
    let places = prop::array::uniform4(any::<prop::sample::Index>());
    (programs(3, statements), orders, places).prop_map(|(mut program, (store, load), places)| {
        let one = || constant(1);
        let [first, second, third] = &mut program.threads[..] else {
            unreachable!("there are three threads")
        };
        let place = |index: usize, begin: usize, thread: &[Statement]| {
            begin + places[index].index(thread.len() + 1 - begin)
        };
        first.insert(place(0, 0, first), Statement::Store('v', one(), store));
        let waits = place(1, 0, second);
        second.insert(waits, Statement::Await('v', 'v', 1, load));
        second.insert(place(2, waits + 1, second), Statement::Store('w', one(), store));
        third.insert(place(3, 0, third), Statement::Await('w', 'w', 1, load));
        program
    })
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

fn access() -> impl Strategy<Value = Statement> {
    let place = || select(&PLACES);
    let loads = select(&[Relaxed, Acquire, SeqCst]);
    let stores = select(&[Relaxed, Release, SeqCst]);
    let fences = select(&[Acquire, Release, AcqRel, SeqCst]);
    let all = || select(&[Relaxed, Acquire, Release, AcqRel, SeqCst]);
    prop_oneof![
        5 => (place(), loads.clone()).prop_map(|(place, order)| Statement::Load(NEW, place, order)),
        5 => (place(), value(), stores).prop_map(|(place, value, order)| Statement::Store(place, value, order)),
        1 => (place(), value(), all()).prop_map(|(place, value, order)| Statement::FetchAdd(NEW, place, value, order)),
        1 => (place(), value(), all()).prop_map(|(place, value, order)| Statement::Swap(NEW, place, value, order)),
        2 => (place(), 0..3u32, value(), all(), loads).prop_map(|(place, current, new, success, failure)| {
            Statement::CompareExchange(NEW, place, constant(current), new, success, failure)
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
    Value { registers: Vec::new(), constant }
}

/// Stands for a register that nothing else writes, and for the one that was written last in program text.
const NEW: Register = '?';
const LAST: Register = '!';

/// Gives each read a register of its own, so that outcomes tell everything that was read.
fn name_registers(mut statements: Vec<Statement>) -> Vec<Statement> {
    name(&mut statements, &mut 'a');
    statements
}

fn name(statements: &mut [Statement], next: &mut char) {
    for statement in statements {
        // Before the first read, a register that stays 0.
        let last = char::from(*next as u8 - u8::from(*next > 'a'));
        let value = |value: &mut Value| value.registers.iter_mut().for_each(|register| *register = last);
        match statement {
            Statement::Store(_, stored, _) => value(stored),
            Statement::FetchAdd(_, _, operand, _) | Statement::Swap(_, _, operand, _) => value(operand),
            Statement::CompareExchange(_, _, current, new, _, _) => {
                value(current);
                value(new);
            }
            _ => {}
        }
        match statement {
            Statement::Load(register, ..)
            | Statement::FetchAdd(register, ..)
            | Statement::Swap(register, ..)
            | Statement::CompareExchange(register, ..)
            | Statement::Await(register, ..) => {
                *register = *next;
                *next = char::from(*next as u8 + 1);
            }
            Statement::If(register, _, _, then, otherwise) => {
                *register = last;
                name(then, next);
                name(otherwise, next);
            }
            Statement::Assume(register, ..) => *register = last,
            Statement::Store(..) | Statement::Fence(_) => {}
        }
    }
}
