//! What is to be run in isolation, and what came of it: the two messages between grader and supervisor.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A program to be run in isolation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Files and directories that it sees, beside the libraries of the system.
    pub mounts: Vec<Mount>,
    /// Whether it sees the programs of the system (a compiler needs a linker), and not only its libraries.
    pub system_programs: bool,
    /// A directory, empty and writable, whose regular files are part of the outcome.
    pub results: Option<PathBuf>,
    /// What it may use.
    pub limits: Limits,
    /// The user that it runs as, if the grader runs as root.
    pub user: u32,
    /// The parts of isolation to use. A part that the machine does not allow must be switched off here.
    pub isolation: super::Isolation,
    /// Pipes beside standard output. Where arguments and variables have `{name}`, the program gets the number of its descriptor.
    pub channels: Vec<String>,
    /// The directory on which the file system of the sandbox is mounted. Nothing is ever written there.
    pub root: PathBuf,
    /// The files by which a process enters the control groups made for it.
    pub groups: Vec<PathBuf>,
}

/// A file or directory of the machine that is visible inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mount {
    /// The absolute path.
    pub path: PathBuf,
    /// Whether the program may write there.
    pub writable: bool,
    /// The path of something else to be seen in its place.
    pub instead: Option<PathBuf>,
}

impl Mount {
    /// A path that can be read.
    pub fn read(path: impl Into<PathBuf>) -> Mount {
        Mount { path: path.into(), writable: false, instead: None }
    }

    /// A path that can be written, too.
    pub fn write(path: impl Into<PathBuf>) -> Mount {
        Mount { path: path.into(), writable: true, instead: None }
    }
}

/// What a program may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Processor time of all its processes.
    pub cpu: Duration,
    /// Time on the clock.
    pub wall: Duration,
    /// Resident bytes of all its processes.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes that it may print.
    pub output: u64,
}

/// A limit that ended a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Processor time.
    Cpu,
    /// Time on the clock.
    Wall,
    /// Memory.
    Memory,
    /// Processes and threads.
    Processes,
    /// The size of a file.
    FileSize,
    /// Output.
    Output,
}

impl Limit {
    /// The name in result files: `memory`.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Cpu => "cpu",
            Limit::Wall => "wall",
            Limit::Memory => "memory",
            Limit::Processes => "processes",
            Limit::FileSize => "file-size",
            Limit::Output => "output",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Cpu => "processor time",
            Limit::Wall => "time",
            Limit::Memory => "memory",
            Limit::Processes => "processes and threads",
            Limit::FileSize => "bytes in a file",
            Limit::Output => "output",
        })
    }
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It ended by itself, with this exit code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It used more than it may, and was ended.
    Limit(Limit),
}

/// What came of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Time on the clock.
    pub wall: Duration,
    /// Processor time.
    pub cpu: Duration,
    /// The most resident bytes that were seen.
    pub memory: u64,
    /// The most processes and threads that were seen at once.
    pub processes: u64,
    /// What it printed, up to the limit.
    pub output: String,
    /// What it wrote to its channels, by name.
    pub channels: BTreeMap<String, String>,
    /// The regular files that it left in its directory of results: name and contents.
    pub results: BTreeMap<String, String>,
}

impl Outcome {
    /// The outcome of a program of which nothing is known but that it used too much memory.
    pub(super) fn out_of_memory(spec: &Spec) -> Outcome {
        Outcome {
            ending: Ending::Limit(Limit::Memory),
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
            memory: spec.limits.memory,
            processes: 0,
            output: String::new(),
            channels: BTreeMap::new(),
            results: BTreeMap::new(),
        }
    }
}
