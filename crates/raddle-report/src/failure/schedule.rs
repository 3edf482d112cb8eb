//! Sequences of choices, run-length encoded in the file.

use serde::{Deserialize, Serialize};

/// A sequence of choices: the thread taken at each scheduling point with an alternative, or another choice of the search.
///
/// The text form is run-length encoded: `0x3 1 0x2` is threads 0, 0, 0, 1, 0, 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Schedule(pub Vec<u16>);

impl Schedule {
    /// Whether the sequence is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Schedule> for String {
    fn from(schedule: Schedule) -> String {
        let mut text = String::new();
        for run in schedule.0.chunk_by(|a, b| a == b) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&run[0].to_string());
            if run.len() > 1 {
                text.push('x');
                text.push_str(&run.len().to_string());
            }
        }
        text
    }
}

impl TryFrom<String> for Schedule {
    type Error = String;

    fn try_from(text: String) -> Result<Schedule, String> {
        let mut choices = Vec::new();
        for run in text.split_ascii_whitespace() {
            let (thread, times) = run.split_once('x').unwrap_or((run, "1"));
            let bad = || {
                format!(
                    "`{run}` is not a step of a schedule; write a thread, or thread and count as in `0x3`"
                )
            };
            let thread: u16 = thread.parse().map_err(|_| bad())?;
            let times: u32 = times.parse().map_err(|_| bad())?;
            choices.extend(std::iter::repeat_n(thread, times as usize));
        }
        Ok(Schedule(choices))
    }
}
