//! Control flow and liveness within the machine code of one function.
//!
//! Addresses of the stack are relative to the function's *frame*: the value of the caller's stack pointer after the return.

use std::collections::BTreeSet;
use std::ops::Range;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register, UsedMemory,
};

use super::unwind::Pads;
use crate::platform::global::{Announcements, GLOBAL};

/// The callee-saved registers other than `rsp`. Values in other registers do not outlive a call.
pub(super) const SAVED: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// The index of `rbp` in [`SAVED`]: the register that may be the frame pointer.
const BASE: usize = 1;

/// The greatest length of analysed code in bytes.
const LONGEST: usize = 1 << 16;

/// The greatest number of steps in the analysis of one value.
const PATIENCE: usize = 20_000;

/// The greatest number of instructions among which the uses of an address are searched.
const NEAR: usize = 64;

/// The home of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Home {
    /// The register with this index in [`SAVED`].
    Register(usize),
    /// A byte of the stack, whose address has not escaped.
    Byte(i64),
    /// A byte of the stack, whose address may have escaped.
    Escaped(i64),
    /// Memory outside of the function's frame, whose address the function may have.
    Elsewhere,
}

/// The fate of a value until the function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The value may be read.
    Read,
    /// The value is not read. On return it may be in these registers: one bit for each of [`SAVED`].
    Unread(u8),
}

/// The stack pointer before an instruction, and the frame pointer where `rbp` is one, relative to the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stack {
    pointer: i64,
    base: Option<i64>,
}

/// The code of a function.
#[derive(Debug)]
pub(super) struct Function {
    code: Vec<Instruction>,
    /// Whether each instruction is a call that does not return.
    ends: Vec<bool>,
    /// The stack before each instruction. None if the instruction is not reached.
    stack: Vec<Option<Stack>>,
    pads: Pads,
    /// The instructions that jump tables may lead to.
    targets: Vec<usize>,
    /// The lowest byte of the stack whose address the function takes; `i64::MAX` if it takes none.
    lowest_taken: i64,
    /// The lowest byte of the registers that the function saves when it begins. No object of the program lies there, or higher: an
    /// address that the function takes leads to none of these bytes.
    saved: i64,
}

impl Function {
    /// Decodes the code of a function. `diverges` tells which calls do not return. None if the code is not understood.
    pub(super) fn read(
        code: &[u8],
        start: usize,
        pads: Pads,
        mut diverges: impl FnMut(&Instruction) -> bool,
    ) -> Option<Function> {
        if code.len() > LONGEST {
            return None;
        }
        let mut decoder = Decoder::with_ip(64, code, start as u64, DecoderOptions::NONE);
        let code: Vec<_> = decoder.iter().collect();
        if code.iter().any(Instruction::is_invalid) {
            return None;
        }
        let ends = code.iter().map(|code| is_call(code) && diverges(code)).collect();
        let mut function = Function {
            stack: vec![None; code.len()],
            code,
            ends,
            pads,
            targets: Vec::new(),
            lowest_taken: i64::MAX,
            saved: 0,
        };
        function.saved = function.lowest_saved();
        if function.code.iter().any(|code| code.flow_control() == FlowControl::IndirectBranch) {
            function.targets = function.read_tables();
        }
        function.follow_stack(0, Stack { pointer: -8, base: None })?;
        // Code after a landing pad may have calls, and further landing pads.
        while let Some((pad, stack)) = function.pad_not_followed() {
            function.follow_stack(pad, stack)?;
        }
        function.lowest_taken =
            (0..function.code.len()).filter_map(|index| function.taken_at(index)).min().unwrap_or(i64::MAX);
        Some(function)
    }

    fn at(&self, ip: u64) -> Option<usize> {
        self.code.binary_search_by_key(&ip, Instruction::ip).ok()
    }

