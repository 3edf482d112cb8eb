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
        raddle_options::schedule::encode(&schedule.0)
    }
}

impl TryFrom<String> for Schedule {
    type Error = String;

    fn try_from(text: String) -> Result<Schedule, String> {
        raddle_options::schedule::decode(&text).map(Schedule)
    }
}
