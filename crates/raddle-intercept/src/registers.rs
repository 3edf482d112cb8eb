//! Calls of functions from code that relies on all registers but `r10`, `r11` and the flags.
//!
//! Code calls the announcement of a plain access as if it were one instruction (`cargo-raddle`, `instrument.rs`): values stay in any
//! registers, and the stack need not be aligned. A Rust function changes half of the general registers, and all of the vector registers: the
//! C library's functions, which it may call, use as many as the processor has. [`keeping_registers!`] saves them on the stack:
//!
//! | offset from `rbp` | content |
//! |---|---|
//! | 8 | the return address into the code |
//! | 0 | `rbp` of the code, so that the stack can be walked by frame pointers |
//! | -8 to -56 | `rax`, `rcx`, `rdx`, `rsi`, `rdi`, `r8`, `r9` |
//! | below, aligned to 64 bytes | vector registers |
//!
//! Most functions use the lower halves of the first 16 vector registers and nothing else, as their code tells
//! ([`LONG_VECTORS`](raddle_engine::site::PlainAccessCounter::LONG_VECTORS)). Then only those are saved: to save all takes thirty times as long. Whether the processor says that
//! others are in use does not matter. The C library leaves values in them behind.

use std::arch::naked_asm;

use raddle_engine::interface;
use raddle_engine::platform::global::{GLOBAL, Global, NO_ROLE, ROLE, Vectors};

/// The states of the processor (by the bits of `xcr0`) that are longer vectors: upper halves of `ymm`, masks of AVX-512, upper halves
/// of `zmm`, and the upper 16 `zmm`.
const LONG: u32 = 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7;

/// [`LONG`] and `xmm`.
pub(crate) const ALL: u32 = LONG | 1 << 1;

/// The size of the area for the state [`ALL`]: the end of the last component, on any processor.
pub(crate) const AREA: usize = 2688;

/// The offset of the header of the area, whose eight words must be zero before.
pub(crate) const HEADER: usize = 512;

/// Finds out which vector registers the processor has: [`Global::vectors`]. Changes nothing but `rax`, `rcx` and `rdx`.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn look_at_processor() {
    naked_asm!(
        "push rbx",
        "mov eax, 1",
        "cpuid",
        "and ecx, {avx}",
        "cmp ecx, {avx}",
        "jne 2f",
        "xor ecx, ecx",
        "xgetbv",
        "test eax, {long}",
        "jz 2f",
        "mov byte ptr [rip + {global} + {vectors}], {are_long}",
        "pop rbx",
        "ret",
        "2:",
        "mov byte ptr [rip + {global} + {vectors}], {are_short}",
        "pop rbx",
        "ret",
        // OSXSAVE and AVX.
        avx = const 1 << 27 | 1 << 28,
        long = const LONG,
        are_short = const Vectors::Short as u8,
        are_long = const Vectors::Long as u8,
        global = sym GLOBAL,
        vectors = const std::mem::offset_of!(Global, vectors),
    )
}

/// Looks at the code to which an announcement returns.
pub(crate) unsafe extern "C" fn look_at_code(pc: usize) {
    if ROLE.get() != NO_ROLE {
        interface::look_at_code(pc);
    }
}