    /// The lowest byte of the registers that the first instructions save. They may also make a frame pointer.
    fn lowest_saved(&self) -> i64 {
        let begins = |code: &&Instruction| match code.mnemonic() {
            Mnemonic::Push => SAVED.contains(&code.op0_register()),
            mnemonic => mnemonic == Mnemonic::Mov && code.op0_register() == Register::RBP,
        };
        let pushes = self.code.iter().take_while(begins).filter(|code| code.mnemonic() == Mnemonic::Push);
        -8 - 8 * pushes.count() as i64
    }

    /// The targets of the function's jump tables: distances from the table's own address, which a `lea` loads.
    fn read_tables(&self) -> Vec<usize> {
        let is_table =
            |code: &&Instruction| code.mnemonic() == Mnemonic::Lea && code.is_ip_rel_memory_operand();
        let tables = self.code.iter().filter(is_table).map(Instruction::ip_rel_memory_address);
        let entries = tables.flat_map(|table| {
            (0..).map_while(move |entry| {
                let at = std::ptr::with_exposed_provenance::<i32>(table as usize + 4 * entry);
                // SAFETY: the function refers to this address. If there is no table, the first entry leads out of the function.
                let distance = unsafe { at.read_unaligned() };
                self.at(table.wrapping_add_signed(distance.into()))
            })
        });
        entries.collect()
    }

    /// Whether the instruction leaves the function: by a return, or by a jump to another function.
    fn leaves(&self, index: usize) -> bool {
        let code = &self.code[index];
        match code.flow_control() {
            FlowControl::Return => true,
            FlowControl::UnconditionalBranch => self.is_outside(code.near_branch_target()),
            // A tail call: the function has released its part of the stack.
            FlowControl::IndirectBranch => self.stack[index].is_some_and(|stack| stack.pointer == -8),
            _ => false,
        }
    }

    /// The landing pad of a call.
    fn pad_of(&self, call: &Instruction) -> Option<usize> {
        self.at(self.pads.of(call.ip())? as u64)
    }

    /// A landing pad that was not analysed yet, and the stack there.
    fn pad_not_followed(&self) -> Option<(usize, Stack)> {
        let mut calls = self.code.iter().zip(&self.stack).filter(|(code, _)| is_call(code));
        calls.find_map(|(call, &stack)| {
            let pad = self.pad_of(call)?;
            self.stack[pad].is_none().then_some((pad, stack?))
        })
    }

    /// Computes the stack before each instruction that is reachable from this one. None if it differs between paths.
    fn follow_stack(&mut self, from: usize, stack: Stack) -> Option<()> {
        let mut left = vec![(from, stack)];
        while let Some((index, stack)) = left.pop() {
            match self.stack[index] {
                // At the end of a function, the frame pointer may be known on one path only.
                Some(before) if before.pointer != stack.pointer => return None,
                Some(before) if before.base == stack.base || before.base.is_none() => continue,
                Some(_) => self.stack[index] = Some(Stack { base: None, ..stack }),
                None => self.stack[index] = Some(stack),
            }
            let stack = self.stack[index]?;
            let code = &self.code[index];
            let after = stack_after(code, stack)?;
            left.extend(self.next(index)?.into_iter().map(|next| (next, after)));
        }
        Some(())
    }

    /// The successors of an instruction, without landing pads. None if they are not known.
    fn next(&self, index: usize) -> Option<Vec<usize>> {
        let code = &self.code[index];
        let following = (index + 1 < self.code.len()).then_some(index + 1);
        if self.leaves(index) {
            return Some(Vec::new());
        }
        Some(match code.flow_control() {
            FlowControl::Next => vec![following?],
            FlowControl::Call | FlowControl::IndirectCall if self.ends[index] => Vec::new(),
            // A call at the very end of a function does not return.
            FlowControl::Call | FlowControl::IndirectCall => following.into_iter().collect(),
            FlowControl::ConditionalBranch => vec![following?, self.at(code.near_branch_target())?],
            FlowControl::UnconditionalBranch => vec![self.at(code.near_branch_target())?],
            FlowControl::Return | FlowControl::Exception | FlowControl::Interrupt => Vec::new(),
            FlowControl::IndirectBranch if !self.targets.is_empty() => self.targets.clone(),
            FlowControl::IndirectBranch | FlowControl::XbeginXabortXend => return None,
        })
    }

