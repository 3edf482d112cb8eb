//! Amounts of time and memory as people write them: `10s`, `1.5 min`, `512 MiB`.

use std::time::Duration;

/// Reads an amount of time.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
    let seconds = amount(text, &UNITS).ok_or(r#"write a time such as "10s", "500ms" or "2min""#)?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or("write a time above zero".to_owned())
}

/// Reads a number of bytes.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 7] = [
        ("B", 1.0),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
    ];
    let bytes = amount(text, &UNITS).filter(|bytes| (1.0..1e15).contains(bytes));
    bytes.map(|bytes| bytes as u64).ok_or(r#"write a size such as "512 MiB" or "1 GiB""#.to_owned())
}

fn amount(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let factor = units.iter().find(|(name, _)| *name == unit.trim())?.1;
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_a_number_and_a_unit() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1.5 min"), Ok(Duration::from_secs(90)));
        assert_eq!(bytes("512 MiB"), Ok(512 << 20));
        assert_eq!(bytes("2kB"), Ok(2000));
        for wrong in ["", "10", "s", "-1s", "0s", "1 week", "..s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "10", "0 B", "1 XiB", "9999999 GiB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
