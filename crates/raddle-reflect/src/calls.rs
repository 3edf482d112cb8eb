//! Calls in machine code.

use crate::image::Image;

/// The target of a call.
#[derive(Debug, PartialEq)]
pub(crate) enum Call {
    /// A function at this address in the file.
    To(u64),
    /// A function whose address the loader has written to the global offset table, at this address in the file.
    ByTable(u64),
    /// A function whose address is read from an object, as those of methods are.
    ThroughPointer,
}

/// The call that ends at an address in the file; none if it is not recognised.
pub(crate) fn call_before(image: &Image, address: u64) -> Option<Call> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    decode(image.at(address.checked_sub(WINDOW as u64)?)?, address)
}

/// Bytes of code that are searched for the load of a called register, which is not far.
const WINDOW: usize = 40;

fn decode(code: [u8; WINDOW], end: u64) -> Option<Call> {
    match code[WINDOW - 6..] {
        [0xff, 0x15, a, b, c, d] => Some(Call::ByTable(relative(end, [a, b, c, d]))),
        [_, 0xe8, a, b, c, d] => Some(Call::To(relative(end, [a, b, c, d]))),
        // A register; the upper eight have a prefix.
        [.., prefix, 0xff, register @ 0xd0..=0xd7] => {
            let upper = prefix == 0x41;
            let before = &code[..WINDOW - 2 - usize::from(upper)];
            loaded(before, end - WINDOW as u64, register & 7, upper)
        }
        // At an offset of a register: `call *0x18(%rax)`.
        [.., 0xff, 0x10..=0x13 | 0x16 | 0x17] => Some(Call::ThroughPointer),
        [.., 0xff, 0x50..=0x53 | 0x55..=0x57, _] => Some(Call::ThroughPointer),
        _ => None,
    }
}

/// The call through a register, by the last instruction that loads the register: `mov memory, register` or `lea memory, register`, of
/// 64 bits. The code begins at the address `start`.
fn loaded(code: &[u8], start: u64, register: u8, upper: bool) -> Option<Call> {
    let found = code.windows(3).enumerate().rev().find_map(|(at, window)| {
        let [rex @ 0x48..=0x4f, opcode @ (0x8b | 0x8d), modrm] = *window else { return None };
        let (to_upper, mode) = (rex & 4 != 0, modrm >> 6);
        let is_it = to_upper == upper && modrm >> 3 & 7 == register && mode != 3;
        is_it.then_some((at, opcode, mode == 0 && modrm & 7 == 5))
    });
    let (at, opcode, is_relative) = found?;
    if !is_relative {
        return (opcode == 0x8b).then_some(Call::ThroughPointer);
    }
    let offset = code.get(at + 3..at + 7)?.try_into().ok()?;
    let target = relative(start + at as u64 + 7, offset);
    Some(if opcode == 0x8b { Call::ByTable(target) } else { Call::To(target) })
}

/// The address at an offset from the end of an instruction.
fn relative(end: u64, offset: [u8; 4]) -> u64 {
    end.wrapping_add_signed(i32::from_le_bytes(offset).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(last: &[u8], expected: Option<Call>) {
        let mut code = [0x90; WINDOW];
        code[WINDOW - last.len()..].copy_from_slice(last);
        assert_eq!(decode(code, 0x1000), expected);
    }

    #[test]
    fn calls_are_told_apart() {
        check(&[0xe8, 0x10, 0, 0, 0], Some(Call::To(0x1010)));
        check(&[0x67, 0xe8, 0xf0, 0xff, 0xff, 0xff], Some(Call::To(0xff0)));
        check(&[0xff, 0x15, 0x10, 0, 0, 0], Some(Call::ByTable(0x1010)));
        check(&[0xff, 0x50, 0x18], Some(Call::ThroughPointer));
        check(&[0xff, 0x10], Some(Call::ThroughPointer));
    }

    #[test]
    fn registers_are_traced_to_what_they_were_loaded_from() {
        // mov 0x3c6121(%rip), %rax; mov $2, %esi; call *%rax
        let by_table = [0x48, 0x8b, 0x05, 0x21, 0x61, 0x3c, 0, 0xbe, 2, 0, 0, 0, 0xff, 0xd0];
        check(&by_table, Some(Call::ByTable(0x1000 - 7 + 0x3c_6121)));
        // The linker makes the load of an address from the table one of the address itself.
        let direct = [0x48, 0x8d, 0x05, 0x21, 0x61, 0x3c, 0, 0xbe, 2, 0, 0, 0, 0xff, 0xd0];
        check(&direct, Some(Call::To(0x1000 - 7 + 0x3c_6121)));
        // mov (%rsi), %rax; test %rax, %rax; je; call *%rax
        check(&[0x48, 0x8b, 0x06, 0x48, 0x85, 0xc0, 0x74, 0x05, 0xff, 0xd0], Some(Call::ThroughPointer));
        // mov 0x18(%r14), %r15; call *%r15
        check(&[0x4d, 0x8b, 0x7e, 0x18, 0x41, 0xff, 0xd7], Some(Call::ThroughPointer));
        check(&[0xff, 0xd0], None);
    }
}
