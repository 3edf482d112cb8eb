//! Numbers and characters as `Debug` prints them.

use raddle_report::failure::Datum;

use super::layout::Shape;

/// The number in up to eight bytes.
pub(super) fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let length = bytes.len().min(8);
    word[..length].copy_from_slice(&bytes[..length]);
    u64::from_le_bytes(word)
}

/// The value of a type without parts; none if the type has parts.
pub(super) fn scalar(shape: &Shape, bytes: &[u8]) -> Option<Datum> {
    let unknown = |of: &str| Datum::Unknown(format!("no {of}: {:#x}", word(bytes)));
    Some(match shape {
        Shape::Bool => boolean(bytes),
        Shape::Char => match char::from_u32(word(bytes) as u32) {
            Some(c) => Datum::Scalar(format!("{c:?}")),
            None => unknown("char"),
        },
        Shape::Float => Datum::Scalar(match bytes.len() {
            4 => format!("{:?}", f32::from_bits(word(bytes) as u32)),
            _ => format!("{:?}", f64::from_bits(word(bytes))),
        }),
        Shape::Signed => {
            let bits = 8 * bytes.len().clamp(1, 16) as u32;
            let value = wide(bytes) as i128;
            Datum::Scalar((value << (128 - bits) >> (128 - bits)).to_string())
        }
        Shape::Unsigned if bytes.is_empty() => Datum::Scalar("()".to_owned()),
        Shape::Unsigned => Datum::Scalar(wide(bytes).to_string()),
        Shape::Names { names } => {
            let mask = u64::MAX >> (64 - 8 * bytes.len().clamp(1, 8));
            match names.iter().find(|(value, _)| value & mask == word(bytes)) {
                Some((_, name)) => Datum::Scalar(name.clone()),
                None => unknown("variant"),
            }
        }
        _ => return None,
    })
}

pub(super) fn boolean(bytes: &[u8]) -> Datum {
    match word(bytes) {
        0 => Datum::Scalar("false".to_owned()),
        1 => Datum::Scalar("true".to_owned()),
        other => Datum::Unknown(format!("no bool: {other:#x}")),
    }
}

fn wide(bytes: &[u8]) -> u128 {
    let mut word = [0; 16];
    let length = bytes.len().min(16);
    word[..length].copy_from_slice(&bytes[..length]);
    u128::from_le_bytes(word)
}