    fn is_outside(&self, ip: u64) -> bool {
        let (first, last) = (self.code.first().map_or(0, Instruction::ip), self.code.last());
        !(first..last.map_or(0, Instruction::next_ip)).contains(&ip)
    }

    /// The lowest byte of the stack whose address escapes by an instruction. The size of the object there is not known, so all
    /// higher bytes may have escaped too.
    fn taken_at(&self, index: usize) -> Option<i64> {
        let taken = address_taken(&self.code[index], self.stack[index]?)?;
        (!self.is_for_instrumentation(index)).then_some(taken)
    }

    /// Whether the instruction takes an address only for instrumentation callbacks. The register outlives them.
    fn is_for_instrumentation(&self, index: usize) -> bool {
        let taken = self.code[index].op0_register().full_register();
        let mut info = InstructionInfoFactory::new();
        let mut seen = BTreeSet::new();
        let mut announced = false;
        let mut left = self.next(index).unwrap_or_default();
        while let Some(index) = left.pop() {
            if !seen.insert(index) {
                continue;
            }
            let code = &self.code[index];
            let mut accesses = info.info(code).used_registers().iter().filter_map(|used| {
                let is_it = used.register().full_register() == taken;
                is_it.then_some((used.access(), used.register().size()))
            });
            match accesses.next() {
                _ if announced_register(code) == Some(taken) => announced = true,
                Some((OpAccess::Write, 4..)) if accesses.next().is_none() => continue,
                Some(_) => return false,
                None => {}
            }
            let is_kept = code.flow_control() == FlowControl::Next || announced_register(code).is_some();
            let is_dead = match code.flow_control() {
                FlowControl::Return => ![Register::RAX, Register::RDX].contains(&taken),
                _ => is_call(code) && taken == Register::RAX,
            };
            if !is_kept && is_dead {
                continue;
            }
            let is_local = !is_call(code) && !self.leaves(index);
            match self.next(index).filter(|_| is_kept || is_local) {
                Some(next) if seen.len() <= NEAR => left.extend(next),
                _ => return false,
            }
        }
        announced
    }

    /// The calls and pauses in the loop around the instruction at `ip`. None outside of loops.
    pub(super) fn loop_at(&self, ip: u64) -> Option<Vec<&Instruction>> {
        let first = self.at(ip)?;
        let reached = |from: usize| {
            let mut seen = vec![false; self.code.len()];
            let mut left = self.next(from)?;
            while let Some(index) = left.pop() {
                if !std::mem::replace(&mut seen[index], true) {
                    left.extend(self.next(index)?);
                }
            }
            Some(seen)
        };
        let after = reached(first)?;
        let comes_back = |&index: &usize| after[index] && reached(index).is_some_and(|after| after[first]);
        let is_of_interest = |&index: &usize| is_call(&self.code[index]) || is_pause(&self.code[index]);
        let loop_of = || (0..self.code.len()).filter(is_of_interest).filter(comes_back);
        after[first].then(|| loop_of().map(|index| &self.code[index]).collect())
    }

    /// The lowest byte of the stack whose address the function takes; `i64::MAX` if it takes none.
    pub(super) fn lowest_taken(&self) -> i64 {
        self.lowest_taken
    }

    /// Whether a byte of the stack belongs to a saved register, or to the return address.
    pub(super) fn is_saved(&self, byte: i64) -> bool {
        (self.saved..0).contains(&byte)
    }

