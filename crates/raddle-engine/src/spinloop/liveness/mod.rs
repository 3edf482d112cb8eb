//! Liveness analysis: whether two states of a thread are equal in their code address and in all values that are *live*, that is,
//! may still be read.
//!
//! Registers and stacks are full of dead values: results of the last iteration of a loop, remains of functions that have
//! returned. Two states that differ only in dead values have the same future. [`Liveness`] decides that from the machine code: it
//! follows a value from the return of a call along all paths of the control flow, until the value is read, overwritten, or gone
//! with its frame.
//!
//! **Invariant:** where the analysis does not understand the code, the value is live. So equal states may be taken for different
//! ones, but never different states for equal ones.
//!
//! | module | what it is |
//! |---|---|
//! | `function` | control flow and liveness within one function |
//! | `callees` | functions that do not return, and functions that compare and exchange |
//! | `unwind` | frames of the stack, and the extent of functions, from the unwinder's tables |
//! | `vectors` | functions that use long vector registers, which announcements of plain accesses have to keep |

mod callees;
mod function;
mod unwind;
mod vectors;

use std::collections::HashMap;
use std::ops::RangeInclusive;

use callees::Callees;
use function::{Fate, Function, Home, SAVED, is_call, is_pause};
use unwind::{Frame, frames, function_of};
pub(crate) use vectors::look_at_function;

use crate::platform::global::Registers;

/// The state of a thread that has called the engine.
#[derive(Clone, Debug)]
pub(crate) struct MachineState {
    /// A hash of the operands of the call.
    call: u64,
    /// A hash of the thread's changes of memory other than its stack.
    changes: u64,
    /// The return address of the call.
    ip: usize,
    /// The contents of [`SAVED`].
    registers: [u64; SAVED.len()],
    /// The lowest address of the stack, and the words from there on.
    begin: usize,
    stack: Vec<u64>,
}

impl MachineState {
    /// The state of the current thread, whose call returns to `pc` with these registers and whose stack ends at `top`.
    pub(crate) fn of_current(
        pc: usize,
        registers: &Registers,
        top: usize,
        call: u64,
        changes: u64,
    ) -> MachineState {
        let begin = registers.rsp + 8;
        // SAFETY: the thread's own stack, which its coroutine keeps mapped.
        let word =
            |address: usize| unsafe { std::ptr::with_exposed_provenance::<u64>(address).read_volatile() };
        let stack = (begin..top.max(begin)).step_by(8).map(word).collect();
        let [rbp, rbx, others @ ..] = registers.preserved.map(|register| register as u64);
        let [r12, r13, r14, r15] = others;
        MachineState { call, changes, ip: pc, registers: [rbx, rbp, r12, r13, r14, r15], begin, stack }
    }

    /// Whether the code address and the depth of the stack are the same.
    pub(crate) fn is_at_same_depth(&self, other: &MachineState) -> bool {
        (self.ip, self.begin, self.stack.len()) == (other.ip, other.begin, other.stack.len())
    }

    /// Whether the return addresses of all frames are the same. `self` must be the state of the current thread.
    pub(crate) fn has_same_callers(&self, other: &MachineState) -> bool {
        let return_address = |frame: &Frame| (frame.stack - self.begin) / 8 - 1;
        let mut callers = frames(self.ip).into_iter().skip(1).map(|frame| return_address(&frame));
        self.is_at_same_depth(other) && callers.all(|at| self.stack.get(at) == other.stack.get(at))
    }

    /// The addresses of the bytes of the stack that differ.
    fn differing_bytes(&self, other: &MachineState) -> impl Iterator<Item = usize> {
        let begin = self.begin;
        let words = self.stack.iter().zip(&other.stack).enumerate().filter(|(_, (one, other))| one != other);
        words.flat_map(move |(word, (one, other))| {
            let differ = (one ^ other).to_le_bytes();
            (0..8).filter(move |&byte| differ[byte] != 0).map(move |byte| begin + 8 * word + byte)
        })
    }
}

/// The analysis, with its results for the code seen so far.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    /// Functions by a return address in them. None where the code is not understood.
    functions: HashMap<usize, Option<Function>>,
    callees: Callees,
    fates: HashMap<(usize, Home), Fate>,
    /// The innermost loops by a return address in them. None outside of loops.
    loops: HashMap<usize, Option<LoopCode>>,
}

/// Properties of the code of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoopCode {
    /// The loop has a pause instruction (`std::hint::spin_loop`).
    pub(crate) pauses: bool,
    /// The loop has a compare-exchange.
    pub(crate) compares_and_exchanges: bool,
}

/// A comparison of two states of the current thread.
struct Pair<'a> {
    states: [&'a MachineState; 2],
    /// The frames of the thread, innermost first.
    frames: Vec<Frame>,
    /// Whether memory other than the thread's stack holds an address in a range.
    is_held: &'a dyn Fn(&RangeInclusive<usize>) -> bool,
    /// The addresses of words of the stack whose liveness was asked for.
    asked: Vec<usize>,
}

impl Liveness {
    /// Initialises the decoder's tables, which are made at first use. An execution must not make them, because its effects on
    /// memory are rolled back.
    pub(crate) fn prepare() {
        const NOTHING: &[u8] = &[0x90];
        Function::read(NOTHING, 0, unwind::Pads::default(), |_| false);
    }

