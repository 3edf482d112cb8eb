//! Spurious failures of `compare_exchange_weak`.
//!
//! The instrumentation callback returns the old value, and the code compares that with the expected one: whether the
//! exchange is weak is known only from the name of the function around it. In unoptimised code that is
//! `core::sync::atomic::atomic_compare_exchange_weak`, which keeps the expected value in its frame. A failure is passed
//! to it by changing the expected value in the frame after the load. Optimised code may rely on its comparison; there,
//! exchanges do not fail spuriously.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use super::{AtomicKind, AtomicOp, dispatch, enter};
use crate::execution::Engine;
use crate::op::{Int, Order};
use crate::trace::Action;

/// A compare-exchange that may fail spuriously. Returns the value read by a failure, which is a load. None if the
/// exchange must be made as usual.
///
/// # Safety
/// As for [`Semantics::atomic`](super::Semantics::atomic).
#[cold]
pub(crate) unsafe fn attempt<T: Int>(
    engine: *mut Engine,
    op: AtomicOp<T>,
    expected: T,
    failure: Order,
) -> Option<T> {
    let caller = op.caller;
    // SAFETY: the caller's; the code is that of the calling function, and the expected value lies in its frame.
    unsafe {
        let slot = || expected_in_frame(caller.pc, size_of::<T>());
        if !enter(engine, |engine| engine.fails_spuriously(|| slot().is_some())) {
            return None;
        }
        let load = AtomicOp { kind: AtomicKind::Load, order: failure, ..op };
        let read = dispatch!(engine, atomic(load));
        if read == expected
            && let Some(offset) = slot()
        {
            let slot = (caller.fp.wrapping_add_signed(offset)) as *mut T;
            debug_assert!(slot.read_unaligned() == expected);
            slot.write_unaligned(T::narrow(!expected.widen()));
            enter(engine, |engine| engine.record(|| Action::FailsSpuriously));
        }
        Some(read)
    }
}

/// The offset from the frame pointer at which the calling function keeps the expected value, if its code has the shape
/// of unoptimised code.
fn expected_in_frame(pc: usize, size: usize) -> Option<isize> {
    /// Upper bound of the code between the call and the comparison.
    const LONGEST: usize = 32;
    // SAFETY: the code of a function does not end after a call that returns.
    let code = unsafe { std::slice::from_raw_parts(pc as *const u8, LONGEST) };
    let mut decoder = Decoder::with_ip(64, code, pc as u64, DecoderOptions::NONE);
    let (mut expected, mut copy) = (None, Register::RAX);
    loop {
        let code = decoder.decode();
        let [to, from] = [code.op0_register().full_register(), code.op1_register().full_register()];
        match (code.mnemonic(), code.op0_kind(), code.op1_kind()) {
            (Mnemonic::Mov, OpKind::Register, OpKind::Memory)
                if expected.is_none() && to != Register::RAX =>
            {
                expected = Some((to, offset_in_frame(&code, size)?));
            }
            (Mnemonic::Mov, OpKind::Register, OpKind::Register) if from == copy || from == Register::RAX => {
                copy = to;
            }
            (Mnemonic::Sub | Mnemonic::Cmp, OpKind::Register, OpKind::Register) => {
                let (compared, offset) = expected?;
                let is_compared = to == copy && from == compared;
                return (is_compared && decoder.decode().mnemonic() == Mnemonic::Sete).then_some(offset);
            }
            _ => return None,
        }
    }
}

fn offset_in_frame(code: &Instruction, size: usize) -> Option<isize> {
    let in_frame = code.memory_base() == Register::RBP && code.memory_index() == Register::None;
    let whole = code.memory_size().size() == size;
    (in_frame && whole).then_some(code.memory_displacement64() as isize)
}