    /// The fate of a value after a call has returned to `ip`. `pointer` is the stack pointer there.
    pub(super) fn fate(&self, ip: u64, pointer: i64, home: Home) -> Fate {
        let Some(first) = self.at(ip) else { return Fate::Read };
        if self.stack[first].is_none_or(|stack| stack.pointer != pointer) {
            return Fate::Read;
        }
        // The call itself may unwind.
        let pad = first.checked_sub(1).and_then(|call| self.pad_of(&self.code[call]));
        let mut left: Vec<_> = pad.into_iter().chain([first]).map(|index| (index, home)).collect();
        // A hash set would change a thread-local of the code under test.
        let mut seen = BTreeSet::new();
        let mut info = InstructionInfoFactory::new();
        let mut returned = 0;
        while let Some((index, home)) = left.pop() {
            if !seen.insert((index, home)) {
                continue;
            }
            let Some(stack) = self.stack[index] else { return Fate::Read };
            let code = &self.code[index];
            if seen.len() > PATIENCE {
                return Fate::Read;
            }
            let after = match self.step(index, stack, home, &mut info) {
                Step::Read => return Fate::Read,
                Step::Overwritten => continue,
                Step::Stays(home) => home,
            };
            if self.leaves(index) {
                if let Home::Register(register) = after {
                    returned |= 1 << register;
                }
                continue;
            }
            let Some(next) = self.next(index) else { return Fate::Read };
            let pad = if is_call(code) { self.pad_of(code) } else { None };
            left.extend(next.into_iter().chain(pad).map(|next| (next, after)));
        }
        Fate::Unread(returned)
    }

    /// The effect of one instruction on a value.
    fn step(&self, index: usize, stack: Stack, home: Home, info: &mut InstructionInfoFactory) -> Step {
        let code = &self.code[index];
        let used = info.info(code);
        let mut overwritten = false;
        match home {
            Home::Register(register) => {
                if announced_register(code) == Some(SAVED[register]) {
                    return Step::Read;
                }
                for used in used.used_registers() {
                    if used.register().full_register() != SAVED[register] {
                        continue;
                    }
                    match used.access() {
                        OpAccess::None | OpAccess::NoMemAccess | OpAccess::CondWrite => {}
                        // Writing the lower half clears the upper one.
                        OpAccess::Write => overwritten |= used.register().size() >= 4,
                        _ => return Step::Read,
                    }
                }
            }
            Home::Elsewhere => {
                let is_elsewhere = |used: &&UsedMemory| matches!(bytes_of(used, stack), Bytes::Unknown);
                if is_call(code) && !is_instrumentation(code)
                    || used.used_memory().iter().filter(is_elsewhere).any(reads)
                {
                    return Step::Read;
                }
            }
            Home::Byte(byte) | Home::Escaped(byte) => {
                let is_escaped = home == Home::Escaped(byte);
                if is_call(code) && is_escaped && !is_instrumentation(code) {
                    return Step::Read;
                }
                if code.mnemonic() == Mnemonic::Leave {
                    let saved = stack.base.is_some_and(|base| (base..base + 8).contains(&byte));
                    return if saved { Step::Stays(Home::Register(BASE)) } else { Step::Stays(home) };
                }
                for used in used.used_memory() {
                    let reads = reads(used);
                    match bytes_of(used, stack) {
                        Bytes::Stack(bytes) if !bytes.contains(&byte) => {}
                        Bytes::Stack(_) if !reads => overwritten |= used.access() == OpAccess::Write,
                        Bytes::Stack(_) => {
                            let to = if code.mnemonic() == Mnemonic::Pop {
                                code.op0_register()
                            } else {
                                Register::None
                            };
                            let popped = SAVED.iter().position(|&saved| saved == to);
                            return popped
                                .map_or(Step::Read, |register| Step::Stays(Home::Register(register)));
                        }
                        Bytes::StackFrom(first) if reads && byte >= first => return Step::Read,
                        Bytes::Unknown if reads && is_escaped => return Step::Read,
                        Bytes::StackFrom(_) | Bytes::Unknown => {}
                    }
                }
                if !overwritten
                    && !self.is_saved(byte)
                    && self.taken_at(index).is_some_and(|taken| taken <= byte)
                {
                    return Step::Stays(Home::Escaped(byte));
                }
            }
        }
        if overwritten { Step::Overwritten } else { Step::Stays(home) }
    }
}