    /// Whether the current thread, which is in the state `now`, has the same future as in the state `before`, if it reads the same
    /// values. Differences in bytes that are `shared` with other threads do not matter, because their reads are events. `is_held`
    /// tells whether memory other than the thread's stack holds an address in a range.
    pub(crate) fn is_equivalent(
        &mut self,
        before: &MachineState,
        now: &MachineState,
        shared: impl Fn(usize) -> bool,
        is_held: &dyn Fn(&RangeInclusive<usize>) -> bool,
    ) -> bool {
        if !now.is_at_same_depth(before) || (now.call, now.changes) != (before.call, before.changes) {
            return false;
        }
        if (before.registers, &before.stack) == (now.registers, &now.stack) {
            return true;
        }
        let mut pair = Pair { states: [before, now], frames: frames(now.ip), is_held, asked: Vec::new() };
        let mut registers = (0..SAVED.len()).filter(|&index| before.registers[index] != now.registers[index]);
        registers.all(|register| !self.is_read(&pair.frames, Home::Register(register)))
            && now.differing_bytes(before).all(|byte| shared(byte) || !self.is_byte_read(&mut pair, byte))
    }

    /// The properties of the innermost loop around the return address `ip` in the current thread.
    pub(crate) fn innermost_loop(&mut self, ip: usize) -> LoopCode {
        let frames = frames(ip);
        frames.iter().find_map(|frame| self.loop_of(frame)).unwrap_or_default()
    }

    fn loop_of(&mut self, frame: &Frame) -> Option<LoopCode> {
        if let Some(&known) = self.loops.get(&frame.ip) {
            return known;
        }
        self.function(frame);
        let Liveness { functions, callees, loops, .. } = self;
        let function = functions.get(&frame.ip).and_then(Option::as_ref);
        let body = function.and_then(|function| function.loop_at(frame.ip as u64));
        let found = body.map(|body| LoopCode {
            pauses: body.iter().any(|code| is_pause(code)),
            compares_and_exchanges: body
                .iter()
                .any(|code| is_call(code) && callees.may_compare_exchange(code)),
        });
        loops.insert(frame.ip, found);
        found
    }

    fn is_byte_read(&mut self, pair: &mut Pair<'_>, address: usize) -> bool {
        let frames = &pair.frames;
        let Some(own) = frames.partition_point(|frame| frame.stack <= address).checked_sub(1) else {
            return true;
        };
        let relative = |own: usize| Some(address.wrapping_sub(frames.get(own + 1)?.stack) as i64);
        let Some(byte) = relative(own) else { return true };
        if self.is_read(&frames[own..], Home::Byte(byte)) {
            return true;
        }
        // The byte may be an argument of the function that this one called.
        if let Some(callee) = own.checked_sub(1)
            && let Some(argument) = relative(callee)
            && self.is_read(&frames[callee..=own], Home::Byte(argument))
        {
            return true;
        }
        let Some(function) = self.function(&frames[own]) else { return true };
        if function.is_saved(byte) {
            return false;
        }
        let lowest = function.lowest_taken();
        let might_be_read = self.is_read(&frames[own..], Home::Escaped(byte))
            || (0..own).any(|inner| self.is_read(&frames[inner..], Home::Elsewhere));
        might_be_read && lowest <= byte && {
            let end = frames[own + 1].stack;
            let lowest = end.saturating_add_signed(lowest as isize).max(frames[own].stack);
            self.is_escaped(pair, lowest..=address)
        }
    }

    /// Whether a live value is an address in this range of the stack.
    fn is_escaped(&mut self, pair: &mut Pair<'_>, range: RangeInclusive<usize>) -> bool {
        let is_in = |&value: &u64| range.contains(&(value as usize));
        for state in pair.states {
            let mut registers = (0..SAVED.len()).filter(|&register| is_in(&state.registers[register]));
            if registers.any(|register| self.is_read(&pair.frames, Home::Register(register))) {
                return true;
            }
            for (word, _) in state.stack.iter().enumerate().filter(|(_, value)| is_in(value)) {
                let at = state.begin + 8 * word;
                // A pointer that is live only through itself is dead.
                if pair.asked.contains(&at) {
                    continue;
                }
                pair.asked.push(at);
                let is_read = (at..at + 8).any(|byte| self.is_byte_read(pair, byte));
                if is_read {
                    return true;
                }
            }
        }
        (pair.is_held)(&range)
    }

    /// Whether the function of the first frame, or a caller, may read the value.
    fn is_read(&mut self, frames: &[Frame], home: Home) -> bool {
        let (Some(frame), Some(caller)) = (frames.first(), frames.get(1)) else { return true };
        match self.fate(frame, caller.stack, home) {
            Fate::Read => true,
            Fate::Unread(registers) => (0..SAVED.len())
                .filter(|register| registers >> register & 1 == 1)
                .any(|register| self.is_read(&frames[1..], Home::Register(register))),
        }
    }

    fn fate(&mut self, frame: &Frame, end: usize, home: Home) -> Fate {
        if let Some(&known) = self.fates.get(&(frame.ip, home)) {
            return known;
        }
        let pointer = frame.stack.wrapping_sub(end) as i64;
        let fate = match self.function(frame) {
            Some(function) => function.fate(frame.ip as u64, pointer, home),
            None => Fate::Read,
        };
        self.fates.insert((frame.ip, home), fate);
        fate
    }

    fn function(&mut self, frame: &Frame) -> Option<&Function> {
        let Liveness { functions, callees, .. } = self;
        let read = || {
            let (code, start, pads) = function_of(frame)?;
            Function::read(code, start, pads, |call| callees.diverges_at(call))
        };
        functions.entry(frame.ip).or_insert_with(read).as_ref()
    }
}
