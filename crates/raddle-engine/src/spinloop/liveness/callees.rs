//! Properties of called functions: whether they *diverge*, as functions that panic do, so that the code after the call is not
//! reached; and whether they compare and exchange.

use std::collections::HashMap;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

use super::unwind::{code_at, resume};
use crate::platform::global::GLOBAL;

/// The depth of calls to which compare-exchanges are searched for.
const DEEPEST: usize = 6;

/// The properties of the functions seen so far, by address.
#[derive(Debug, Default)]
pub(super) struct Callees {
    diverging: HashMap<usize, bool>,
    comparing: HashMap<usize, bool>,
}

impl Callees {
    /// Whether the called function never returns.
    pub(super) fn diverges_at(&mut self, call: &Instruction) -> bool {
        target_of(call).is_some_and(|target| self.diverges(target))
    }

    /// Whether the called function, or a function that it calls, may compare and exchange.
    pub(super) fn may_compare_exchange(&mut self, call: &Instruction) -> bool {
        target_of(call).is_some_and(|target| self.compares_and_exchanges(target, DEEPEST))
    }

    fn compares_and_exchanges(&mut self, function: usize, depth: usize) -> bool {
        if GLOBAL.attempts.get().iter().flatten().any(|&attempt| attempt as usize == function) {
            return true;
        }
        if let Some(&known) = self.comparing.get(&function) {
            return known;
        }
        if depth == 0 || self.diverges(function) {
            return false;
        }
        self.comparing.insert(function, false);
        let compares_and_exchanges = code_at(function).is_some_and(|code| {
            let code = Decoder::with_ip(64, code, function as u64, DecoderOptions::NONE);
            let is_transfer = |code: &Instruction| {
                use FlowControl::{Call, IndirectCall, UnconditionalBranch};
                matches!(code.flow_control(), Call | IndirectCall | UnconditionalBranch)
            };
            let mut targets = code.into_iter().filter(is_transfer).filter_map(|code| target_of(&code));
            targets.any(|target| self.compares_and_exchanges(target, depth - 1))
        });
        self.comparing.insert(function, compares_and_exchanges);
        compares_and_exchanges
    }

    fn diverges(&mut self, function: usize) -> bool {
        if function == resume() {
            return true;
        }
        if let Some(&known) = self.diverging.get(&function) {
            return known;
        }
        // A function that only calls itself is taken to return.
        self.diverging.insert(function, false);
        let diverges = code_at(function).is_some_and(|code| self.never_returns(code, function));
        self.diverging.insert(function, diverges);
        diverges
    }

    fn never_returns(&mut self, code: &[u8], start: usize) -> bool {
        let code: Vec<_> = Decoder::with_ip(64, code, start as u64, DecoderOptions::NONE).iter().collect();
        let at = |ip: u64| code.binary_search_by_key(&ip, Instruction::ip).ok();
        let mut seen = vec![false; code.len()];
        let mut left = vec![0];
        while let Some(index) = left.pop() {
            let Some(instruction) = code.get(index) else { continue };
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            let branch = || at(instruction.near_branch_target());
            match instruction.flow_control() {
                FlowControl::Next | FlowControl::IndirectCall => left.push(index + 1),
                FlowControl::Call if target_of(instruction) == Some(resume()) => {}
                FlowControl::Call => left.push(index + 1),
                FlowControl::ConditionalBranch => match branch() {
                    Some(target) => left.extend([index + 1, target]),
                    None => return false,
                },
                FlowControl::UnconditionalBranch => match branch() {
                    Some(target) => left.push(target),
                    None if self.diverges_at(instruction) => {}
                    None => return false,
                },
                FlowControl::Exception | FlowControl::Interrupt => {}
                _ => return false,
            }
        }
        true
    }
}

/// The function that an instruction calls or jumps to, if the code determines it.
fn target_of(call: &Instruction) -> Option<usize> {
    let target = match call.op0_kind() {
        OpKind::NearBranch64 => call.near_branch_target() as usize,
        OpKind::Memory if call.is_ip_rel_memory_operand() => {
            return Some(word_at(call.ip_rel_memory_address() as usize));
        }
        _ => return None,
    };
    // Functions of other libraries are called through the linkage table: `jmp [rip + …]`.
    const JUMP: [u8; 2] = [0xff, 0x25];
    // SAFETY: a called address is mapped code, and no function is shorter than an entry of the linkage table.
    let (begin, distance) = unsafe {
        let code = std::ptr::with_exposed_provenance::<u8>(target);
        (code.cast::<[u8; 2]>().read(), code.add(2).cast::<i32>().read_unaligned())
    };
    match begin == JUMP {
        true => Some(word_at((target + 6).wrapping_add_signed(distance as isize))),
        false => Some(target),
    }
}

fn word_at(address: usize) -> usize {
    // SAFETY: an entry of the table of function addresses, which the linker fills before the program begins.
    unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_unaligned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn panics(number: u32) -> ! {
        panic!("{number}")
    }

    #[inline(never)]
    fn may_panic(number: u32) -> u32 {
        if number == 0 { panics(number) } else { std::hint::black_box(number) }
    }

    #[test]
    fn functions_that_always_panic_diverge() {
        let mut callees = Callees::default();
        assert!(callees.diverges(panics as *const () as usize));
        assert!(!callees.diverges(may_panic as *const () as usize));
        assert!(callees.diverges(resume()));
    }
}