/// The effect of an instruction on a value.
enum Step {
    Read,
    Overwritten,
    Stays(Home),
}

/// The memory that an instruction accesses.
enum Bytes {
    /// These bytes of the stack, relative to the frame.
    Stack(Range<i64>),
    /// Bytes of the stack, none lower than this.
    StackFrom(i64),
    /// Any memory.
    Unknown,
}

fn bytes_of(used: &UsedMemory, stack: Stack) -> Bytes {
    let base = match used.base() {
        Register::RSP => Some(stack.pointer),
        Register::RBP => stack.base,
        _ => None,
    };
    let size = used.memory_size().size() as i64;
    match base {
        Some(_) if matches!(used.segment(), Register::FS | Register::GS) => Bytes::Unknown,
        Some(base) => {
            let first = base.wrapping_add(used.displacement() as i64);
            match used.index() == Register::None && size > 0 {
                true => Bytes::Stack(first..first + size),
                // An index may be negative.
                false => Bytes::StackFrom(i64::MIN),
            }
        }
        None => Bytes::Unknown,
    }
}

/// Whether an instruction may read memory that it accesses.
fn reads(used: &UsedMemory) -> bool {
    use OpAccess::{CondWrite, NoMemAccess, None, Write};
    !matches!(used.access(), None | NoMemAccess | Write | CondWrite)
}

/// Whether the instruction is that of `std::hint::spin_loop`.
pub(super) fn is_pause(code: &Instruction) -> bool {
    code.mnemonic() == Mnemonic::Pause
}

pub(super) fn is_call(code: &Instruction) -> bool {
    matches!(code.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
}

/// The register of the address, if the instruction calls an instrumentation callback. That does not use the memory there, and keeps all
/// registers of interest.
fn announced_register(call: &Instruction) -> Option<Register> {
    let target = (call.flow_control() == FlowControl::Call).then(|| call.near_branch_target() as usize)?;
    let mut announcements = GLOBAL.announcements.get().iter();
    let is_it = |of: &&Announcements| of.callbacks.iter().any(|&callback| callback as usize == target);
    Some(Register::RAX + u32::from(announcements.find(is_it)?.register))
}

fn is_instrumentation(call: &Instruction) -> bool {
    announced_register(call).is_some()
}

/// The stack after an instruction. None if it is not known.
fn stack_after(code: &Instruction, stack: Stack) -> Option<Stack> {
    let Stack { pointer, base } = stack;
    let [first, second] = [0, 1].map(|operand| match code.op_count() > operand {
        true if code.op_kind(operand) == OpKind::Register => code.op_register(operand),
        _ => Register::None,
    });
    let address = || match code.memory_base() {
        Register::RSP if code.memory_index() == Register::None => Some(pointer),
        Register::RBP if code.memory_index() == Register::None => base,
        _ => None,
    };
    let displaced = || Some(address()?.wrapping_add(code.memory_displacement64() as i64));
    Some(match (code.mnemonic(), first, second) {
        (Mnemonic::Sub, Register::RSP, Register::None) if code.op1_kind() != OpKind::Memory => {
            Stack { pointer: pointer.wrapping_sub(code.immediate(1) as i64), base }
        }
        (Mnemonic::Add, Register::RSP, Register::None) if code.op1_kind() != OpKind::Memory => {
            Stack { pointer: pointer.wrapping_add(code.immediate(1) as i64), base }
        }
        (Mnemonic::Mov, Register::RBP, Register::RSP) => Stack { pointer, base: Some(pointer) },
        (Mnemonic::Mov, Register::RSP, Register::RBP) => Stack { pointer: base?, base },
        (Mnemonic::Lea, Register::RBP, _) => Stack { pointer, base: displaced() },
        (Mnemonic::Lea, Register::RSP, _) => Stack { pointer: displaced()?, base },
        (Mnemonic::Leave, ..) => Stack { pointer: base? + 8, base: None },
        (Mnemonic::Push | Mnemonic::Pop, register, _) => {
            let pointer = pointer + i64::from(code.stack_pointer_increment());
            let base = base.filter(|_| register != Register::RBP || code.mnemonic() == Mnemonic::Push);
            (register != Register::RSP).then_some(Stack { pointer, base })?
        }
        _ if is_call(code) => stack,
        _ => {
            let mut info = InstructionInfoFactory::new();
            let writes = |register: Register, info: &mut InstructionInfoFactory| {
                info.info(code).used_registers().iter().any(|used| {
                    let access = used.access();
                    used.register().full_register() == register
                        && !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead)
                        && access != OpAccess::NoMemAccess
                })
            };
            if code.flow_control() == FlowControl::Next && writes(Register::RSP, &mut info) {
                return None;
            }
            Stack { pointer, base: base.filter(|_| !writes(Register::RBP, &mut info)) }
        }
    })
}

