//! Whether a thread is where it was: in the same place of the code, with the same values in everything that it will still
//! read.
//!
//! Registers and stacks are full of values that nobody will read again: what the last round of a loop found, what a function
//! that has returned left behind. Two states that differ only in those have the same future. [`Liveness`] finds that out from
//! the machine code: it follows a value from the return of a call on, along all ways that the code can take, until it is read,
//! overwritten, or gone with its frame. Where the code does something that it does not understand, the value is taken to be
//! read, so that equal states may be told apart, but never different ones taken for equal.

mod callees;
mod function;
mod unwind;

use std::collections::HashMap;
use std::ops::RangeInclusive;

use callees::Callees;
use function::{Fate, Function, Home, SAVED, is_call, is_pause};
use unwind::{Frame, frames, function_of};

use crate::platform::global::Registers;

/// The state of a thread that has called the engine.
#[derive(Clone, Debug)]
pub(crate) struct MachineState {
    /// What it calls the engine for.
    call: u64,
    /// What it has changed in memory besides its stack, as a hash.
    changes: u64,
    /// Where it goes on.
    ip: usize,
    registers: [u64; SAVED.len()],
    /// Where its stack begins, and what is there.
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

    /// Whether the code is at the same place, as deep in calls as in the other state.
    pub(crate) fn is_at_same_depth(&self, other: &MachineState) -> bool {
        (self.ip, self.begin, self.stack.len()) == (other.ip, other.begin, other.stack.len())
    }

    /// Whether the functions that the current thread is in, in this state, were called from the same places in the other one.
    pub(crate) fn has_same_callers(&self, other: &MachineState) -> bool {
        let return_address = |frame: &Frame| (frame.stack - self.begin) / 8 - 1;
        let mut callers = frames(self.ip).into_iter().skip(1).map(|frame| return_address(&frame));
        self.is_at_same_depth(other) && callers.all(|at| self.stack.get(at) == other.stack.get(at))
    }

    /// The bytes of the stack that differ, by their addresses.
    fn differing_bytes(&self, other: &MachineState) -> impl Iterator<Item = usize> {
        let begin = self.begin;
        let words = self.stack.iter().zip(&other.stack).enumerate().filter(|(_, (one, other))| one != other);
        words.flat_map(move |(word, (one, other))| {
            let differ = (one ^ other).to_le_bytes();
            (0..8).filter(move |&byte| differ[byte] != 0).map(move |byte| begin + 8 * word + byte)
        })
    }
}

/// What is known of the code of the program.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    /// Functions by where a call returns to; none where the code is not understood.
    functions: HashMap<usize, Option<Function>>,
    callees: Callees,
    fates: HashMap<(usize, Home), Fate>,
    /// What loops do, by where a call returns to in them; none outside of loops.
    loops: HashMap<usize, Option<LoopCode>>,
}

/// What the code of a loop may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoopCode {
    /// It tells the processor that it waits (`std::hint::spin_loop`).
    pub(crate) pauses: bool,
    /// It compares and exchanges.
    pub(crate) compares_and_exchanges: bool,
}

/// Two states of the current thread that may have the same future.
struct Pair<'a> {
    states: [&'a MachineState; 2],
    /// The functions that it is in.
    frames: Vec<Frame>,
    /// Whether an address in this range is anywhere in memory besides the stack of the thread.
    is_held: &'a dyn Fn(&RangeInclusive<usize>) -> bool,
    /// Words of the stack that are being asked about.
    asked: Vec<usize>,
}

impl Liveness {
    /// Makes the tables of the decoder, which are made once: they must not be made by an execution, whose traces are removed.
    pub(crate) fn prepare() {
        const NOTHING: &[u8] = &[0x90];
        Function::read(NOTHING, 0, unwind::Pads::default(), |_| false);
    }

    /// Whether the current thread, in the state `now`, will do the same as from the state before, if it reads the same. What
    /// differs in bytes that are `shared` does not matter. `is_held` tells whether an address in a range is anywhere in memory
    /// besides the stack of the thread.
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

    /// What the innermost loop may do that the current thread is in, at `ip`.
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
        // What the function has called may have it as an argument.
        if let Some(callee) = own.checked_sub(1)
            && let Some(argument) = relative(callee)
            && self.is_read(&frames[callee..=own], Home::Byte(argument))
        {
            return true;
        }
        let might_be_read = self.is_read(&frames[own..], Home::Known(byte))
            || (0..own).any(|inner| self.is_read(&frames[inner..], Home::Elsewhere));
        let Some(function) = self.function(&frames[own]) else { return true };
        let lowest = function.lowest_taken();
        might_be_read && lowest <= byte && {
            let end = frames[own + 1].stack;
            let lowest = end.saturating_add_signed(lowest as isize).max(frames[own].stack);
            self.is_known(pair, lowest..=address)
        }
    }

    /// Whether somebody has an address in this range of the stack, and may use it.
    fn is_known(&mut self, pair: &mut Pair<'_>, range: RangeInclusive<usize>) -> bool {
        let is_in = |&value: &u64| range.contains(&(value as usize));
        for state in pair.states {
            let mut registers = (0..SAVED.len()).filter(|&register| is_in(&state.registers[register]));
            if registers.any(|register| self.is_read(&pair.frames, Home::Register(register))) {
                return true;
            }
            for (word, _) in state.stack.iter().enumerate().filter(|(_, value)| is_in(value)) {
                let at = state.begin + 8 * word;
                // One that only leads to itself leads nowhere.
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

    /// Whether the function of the first frame, or one that it returns to, may read the value.
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
