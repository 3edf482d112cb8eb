//! Functions that use vector registers beyond the lower halves of the first 16.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};

use super::unwind::code_around;
use crate::site::PlainAccessCounter;

/// Notes for all calls of the function around `pc` whether it uses long vectors. Code that is not understood does.
#[cold]
pub(crate) fn look_at_function(pc: usize) {
    let Some(code) = code_around(pc - 1) else {
        return PlainAccessCounter::set_long_vectors(pc, true);
    };
    let start = code.as_ptr().addr() as u64;
    let instructions = || Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter();
    let uses_long_vectors = instructions().any(|code| code.is_invalid() || has_long_vector(&code));
    PlainAccessCounter::set_long_vectors(pc, uses_long_vectors);
    for call in instructions().filter(|code| code.flow_control() == FlowControl::Call) {
        PlainAccessCounter::set_long_vectors(call.next_ip() as usize, uses_long_vectors);
    }
}

fn has_long_vector(code: &Instruction) -> bool {
    let is_long = |register: Register| {
        register.is_ymm()
            || register.is_zmm()
            || register.is_k()
            || register.is_xmm() && register.number() > 15
    };
    let operands = 0..code.op_count();
    let mut registers =
        operands.filter(|&at| code.op_kind(at) == OpKind::Register).map(|at| code.op_register(at));
    registers.any(is_long) || is_long(code.op_mask()) || is_long(code.memory_index())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_vectors_are_recognised() {
        for (code, expected) in [
            // addps xmm0, xmm1; vaddps xmm0, xmm0, xmm1; mov rax, rbx
            (&[0x0f, 0x58, 0xc1][..], false),
            (&[0xc5, 0xf8, 0x58, 0xc1], false),
            (&[0x48, 0x89, 0xd8], false),
            // vaddps ymm0, ymm0, ymm1; vmovaps zmm0, zmm1; vmovaps xmm17, xmm1; kmovw k1, eax
            (&[0xc5, 0xfc, 0x58, 0xc1], true),
            (&[0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1], true),
            (&[0x62, 0xe1, 0x7c, 0x08, 0x28, 0xc9], true),
            (&[0xc5, 0xf8, 0x92, 0xc8], true),
        ] {
            let instruction = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
            assert!(!instruction.is_invalid());
            assert_eq!(has_long_vector(&instruction), expected, "{code:x?}");
        }
    }
}