/// Defines functions to jump to from announcements. Each calls another function with `r10`, `r11`, the return address and the frame pointer
/// of the code, and then returns to the code.
macro_rules! keeping_registers {
    ($($(#[$attribute:meta])* $name:ident => $function:path;)*) => {$(
        $(#[$attribute])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                // The engine's own code, which a crate may have instances of, announces accesses, too.
                "cmp byte ptr [rip + {global} + {in_engine}], 0",
                "jne 6f",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "and rsp, -64",
                "mov rax, [rbp + 8]",
                "sub rax, [rip + {global} + {text_start}]",
                "cmp rax, [rip + {global} + {text_len}]",
                "jae 2f",
                "add rax, [rip + {global} + {looks}]",
                "movzx eax, byte ptr [rax]",
                "dec eax",
                "cmp eax, {long_vectors} - 1",
                "jb 3f",
                "2:",
                "cmp byte ptr [rip + {global} + {vectors}], {are_short}",
                "ja 5f",
                "je 3f",
                "call {look_at_processor}",
                "jmp 2b",
                // The lower halves alone.
                "3:",
                "sub rsp, 256",
                "movaps [rsp], xmm0",
                "movaps [rsp + 16], xmm1",
                "movaps [rsp + 32], xmm2",
                "movaps [rsp + 48], xmm3",
                "movaps [rsp + 64], xmm4",
                "movaps [rsp + 80], xmm5",
                "movaps [rsp + 96], xmm6",
                "movaps [rsp + 112], xmm7",
                "movaps [rsp + 128], xmm8",
                "movaps [rsp + 144], xmm9",
                "movaps [rsp + 160], xmm10",
                "movaps [rsp + 176], xmm11",
                "movaps [rsp + 192], xmm12",
                "movaps [rsp + 208], xmm13",
                "movaps [rsp + 224], xmm14",
                "movaps [rsp + 240], xmm15",
                "mov rdi, r10",
                "mov rsi, r11",
                "mov rdx, [rbp + 8]",
                "mov rcx, [rbp]",
                "call {function}",
                "movaps xmm0, [rsp]",
                "movaps xmm1, [rsp + 16]",
                "movaps xmm2, [rsp + 32]",
                "movaps xmm3, [rsp + 48]",
                "movaps xmm4, [rsp + 64]",
                "movaps xmm5, [rsp + 80]",
                "movaps xmm6, [rsp + 96]",
                "movaps xmm7, [rsp + 112]",
                "movaps xmm8, [rsp + 128]",
                "movaps xmm9, [rsp + 144]",
                "movaps xmm10, [rsp + 160]",
                "movaps xmm11, [rsp + 176]",
                "movaps xmm12, [rsp + 192]",
                "movaps xmm13, [rsp + 208]",
                "movaps xmm14, [rsp + 224]",
                "movaps xmm15, [rsp + 240]",
                "4:",
                "lea rsp, [rbp - 56]",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "pop rbp",
                ".cfi_remember_state",
                ".cfi_def_cfa rsp, 8",
                ".cfi_restore rbp",
                "ret",
                ".cfi_restore_state",
                // All of them.
                "5:",
                "sub rsp, {area}",
                "xor eax, eax",
                "mov [rsp + {header}], rax",
                "mov [rsp + {header} + 8], rax",
                "mov [rsp + {header} + 16], rax",
                "mov [rsp + {header} + 24], rax",
                "mov [rsp + {header} + 32], rax",
                "mov [rsp + {header} + 40], rax",
                "mov [rsp + {header} + 48], rax",
                "mov [rsp + {header} + 56], rax",
                "mov eax, {all}",
                "xor edx, edx",
                "xsave64 [rsp]",
                "push r10",
                "push r11",
                "mov rdi, [rbp + 8]",
                "call {look_at_code}",
                "pop r11",
                "pop r10",
                "mov rdi, r10",
                "mov rsi, r11",
                "mov rdx, [rbp + 8]",
                "mov rcx, [rbp]",
                "call {function}",
                "mov eax, {all}",
                "xor edx, edx",
                "xrstor64 [rsp]",
                "jmp 4b",
                ".cfi_def_cfa rsp, 8",
                ".cfi_restore rbp",
                "6:",
                "ret",
                ".cfi_endproc",
                global = sym raddle_engine::platform::global::GLOBAL,
                vectors = const std::mem::offset_of!(raddle_engine::platform::global::Global, vectors),
                in_engine = const std::mem::offset_of!(raddle_engine::platform::global::Global, in_engine),
                are_short = const raddle_engine::platform::global::Vectors::Short as u8,
                text_start = const std::mem::offset_of!(raddle_engine::platform::global::Global, text_start),
                text_len = const std::mem::offset_of!(raddle_engine::platform::global::Global, text_len),
                looks = const std::mem::offset_of!(raddle_engine::platform::global::Global, looks),
                long_vectors = const raddle_engine::site::PlainAccessCounter::LONG_VECTORS,
                look_at_processor = sym $crate::registers::look_at_processor,
                look_at_code = sym $crate::registers::look_at_code,
                all = const $crate::registers::ALL,
                area = const $crate::registers::AREA,
                header = const $crate::registers::HEADER,
                function = sym $function,
            )
        }
    )*};
}
pub(crate) use keeping_registers;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::ANNOUNCEMENTS;
    use raddle_engine::platform::global::Wanted;
    use std::sync::Mutex;

    /// Contents of registers: the general ones by their numbers, the masks, and the vectors.
    #[repr(C, align(64))]
    #[derive(Clone, Debug, PartialEq)]
    struct Registers {
        general: [u64; 16],
        masks: [u64; 8],
        vectors: [[u64; 8]; 32],
    }

    /// What the processor has: 16 vectors of 16 bytes, or of 32, or 32 of 64 bytes.
    #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
    #[repr(u64)]
    enum Level {
        Sse = 0,
        Avx = 1,
        Avx512 = 2,
    }

    impl Level {
        fn of_processor() -> Level {
            let has_longest =
                std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512bw");
            match std::is_x86_feature_detected!("avx") {
                true if has_longest => Level::Avx512,
                true => Level::Avx,
                false => Level::Sse,
            }
        }
    }

    impl Registers {
        /// A different content of each register that there is at a level. What is beyond is zero.
        fn of(level: Level) -> Registers {
            let (vectors, words) = match level {
                Level::Sse => (16, 2),
                Level::Avx => (16, 4),
                Level::Avx512 => (32, 8),
            };
            let number =
                |of: usize, at: usize| (0x0101_0101_0101_0101 * (1 + at as u64)) ^ ((of as u64) << 56);
            let mut registers = Registers { general: [0; 16], masks: [0; 8], vectors: [[0; 8]; 32] };
            registers.general = std::array::from_fn(|at| number(1, at));
            for (vector, content) in registers.vectors[..vectors].iter_mut().enumerate() {
                content[..words]
                    .copy_from_slice(&std::array::from_fn::<_, 8, _>(|at| number(2 + at, vector))[..words]);
            }
            if level == Level::Avx512 {
                registers.masks = std::array::from_fn(|at| number(15, at));
            }
            registers
        }

        /// The contents after a call of a function with these contents, on a stack of this alignment.
        fn after(&self, function: unsafe extern "C" fn(), alignment: u64) -> Registers {
            let mut registers = self.clone();
            // SAFETY: the function is one that keeps registers.
            unsafe { call(function, &mut registers, Level::of_processor(), alignment) };
            // Not kept: the stack pointer, r10 and r11.
            for register in [4, 10, 11] {
                registers.general[register] = self.general[register];
            }
            registers
        }
    }

    /// Calls a function with given contents of all registers, and takes those after it.
    #[unsafe(naked)]
    unsafe extern "C" fn call(
        function: unsafe extern "C" fn(),
        registers: &mut Registers,
        processor: Level,
        alignment: u64,
    ) {
        naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "sub rsp, rcx",
            "push rbp",
            "push rdx",
            "push rsi",
            "push rdi",
            "cmp rdx, 1",
            "ja 4f",
            "je 3f",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            "movups xmm\\n, [rsi + 192 + 64 * \\n]",
            ".endr",
            "jmp 5f",
            "3:",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            "vmovups ymm\\n, [rsi + 192 + 64 * \\n]",
            ".endr",
            "jmp 5f",
            "4:",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            "vmovups zmm\\n, [rsi + 192 + 64 * \\n]",
            ".endr",
            ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
            "vmovups zmm\\n, [rsi + 192 + 64 * \\n]",
            ".endr",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7",
            "kmovq k\\n, [rsi + 128 + 8 * \\n]",
            ".endr",
            "5:",
            "mov rax, [rsi]",
            "mov rcx, [rsi + 8]",
            "mov rdx, [rsi + 16]",
            "mov rbx, [rsi + 24]",
            "mov rbp, [rsi + 40]",
            "mov rdi, [rsi + 56]",
            "mov r8, [rsi + 64]",
            "mov r9, [rsi + 72]",
            "mov r12, [rsi + 96]",
            "mov r13, [rsi + 104]",
            "mov r14, [rsi + 112]",
            "mov r15, [rsi + 120]",
            "mov rsi, [rsi + 48]",
            "call [rsp]",
            "mov r10, [rsp + 8]",
            "mov [r10], rax",
            "mov [r10 + 8], rcx",
            "mov [r10 + 16], rdx",
            "mov [r10 + 24], rbx",
            "mov [r10 + 40], rbp",
            "mov [r10 + 48], rsi",
            "mov [r10 + 56], rdi",
            "mov [r10 + 64], r8",
            "mov [r10 + 72], r9",
            "mov [r10 + 96], r12",
            "mov [r10 + 104], r13",
            "mov [r10 + 112], r14",
            "mov [r10 + 120], r15",
            "cmp qword ptr [rsp + 16], 1",
            "ja 7f",
            "je 6f",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            "movups [r10 + 192 + 64 * \\n], xmm\\n",
            ".endr",
            "jmp 8f",
            "6:",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            "vmovups [r10 + 192 + 64 * \\n], ymm\\n",
            ".endr",
            "vzeroupper",
            "jmp 8f",
            "7:",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            "vmovups [r10 + 192 + 64 * \\n], zmm\\n",
            ".endr",
            ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
            "vmovups [r10 + 192 + 64 * \\n], zmm\\n",
            ".endr",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7",
            "kmovq [r10 + 128 + 8 * \\n], k\\n",
            ".endr",
            "vzeroupper",
            "8:",
            "mov rbp, [rsp + 24]",
            "lea rsp, [rbp - 40]",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "pop rbp",
            "ret",
        )
    }

    /// The tests change the state of the process.
    static ALONE: Mutex<()> = Mutex::new(());

    keeping_registers! {
        keep => change_all;
    }

    /// Changes all registers that a function may change.
    unsafe extern "C" fn change_all() {
        // SAFETY: the processor has the registers; all of them are named.
        unsafe {
            match Level::of_processor() {
                Level::Sse => std::arch::asm!(
                    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
                    "pcmpeqd xmm\\n, xmm\\n",
                    ".endr",
                    clobber_abi("C")
                ),
                Level::Avx => std::arch::asm!(
                    "pcmpeqd xmm0, xmm0",
                    "vinsertf128 ymm0, ymm0, xmm0, 1",
                    ".irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
                    "vmovaps ymm\\n, ymm0",
                    ".endr",
                    clobber_abi("C")
                ),
                Level::Avx512 => std::arch::asm!(
                    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
                    "vpternlogd zmm\\n, zmm\\n, zmm\\n, 0xff",
                    ".endr",
                    ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
                    "vpternlogd zmm\\n, zmm\\n, zmm\\n, 0xff",
                    ".endr",
                    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7",
                    "kxnorq k\\n, k\\n, k\\n",
                    ".endr",
                    clobber_abi("C")
                ),
            }
            std::arch::asm!(
                "mov rax, -1",
                "mov rcx, -1",
                "mov rdx, -1",
                "mov rsi, -1",
                "mov rdi, -1",
                "mov r8, -1",
                "mov r9, -1",
                clobber_abi("C")
            );
        }
    }

    #[test]
    fn all_registers_survive_a_function_that_changes_all() {
        let _alone = ALONE.lock();
        let processor = Level::of_processor();
        for level in [Level::Sse, Level::Avx, Level::Avx512].into_iter().filter(|level| *level <= processor) {
            for alignment in [0, 8] {
                GLOBAL.vectors.set(Vectors::Unknown);
                let registers = Registers::of(level);
                assert_eq!(registers.after(keep, alignment), registers, "{level:?}");
            }
        }
        assert_eq!(GLOBAL.vectors.get() == Vectors::Short, processor == Level::Sse);
    }

    /// The code of this program, of which it is known that it uses no long vectors.
    #[test]
    fn short_vectors_alone_survive_in_code_that_uses_no_others() {
        const CODE: usize = 1 << 16;
        let _alone = ALONE.lock();
        let looks = vec![1u8; CODE].leak();
        GLOBAL.looks.set(looks.as_mut_ptr());
        GLOBAL.text_start.set((call as *const () as usize) - CODE / 2);
        GLOBAL.text_len.set(CODE);
        for alignment in [0, 8] {
            let registers = Registers::of(Level::Sse);
            let mut after = registers.after(keep, alignment);
            let is_long = |vector: &[u64; 8]| vector[2..] != [0; 6];
            assert_eq!(after.vectors.iter().any(is_long), Level::of_processor() > Level::Sse);
            after.vectors.iter_mut().for_each(|vector| vector[2..].fill(0));
            after.vectors[16..].fill([0; 8]);
            after.masks.fill(0);
            assert_eq!(after, registers);
        }
        GLOBAL.text_len.set(0);
    }

    #[test]
    fn announcements_keep_all_registers_whatever_is_wanted() {
        let _alone = ALONE.lock();
        let level = Level::of_processor();
        for wanted in [Wanted::All, Wanted::Freed, Wanted::Nothing, Wanted::Idle] {
            GLOBAL.wanted_announcements.set(wanted);
            for of in ANNOUNCEMENTS {
                for (index, &callback) in of.callbacks.iter().enumerate() {
                    let registers = Registers::of(level);
                    let after = registers.after(callback, 8 * (index as u64 % 2));
                    assert_eq!(after, registers, "{wanted:?}, register {}", of.register);
                }
            }
        }
        GLOBAL.wanted_announcements.set(Wanted::Idle);
    }
}
