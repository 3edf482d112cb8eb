//! How machine code calls.

use crate::image::Image;

/// How a call finds the function.
#[derive(Debug, PartialEq)]
pub(crate) enum Call {
    /// The function is at this address in the file.
    To(u64),
    /// Its address is read from memory or a register.
    ThroughPointer,
}

/// The call that ends at an address in the file; none where it cannot be told.
///
/// A call through the table that the linker fills in may go to any function by its name, and is not told.
pub(crate) fn call_before(image: &Image, address: u64) -> Option<Call> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    decode(image.at(address.checked_sub(LONGEST as u64)?)?, address)
}

/// The longest of the calls that are told apart.
const LONGEST: usize = 6;

fn decode(bytes: [u8; LONGEST], end: u64) -> Option<Call> {
    match bytes {
        [0xff, 0x15, ..] => None,
        [_, 0xe8, distance @ ..] => {
            Some(Call::To(end.wrapping_add_signed(i32::from_le_bytes(distance).into())))
        }
        _ => Some(Call::ThroughPointer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_apart() {
        assert_eq!(decode([0x90, 0xe8, 0x10, 0, 0, 0], 0x1000), Some(Call::To(0x1010)));
        assert_eq!(decode([0x67, 0xe8, 0xf0, 0xff, 0xff, 0xff], 0x1000), Some(Call::To(0xff0)));
        assert_eq!(decode([0xff, 0x15, 0x10, 0, 0, 0], 0x1000), None);
        assert_eq!(decode([0x90, 0x90, 0x90, 0x90, 0xff, 0xd0], 0x1000), Some(Call::ThroughPointer));
        assert_eq!(decode([0x90, 0x90, 0x90, 0xff, 0x50, 0x18], 0x1000), Some(Call::ThroughPointer));
    }
}