/// The lowest byte of the stack whose address escapes by this instruction.
fn address_taken(code: &Instruction, stack: Stack) -> Option<i64> {
    let is_stack = |register: Register| match register.full_register() {
        Register::RSP => true,
        Register::RBP => stack.base.is_some(),
        _ => false,
    };
    if code.mnemonic() == Mnemonic::Lea {
        let to = code.op0_register();
        if to == Register::RSP || to == Register::RBP {
            return None;
        }
        if is_stack(code.memory_index()) {
            return Some(i64::MIN);
        }
        let base = match code.memory_base() {
            Register::RSP => stack.pointer,
            Register::RBP => stack.base?,
            _ => return None,
        };
        let indexed = code.memory_index() != Register::None;
        return Some(if indexed { i64::MIN } else { base.wrapping_add(code.memory_displacement64() as i64) });
    }
    let mut registers = (0..code.op_count())
        .filter(|&operand| code.op_kind(operand) == OpKind::Register)
        .map(|operand| code.op_register(operand));
    let moves_stack = match code.mnemonic() {
        Mnemonic::Mov => matches!(
            (code.op0_register(), code.op1_register()),
            (Register::RBP, Register::RSP) | (Register::RSP, Register::RBP)
        ),
        Mnemonic::Add | Mnemonic::Sub => code.op0_register() == Register::RSP,
        Mnemonic::Pop => true,
        _ => false,
    };
    (!moves_stack && registers.any(is_stack)).then_some(i64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &[u8] = &[0xe8, 0, 0, 0, 0];
    const PUSH_RBX: &[u8] = &[0x53];
    const POP_RBX: &[u8] = &[0x5b];
    const RETURN: &[u8] = &[0xc3];
    /// 24 bytes of the stack.
    const TAKE: &[u8] = &[0x48, 0x83, 0xec, 0x18];
    const GIVE_BACK: &[u8] = &[0x48, 0x83, 0xc4, 0x18];
    /// `mov dword [rsp+8], 5`
    const STORE: &[u8] = &[0xc7, 0x44, 0x24, 0x08, 5, 0, 0, 0];
    /// `mov eax, [rsp+8]`
    const LOAD: &[u8] = &[0x8b, 0x44, 0x24, 0x08];
    /// `lea rdi, [rsp+8]`
    const TAKE_ADDRESS: &[u8] = &[0x48, 0x8d, 0x7c, 0x24, 0x08];
    const MOV_EBX_EAX: &[u8] = &[0x89, 0xc3];
    const MOV_EAX_EBX: &[u8] = &[0x89, 0xd8];
    const MOV_BL_AL: &[u8] = &[0x88, 0xc3];
    /// Over two bytes, if the last result was zero.
    const SKIP_TWO: &[u8] = &[0x74, 2];

    const RBX: Home = Home::Register(0);

    /// The fate of a value after the code `before`, which ends in a call.
    fn fate(before: &[&[u8]], after: &[&[u8]], pointer: i64, home: Home) -> Fate {
        const START: usize = 0x1000;
        let before = before.concat();
        let code = [&before[..], &after.concat()].concat();
        let function =
            Function::read(&code, START, Pads::default(), |_| false).expect("the code is understood");
        function.fate((START + before.len()) as u64, pointer, home)
    }

    #[test]
    fn a_register_is_dead_if_it_is_overwritten_first_on_all_paths() {
        let begin: &[&[u8]] = &[PUSH_RBX, CALL];
        let end = [POP_RBX, RETURN].concat();
        for (code, expected) in [
            (vec![MOV_EBX_EAX, MOV_EAX_EBX], Fate::Unread(0)),
            (vec![MOV_EAX_EBX], Fate::Read),
            // The rest of the register stays.
            (vec![MOV_BL_AL, MOV_EAX_EBX], Fate::Read),
            (vec![SKIP_TWO, MOV_EBX_EAX, MOV_EAX_EBX], Fate::Read),
            (vec![SKIP_TWO, MOV_EBX_EAX], Fate::Unread(0)),
            (vec![], Fate::Unread(0)),
        ] {
            let after = [code.concat(), end.clone()].concat();
            assert_eq!(fate(begin, &[&after], -16, RBX), expected, "{code:x?}");
        }
    }

    #[test]
    fn a_saved_register_returns_to_the_caller() {
        assert_eq!(fate(&[PUSH_RBX, CALL], &[POP_RBX, RETURN], -16, Home::Byte(-12)), Fate::Unread(1));
        assert_eq!(fate(&[TAKE, CALL], &[GIVE_BACK, RETURN], -32, RBX), Fate::Unread(1));
    }

    #[test]
    fn liveness_of_the_stack_is_decided_for_each_byte() {
        let after = |code: &[&[u8]], byte| {
            let code = [&code.concat(), GIVE_BACK, RETURN].concat();
            fate(&[TAKE, CALL], &[&code], -32, Home::Byte(byte))
        };
        assert_eq!(after(&[STORE, LOAD], -24), Fate::Unread(0));
        assert_eq!(after(&[STORE, LOAD], -20), Fate::Unread(0), "only four bytes are read");
        assert_eq!(after(&[LOAD], -21), Fate::Read);
        // The return address.
        assert_eq!(after(&[], -8), Fate::Read);
    }

    #[test]
    fn a_callee_may_read_a_byte_whose_address_escaped() {
        let after = |code: &[&[u8]], home| {
            let code = [&code.concat(), GIVE_BACK, RETURN].concat();
            fate(&[TAKE, CALL], &[&code], -32, home)
        };
        assert_eq!(after(&[CALL], Home::Escaped(-24)), Fate::Read);
        assert_eq!(after(&[CALL], Home::Byte(-24)), Fate::Unread(0));
        assert_eq!(after(&[STORE, CALL], Home::Escaped(-24)), Fate::Unread(0));
        assert_eq!(after(&[TAKE_ADDRESS, CALL], Home::Byte(-24)), Fate::Read);
        assert_eq!(
            after(&[TAKE_ADDRESS, CALL], Home::Byte(-16)),
            Fate::Read,
            "the size of the object is not known"
        );
        assert_eq!(after(&[TAKE_ADDRESS, CALL], Home::Byte(-32)), Fate::Unread(0));
        assert_eq!(after(&[TAKE_ADDRESS, STORE, CALL], Home::Byte(-24)), Fate::Unread(0));
        assert_eq!(after(&[CALL, TAKE_ADDRESS], Home::Byte(-24)), Fate::Unread(0));
    }

    #[test]
    fn every_value_is_live_where_the_stack_is_not_known() {
        assert_eq!(fate(&[TAKE, CALL], &[GIVE_BACK, RETURN], -40, Home::Byte(-24)), Fate::Read);
        // `mov rsp, rax`
        assert!(Function::read(&[0x48, 0x89, 0xc4, 0xc3], 0, Pads::default(), |_| false).is_none());
        // `jmp rax` in the middle of a function
        let function = Function::read(&[TAKE, &[0xff, 0xe0]].concat(), 0, Pads::default(), |_| false);
        assert!(function.is_none());
    }

    #[test]
    fn saved_registers_do_not_escape_with_the_addresses_of_locals() {
        let code = |save: &[u8]| [save, TAKE, CALL].concat();
        let rest = [TAKE_ADDRESS, CALL, GIVE_BACK, POP_RBX, RETURN];
        // `push rax` makes room for a local. It has no address of its own; that of the local below may lead there.
        const PUSH_RAX: &[u8] = &[0x50];
        assert_eq!(fate(&[&code(PUSH_RBX)], &rest, -40, Home::Byte(-16)), Fate::Unread(1));
        assert_eq!(fate(&[&code(PUSH_RAX)], &rest, -40, Home::Byte(-16)), Fate::Read);
        assert_eq!(fate(&[&code(PUSH_RBX)], &rest, -40, Home::Byte(-24)), Fate::Read);
    }

    #[test]
    fn an_address_that_only_announcements_get_does_not_escape() {
        const CALLBACK: usize = 0x5000;
        const RAX: u8 = 0;
        // SAFETY: the function is not called.
        let callback = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn()>(CALLBACK) };
        let announcements = Box::leak(Box::new([Announcements { register: RAX, callbacks: [callback; 10] }]));
        GLOBAL.announcements.set(announcements);
        let after = |code: &[&[u8]]| {
            let mut bytes = [TAKE, CALL].concat();
            for part in code {
                bytes.extend_from_slice(part);
                if part == &[0xe8] {
                    let next = 0x1000 + bytes.len() + 4;
                    bytes.extend_from_slice(&((CALLBACK - next) as i32).to_le_bytes());
                }
            }
            bytes.extend([GIVE_BACK, RETURN].concat());
            let function = Function::read(&bytes, 0x1000, Pads::default(), |_| false);
            let ip = 0x1000 + TAKE.len() + CALL.len();
            function.expect("the code is understood").fate(ip as u64, -32, Home::Byte(-24))
        };
        // `lea rax, [rsp+8]`; `lea rcx, [rsp+8]`
        const TAKE_BY_RAX: &[u8] = &[0x48, 0x8d, 0x44, 0x24, 0x08];
        const TAKE_BY_RCX: &[u8] = &[0x48, 0x8d, 0x4c, 0x24, 0x08];
        const ANNOUNCE: &[u8] = &[0xe8];
        // `xor eax, eax`; `mov rcx, rax`
        const FORGET: &[u8] = &[0x31, 0xc0];
        const KEEP: &[u8] = &[0x48, 0x89, 0xc1];
        assert_eq!(after(&[TAKE_BY_RAX, ANNOUNCE, FORGET, CALL]), Fate::Unread(0));
        assert_eq!(after(&[TAKE_BY_RAX, ANNOUNCE, CALL]), Fate::Unread(0), "functions do not read rax");
        assert_eq!(after(&[TAKE_BY_RAX, ANNOUNCE, KEEP, CALL]), Fate::Read);
        assert_eq!(after(&[TAKE_BY_RAX, ANNOUNCE]), Fate::Unread(0), "nobody reads it after the return");
        assert_eq!(after(&[TAKE_BY_RCX, ANNOUNCE, CALL]), Fate::Read, "the callback gets another register");
    }
}
