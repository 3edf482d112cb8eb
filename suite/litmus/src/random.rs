//! Small programs by chance.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use proptest::prelude::*;
use proptest::sample::select;

use crate::program::{Comparison, Place, Program, Register, Retry, Statement, Value};

const PLACES: [Place; 2] = ['x', 'y'];

/// Programs of this many threads, each of at most so many statements, with everything but spinning.
pub fn programs(
    threads: impl Into<prop::collection::SizeRange>,
    statements: usize,
) -> impl Strategy<Value = Program> {
    let thread = prop::collection::vec(statement(), 1..=statements).prop_map(name_registers);
    prop::collection::vec(thread, threads).prop_map(|threads| Program { threads, ..Program::default() })
}

/// Programs of three threads with loops, all of which end: the second thread waits for the first, and the third for one of
/// the two or for both; anyone may look a few times, or insist on a change that others may prevent meanwhile.
pub fn looping_programs(statements: usize) -> impl Strategy<Value = Program> {
    let thread =
        || prop::collection::vec(prop_oneof![3 => statement(), 1 => harmless_loop()], 0..=statements);
    let waits = (wait_for('v'), prop_oneof![wait_for('v'), wait_for('w'), wait_for_both()]);
    let places = prop::array::uniform6(any::<prop::sample::Index>());
    let threads = prop::array::uniform3(thread());
    (threads, waits, store_order(), any::<bool>(), places).prop_map(
        |(threads, waits, order, twice, places)| {
            let [mut first, mut second, mut third] = threads;
            let place = |thread: &[Statement], begin: usize, index: usize| {
                begin + places[index].index(thread.len() + 1 - begin)
            };
            let mut at = 0;
            // Whatever comes in between, in the end the place holds 2.
            for value in if twice { 1..=2 } else { 2..=2 } {
                at = place(&first, at, value as usize - 1);
                first.insert(at, Statement::Store('v', constant(value), order));
                at += 1;
            }
            let waits_at = place(&second, 0, 2);
            second.insert(waits_at, waits.0);
            second.insert(place(&second, waits_at + 1, 3), Statement::Store('w', constant(2), order));
            third.insert(place(&third, 0, 4), waits.1);
            let threads = [first, second, third].into_iter().map(name_registers).collect();
            Program { threads, ..Program::default() }
        },
    )
}

/// A loop that waits until a place holds 2, or at least something else than 0.
fn wait_for(place: Place) -> impl Strategy<Value = Statement> {
    (load_order(), condition()).prop_map(move |(order, (comparison, value))| {
        retry(None, vec![Statement::Load(NEW, place, order)], comparison, constant(value))
    })
}

/// A loop that waits for two places at once: looks at the second if the first is as wanted.
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
    let place = || select(&PLACES);
    let both = || (load_order(), select(&[Relaxed, AcqRel, SeqCst]));
    prop_oneof![
        // Looks a few times.
        (place(), load_order(), 2..=3u32, 0..3u32).prop_map(|(place, order, times, value)| {
            retry(Some(times), vec![Statement::Load(NEW, place, order)], Comparison::Equal, constant(value))
        }),
        // Adds by load and compare-exchange.
        (place(), both()).prop_map(|(place, (load, success))| insist(
            place,
            vec![Statement::Load(NEW, place, load)],
            success
        )),
        // Looks at another place in between.
        (place(), both()).prop_map(|(place, (load, success))| {
            let other = if place == PLACES[0] { PLACES[1] } else { PLACES[0] };
            insist(other, vec![Statement::Load(NEW, place, load), Statement::Load(NEW, other, load)], success)
        }),
    ]
}

/// Reads, and increments what was read last, until nobody has changed it meanwhile.
fn insist(place: Place, mut body: Vec<Statement>, success: Ordering) -> Statement {
    let (read, incremented) = (register(LAST, 0), register(LAST, 1));
    body.push(Statement::CompareExchange(NEW, place, read, incremented, success, Relaxed));
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
    let place = || select(&PLACES);
    let (loads, stores) = (load_order(), store_order());
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
            Statement::Store(..) | Statement::Fence(_) => {}
        }
    }
}
