//! Read-modify-writes that the compiler expanded into loops, in graph-driven executions.
//!
//! The loop reads without a callback, and then tries to exchange the value for the result of the operation, until it
//! succeeds. The graph needs one event, with the value it writes for any value it reads. So the loop is first probed:
//! its attempts are made to find certain values, and the results identify the operation. Then the event is made,
//! and the loop ends with the value that the event read.

use super::access;
use crate::execution::Engine;
use crate::graph::event::Access;
use crate::op::{Caller, Int, Order, Rmw};
use crate::outcome::Outcome;
use crate::semantics::enter;
use crate::thread::{Expansion, VALUES};

/// Values on which any two operations differ, unless they are equal on all values.
fn values(bits: u32) -> [u128; VALUES] {
    let ones = u128::MAX >> (128 - bits);
    [0, ones, ones >> 1, !(ones >> 1) & ones]
}

/// An attempt to exchange `expected` for `new`. Returns the old value for the loop.
///
/// # Safety
/// As for the functions of [`super`].
pub(super) unsafe fn attempt<T: Int>(
    engine: *mut Engine,
    caller: Caller,
    location: *mut T,
    [expected, new]: [T; 2],
    order: Order,
) -> T {
    // SAFETY: the caller's.
    unsafe {
        let values = values(8 * size_of::<T>() as u32);
        let (mut known, mut results) = match (*engine).current().expansion {
            Expansion::None => (0, [0; VALUES]),
            Expansion::Asked(known, results) => (known, results),
            Expansion::Made(read) => {
                debug_assert_eq!(read, expected.widen());
                (*engine).current().expansion = Expansion::None;
                return expected;
            }
        };
        if expected.widen() == values[known] {
            results[known] = new.widen();
            known += 1;
        }
        if known < VALUES {
            (*engine).current().expansion = Expansion::Asked(known, results);
            return T::narrow(values[known]);
        }
        let Some((op, operand)) = operation::<T>(values, results) else {
            enter(engine, |engine| engine.stop(Outcome::Unsupported { thread: engine.current_id() }))
        };
        (*engine).current().expansion = Expansion::None;
        let step = Access::Rmw(op, operand.widen() as u64);
        let read = access::access(engine, caller, location, step, order);
        if read != expected {
            (*engine).current().expansion = Expansion::Made(read.widen());
        }
        read
    }
}

/// The operation with these results for the values, and its operand.
fn operation<T: Int>(values: [u128; VALUES], results: [u128; VALUES]) -> Option<(Rmw, T)> {
    let fits = |op, operand: T| {
        values
            .iter()
            .zip(results)
            .all(|(&value, result)| T::narrow(value).apply(op, operand).widen() == result)
    };
    let operations = Rmw::ALL.into_iter().filter(|op| op.may_be_expanded());
    let mut candidates = operations.flat_map(|op| {
        // The operand is the result for some value, or its complement.
        results.into_iter().flat_map(move |result| [(op, T::narrow(result)), (op, T::narrow(!result))])
    });
    candidates.find(|&(op, operand)| fits(op, operand))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_expanded() -> impl Strategy<Value = Rmw> {
        proptest::sample::select(&Rmw::ALL[..]).prop_filter("the processor has it", |op| op.may_be_expanded())
    }

    proptest! {
        #[test]
        fn operations_are_recognised(operand: u8, value: u8, op in any_expanded()) {
            let values = values(8);
            let results = values.map(|value| (value as u8).apply(op, operand).into());
            let (found, with) = operation::<u8>(values, results).expect("some operation does that");
            prop_assert_eq!(value.apply(found, with), value.apply(op, operand), "{:?} {} for {:?} {}", found, with, op, operand);
        }
    }
}
