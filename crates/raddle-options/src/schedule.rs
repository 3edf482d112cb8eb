//! Schedules as text, run-length encoded: `0x3 1 0x2` is threads 0, 0, 0, 1, 0, 0.

/// The text of a schedule.
pub fn encode(choices: &[u16]) -> String {
    let run = |run: &[u16]| match run.len() {
        1 => run[0].to_string(),
        times => format!("{}x{times}", run[0]),
    };
    choices.chunk_by(|a, b| a == b).map(run).collect::<Vec<_>>().join(" ")
}

/// The largest number of choices of a schedule. Executions end long before.
const MAX_CHOICES: usize = 1 << 26;

/// The schedule of a text.
///
/// # Errors
/// The step that is none, and how steps are written.
pub fn decode(text: &str) -> Result<Vec<u16>, String> {
    let mut choices = Vec::new();
    for run in text.split_ascii_whitespace() {
        let (thread, times) = run.split_once('x').unwrap_or((run, "1"));
        let bad = |_| {
            format!("`{run}` is not a step of a schedule; write a thread, or thread and count as in `0x3`")
        };
        let thread: u16 = thread.parse().map_err(bad)?;
        let times: u32 = times.parse().map_err(bad)?;
        if choices.len() + times as usize > MAX_CHOICES {
            return Err(format!("`{run}` makes the schedule longer than {MAX_CHOICES} steps"));
        }
        choices.extend(std::iter::repeat_n(thread, times as usize));
    }
    Ok(choices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_written_as_they_are_read() {
        for text in ["", "0", "0x3 1 0x2", "65535x2"] {
            assert_eq!(encode(&decode(text).unwrap()), text);
        }
        assert_eq!(decode(" 0x2  1").unwrap(), [0, 0, 1]);
        assert!(decode("0x4294967295").unwrap_err().contains("longer than"));
        for text in ["a", "0x", "x3", "65536", "-1", "0x3x1"] {
            assert!(decode(text).unwrap_err().contains("is not a step of a schedule"), "{text}");
        }
    }
}
