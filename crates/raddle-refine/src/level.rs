//! Consistency levels, from the weakest to the strongest.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much of what came before it an operation must see (Emmi and Enea, POPL 2019, Fig. 6).
///
/// `lin(i)` is the linearization up to and including operation `i`, `hb(i)` what happens before it and itself, `vis(i)` what it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// An operation sees any part of what came before it.
    Weak,
    /// It sees what happens before it: `hb(i) ⪯ vis(i)`.
    Basic,
    /// It sees what operations before it saw: `vis(j) ⪯ vis(i)` for each `j` in `hb(i)`.
    Monotonic,
    /// And with each operation what happens before that one: also `hb(j) ⪯ vis(i)` for each `j` in `vis(i)`.
    Peer,
    /// And with each operation what that one saw: `basic(i)`, and `vis(j) ⪯ vis(i)` for each `j` in `vis(i)`.
    Causal,
    /// It sees everything that came before it: `vis(i) = lin(i)`. If all operations do, the object is linearizable.
    Complete,
}

impl Level {
    /// All levels, from the weakest to the strongest.
    pub const ALL: [Level; 6] =
        [Level::Weak, Level::Basic, Level::Monotonic, Level::Peer, Level::Causal, Level::Complete];

    /// The name as specifications write it.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Weak => "weak",
            Level::Basic => "basic",
            Level::Monotonic => "monotonic",
            Level::Peer => "peer",
            Level::Causal => "causal",
            Level::Complete => "complete",
        }
    }

    /// The level of this name. `self` is Violat's word for basic, `absolute` and `linearizable` are others for complete.
    pub fn from_name(name: &str) -> Option<Level> {
        match name {
            "self" => Some(Level::Basic),
            "absolute" | "linearizable" => Some(Level::Complete),
            _ => Level::ALL.into_iter().find(|level| level.name() == name),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(name: &str) -> Result<Level, String> {
        Level::from_name(name).ok_or_else(|| {
            let names = Level::ALL.map(Level::name).join(", ");
            format!("`{name}` is no consistency level; write one of {names}")
        })
    }
}
